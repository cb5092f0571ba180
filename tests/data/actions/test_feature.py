"""One feature and its rules."""

import numpy as np
import pytest

from ract import Feature
from ract._utils.errors import InvalidSpec


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "real"}, "kind 'real' is not one of"),
        ({"change": "up"}, "change 'up' is not one of"),
        ({"lower": 3, "upper": 2}, "lower bound 3 is above upper bound 2"),
        ({"lower": "low"}, "lower must be a number"),
        ({"upper": float("nan")}, "upper must be finite"),
        ({"upper": float("inf")}, "upper must be finite"),
        ({"weight": -1}, "weight must be 0 or more, got -1"),
        ({"kind": "integer", "lower": 0.5}, "integer, but its bound is 0.5"),
        ({"kind": "categorical", "lower": 0}, "takes no lower or upper bound"),
        ({"kind": "categorical", "categories": ["a", "a"]}, "lists a category twice"),
        ({"kind": "integer", "categories": ["a"]}, "categories are for kind 'categorical'"),
        ({"columns": ["a"]}, "at least two columns"),
        ({"columns": ["a", "b"], "categories": [1]}, "has 2 columns but 1 categories"),
    ],
)
def test_a_wrong_feature_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(InvalidSpec, match=message) as caught:
        Feature("f", **arguments)
    assert "'f'" in str(caught.value)


def test_numpy_values_become_plain_ones():
    feature = Feature("f", categories=list(np.array([1, 2])), kind="categorical")
    assert all(type(c) is int for c in feature.categories)
