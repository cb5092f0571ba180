"""Costs by their names."""

import numpy as np
import pytest

from ract import InvalidSpec
from ract.data.costs import (
    CombinedCost,
    MissingCell,
    PercentileCost,
    ScaledCost,
    fit_cost,
    make_cost,
)


def test_a_name_stands_for_one_cost():
    assert make_cost("range") == ScaledCost("range")
    given = PercentileCost("kernel")
    assert make_cost(given) is given == make_cost("kernel-percentile")
    with pytest.raises(InvalidSpec, match="is for find_recourse"):
        make_cost("time")


def test_costs_with_missing_values_are_learned_from_known_ones():
    column = np.array([0.0, np.nan, 10.0, np.nan, 4.0])
    cell = MissingCell((0,), categorical=False, supply=True, cost=None, weight=1.0)
    cost = fit_cost("range", [column], np.ones(1), missing=[cell], exact=True)
    assert cost.factors.tolist() == [0.1]
    (supply,) = cost.supply
    # Pairs of people are 4, 6 and 10 apart; the median is 6 of 10.
    assert (supply.cost, supply.middle) == (pytest.approx(0.6), 4.0)


def test_a_cost_of_somebody_else_takes_no_missing_values():
    class Own:
        def fit(self, columns, weights, sample_weight=None):
            return ScaledCost().fit(columns, weights, sample_weight)

    cell = MissingCell((0,), categorical=False, supply=False, cost=None, weight=1.0)
    with pytest.raises(InvalidSpec, match="Own takes no missing values"):
        fit_cost(Own(), [np.array([1.0, np.nan])], np.ones(1), missing=[cell])


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
