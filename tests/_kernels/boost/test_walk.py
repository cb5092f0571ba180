import numpy as np

from ract._kernels.boost.walk import add_values, leaf_of_row
from tests._kernels.boost.builders import random_trees
from tests._kernels.plain import plain


def leaf_at(nodes, node, cells):
    """The leaf of a row, by recursion."""
    axis, first, last, left, right = nodes[node, :5]
    if axis < 0:
        return node
    return leaf_at(nodes, right if first <= cells[axis] <= last else left, cells)


def test_scores_are_the_sums_of_the_leaves_that_rows_fall_into(rng):
    nodes, value, root = random_trees(rng, 5)
    codes, order = rng.integers(0, 5, (20, 3)).astype(np.uint8), np.arange(3, 17).astype(np.uint32)
    scores, known = np.zeros(20), np.zeros(20)
    for row in order:
        leaves = [leaf_at(nodes, r, codes[row]) for r in root]
        assert [plain(leaf_of_row)(codes, row, nodes, r) for r in root] == leaves
        known[row] = value[leaves].sum()
    add_values(codes, order, nodes, value, root, scores)
    np.testing.assert_allclose(scores, known)
