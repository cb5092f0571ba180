"""Rules over the axes of a search: what they close, how far they let go, who keeps them."""

import itertools

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract.data import Feature, IfThen, LinearRelation
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.rules.ruling import Ruling, close_pieces

AXES = [Axis(Feature(name, "integer", lower=0, upper=6), (k,)) for k, name in enumerate("ab")]
COST = LinearCost("max", np.array([0.1, 0.1]))
PERSON = np.array([2.0, 1.0])
VALUES = np.arange(7)


def ruled(*rules):
    """The ruling and the pieces of a person, which are the whole numbers from 0 to 6."""
    ruling = Ruling(
        [LinearRelation.parse(r) if isinstance(r, str) else r for r in rules], AXES, COST
    )
    grid = Grid.from_splits(AXES, np.zeros(0, int), np.zeros(0))
    return ruling, ruling.choices(grid, PERSON, np.zeros(2, int), np.zeros((2, 1)))


@pytest.mark.parametrize(
    "rules",
    [
        ["a + b <= 5"], ["a - 2 b <= -3"], ["a + b <= 9", "b - a <= -2"],
        [IfThen("a >= 4", "b >= 5")], [IfThen("a changes", "b = 3"), "a + b <= 6"],
    ],
)  # fmt: skip
def test_only_pieces_of_no_action_that_keeps_the_rules_are_closed(rules):
    ruling, choices = ruled(*rules)
    pairs = np.array(list(itertools.product(VALUES, VALUES)), float)
    kept = ruling.hold(np.tile(PERSON, (len(pairs), 1)), pairs, 1e-9)
    for start in range(5):  # the first feature from here on
        masks = ruling.open_at_first(choices, frozenset())
        masks[0] = masks[0] & (choices[0].low >= start)
        still = close_pieces(ruling, choices, ruling.met(choices), masks)
        there = pairs[kept & (pairs[:, 0] >= start)]
        assert still or not len(there)
        for a in (0, 1):
            needed = set(there[:, a].tolist())
            assert needed <= set(choices[a].low[masks[a]].tolist()) or not still
        if still and len(rules) == 1 and isinstance(rules[0], str):  # one sum is exact
            assert set(there[:, 1].tolist()) == set(choices[1].low[masks[1]].tolist())


def test_rules_hold_where_they_are_true():
    ruling, _ = ruled("a + b <= 5", IfThen("a changes", "b >= 2"))
    after = np.array([[2.0, 1], [3, 1], [3, 2], [3, 3]])
    assert ruling.hold(np.tile(PERSON, (4, 1)), after, 1e-9).tolist() == [True, False, True, False]


def test_a_number_may_go_on_until_a_rule_would_break():
    ruling, _ = ruled("a + b <= 5")
    assert ruling.furthest(0, {0: (2.0, 2.0), 1: (1.0, 1.0)}, 1) == 4
    assert ruling.furthest(0, {0: (2.0, 2.0), 1: (1.0, 2.0)}, 1) == 3
    assert ruling.furthest(0, {0: (2.0, 2.0), 1: (1.0, 1.0)}, -1) == -np.inf
    implied, _ = ruled(IfThen("a >= 4", "b >= 5"))
    assert implied.furthest(0, {0: (2.0, 2.0), 1: (1.0, 1.0)}, 1) == 2  # it could become true
    assert implied.furthest(1, {0: (2.0, 2.0), 1: (1.0, 1.0)}, 1) == np.inf


def test_a_smallest_change_is_refused():
    axes = [
        Axis(Feature(name, "continuous", lower=0.0, upper=6.0), (k,)) for k, name in enumerate("ab")
    ]
    with pytest.raises(InvalidSpec, match="requires a change of 'b'.*give the feature a step"):
        Ruling([IfThen("a changes", "b changes")], axes, COST)
