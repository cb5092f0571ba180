"""Looking along one axis at a time for the best point within reach.

All that a score does along an axis is read off the trees that split on it: each is walked once,
with the interval of cells that may still be meant, and every leaf that is reached adds its value
to the interval that is left:

    cells of the axis     0   1   2   3   4   5
    one tree             |   .3   |     -.1     |
    another              | .0 |      .2     | .4 |
    their sum              .3  .5  .1  .1  .1  .3      the best of those in reach: cell 1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making_kernel
from ract._kernels.boost.tree import AXIS, FIRST, LAST, LEFT, RIGHT, goes_right
from ract._kernels.boost.walk import leaf_of_row

# Sums in another order differ by rounding; scores closer than this are alike.
ALIKE = 1e-9


class Trees(NamedTuple):
    """Trees end to end, and which of them split on an axis.

    nodes (nodes, 6) int32, value (nodes,) float64, root (trees,) int32. users int32, starts (axes +
    1,) int64: users[starts[axis]:starts[axis + 1]] split on an axis.
    """

    nodes: np.ndarray
    value: np.ndarray
    root: np.ndarray
    users: np.ndarray
    starts: np.ndarray


class RowReach(NamedTuple):
    """What rows attain.

    own, lowest, highest (rows, axes) unsigned: own cell, and the ordered cells that are in reach.
    layout (axes, 2) int64: number of cells, and where the table of a categorical axis starts in
    can_enter, or -1. can_enter (entries,) bool: from a category (row) to another (column).
    """

    own: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    layout: np.ndarray
    can_enter: np.ndarray


@inner
def add_line(codes, row, axis, low, high, trees, tree, steps, stack):
    """Add what a tree does along an axis between two cells to steps: differences of its values."""
    nodes = trees.nodes
    stack[0, 0], stack[0, 1], stack[0, 2] = trees.root[tree], low, high
    top = 1
    while top > 0:
        top -= 1
        node, a, b = stack[top, 0], stack[top, 1], stack[top, 2]
        while nodes[node, AXIS] >= 0:
            split = nodes[node, AXIS]
            first, last = np.int64(nodes[node, FIRST]), np.int64(nodes[node, LAST])
            if split != axis:
                right = goes_right(np.int64(codes[row, split]), first, last)
                node = np.int64(nodes[node, RIGHT] if right else nodes[node, LEFT])
                continue
            left = np.int64(nodes[node, LEFT])
            if b < first or a > last:
                node = left
                continue
            # What is left of the interval, what is right of it, and what is in it, goes on.
            if last < b:
                stack[top, 0], stack[top, 1], stack[top, 2] = left, last + 1, b
                top += 1
            if a < first:
                stack[top, 0], stack[top, 1], stack[top, 2] = left, a, first - 1
                top += 1
            node, a, b = np.int64(nodes[node, RIGHT]), max(a, first), min(b, last)
        steps[a - low] += trees.value[node]
        steps[b + 1 - low] -= trees.value[node]


@inner
def may_go(cell, row, axis, reach):
    """Whether a cell of an axis is in a row's reach."""
    n_cells, table = reach.layout[axis, 0], reach.layout[axis, 1]
    own = np.int64(reach.own[row, axis])
    if table >= 0:
        return reach.can_enter[table + own * n_cells + cell]
    return cell == own or (reach.lowest[row, axis] <= cell and cell <= reach.highest[row, axis])


@inner
def best_on_line(codes, row, axis, reach, trees, steps, stack):
    """The best cell of an axis within reach, and how much it gains on the present one.

    Of cells that are alike the present one is kept, else the one nearest to the own one is taken.
    """
    own, here = np.int64(reach.own[row, axis]), np.int64(codes[row, axis])
    if reach.layout[axis, 1] >= 0:
        low, high = np.int64(0), reach.layout[axis, 0] - 1
    else:
        low = min(np.int64(reach.lowest[row, axis]), own)
        high = max(np.int64(reach.highest[row, axis]), own)
    if low == high:
        return here, 0.0
    for k in range(high - low + 2):
        steps[k] = 0.0
    for u in range(trees.starts[axis], trees.starts[axis + 1]):
        add_line(codes, row, axis, low, high, trees, trees.users[u], steps, stack)
    for k in range(1, high - low + 1):
        steps[k] += steps[k - 1]
    now, best, at = steps[here - low], steps[here - low], here
    for cell in range(low, high + 1):
        score = steps[cell - low]
        better = score > best + ALIKE
        nearer = score > best - ALIKE and at != here and abs(cell - own) < abs(at - own)
        if (better or nearer) and may_go(cell, row, axis, reach):
            best, at = score, np.int64(cell)
    return at, best - now


@making_kernel
def gains_to_ends(codes, order, axis, reach, trees):
    """How much some rows gain by going from the lowest to the highest cell of an axis, in all.

    Only trees that split on the axis are asked, all else equal. codes is used and restored.
    """
    gain = 0.0
    for q in range(order.shape[0]):
        row = order[q]
        here = codes[row, axis]
        for u in range(trees.starts[axis], trees.starts[axis + 1]):
            root = trees.root[trees.users[u]]
            codes[row, axis] = reach.highest[row, axis]
            gain += trees.value[leaf_of_row(codes, row, trees.nodes, root)]
            codes[row, axis] = reach.lowest[row, axis]
            gain -= trees.value[leaf_of_row(codes, row, trees.nodes, root)]
        codes[row, axis] = here
    return gain


@making_kernel
def ascend(codes, order, axes, reach, trees, enough, n_sweeps, scores):
    """Move some rows to better points within reach, one axis after the other.

    codes (rows, axes) unsigned: where they are, in place. order (some,) uint32. axes (some,) int64:
    those that may change, in the order of search. enough: a score at which a row stays. n_sweeps:
    how often all axes are searched at most. scores (rows,) float64, kept up to date.
    A row stays once no axis in turn has moved it.
    """
    most, n_trees = 2, trees.root.shape[0]
    for axis in range(reach.layout.shape[0]):
        most = max(most, reach.layout[axis, 0] + 2)
    deepest = 2
    for t in range(n_trees):
        last = trees.nodes.shape[0] if t == n_trees - 1 else trees.root[t + 1]
        deepest = max(deepest, last - trees.root[t] + 2)
    steps, stack = np.zeros(most), np.zeros((deepest, 3), np.int64)
    for q in range(order.shape[0]):
        row, settled = order[q], 0
        for k in range(n_sweeps * axes.shape[0]):
            if settled == axes.shape[0] or scores[row] >= enough:
                break
            axis = axes[k % axes.shape[0]]
            settled += 1
            if trees.starts[axis] == trees.starts[axis + 1]:
                continue
            cell, gain = best_on_line(codes, row, axis, reach, trees, steps, stack)
            if gain > 0.0 and cell != np.int64(codes[row, axis]):
                codes[row, axis] = cell
                scores[row] += gain
                settled = 1
