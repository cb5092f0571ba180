"""A grid under a cost, by hand."""

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract.data.costs import LinearCost
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.data.prices import IntegerTable, supply_of

SPACE = ActionSpace([Feature("x", "integer", "increase", 0, 9)], limits=None)
AXES = Encoder.of_space(SPACE, ["x"]).axes
PRICES = Grid(AXES, (np.array([2.0, 5.0]),)).price(LinearCost("max", np.array([0.1])))


def test_cells_are_entered_at_their_lower_ends():
    costs, values = PRICES.of_person(np.array([1.0]))
    np.testing.assert_allclose(costs, [[0.0, 0.2, 0.5]])
    np.testing.assert_array_equal(values, [[1.0, 3.0, 6.0]])


def test_nobody_who_may_only_rise_goes_down():
    costs, values = PRICES.of_person(np.array([4.0]))
    np.testing.assert_allclose(costs, [[np.inf, 0.0, 0.2]])
    np.testing.assert_array_equal(values, [[np.nan, 4.0, 6.0]])


@pytest.mark.parametrize("step", [None, 2.0])
def test_the_value_in_one_cell_is_that_of_all_cells(step):
    feature = Feature("x", "integer", "any", 0, 40, step=step, max_change=15)
    axis = Encoder.of_space(ActionSpace([feature]), ["x"]).axes[0]
    cuts, cost = np.array([2.0, 5.0, 11.0, 30.0]), LinearCost("max", np.array([0.1]))
    prices = Grid([axis], (cuts,)).price(cost)
    people = np.array([0.0, 3.0, 7.0, 13.0, 35.0])
    cells = prices.grid.cells([people])[0].astype(int)
    every = prices.entered(0, people, cells)
    who, to = np.nonzero(~np.isnan(every) & (np.arange(every.shape[1]) != cells[:, None]))
    assert len(who) > 5
    np.testing.assert_array_equal(prices.value_in(0, people[who], cells[who], to), every[who, to])


def test_reach_is_what_the_budget_leaves():
    people = [np.array([0.0, 1.0, 4.0, 9.0])]
    reach = PRICES.reach(people, PRICES.grid.cells(people), 0.2)
    assert reach.lowest.tolist() == [[0, 0, 1, 2]] and reach.highest.tolist() == [[0, 1, 2, 2]]


def test_whole_numbers_are_looked_up_once_each():
    table = IntegerTable.of(AXES[0], np.array([3.0, 5.0, 3.0]))
    assert table.values.tolist() == [3.0, 4.0, 5.0] and table.at.tolist() == [0, 2, 0]
    assert IntegerTable.of(AXES[0], np.array([0.0, 1e9])) is None


def test_a_cost_without_supply_is_refused():
    with pytest.raises(ValueError, match="learn the cost anew"):
        supply_of(AXES[0], PRICES.cost)
