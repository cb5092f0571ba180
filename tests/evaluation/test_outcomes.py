"""What a judge says of people, and how unsure it is."""

import numpy as np
import pandas as pd
import pytest

from ract._utils.errors import InvalidData, InvalidSpec
from ract.evaluation.outcomes import JudgedOutcomes, check_judge, judge_error

PEOPLE = pd.DataFrame({"income": [1.0, 2.0, 3.0]})


def test_a_known_truth_is_judged_as_it_is():
    judged = JudgedOutcomes.of(lambda X: X["income"] / 4, PEOPLE, PEOPLE)
    np.testing.assert_array_equal(judged.bad, [0.75, 0.5, 0.25])
    np.testing.assert_array_equal(judged.by_half, [[0.75], [0.5], [0.25]])
    assert judge_error(judged.by_half) == 0.0
    nobody = JudgedOutcomes.of(lambda X: X["income"], PEOPLE[:0], PEOPLE[:0])
    assert nobody.bad.shape == (0,) and nobody.by_half.shape == (0, 1)


@pytest.mark.parametrize("wrong", [lambda X: [0.5], lambda X: X["income"]])
def test_what_is_no_probability_of_each_person_is_refused(wrong):
    with pytest.raises(InvalidData, match="one probability between 0 and 1 per person"):
        JudgedOutcomes.of(wrong, PEOPLE, PEOPLE)


def test_the_error_of_a_judge_is_how_far_its_halves_disagree():
    halves = np.array([[0.1, 0.3, np.nan], [0.3, 0.5, np.nan], [0.2, np.nan, np.nan]])
    assert judge_error(halves) == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert judge_error(halves[:0]) == judge_error(halves[:, :1]) == 0.0


def test_what_is_no_judge_is_refused():
    check_judge(len)
    with pytest.raises(InvalidSpec, match="got int"):
        check_judge(3)
