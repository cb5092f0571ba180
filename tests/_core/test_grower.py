"""The grower against the objective's definition, at every node, on hundreds of small tables."""

import numpy as np
import pytest

from ract._core.grower import People, Rules, grow_tree
from tests.builders import random_people
from tests.naive import NaiveObjective, entropy_mass, gini_mass


def random_directions(rng, people):
    """1 or -1 for some axes; categories have none."""
    return tuple(0 if table is not None else int(rng.integers(-1, 2)) for table in people.can_enter)


def candidates(people, oracle, leaf, rules):
    """Every split that may compete, in the order of the tie rule."""
    members, criterion = oracle.members(leaf), rules.criterion

    def enough(left):
        weight = oracle.weights[members]
        sides = [weight[left], weight[~left]]
        return all(
            len(side) >= rules.min_samples_leaf and side.sum() >= rules.min_weight_leaf
            for side in sides
        )

    for axis, n_cells in enumerate(people.n_cells):
        values = oracle.cells[axis][members]
        if oracle.categorical[axis]:
            for cell in range(n_cells):
                admitted = all(
                    a != axis or (cell == c if right else cell != c) for a, c, right in leaf
                )
                if admitted if criterion == "error" else enough(values != cell):
                    yield axis, cell
        elif criterion == "error":
            for cell in range(n_cells - 2 if n_cells > 2 else n_cells - 1):
                yield axis, cell
        else:
            for cell in range(n_cells - 1):
                if enough(values <= cell):
                    yield axis, cell


def check_against_definition(people, weights, rules):
    """Replay the growth depth first, left first, asking the oracle at every node."""
    tree = grow_tree(people, weights, rules, seed=3)
    oracle = NaiveObjective(people, weights, rules.recourse_weight)
    directions = rules.monotonic or (0,) * len(people.n_cells)
    finished, pending = [], [(0, [], 0, None)]
    while pending:
        node, leaf, depth, frozen = pending.pop()
        label = int(tree.label[node])
        assert frozen in (None, label)
        others = finished + [(path, int(tree.label[k])) for k, path, *_ in pending]
        members = oracle.members(leaf)
        pos = sum(weights[i] for i in members if people.desired[i])
        neg = sum(weights[i] for i in members) - pos
        np.testing.assert_allclose(tree.masses[node], [neg, pos, len(members)])
        stops = (
            pos == 0
            or neg == 0
            or len(members) < rules.min_samples_split
            or (rules.max_depth is not None and depth >= rules.max_depth)
        )
        offers = []
        if not stops:
            for axis, cell in candidates(people, oracle, leaf, rules):
                pairs = oracle.monotone_pairs(leaf, axis, cell, directions[axis], frozen)
                if not pairs:
                    continue
                labels, value = oracle.best_labels(others, leaf, axis, cell, pairs)
                if rules.criterion != "error":
                    value = oracle.split_value(others, leaf, axis, cell, labels, rules.criterion)
                offers.append((value, axis, cell, labels))
        axis, cell = int(tree.axis[node]), int(tree.cell[node])
        if axis >= 0:
            left, right = int(tree.left[node]), int(tree.right[node])
            labels = (int(tree.label[left]), int(tree.label[right]))
            chosen = oracle.split_value(others, leaf, axis, cell, labels, rules.criterion)
            assert chosen == pytest.approx(min(offers)[0], abs=1e-9)
            if rules.criterion == "error":
                first = next(o for o in offers if o[0] <= min(offers)[0] + 1e-12)
                assert (axis, cell, labels) == first[1:]
            kept_l, kept_r = oracle.freezes(leaf, axis, cell, directions[axis], frozen)
            pending.append((right, [*leaf, (axis, cell, True)], depth + 1, kept_r))
            pending.append((left, [*leaf, (axis, cell, False)], depth + 1, kept_l))
        else:
            if rules.criterion == "error" and offers:
                # The first of the best leaves a side with too few people.
                first = next(o for o in offers if o[0] <= min(offers)[0] + 1e-12)
                sides = [oracle.members([*leaf, (first[1], first[2], r)]) for r in (False, True)]
                light = min(weights[side].sum() for side in sides)
                few = min(map(len, sides)) < rules.min_samples_leaf
                assert few or light < rules.min_weight_leaf
            else:
                assert stops or not offers
            finished.append((leaf, label))
    return tree, oracle, finished


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("seed", range(160))
def test_every_node_has_the_least_objective(criterion, seed):
    rng = np.random.default_rng([seed, len(criterion)])
    people = random_people(rng)
    n = people.cells.shape[1]
    # Weights and recourse weights are binary fractions, so that equal objectives are equal.
    weights = (
        rng.choice([1.0, 0.5, 2.0, 0.0], n, p=[0.7, 0.1, 0.1, 0.1]) if seed % 2 else np.ones(n)
    )
    if not (weights > 0).any():
        weights[0] = 1.0
    rules = Rules(
        recourse_weight=float(rng.choice([0.0, 0.25, 0.5, 1.0, 4.0])),
        criterion=criterion,
        max_depth=int(rng.integers(1, 5)) if seed % 3 else None,
        min_samples_split=int(rng.choice([2, 3])),
        min_samples_leaf=int(rng.choice([1, 1, 2])),
        min_weight_leaf=float(rng.choice([0.0, 0.0, 1.5])),
        monotonic=random_directions(rng, people) if seed % 4 == 0 else (),
    )
    tree, oracle, finished = check_against_definition(people, weights, rules)
    if rules.recourse_weight > 0:
        for i in oracle.people:
            has_recourse = any(label and oracle.attains(i, leaf) for leaf, label in finished)
            assert tree.covered[i] == has_recourse


