"""Growing one tree: the leaf that gains most is split next.

A node's rows are a part of order. Dividing it moves the rows of the left side to the front and
keeps their order, so that memory is read forwards. Many rows are divided in blocks, by several
threads, and the sides of the blocks are then joined:

    order   | other nodes | left right  | left right  | left right  | other nodes |
                          | left left left     | right right right  |
                          first                middle               last

Only the smaller side is summed anew; the larger one is what is left of the sums of the node, in
whose place it stands. Which one is smaller is known from the sums before any row is moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels.boost.histogram import (
    CHUNK,
    CURVATURE,
    PEOPLE,
    ROWS,
    SLOPE,
    add,
    amount,
    clear,
    count,
    fill,
)
from ract._kernels.boost.split import best_split, is_better, leaf_value

# Columns of nodes: axis (-1: leaf), first and last cell of the right side, children, and whether
# people without a value go left.
AXIS, FIRST, LAST, LEFT, RIGHT, MISSING_LEFT = 0, 1, 2, 3, 4, 5
# Where a growing tree stands: how many nodes, leaves, open leaves and free slots it has, the node
# that is being divided (-1: none), and the side of it that is summed (0 left, 1 right, -1 none).
N_NODES, N_LEAVES, N_OPEN, N_FREE, NODE, SIDE = 0, 1, 2, 3, 4, 5
# Why a tree stopped growing: it is done, the rows of a node are to be divided, slots are used up.
DONE, MANY_ROWS, NO_SLOT = 0, 1, 2


class Growing(NamedTuple):
    """What is known of the nodes of a growing tree, and memory to work in.

    at (6,) int64: where it stands. rows (nodes, 2) int64: first and last of order. slot
    (nodes,) int64: where its sums are. totals (nodes, 2) int64: its words. bounds (nodes, 2)
    float64: of its value. gain (nodes,) float64: of its best split, 0 for none. open (nodes,)
    int64: leaves that have one. free (slots,) int64. spare (rows,) uint32. axes (axes,) int64.
    state (1,) uint64: of the generator.
    """

    at: np.ndarray
    rows: np.ndarray
    slot: np.ndarray
    totals: np.ndarray
    bounds: np.ndarray
    gain: np.ndarray
    open: np.ndarray
    free: np.ndarray
    spare: np.ndarray
    axes: np.ndarray
    state: np.ndarray


@inner
def goes_right(cell, first, last):
    """Whether a cell is in the interval of the right side."""
    return first <= cell and cell <= last


@kernel
def divide(codes, starts, order, first, last, slopes, nodes, growing, sums):
    """Divide rows of the node that is being divided, and sum the slopes of one side.

    Of order[first:last], the left side comes to the front and the right side to spare[first:].
    sums (cells, 2) int64: of the side that is asked for. Returns where the left side ends.
    """
    node, side, spare = growing.at[NODE], growing.at[SIDE], growing.spare
    axis, low, high = nodes[node, AXIS], np.int64(nodes[node, FIRST]), np.int64(nodes[node, LAST])
    if side >= 0:
        clear(sums)
    middle, end = first, first
    for start in range(first, last, CHUNK):
        n_left, n_right = middle, end
        for q in range(start, min(start + CHUNK, last)):
            row = order[q]
            right = goes_right(np.int64(codes[row, axis]), low, high)
            order[middle] = row
            spare[end] = row
            middle += 0 if right else 1
            end += 1 if right else 0
        if side == 0:
            fill(codes, starts, order, n_left, middle, slopes, sums)
        elif side == 1:
            fill(codes, starts, spare, n_right, end, slopes, sums)
    return middle


@kernel
def join_blocks(order, spare, bounds, middles):
    """Bring the sides of divided blocks together.

    bounds (blocks + 1,), middles (blocks,) int64: of order, where blocks and their left sides end.
    """
    at = middles[0]
    for k in range(1, middles.shape[0]):
        for q in range(bounds[k], middles[k]):
            order[at] = order[q]
            at += 1
    for k in range(middles.shape[0]):
        for q in range(bounds[k + 1] - middles[k]):
            order[at] = spare[bounds[k] + q]
            at += 1


@kernel
def add_parts(sums, parts):
    """Add the sums of other blocks (blocks, cells, 2) to those of the first."""
    for k in range(parts.shape[0]):
        add(sums, parts[k], 1)


@inner
def look_for_split(node, pool, layout, rules, growing, nodes):
    """Find the best split of a leaf, which is open if there is one; returns whether it is."""
    at, totals, bounds = growing.at, growing.totals, growing.bounds
    gain, axis, first, last, missing_left = best_split(
        pool[growing.slot[node]], (totals[node, 0], totals[node, 1]),
        (bounds[node, 0], bounds[node, 1]), layout, rules, growing.axes, growing.state,
    )  # fmt: skip
    growing.gain[node] = gain
    # Kept where the split will be; AXIS stays -1 while the node is a leaf.
    nodes[node, FIRST], nodes[node, LAST] = first, last
    nodes[node, LEFT], nodes[node, MISSING_LEFT] = axis, missing_left
    if gain > 0.0:
        growing.open[at[N_OPEN]] = node
        at[N_OPEN] += 1
    return gain > 0.0


@inner
def next_leaf(growing, newest_first):
    """Take the leaf to split next from the open ones."""
    n_open = growing.at[N_OPEN]
    at = n_open - 1 if newest_first else 0
    for k in range(at + 1, n_open):
        if is_better(growing.gain[growing.open[k]], growing.gain[growing.open[at]]):
            at = k
    node = growing.open[at]
    for k in range(at, n_open - 1):  # in the order in which they came
        growing.open[k] = growing.open[k + 1]
    growing.at[N_OPEN] -= 1
    return node


@inner
def value_at(node, growing, rules, lower, upper):
    """The value of a node within bounds."""
    slope = amount(growing.totals[node, SLOPE], rules.scale)
    curvature = amount(growing.totals[node, CURVATURE], rules.scale)
    return leaf_value(slope, curvature, rules.l2, lower, upper)


@inner
def set_bounds(left, right, node, direction, growing, rules):
    """Bounds of the values below both sides: the middle of both where the axis has a direction."""
    bounds = growing.bounds
    lower, upper = bounds[node, 0], bounds[node, 1]
    for side in (left, right):
        bounds[side, 0], bounds[side, 1] = lower, upper
    if direction != 0:
        one = value_at(left, growing, rules, lower, upper)
        other = value_at(right, growing, rules, lower, upper)
        low, high = (left, right) if direction > 0 else (right, left)
        bounds[low, 1] = bounds[high, 0] = (one + other) / 2.0


@inner
def may_split(node, growing, rules):
    """Whether a leaf is large enough to be split, and there may be more leaves."""
    enough = count(growing.totals[node, PEOPLE], rules.scale) >= 2 * rules.min_leaf
    return enough and growing.at[N_LEAVES] < rules.max_leaves


@inner
def begin(n_rows, pool, layout, rules, growing, nodes):
    """The root, whose sums are in the first slot."""
    at, n_slots = growing.at, pool.shape[0]
    at[N_NODES], at[N_LEAVES], at[N_OPEN], at[N_FREE], at[NODE] = 1, 1, 0, n_slots - 1, -1
    for k in range(n_slots - 1):
        growing.free[k] = n_slots - 1 - k
    growing.rows[0, 0], growing.rows[0, 1] = 0, n_rows
    growing.bounds[0, 0], growing.bounds[0, 1] = -np.inf, np.inf
    growing.slot[0], nodes[0, AXIS] = 0, -1
    sum_cells(pool[0], np.int64(0), np.int64(layout.starts[1]), growing.totals, 0)
    if may_split(0, growing, rules):
        look_for_split(0, pool, layout, rules, growing, nodes)


@inner
def sum_cells(sums, first, last, totals, node):
    """The words of a node that has the rows of the cells first ... last - 1."""
    one, two = np.int64(0), np.int64(0)
    for cell in range(first, last):
        one += sums[cell, 0]
        two += sums[cell, 1]
    totals[node, 0], totals[node, 1] = one, two


@inner
def split(node, pool, layout, rules, growing, nodes):
    """Give a leaf its two sides, whose rows are still to be divided."""
    at, rows, totals, slot = growing.at, growing.rows, growing.totals, growing.slot
    axis, left, right = nodes[node, LEFT], at[N_NODES], at[N_NODES] + 1
    at[NODE], at[N_NODES], at[N_LEAVES] = node, at[N_NODES] + 2, at[N_LEAVES] + 1
    nodes[node, AXIS], nodes[node, LEFT], nodes[node, RIGHT] = axis, left, right
    nodes[left, AXIS] = nodes[right, AXIS] = -1
    start = np.int64(layout.starts[axis])
    last = start + nodes[node, LAST] + 1
    sum_cells(pool[slot[node]], start + nodes[node, FIRST], last, totals, right)
    for k in range(2):
        totals[left, k] = totals[node, k] - totals[right, k]
    n_left, n_right = (
        count(totals[left, ROWS], rules.scale),
        count(totals[right, ROWS], rules.scale),
    )
    rows[left, 0], rows[left, 1] = rows[node, 0], rows[node, 0] + n_left
    rows[right, 0], rows[right, 1] = rows[left, 1], rows[node, 1]
    if nodes[node, MISSING_LEFT] < 0:
        more = count(totals[left, PEOPLE], rules.scale) >= count(totals[right, PEOPLE], rules.scale)
        nodes[node, MISSING_LEFT] = 1 if more else 0
    alone = nodes[node, FIRST] == layout.missing[axis]
    set_bounds(left, right, node, 0 if alone else layout.directions[axis], growing, rules)
    small, large = (left, right) if n_left <= n_right else (right, left)
    slot[large], slot[small], at[SIDE] = slot[node], slot[node], -1
    if may_split(left, growing, rules) or may_split(right, growing, rules):
        at[N_FREE] -= 1
        slot[small] = growing.free[at[N_FREE]]
        at[SIDE] = 0 if small == left else 1


@inner
def look_below(pool, layout, rules, growing, nodes):
    """Look for splits of both sides of the node that was divided."""
    at, slot, node = growing.at, growing.slot, growing.at[NODE]
    left, right = np.int64(nodes[node, LEFT]), np.int64(nodes[node, RIGHT])
    small, large = (left, right) if at[SIDE] == 0 else (right, left)
    if at[SIDE] >= 0 and may_split(large, growing, rules):
        add(pool[slot[large]], pool[slot[small]], -1)
    for side in (left, right):
        asked = may_split(side, growing, rules)
        opened = asked and look_for_split(side, pool, layout, rules, growing, nodes)
        if not opened and (at[SIDE] >= 0 or side == large):
            growing.free[at[N_FREE]] = slot[side]
            at[N_FREE] += 1
    at[NODE] = -1


@kernel
def grow_boosted(codes, order, slopes, layout, rules, growing, pool, nodes, value, most_rows):
    """Grow a tree on the rows in order, as far as it gets alone.

    codes (rows, axes) unsigned. order (some,) uint32, reordered. slopes (rows, 2) int64. pool
    (slots, cells, 2) int64, the first the sums of all rows. nodes (nodes, 6) int32 and value
    (nodes,) float64: results, with room for every node. growing.at: without nodes in a new tree.
    Returns why it stopped: call again once the rows of its node are divided, if there are more than
    most_rows, or there are free slots.
    """
    at, rows = growing.at, growing.rows
    if at[N_NODES] == 0:
        begin(order.shape[0], pool, layout, rules, growing, nodes)
    elif at[NODE] >= 0:
        look_below(pool, layout, rules, growing, nodes)
    while at[N_OPEN] > 0 and at[N_LEAVES] < rules.max_leaves:
        if at[N_FREE] == 0:
            return NO_SLOT
        node = next_leaf(growing, rules.newest_first)
        split(node, pool, layout, rules, growing, nodes)
        first, last = rows[node, 0], rows[node, 1]
        if last - first > most_rows:
            return MANY_ROWS
        small = nodes[node, RIGHT] if at[SIDE] == 1 else nodes[node, LEFT]
        sums = pool[growing.slot[small]]
        middle = divide(codes, layout.starts, order, first, last, slopes, nodes, growing, sums)
        for k in range(last - middle):
            order[middle + k] = growing.spare[first + k]
        look_below(pool, layout, rules, growing, nodes)
    for node in range(at[N_NODES]):
        value[node] = 0.0
        if nodes[node, AXIS] < 0:
            lower, upper = growing.bounds[node, 0], growing.bounds[node, 1]
            value[node] = rules.learning_rate * value_at(node, growing, rules, lower, upper)
    return DONE


@kernel
def add_leaf_values(order, first, last, n_nodes, nodes, value, rows, scores):
    """Add the values of leaves to the scores of the rows order[first:last] in them.

    rows (nodes, 2) int64: first and last of order, of each node. scores (rows,) float64.
    """
    for node in range(n_nodes):
        if nodes[node, AXIS] < 0:
            for q in range(max(first, rows[node, 0]), min(last, rows[node, 1])):
                scores[order[q]] += value[node]
