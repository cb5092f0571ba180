"""Ways towards accepted people, worked out by hand."""

import numpy as np
import pytest

from ract.data import Feature
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.recourse.common.problem import CellProblem
from ract.recourse.plausible.walks import Walks
from ract.trees.ensemble import TreeEnsemble

AXES = [Axis(Feature(name, "integer", lower=0, upper=10), (k,)) for k, name in enumerate("ab")]
PROBLEM = CellProblem(
    TreeEnsemble.stump(0, 5.5), AXES, LinearCost("max", np.array([0.1, 0.1]))
)  # six or more of the first number
PERSON, STOP = np.array([3.0, 4.0]), np.zeros(1, np.uint8)
ACCEPTED = np.array([[8.0, 2.0], [9.0, 1.0], [1.0, 1.0]])  # the last one is not


def cheapest(is_plausible, budget=1.0, known=None, stop=STOP):
    return Walks(PROBLEM, is_plausible, ACCEPTED).cheapest(PERSON, budget, known, stop)


def test_a_row_on_the_way_serves_where_everything_is_plausible():
    values, price, scored = cheapest(lambda rows: np.ones(len(rows), bool))
    assert values.tolist() == [6, 4] and price == pytest.approx(0.3) and scored > 0


def test_the_walk_goes_on_until_a_row_is_plausible():
    low = cheapest(lambda rows: rows[:, 1] <= 2)
    assert low[0][0] >= 6 and low[0][1] <= 2 and low[1] == pytest.approx(max(0.3, 0.2))


def test_without_budget_time_or_somebody_to_aim_at_there_is_none():
    for values, price, _ in (
        cheapest(lambda rows: np.ones(len(rows), bool), budget=0.25),
        cheapest(lambda rows: np.ones(len(rows), bool), stop=np.ones(1, np.uint8)),
        cheapest(lambda rows: np.zeros(len(rows), bool)),
    ):
        assert values is PERSON and np.isinf(price)
