"""Costs and missing values."""

import numpy as np

from ract.data.costs import LinearCost, Supply
from ract.data.costs.supply import known_values, switch_costs, without_missing

NAN = np.nan


def test_known_values_come_with_their_weights():
    column, weight = np.array([1.0, NAN, 3.0]), np.array([5.0, 6.0, 7.0])
    values, weights = known_values(column, weight)
    assert values.tolist() == [1.0, 3.0] and weights.tolist() == [5.0, 7.0]
    nobody, weights = known_values(np.array([NAN, NAN]), None)
    assert nobody.tolist() == [0.0, 0.0] and weights is None


def test_actions_lose_what_is_missing_and_pay_for_what_is_handed_in():
    supply = [Supply((0,), 0.3, 5.0), Supply((1, 2, 3), 0.7, 0.0)]
    start = np.array([[NAN, 0.0, 0.0, 1.0], [4.0, 1.0, 0.0, 0.0], [NAN, 1.0, 0.0, 0.0]])
    stop = np.array([[6.0, 0.0, 1.0, 0.0], [5.0, 0.0, 1.0, 0.0], [NAN, 1.0, 0.0, 0.0]])
    before, after, handed = without_missing(start, stop, supply)
    assert handed.tolist() == [[0.3, 0.7], [0.0, 0.0], [0.0, 0.0]]
    assert (before[0] == after[0]).all() and (before[2] == after[2]).all()
    assert (before[1].tolist(), after[1].tolist()) == ([4.0, 1.0, 0.0, 0.0], [5.0, 0.0, 1.0, 0.0])


def test_a_switch_of_category_flips_two_columns():
    factors = np.array([1.0, 2.0])
    assert switch_costs(LinearCost("max", factors), [0, 1])[0, 1] == 2.0
    assert switch_costs(LinearCost("l1", factors), [0, 1])[0, 1] == 3.0
