"""Costs put together from efforts."""

import numpy as np
import pytest

from ract import InvalidSpec
from ract.data.costs import CombinedCost

X = np.array([[0.0, 4.0], [0.0, 10.0], [0.0, 1.0]])  # columns x people


def test_sum_largest_and_price_per_change_by_hand():
    cost = CombinedCost("range", per_change=0.25, largest=0.5).fit(X, np.ones(3))
    start, stop = [[0.0, 0.0, 0.0]], [[1.0, 5.0, 0.0]]
    # Efforts 1/4 and 5/10: half of their sum, half of the largest, and two changes.
    assert cost.between(start, stop)[0] == pytest.approx(0.5 * 0.75 + 0.5 * 0.5 + 2 * 0.25)
    assert cost.between(start, start)[0] == 0


def test_columns_of_one_feature_change_once():
    cost = CombinedCost("range", per_change=1.0)
    split = cost.fit_features(X, np.ones(3), exact=True)
    joined = cost.fit_features(X, np.ones(3), exact=True, features=[(0,), (1, 2)])
    start, stop = [[0.0, 0.0, 0.0]], [[0.0, 10.0, 1.0]]
    assert (split.between(start, stop)[0], joined.between(start, stop)[0]) == (4.0, 3.0)


@pytest.mark.parametrize(("given", "says"), [({"per_change": -1}, "0 or more"),
                                             ({"largest": 1.0}, "below 1")])  # fmt: skip
def test_parts_that_cannot_be_meant_are_refused(given, says):
    with pytest.raises(InvalidSpec, match=says):
        CombinedCost(**given)
