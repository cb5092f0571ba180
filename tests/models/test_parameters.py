"""What parameters may be, and the numbers that learners make of them."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract._utils.validation import NONE, one_of, whole
from ract.data.encoder import Encoder
from ract.models.parameters import (
    check_parameters,
    desired_label,
    features_per_split,
    monotonic_directions,
    number_drawn,
    number_of_people,
    parameter,
    split_seed,
    with_parameters,
)


def test_an_error_names_the_parameter_what_it_may_be_and_the_value():
    @with_parameters
    class Estimator(BaseEstimator):
        size: int | str | None = parameter(NONE, whole(2, 9), one_of("sqrt", "log2"), default=None)

    assert Estimator().get_params() == {"size": None}
    check_parameters(Estimator(size=9))
    with pytest.raises(InvalidSpec) as error:
        check_parameters(Estimator(size="large"))
    assert str(error.value) == (
        "size must be a whole number from 2 to 9, or 'sqrt' or 'log2', or None, got 'large'."
    )


def test_the_desired_label_is_given_or_named_by_the_actions():
    classes, actions = np.array(["no", "yes"], object), ActionSpace([Feature("x")], desired="yes")
    assert desired_label("no", actions, classes) == "no"
    assert desired_label(None, actions, classes) == "yes"
    with pytest.raises(InvalidSpec, match="cannot be known"):
        desired_label(None, None, classes)
    with pytest.raises(InvalidSpec, match="desired is 'maybe', which is not a class"):
        desired_label("maybe", None, classes)


def test_shares_become_numbers_by_the_rules_of_scikit_learn():
    assert [number_of_people(value, 101) for value in (7, 0.02, 0.0001)] == [7, 3, 1]
    assert [number_drawn(value, 10) for value in (None, 4, 0.25, 0.01)] == [10, 4, 2, 1]
    found = [features_per_split(value, 10) for value in (None, "sqrt", "log2", 3, 30, 0.35, 0.01)]
    assert found == [None, 3, 3, 3, 10, 3, 1]
    with pytest.raises(InvalidSpec, match="at most 10, the people with a weight, got 11"):
        number_drawn(11, 10)


def test_directions_are_by_name_or_position():
    encoder = Encoder(np.zeros((2, 3)), None)
    axes = encoder.axes
    assert monotonic_directions({"x2": -1}, encoder, axes) == (0, 0, -1)
    assert monotonic_directions([1, 0, 0], encoder, axes) == (1, 0, 0)
    assert monotonic_directions([0, 0, 0], encoder, axes) == ()
    assert monotonic_directions(None, encoder, axes) == ()
    with pytest.raises(InvalidSpec, match="one entry for each of the 3 features"):
        monotonic_directions([1], encoder, axes)


def test_only_whole_numbers_are_seeds_of_a_split():
    seeds = (7, np.int32(7), None, True, np.random.RandomState(3))
    assert [split_seed(seed) for seed in seeds] == [7, 7, 0, 0, 0]
