"""The cheapest values inside pieces that keep a sum, worked out by hand."""

import numpy as np
import pytest

from ract.data import Feature, LinearRelation
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.recourse.rules.choices import Choices
from ract.recourse.rules.inside import values_inside
from ract.recourse.rules.ruling import Ruling


def inside(kind, part, upper=5.0):
    """Two numbers at 4, of which the second is twice as dear, may fall to 0."""
    axes = [Axis(Feature(name, kind, lower=0, upper=4), (k,)) for k, name in enumerate("ab")]
    ruling = Ruling(
        [LinearRelation({"a": 1.0, "b": 1.0}, upper)], axes, LinearCost("l1", np.ones(2))
    )
    ends = np.array([0.0]), np.array([4.0])
    piece = Choices(*ends, value=ends[1], effort=np.zeros(1), cell=np.zeros(1, int), own=-1)
    return values_inside(ruling, {0: piece, 1: piece}, {0: 0, 1: 0}, {0: 1.0, 1: 2.0}, part)


@pytest.mark.parametrize(
    ("kind", "part", "expected"),
    [
        ("continuous", 0.0, [1, 4]),  # the cheap one takes it all
        ("continuous", 1.0, [2, 3]),  # both efforts are 2
        ("integer", 1.0, [2, 3]),
    ],
)
def test_sums_hold_at_the_least_cost(kind, part, expected):
    values, proved = inside(kind, part)
    np.testing.assert_allclose(values, expected, atol=1e-9)
    assert proved and values.sum() <= 5


def test_where_no_values_do_that_is_proved():
    assert inside("continuous", 0.0, upper=-1.0) == (None, True)
