"""One person with some pieces open, worked out by hand."""

import numpy as np
import pytest

from ract._utils.status import Status
from ract.data import Feature, LinearRelation
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.recourse.additive.search import AdditiveSearch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.rules.person import RuledPerson
from ract.recourse.rules.refined import Refined
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


def refined(norm, opened, changes=2):
    """The same person with some values open on each axis."""
    asking = person(norm, changes)
    masks = {a: np.isin(np.arange(11), values) for a, values in enumerate(opened)}
    return Refined.of(asking.person, asking.choices, masks, frozenset(), changes)


@pytest.mark.parametrize(("norm", "cost"), [("max", 0.3), ("l1", 0.5)])
def test_closed_pieces_have_to_be_left(norm, cost):
    cut = refined(norm, [range(11), [6, 7]])
    assert cut.moved == [1] and cut.price + cut.size == pytest.approx(0.2)
    found = cut.cheapest(1.0, 1000)
    assert found.cost == pytest.approx(cost)
    assert (cut.piece(0, found.point), cut.piece(1, found.point)) == (6, 6)
    assert cut.cheapest(0.25, 1000).status == Status.NONE
    assert refined(norm, [[4, 5], range(11)]).cheapest(1.0, 1000).status == Status.NONE
