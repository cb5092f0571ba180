"""Scores of rows of cells."""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels.boost.tree import AXIS, FIRST, LAST, LEFT, RIGHT, goes_right


@inner
def below(codes, row, nodes, node):
    """The child of a node that a row goes to; a leaf has none and is its own."""
    axis = nodes[node, AXIS]
    if axis < 0:
        return node
    right = goes_right(np.int64(codes[row, axis]), nodes[node, FIRST], nodes[node, LAST])
    return np.int64(nodes[node, RIGHT] if right else nodes[node, LEFT])


@inner
def leaf_of_row(codes, row, nodes, node):
    """The leaf below a node that a row falls into."""
    node = np.int64(node)
    while nodes[node, AXIS] >= 0:
        node = below(codes, row, nodes, node)
    return node


@kernel
def add_values(codes, order, nodes, value, root, scores):
    """Add the values of trees to the scores of some rows.

    codes (rows, axes) unsigned. order (some,) uint32, each row once. nodes (nodes, 6) int32 and
    value (nodes,): trees end to end. root (trees,) int32. scores (rows,) float64.
    """
    together = order.shape[0] - order.shape[0] % 4
    for t in range(root.shape[0]):
        start = np.int64(root[t])
        # Four rows at a time, as no step waits for another row's: in three fifths of the time.
        for k in range(0, together, 4):
            i, j, m, n = order[k], order[k + 1], order[k + 2], order[k + 3]
            a = b = c = d = start
            moves = True
            while moves:
                e, f = below(codes, i, nodes, a), below(codes, j, nodes, b)
                g, h = below(codes, m, nodes, c), below(codes, n, nodes, d)
                moves = (e != a) | (f != b) | (g != c) | (h != d)
                a, b, c, d = e, f, g, h
            scores[i] += value[a]
            scores[j] += value[b]
            scores[m] += value[c]
            scores[n] += value[d]
        for k in range(together, order.shape[0]):
            row = order[k]
            scores[row] += value[leaf_of_row(codes, row, nodes, start)]
