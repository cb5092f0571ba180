"""One person who keeps rules, worked out by hand; what is proved stands in test_search."""

from dataclasses import replace

import numpy as np
import pytest

from ract._utils.status import Status
from ract.data import Feature, LinearRelation
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.recourse.additive.search import AdditiveSearch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.rules.person import RuledPerson, RuleState
from ract.recourse.rules.ruling import Ruling
from ract.trees.ensemble import TreeEnsemble

AXES = [Axis(Feature(name, "integer", lower=0, upper=10), (k,)) for k, name in enumerate("ab")]
ROW = np.array([3.0, 4.0])
ABOVE = TreeEnsemble.stump(0, 5.5)  # six or more of the first number


def person(norm, changes=2):
    """At (3, 4); a tenth for each unit, and the first number must not exceed the second."""
    cost = LinearCost(norm, np.array([0.1, 0.1]))
    search = (ExactSearch if norm == "max" else AdditiveSearch)(ABOVE, AXES, cost)
    [own] = search.problem.cells(ROW[None])
    [costs] = search.problem.costs(ROW[None], own[None])
    plain = search._person(own, costs, changes, np.zeros(1, np.uint8))
    ruling = Ruling([LinearRelation({"a": 1.0, "b": -1.0}, 0.0)], AXES, cost)
    return RuledPerson(plain, ROW, ruling, changes)


@pytest.mark.parametrize(("norm", "cost"), [("max", 0.3), ("l1", 0.5)])
def test_the_second_number_rises_with_the_first(norm, cost):
    found = person(norm).cheapest(1.0, 1000)
    assert found.status == Status.OPTIMAL and found.cost == pytest.approx(cost)
    assert found.values.tolist() == [6, 6] and found.point.tolist() == [1, 1]
    assert person(norm).attains(0.2, 1000) == Status.NONE
    assert person(norm, changes=1).cheapest(1.0, 1000).status == Status.NONE
    assert replace(person(norm), still=frozenset([1])).attains(1.0, 1000) == Status.NONE


def test_a_search_without_nodes_proves_nothing():
    found = person("max").cheapest(1.0, 0)
    assert found.status == Status.UNKNOWN and found.bound == 0


def test_what_costs_no_less_is_not_taken():
    state = RuleState(limit=1.0)
    state.take(ROW, 1.5)
    assert state.values is None
    state.take(ROW, 0.5)
    state.take(ROW + 1, 0.5)
    assert state.values is ROW and state.cost == 0.5 and 0.499 < state.limit < 0.5
    state.take(ROW, 0.0)
    assert state.limit == -np.inf
