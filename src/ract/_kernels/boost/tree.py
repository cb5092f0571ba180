"""Growing one tree: the leaf that gains most is split next.

A node's rows are a part of order. Splitting it moves the rows of the left side to the front and
keeps their order, so that memory is read forwards:

    order   | other nodes |  left side  |  right side  | other nodes |
                          first         middle         last

Only the smaller side is summed anew; the larger one is what is left of the sums of the node, in
whose place it stands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner, making, making_kernel
from ract._kernels.boost.histogram import CURVATURE, PEOPLE, SLOPE, fill, subtract
from ract._kernels.boost.split import best_split, is_better, value_of

# Columns of nodes: axis (-1: leaf), first and last cell of the right side, children, and whether
# people without a value go left.
AXIS, FIRST, LAST, LEFT, RIGHT, MISSING_LEFT = 0, 1, 2, 3, 4, 5


class Growing(NamedTuple):
    """What is known of the nodes of a growing tree, and memory to work in.

    rows (nodes, 3) int64: first and last of order, depth. slot (nodes,) int64: where its sums are.
    totals (nodes, 3) float64: slope, curvature, people. bounds (nodes, 2) float64: of its value.
    gain (nodes,) float64: of its best split, 0 for none. open (nodes,) int64: leaves that have one.
    spare (rows,) uint32. axes (axes,) int64. state (1,) uint64: of the generator.
    """

    rows: Any
    slot: Any
    totals: Any
    bounds: Any
    gain: Any
    open: Any
    spare: Any
    axes: Any
    state: Any


@inner
def goes_right(cell, first, last):
    """Whether a cell is in the interval of the right side."""
    return first <= cell and cell <= last


@inner
def part(codes, order, spare, first, last, axis, low, high):
    """Move the rows of the left side to the front of order[first:last]; returns where it ends."""
    middle, n_right = first, 0
    for q in range(first, last):
        row = order[q]
        right = goes_right(np.int64(codes[row, axis]), low, high)
        order[middle] = row
        spare[n_right] = row
        middle += 0 if right else 1
        n_right += 1 if right else 0
    for k in range(n_right):
        order[middle + k] = spare[k]
    return middle


@inner
def total_of(order, first, last, slopes, totals, node):
    """Slope, curvature and people of a node's rows."""
    slope, curvature, people = 0.0, 0.0, 0.0
    for q in range(first, last):
        row = order[q]
        slope += slopes[row, SLOPE]
        curvature += slopes[row, CURVATURE]
        people += slopes[row, PEOPLE]
    totals[node, 0], totals[node, 1], totals[node, 2] = slope, curvature, people


@making
def more_slots(pool):
    """Twice as many slots."""
    grown = np.empty((2 * pool.shape[0], pool.shape[1], pool.shape[2]))
    grown[: pool.shape[0]] = pool
    return grown


@inner
def look_for_split(node, pool, layout, rules, growing, nodes):
    """Find the best split of a leaf; returns whether there is one."""
    totals, bounds = growing.totals, growing.bounds
    gain, axis, first, last, missing_left = best_split(
        pool[growing.slot[node]], (totals[node, 0], totals[node, 1], totals[node, 2]),
        (bounds[node, 0], bounds[node, 1]), layout, rules, growing.axes, growing.state,
    )  # fmt: skip
    growing.gain[node] = gain
    # Kept where the split will be; AXIS stays -1 while the node is a leaf.
    nodes[node, FIRST], nodes[node, LAST] = first, last
    nodes[node, LEFT], nodes[node, MISSING_LEFT] = axis, missing_left
    return gain > 0.0


@inner
def next_leaf(growing, n_open, newest_first):
    """Take the leaf to split next from the open ones."""
    at = n_open - 1 if newest_first else 0
    for k in range(at + 1, n_open):
        if is_better(growing.gain[growing.open[k]], growing.gain[growing.open[at]]):
            at = k
    node = growing.open[at]
    for k in range(at, n_open - 1):  # in the order in which they came
        growing.open[k] = growing.open[k + 1]
    return node


@inner
def set_bounds(left, right, node, direction, growing, l2):
    """Bounds of the values below both sides: the middle of both where the axis has a direction."""
    bounds, totals = growing.bounds, growing.totals
    lower, upper = bounds[node, 0], bounds[node, 1]
    for side in (left, right):
        bounds[side, 0], bounds[side, 1] = lower, upper
    if direction != 0:
        one = value_of(totals[left, 0], totals[left, 1], l2, lower, upper)
        other = value_of(totals[right, 0], totals[right, 1], l2, lower, upper)
        middle = (one + other) / 2.0
        low, high = (left, right) if direction > 0 else (right, left)
        bounds[low, 1] = bounds[high, 0] = middle


