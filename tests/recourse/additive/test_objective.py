"""What costs that add up make of efforts, worked out by hand."""

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract.data.costs import CombinedCost, LinearCost, make_cost
from ract.recourse.additive.objective import Objective
from ract.recourse.dispatch import adds_up

OWN = np.array([0, 1])
EFFORTS = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, np.inf]])


def test_a_plain_sum_takes_efforts_as_prices():
    prices = Objective().prices(OWN, EFFORTS)
    assert prices.price is EFFORTS and prices.alone is EFFORTS and not prices.size.any()
    assert prices.of(OWN, np.array([2, 0])) == 6.0 and prices.of(OWN, OWN) == 0.0


def test_changes_and_the_largest_effort_have_their_part():
    prices = Objective(per_change=0.5, largest=0.25).prices(OWN, EFFORTS)
    np.testing.assert_array_equal(prices.price, [[0, 1.25, 2], [3.5, 0, np.inf]])
    np.testing.assert_array_equal(prices.size, [[0, 0.25, 0.5], [1, 0, np.inf]])
    np.testing.assert_array_equal(prices.alone, prices.price + prices.size)
    # Three quarters of 6, two changes, and a quarter of the largest effort, 4.
    assert prices.of(OWN, np.array([2, 0])) == 0.75 * 6 + 2 * 0.5 + 0.25 * 4


def test_prices_of_points_are_costs_of_moves():
    matrix = np.array([[0.0, 0.0], [1.0, 5.0]])
    fitted = CombinedCost("l1", per_change=0.1, largest=0.3).fit(matrix.T, np.ones(2))
    efforts = np.array([[0.0, 1.0], [0.0, 1.0]])  # cells: the two values of each column
    prices = Objective.of(fitted).prices(np.zeros(2, int), efforts)
    for point in ([0, 1], [1, 0], [1, 1]):
        there = matrix[point, [0, 1]]
        cost = fitted.between(matrix[:1], there[None])[0]
        assert prices.of(np.zeros(2, int), np.array(point)) == pytest.approx(cost)


def test_only_sums_add_up():
    l1, largest = LinearCost("l1", np.ones(1)), LinearCost("max", np.ones(1))
    assert adds_up(l1) and not adds_up(largest)
    assert adds_up(CombinedCost("l1").fit([np.arange(3.0)], np.ones(1)))
    assert Objective.of(make_cost("l1").fit([np.arange(3.0)], np.ones(1))) == Objective()
    with pytest.raises(InvalidSpec, match="adds up over features"):
        Objective.of(largest)
