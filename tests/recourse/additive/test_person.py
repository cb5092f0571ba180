"""One person under a cost that adds up, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from ract._utils.status import Status
from ract.data import Feature
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.recourse.additive.person import BestPoint
from ract.recourse.additive.search import AdditiveSearch, SeveralAdditiveSearch
from ract.trees.ensemble import TreeEnsemble

AXES = [Axis(Feature(name, "integer", lower=0, upper=10), (k,)) for k, name in enumerate("ab")]
COST = LinearCost("l1", np.array([0.1, 0.2]))
ROW = np.array([[3.0, 4.0]])
FIRST, SECOND = TreeEnsemble.stump(0, 5.5), TreeEnsemble.stump(1, 6.5)


def person(search, problem, changes=2, stopped=0):
    cells = problem.cells(ROW)
    [costs] = problem.costs(ROW, cells)
    return search(cells[0], costs, changes, np.full(1, stopped, np.uint8))


def one(**how):
    search = AdditiveSearch(FIRST, AXES, COST)
    return person(search._person, search.problem, **how)


def both(**how):
    search = SeveralAdditiveSearch([FIRST, SECOND], AXES, COST)
    return person(search._person, search.models.problem, **how)


def test_efforts_of_all_features_are_added_up():
    found = one().cheapest(1.0, 1000)
    assert found.status == Status.OPTIMAL and found.cost == pytest.approx(0.3)  # from 3 to 6
    found = both().cheapest(1.0, 1000)
    assert found.cost == pytest.approx(0.3 + 0.6) == found.bound  # and from 4 to 7
    assert both().cost_of(found.point) == found.cost
    assert both(changes=1).cheapest(1.0, 1000).status == Status.NONE
    assert both().cheapest(0.8, 1000).status == Status.NONE


def test_one_question_is_answered_without_the_cheapest():
    assert one().attains(0.31, 1000) == Status.FOUND
    assert one().attains(0.29, 1000) == Status.NONE
    assert one(stopped=1).attains(0.3, 1000) == Status.UNKNOWN
    stopped = one(stopped=1).cheapest(1.0, 1000, least=0.1)
    assert stopped.status == Status.UNKNOWN and stopped.bound == 0.1


def test_the_best_point_is_replaced_by_cheaper_ones_only():
    best = BestPoint(np.zeros(2, np.int64), np.array([np.inf, 1.0]))
    best.take(np.array([1, 1]), 1.5)
    assert not best.found
    best.take(np.array([1, 1]), 0.5)
    best.take(np.array([2, 2]), 0.5)
    assert best.found and best.point.tolist() == [1, 1] and best.cost[0] == 0.5
    assert replace(best).cost[1] < 0.5
