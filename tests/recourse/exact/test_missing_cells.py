"""The exact search with the cell of people without a value, against every point of cells."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from ract._kernels.search.cell_forest import Forest, PointRule
from ract._utils.status import Status
from ract.recourse.exact.decide import Model, ModelDescent


def random_trees(rng, n_trees, n_cells, categorical, missing, n_labels):
    """Nodes of random trees in cells, as lists, with useless and contradictory splits."""
    names = ("axis", "cell", "left", "right", "parent", "label", "missing_left")
    nodes = {name: [] for name in names}

    def grow(parent, depth):
        node = len(nodes["axis"])
        for name in names:
            nodes[name].append(-1)
        nodes["parent"][node] = parent
        nodes["label"][node] = int(rng.integers(n_labels))
        nodes["missing_left"][node] = int(rng.random() < 0.5)
        if depth < 4 and rng.random() < 0.85:
            a = int(rng.integers(len(n_cells)))
            splits = n_cells[a] if categorical[a] or missing[a] >= 0 else n_cells[a] - 1
            if splits > 0:
                nodes["axis"][node] = a
                nodes["cell"][node] = int(rng.integers(splits - (missing[a] >= 0)))
                nodes["left"][node] = grow(node, depth + 1)
                nodes["right"][node] = grow(node, depth + 1)
        return node

    roots = [grow(-1, 0) for _ in range(n_trees)]
    arrays = {name: np.array(values, np.int32) for name, values in nodes.items()}
    return Forest(root=np.array(roots, np.int32), missing=missing, **arrays)


def leaf_label(forest, root, point, categorical):
    node = root
    while forest.axis[node] >= 0:
        a = forest.axis[node]
        if point[a] == forest.missing[a]:
            left = forest.missing_left[node] == 1
        elif categorical[a]:
            left = point[a] != forest.cell[node]
        else:
            left = point[a] <= forest.cell[node]
        node = forest.left[node] if left else forest.right[node]
    return forest.label[node]


def random_question(rng, by_votes):
    n_axes = int(rng.integers(1, 4))
    categorical = rng.random(n_axes) < 0.25
    n_cells = rng.integers(2, 6, n_axes)
    missing = np.where(~categorical & (rng.random(n_axes) < 0.7), n_cells - 1, -1)
    own, most = np.zeros(n_axes, np.int64), int(n_cells.max())
    costs = np.full((n_axes, most), np.inf)
    for a in range(n_axes):
        n = n_cells[a]
        own[a] = rng.integers(n)
        if missing[a] >= 0 and rng.random() < 0.6:
            own[a] = missing[a]
        if categorical[a]:
            costs[a, :n] = rng.choice([0.1, 0.4, 0.7, np.inf], n)
        elif own[a] == missing[a]:
            low, high = np.sort(rng.integers(0, n - 1, 2))
            if rng.random() < 0.8:
                costs[a, low : high + 1] = rng.choice([0.0, 0.2, 0.5])
        else:
            last = n - 1 if missing[a] < 0 else n - 2
            up, down = np.cumsum(rng.integers(0, 3, (2, n)) / 10, axis=1)
            for k in range(own[a] + 1, last + 1):
                costs[a, k] = up[k - own[a]]
            for k in range(own[a]):
                costs[a, k] = down[own[a] - k]
        costs[a, own[a]] = 0.0
    n_trees, n_labels = int(rng.integers(1, 7)), 2 if by_votes else 5
    forest = random_trees(rng, n_trees, n_cells, categorical, missing, n_labels)
    weight = np.array([0.0, 1.0]) if by_votes else np.sort(rng.integers(-4, 5, 5) / 4)
    total = weight[rng.integers(n_labels, size=n_trees)].sum()
    cutoff = float(max(1, total)) if by_votes else float(total)
    rule = PointRule(weight, np.zeros(0), 0.0, 0.0, False, 1.0, cutoff, True)
    problem = SimpleNamespace(
        stepped=(),
        grid=SimpleNamespace(n_cells=n_cells, axes=range(n_axes)),
        categorical=categorical,
        ensemble=SimpleNamespace(combine="votes" if by_votes else "sum"),
        supplied_axes=lambda own, point: np.zeros(0, int),
    )
    changes = int(rng.choice([n_axes, n_axes, 1, 2]))
    person = ModelDescent(
        Model(problem, forest, rule, (forest, rule)), own, costs, min(changes, n_axes),
        np.zeros(1, np.uint8),
    )  # fmt: skip
    return person


def wanted(person, point):
    forest, rule, categorical = (
        person.model.forest, person.model.rule, person.model.problem.categorical,
    )  # fmt: skip
    labels = [leaf_label(forest, root, point, categorical) for root in forest.root]
    return rule.weight[labels].sum() >= rule.cutoff


def brute_force(person, budget):
    best = np.inf
    for point in product(*(range(n) for n in person.model.problem.grid.n_cells)):
        price = person.costs[np.arange(len(point)), point].max()
        few = (np.array(point) != person.own).sum() <= person.changes
        if price <= budget and few and price < best and wanted(person, np.array(point)):
            best = price
    return best


@pytest.mark.parametrize("by_votes", [True, False])
@pytest.mark.parametrize("block", range(4))
def test_every_point_is_weighed(by_votes, block):
    moved = 0
    for seed in range(250 * block, 250 * (block + 1)):
        rng = np.random.default_rng([seed, by_votes])
        person = random_question(rng, by_votes)
        budget = float(rng.choice([0.0, 0.2, 0.4, 9.0]))
        best = brute_force(person, budget)
        found = person.cheapest(budget, 10**6)
        assert found.status == (Status.NONE if np.isinf(best) else Status.OPTIMAL), seed
        assert found.cost == best, seed
        assert person.attains(budget, 10**6) == (Status.NONE if np.isinf(best) else Status.FOUND)
        if found.point is not None:
            assert wanted(person, found.point), seed
            assert person.costs[np.arange(len(person.own)), found.point].max() == best, seed
            assert (found.point != person.own).sum() <= person.changes
            missing = person.model.forest.missing
            moved += ((found.point != person.own) & (person.own == missing)).any()
    assert moved > 5
