import numpy as np
import pytest

from ract._kernels.boost import lines
from ract._kernels.boost.lines import RowReach, Trees
from ract._kernels.boost.walk import leaf_of_row
from tests._kernels.boost.builders import random_trees
from tests._kernels.plain import plain


def random_case(seed):
    rng = np.random.default_rng(seed)
    nodes, value, root = random_trees(rng, 6)
    users, starts = [], [0]
    for axis in range(3):
        ends = [*root[1:].tolist(), len(nodes)]
        users += [t for t in range(6) if (nodes[root[t] : ends[t], 0] == axis).any()]
        starts.append(len(users))
    trees = Trees(nodes, value, root, np.array(users, np.int32), np.array(starts))
    own = rng.integers(0, 5, (8, 3)).astype(np.uint8)
    lowest, highest = (f(own, rng.integers(0, 5, own.shape)) for f in (np.minimum, np.maximum))
    can_enter = (rng.random((5, 5)) < 0.5) | np.eye(5, dtype=bool)
    layout = np.array([[5, -1], [5, 0], [5, -1]])
    reach = RowReach(own, lowest, highest, layout, can_enter.ravel())
    return trees, reach, can_enter


def score_of(trees, codes, row):
    return sum(
        trees.value[plain(leaf_of_row)(codes, row, trees.nodes, root)] for root in trees.root
    )


def cells_in_reach(reach, can_enter, row, axis):
    if axis == 1:
        return np.flatnonzero(can_enter[reach.own[row, 1]])
    return np.arange(reach.lowest[row, axis], reach.highest[row, axis] + 1)


@pytest.mark.parametrize("seed", range(10))
def test_the_best_cell_of_a_line_is_that_of_all_in_reach(seed):
    trees, reach, can_enter = random_case(seed)
    codes, steps, stack = reach.own.copy(), np.zeros(9), np.zeros((20, 3), np.int64)
    for row, axis in np.ndindex(8, 3):
        now = score_of(trees, codes, row)
        scores = {}
        for cell in cells_in_reach(reach, can_enter, row, axis):
            moved = codes.copy()
            moved[row, axis] = cell
            scores[int(cell)] = score_of(trees, moved, row)
        cell, gain = plain(lines.best_on_line)(codes, row, axis, reach, trees, steps, stack)
        assert gain == pytest.approx(max(scores.values()) - now, abs=1e-8)
        assert scores[int(cell)] == pytest.approx(max(scores.values()), abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_rows_ascend_until_no_axis_gains(seed):
    trees, reach, can_enter = random_case(seed)
    codes, order, axes = reach.own.copy(), np.arange(8).astype(np.uint32), np.arange(3)
    scores = np.array([score_of(trees, codes, row) for row in range(8)])
    before = scores.copy()
    plain(lines.ascend)(codes, order, axes, reach, trees, np.inf, 20, scores)
    assert (scores >= before).all()
    steps, stack = np.zeros(9), np.zeros((20, 3), np.int64)
    for row in range(8):
        assert scores[row] == pytest.approx(score_of(trees, codes, row))
        for axis in range(3):
            assert codes[row, axis] in cells_in_reach(reach, can_enter, row, axis)
            gain = plain(lines.best_on_line)(codes, row, axis, reach, trees, steps, stack)[1]
            assert gain == pytest.approx(0.0, abs=1e-8)


def test_gains_are_from_the_lowest_to_the_highest_cell():
    trees, reach, _ = random_case(3)
    codes, order = reach.own.copy(), np.arange(8).astype(np.uint32)
    low, high = codes.copy(), codes.copy()
    low[:, 0], high[:, 0] = reach.lowest[:, 0], reach.highest[:, 0]
    known = sum(score_of(trees, high, row) - score_of(trees, low, row) for row in range(8))
    assert plain(lines.gains_to_ends)(codes, order, 0, reach, trees) == pytest.approx(known)
    np.testing.assert_array_equal(codes, reach.own)