def test_the_root_label_weighs_recourse_against_error():
    cells = np.zeros((1, 4), np.uint8)
    people = People(cells, cells, cells, np.array([1]), (None,), np.array([1, 0, 0, 0], np.uint8))
    for weight, label in ((0.0, 0), (0.25, 0), (0.5, 1), (1.0, 1)):
        assert grow_tree(people, np.ones(4), Rules(weight)).label[0] == label


def test_feature_sampling_depends_only_on_the_seed(rng):
    cells = rng.integers(0, 30, (8, 300)).astype(np.uint8)
    desired = rng.integers(0, 2, 300).astype(np.uint8)
    people = People(cells, cells, cells, np.full(8, 30), (None,) * 8, desired)
    trees = [grow_tree(people, np.ones(300), Rules(0.0, max_features=2), s) for s in (1, 1, 2)]
    np.testing.assert_array_equal(trees[0].axis, trees[1].axis)
    assert not np.array_equal(trees[0].axis[:20], trees[2].axis[:20])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_impurity_must_decrease_by_as_much_as_asked(criterion, rng):
    cells = rng.integers(0, 9, (3, 200)).astype(np.uint8)
    desired = (cells[0] + rng.integers(0, 6, 200) > 6).astype(np.uint8)
    people = People(cells, cells, cells, np.full(3, 9), (None,) * 3, desired)
    whole = grow_tree(people, np.ones(200), Rules(0.0, criterion))
    least = 0.01
    part = grow_tree(people, np.ones(200), Rules(0.0, criterion, min_impurity_decrease=least))
    assert 1 < len(part.leaves) < len(whole.leaves)
    mass = gini_mass if criterion == "gini" else entropy_mass
    for node in np.flatnonzero(part.axis >= 0):
        children = [part.left[node], part.right[node]]
        parts = [mass(part.masses[k, 1], part.masses[k, 0]) for k in (node, *children)]
        assert (parts[0] - parts[1] - parts[2]) / 200 >= least


def test_wide_cells_grow_the_same_tree(rng):
    cells = rng.integers(0, 200, (4, 500))
    desired = rng.integers(0, 2, 500).astype(np.uint8)
    trees = []
    for dtype in (np.uint8, np.uint16):
        c = cells.astype(dtype)
        people = People(c, c, c, np.full(4, 200), (None,) * 4, desired)
        trees.append(grow_tree(people, np.ones(500), Rules(0.5)))
    np.testing.assert_array_equal(trees[0].cell, trees[1].cell)
