"""The authors' hold-outs, replayed."""

import numpy as np

from experiments.data import DATA
from experiments.paper.hold_outs import HoldOuts, nodes_tried
from experiments.paper.population import Population
from experiments.paper.settings import EXPERIMENTS
from ract.trees.grower import GrowRules, grow_tree
from tests.experiments.builders import made_up, ordinal_people


def test_hold_outs_are_the_same_in_any_order(small):
    """A fold that is run alone, as after an interruption, is the fold of a whole run."""
    population, experiment = Population.of(made_up()), EXPERIMENTS["trees"]
    in_order = HoldOuts(population, experiment, DATA["bail"])
    folds = [in_order.fold(number) for number in (1, 2, 3)]
    alone = HoldOuts(population, experiment, DATA["bail"]).fold(3)
    assert (alone.test == folds[2].test).all()
    assert alone.implausibility(alone.new) == folds[2].implausibility(alone.new)
    assert (in_order.fold(2).test == folds[1].test).all()
    assert len({tuple(fold.test) for fold in folds}) == 3


def test_nodes_tried_are_those_of_two_classes_above_the_last_level():
    rng = np.random.default_rng(0)
    people = ordinal_people(rng)
    tree = grow_tree(
        people,
        np.ones(people.cells.shape[1]),
        GrowRules(0.1, "error", max_depth=3, authors_splits=True),
    )
    asked = 0
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        undesired, desired, _ = tree.masses[node]
        asked += bool(undesired and desired and depth < 3)
        if tree.axis[node] >= 0:
            stack += [(tree.left[node], depth + 1), (tree.right[node], depth + 1)]
    assert nodes_tried(tree, 3) == asked > 1