@inner
def may_split(node, growing, rules):
    """Whether a leaf is large and high enough to be split."""
    enough = growing.totals[node, 2] >= 2 * rules.min_leaf
    return enough and growing.rows[node, 2] < rules.max_depth


@making_kernel
def grow(codes, order, slopes, layout, rules, growing, pool, nodes, value, scores):
    """Grow a tree on the rows in order, and add its values to their scores.

    codes (rows, axes) unsigned. order (some,) uint32, reordered. slopes (rows, 4). pool (slots,
    cells, 4) float64. nodes (nodes, 6) int32 and value (nodes,) float64: results, with room for
    every node. scores (rows,) float64. Returns the number of nodes.
    """
    rows, slot, totals, bounds = growing.rows, growing.slot, growing.totals, growing.bounds
    free, n_free = np.arange(pool.shape[0]), pool.shape[0] - 1
    rows[0, 0], rows[0, 1], rows[0, 2] = 0, order.shape[0], 0
    bounds[0, 0], bounds[0, 1] = -np.inf, np.inf
    total_of(order, 0, order.shape[0], slopes, totals, 0)
    slot[0] = free[n_free]
    nodes[0, AXIS] = -1
    n_nodes, n_leaves, n_open = 1, 1, 0
    if rules.max_leaves > 1 and may_split(0, growing, rules):
        fill(codes, layout.starts, order, 0, order.shape[0], slopes, pool[slot[0]])
        if look_for_split(0, pool, layout, rules, growing, nodes):
            growing.open[0], n_open = 0, 1
    while n_open > 0 and n_leaves < rules.max_leaves:
        node = next_leaf(growing, n_open, rules.newest_first)
        n_open -= 1
        axis = nodes[node, LEFT]
        first, last = rows[node, 0], rows[node, 1]
        middle = part(
            codes, order, growing.spare, first, last, axis, nodes[node, FIRST], nodes[node, LAST]
        )
        left, right = n_nodes, n_nodes + 1
        n_nodes, n_leaves = n_nodes + 2, n_leaves + 1
        nodes[node, AXIS], nodes[node, LEFT], nodes[node, RIGHT] = axis, left, right
        nodes[left, AXIS] = nodes[right, AXIS] = -1
        rows[left, 0], rows[left, 1], rows[right, 0], rows[right, 1] = first, middle, middle, last
        rows[left, 2] = rows[right, 2] = rows[node, 2] + 1
        small, large = (left, right) if middle - first <= last - middle else (right, left)
        total_of(order, rows[small, 0], rows[small, 1], slopes, totals, small)
        for k in range(3):
            totals[large, k] = totals[node, k] - totals[small, k]
        if nodes[node, MISSING_LEFT] < 0:
            nodes[node, MISSING_LEFT] = 1 if totals[left, 2] >= totals[right, 2] else 0
        alone = nodes[node, FIRST] == layout.missing[axis]
        set_bounds(left, right, node, 0 if alone else layout.directions[axis], growing, rules.l2)
        slot[large] = slot[node]
        wanted = n_leaves < rules.max_leaves
        small_too = wanted and may_split(small, growing, rules)
        large_too = wanted and may_split(large, growing, rules)
        if small_too or large_too:
            if n_free == 0:
                n_free = pool.shape[0]
                pool = more_slots(pool)
                free = np.arange(n_free, n_free + pool.shape[0])  # the first half are new
            n_free -= 1
            slot[small] = free[n_free]
            fill(codes, layout.starts, order, rows[small, 0], rows[small, 1], slopes,
                 pool[slot[small]])  # fmt: skip
            if large_too:
                subtract(pool[slot[large]], pool[slot[small]])
        left_too, right_too = (small_too, large_too) if small == left else (large_too, small_too)
        for side, asked in ((left, left_too), (right, right_too)):
            if asked and look_for_split(side, pool, layout, rules, growing, nodes):
                growing.open[n_open] = side
                n_open += 1
            elif side == large or small_too or large_too:
                free[n_free] = slot[side]
                n_free += 1
    for node in range(n_nodes):
        if nodes[node, AXIS] >= 0:
            value[node] = 0.0
            continue
        value[node] = rules.learning_rate * value_of(
            totals[node, 0], totals[node, 1], rules.l2, bounds[node, 0], bounds[node, 1]
        )
        for q in range(rows[node, 0], rows[node, 1]):
            scores[order[q]] += value[node]
    return n_nodes
