"""Scores of rows of cells."""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels.boost.tree import AXIS, FIRST, LAST, LEFT, RIGHT, goes_right


@inner
def leaf_of_row(codes, row, nodes, node):
    """The leaf below a node that a row falls into."""
    axis = nodes[node, AXIS]
    while axis >= 0:
        right = goes_right(np.int64(codes[row, axis]), nodes[node, FIRST], nodes[node, LAST])
        node = nodes[node, RIGHT] if right else nodes[node, LEFT]
        axis = nodes[node, AXIS]
    return node


@kernel
def add_values(codes, order, nodes, value, root, scores):
    """Add the values of trees to the scores of some rows.

    codes (rows, axes) unsigned. order (some,) uint32. nodes (nodes, 6) int32 and value (nodes,):
    trees end to end. root (trees,) int32. scores (rows,) float64.
    """
    for t in range(root.shape[0]):
        for k in range(order.shape[0]):
            row = order[k]
            scores[row] += value[leaf_of_row(codes, row, nodes, root[t])]
