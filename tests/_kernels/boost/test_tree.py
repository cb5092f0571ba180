import numpy as np
import pytest

from ract._kernels.boost import tree
from ract._kernels.boost.tree import AXIS, FIRST, LAST, NODE, SIDE, Growing
from tests._kernels.plain import plain


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_divided_blocks_join_to_one_stable_division(n_blocks, rng):
    n = 40
    codes, slopes = rng.integers(0, 5, (n, 2)).astype(np.uint8), rng.integers(0, 9, (n, 2))
    order, starts = rng.permutation(n).astype(np.uint32), np.array([0, 5, 10], np.uint64)
    before, nodes = order.copy(), np.zeros((1, 6), np.int32)
    nodes[0, [AXIS, FIRST, LAST]] = 1, 2, 3
    at, spare = np.zeros(6, np.int64), np.zeros(n, np.uint32)
    at[NODE], at[SIDE] = 0, 1
    growing = Growing(at, *([np.zeros(1)] * 7), spare, *([np.zeros(1)] * 2))
    bounds = np.linspace(0, n, n_blocks + 1).astype(np.int64)
    sums, middles = np.zeros((n_blocks, 10, 2), np.int64), []
    for k in range(n_blocks):
        middles.append(
            plain(tree.divide)(
                codes, starts, order, bounds[k], bounds[k + 1], slopes, nodes, growing, sums[k]
            )
        )
    plain(tree.join_blocks)(order, spare, bounds, np.array(middles))
    plain(tree.add_parts)(sums[0], sums[1:])
    right = (codes[before, 1] >= 2) & (codes[before, 1] <= 3)
    assert order.tolist() == [*before[~right].tolist(), *before[right].tolist()]
    for axis, cell in np.ndindex(2, 5):
        here = before[right][codes[before[right], axis] == cell]
        np.testing.assert_array_equal(sums[0][5 * axis + cell], slopes[here].sum(axis=0))


def test_the_values_of_leaves_are_added_to_their_rows():
    order, nodes = np.array([2, 0, 1, 3]), np.array([[0], [-1], [-1]])
    rows, scores = np.array([[0, 4, 0], [0, 3, 1], [3, 4, 1]]), np.zeros(4)
    plain(tree.add_leaf_values)(order, 1, 4, 3, nodes, np.array([9.0, 1.0, 2.0]), rows, scores)
    assert scores.tolist() == [1.0, 1.0, 0.0, 2.0]
