import itertools

import numpy as np
import pytest

from ract._kernels.grow import attain
from ract._kernels.grow.attain import Reaches, Tree
from tests._kernels.plain import plain

N_CELLS = np.array([4, 3, 4])  # ordinal, categorical, and ordinal whose cell 3 is that of missing
MISSING = np.array([-1, -1, 3])


def random_tree(rng):
    """A tree in which both sides of every split have cells, as in grown ones."""
    nodes, free = [[-1, 0, -1, -1, 0]], [[list(range(3 + (a == 0))) for a in range(3)]]
    for _ in range(5):
        leaf, axis = int(rng.choice([k for k, n in enumerate(nodes) if n[0] < 0])), rng.integers(3)
        cells = free[leaf][axis]
        if len(cells) < 2:
            continue
        cell = int(rng.choice(cells if axis == 1 else cells[:-1]))
        nodes[leaf] = [int(axis), cell, len(nodes), len(nodes) + 1, int(rng.integers(2))]
        for left in (True, False):
            side = [c for c in cells if ((c != cell) if axis == 1 else (c <= cell)) == left]
            free.append([side if a == axis else free[leaf][a] for a in range(3)])
            nodes.append([-1, 0, -1, -1, 0])
    return Tree(*np.array(nodes).T)


def leaf_at(tree, point):
    node = 0
    while tree.axis[node] >= 0:
        axis, cell = tree.axis[node], tree.cell[node]
        left = point[axis] != cell if axis == 1 else point[axis] <= cell
        if point[axis] == MISSING[axis]:
            left = tree.missing_left[node] == 1
        node = tree.left[node] if left else tree.right[node]
    return node


@pytest.mark.parametrize("seed", range(20))
def test_leaves_are_those_of_every_point_in_reach(seed):
    rng, n = np.random.default_rng(seed), 6
    tree, can_enter = random_tree(rng), (rng.random((3, 3)) < 0.5) | np.eye(3, dtype=bool)
    cells = np.array([rng.integers(0, k, n) for k in N_CELLS])
    lowest, highest = cells.copy(), cells.copy()
    for a, last in ((0, 3), (2, 2)):
        known = cells[a] <= last
        lowest[a] = np.where(known, rng.integers(0, np.minimum(cells[a], last) + 1), 0)
        highest[a] = np.where(known, rng.integers(np.minimum(cells[a], last), last + 1), 1)
    reaches = Reaches(
        cells, lowest, highest, N_CELLS, np.array([-1, 0, -1]), np.array([-1, 0, -1]),
        can_enter.ravel(), MISSING, np.array([-1, -1, 0]),
    )  # fmt: skip
    start, leaves = plain(attain.leaves_attained)(tree, reaches, np.arange(n), 6, 3, 1)
    for i in range(n):
        free = [range(lo, hi + 1) for lo, hi in zip(lowest[:, i], highest[:, i], strict=True)]
        third = [*free[2], 3] if cells[2, i] == 3 else free[2]
        points = itertools.product(free[0], np.flatnonzero(can_enter[cells[1, i]]), third)
        known = {leaf_at(tree, point) for point in points}
        assert set(leaves[start[i] : start[i + 1]].tolist()) == known
