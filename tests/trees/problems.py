"""Random people on few cells, trees grown on them, and the leaves they attain by enumeration."""

import itertools
from types import SimpleNamespace

import numpy as np

from ract.trees.grower import GrowRules, People, grow_tree


def random_people(rng, n):
    """People on a few axes of few cells, some of them categorical, with reach of all kinds."""
    n_cells = rng.integers(2, 6, int(rng.integers(1, 5)))
    cells = np.stack([rng.integers(0, c, n) for c in n_cells])
    lowest, highest = cells.copy(), cells.copy()
    can_enter = []
    for a, c in enumerate(n_cells):
        if rng.random() < 0.4:
            can_enter.append((rng.random((c, c)) < rng.choice([0.2, 0.6])) | np.eye(c, dtype=bool))
            continue
        can_enter.append(None)
        lowest[a] = np.maximum(cells[a] - rng.integers(0, 3, n) * (rng.random() < 0.5), 0)
        highest[a] = np.minimum(cells[a] + rng.integers(0, 3, n) * (rng.random() < 0.5), c - 1)
    desired = rng.random(n) < 0.25 + 0.5 * cells[0] / n_cells[0]
    small = [array.astype(np.uint8) for array in (cells, lowest, highest, desired)]
    return People(*small[:3], n_cells.astype(np.int64), tuple(can_enter), small[3])


def random_weights(rng, n, kind):
    if kind == "ones":
        return np.ones(n)
    if kind == "counts":
        return np.append(rng.poisson(1.0, n - 1), 1).astype(float)
    return rng.exponential(size=n)


def random_problem(seed, kind="counts", n=40, recourse_weight=0.0):
    rng = np.random.default_rng(seed)
    people = random_people(rng, n)
    weights = random_weights(rng, n, kind)
    rules = GrowRules(recourse_weight, max_depth=int(rng.integers(1, 6)), min_samples_leaf=2)
    return SimpleNamespace(
        people=people, weights=weights, tree=grow_tree(people, weights, rules), rng=rng
    )


def leaf_of(tree, people, point):
    node = 0
    while tree.axis[node] >= 0:
        axis, cell = tree.axis[node], tree.cell[node]
        categorical = people.can_enter[axis] is not None
        right = point[axis] == cell if categorical else point[axis] > cell
        node = tree.right[node] if right else tree.left[node]
    return int(node)


def leaves_by_enumeration(tree, people):
    """For each person, the leaf of every point that they can attain."""
    attained = []
    for i in range(people.cells.shape[1]):
        options = []
        for a, table in enumerate(people.can_enter):
            if table is None:
                options.append(range(people.lowest[a, i], people.highest[a, i] + 1))
            else:
                options.append(np.flatnonzero(table[people.cells[a, i]]))
        attained.append({leaf_of(tree, people, point) for point in itertools.product(*options)})
    return attained
