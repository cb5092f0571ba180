"""Leaves that people attain, against every combination of cells in reach."""

import numpy as np
import pytest

from ract.trees import attain
from ract.trees.attain import Attainment
from ract.trees.cover import (
    own_leaves,
)
from tests.trees.problems import leaf_of, leaves_by_enumeration, random_problem


@pytest.mark.parametrize("seed", range(300))
def test_attained_leaves_equal_enumeration_of_every_point(seed, monkeypatch):
    monkeypatch.setattr(attain, "CHUNK", 7)
    problem = random_problem(seed, "floats", n=20)
    tree, people, rng = problem.tree, problem.people, problem.rng
    attained, attainment = leaves_by_enumeration(tree, people), Attainment(tree, people)
    who = rng.permutation(20)[: rng.integers(1, 20)]
    seen = []
    for part, start, leaves in attainment.leaves(who):
        for k, person in enumerate(part):
            own = leaves[start[k] : start[k + 1]].tolist()
            assert len(own) == len(set(own)) and set(own) == attained[person]
            seen.append(person)
    assert seen == list(who)
    for leaf in tree.leaves:
        np.testing.assert_array_equal(
            attainment.who_attains(leaf, who), [leaf in attained[i] for i in who]
        )
    labels = rng.integers(0, 2, len(tree.axis)).astype(np.uint8)
    expected = [sum(labels[leaf] for leaf in attained[i]) for i in range(20)]
    np.testing.assert_array_equal(attainment.desired_reached(labels), expected)
    np.testing.assert_array_equal(
        own_leaves(tree, people), [leaf_of(tree, people, people.cells[:, i]) for i in range(20)]
    )


@pytest.mark.parametrize("seed", range(60))
def test_growing_covers_those_who_attain_a_desired_leaf(seed):
    problem = random_problem(seed, "counts", recourse_weight=0.3)
    reached = Attainment(problem.tree, problem.people).desired_reached(problem.tree.label)
    grown_on = problem.weights > 0
    np.testing.assert_array_equal(problem.tree.covered[grown_on], reached[grown_on] > 0)
