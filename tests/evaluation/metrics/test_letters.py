"""Plans as letters say them: numbers at their goals, and who accepts them."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidData, InvalidSpec
from ract.evaluation.metrics.letters import Letters, accepts_by
from ract.models.examples import loans_forest

PEOPLE = pd.DataFrame({"income": [1.0, 2.0, 3.0]}, index=["a", "b", "c"])
SPACE = ActionSpace([Feature("income", lower=0.0, upper=9.0)], limits=None)


def rich(X):
    return np.asarray(X["income"]) >= 3


def test_plans_found_elsewhere_are_those_of_people_who_move():
    after = PEOPLE.assign(income=[4.0, 2.0, 5.0])
    letters = Letters.of_table(rich, PEOPLE, after, SPACE, True, None, "sampled")
    assert letters.refused.tolist() == [True, True, False]
    assert letters.found.tolist() == [True, False, False]
    assert letters.labels.tolist() == ["a", "b", "c"] and np.isnan(letters.cost).all()
    assert letters.accepts(letters.after).tolist() == [True, False, True]
    with pytest.raises(InvalidData, match="X has 3 rows but plans has 2"):
        Letters.of_table(rich, PEOPLE, after[:2], SPACE, True, None, "sampled")
    with pytest.raises(InvalidSpec, match="plans need actions and desired"):
        Letters.of_table(rich, PEOPLE, after, None, True, None, "sampled")


def test_letters_say_the_goals_of_plans():
    model, loans = loans_forest(300)
    recourse = model.recourse(loans.frame[:60], at_least=True)
    letters = Letters.of_recourse(recourse)
    place = {axis.feature.name: axis.columns[0] for axis in recourse.encoder.axes}
    expected = recourse.after.copy()
    for i in np.flatnonzero(recourse.found):
        for change in recourse[int(i)].changes:
            if not change.switch and not change.by_itself:
                expected[i, place[change.feature]] = change.goal
    assert recourse.found.any()
    np.testing.assert_array_equal(letters.after, expected)
    np.testing.assert_array_equal(letters.refused, ~recourse.accepted)
    assert letters.accepts(letters.after)[recourse.found].all()


def test_a_model_or_a_function_says_who_is_accepted():
    assert accepts_by(rich, True)(PEOPLE).tolist() == [False, False, True]
    model, loans = loans_forest(300)
    accepted = accepts_by(model, loans.desired)(loans.frame)
    np.testing.assert_array_equal(accepted, model.predict(loans.frame) == loans.desired)
    with pytest.raises(InvalidSpec, match="got int"):
        accepts_by(3, True)
