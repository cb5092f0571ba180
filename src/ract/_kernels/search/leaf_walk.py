r"""Walking a tree's regions with the cheapest point of each.

The point of a region stays the point of the side of a split that it lies on. Only the other side
has another, which differs on the axis of the split and is dearer. So the walk takes the near side
at once and keeps the far side, with its price, for later:

          o  point p                      waiting: far, its price, how long the trail was here
        /   \
    near     far                          trail:   what each split on the way down changed
    point p  point p, but for one axis
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making
from ract._kernels.search.cell_forest import Box
from ract._kernels.search.heap import heap_push
from ract._kernels.search.point_cost import cheapest_category, price_with


class Walk(NamedTuple):
    """State of a walk: a region, its cheapest point, and how to go back.

    box: the region. point int64 (axes,). trail int64 (depth, 4): axis, lowest, highest and point
    cell before a split; masks int64 (depth,): categories before it. waiting int64 (depth, 4):
    node, changed axes, length of the trail, cell of its point on the axis; prices float64 (depth,).
    """

    box: Box
    point: np.ndarray
    trail: np.ndarray
    masks: np.ndarray
    waiting: np.ndarray
    prices: np.ndarray


@inner
def fill_whole_box(box, n_cells):
    """Set a box to all cells."""
    for a in range(n_cells.shape[0]):
        box.lowest[a] = 0
        box.highest[a] = n_cells[a] - 1
        box.categories[a] = -1


@making
def new_walk(own, n_cells, depth):
    """A walk at a root, for trees of a depth."""
    numbers, point = np.empty((3, own.shape[0]), np.int64), np.empty(own.shape[0], np.int64)
    box = Box(numbers[0], numbers[1], numbers[2])
    fill_whole_box(box, n_cells)
    for a in range(own.shape[0]):
        point[a] = own[a]
    trail, masks = np.empty((depth, 4), np.int64), np.empty(depth, np.int64)
    return Walk(box, point, trail, masks, np.empty((depth, 4), np.int64), np.empty(depth))


@inner
def goes_left(here, cell, is_categorical):
    """Side of a split on which a cell lies."""
    return here != cell if is_categorical else here <= cell


@inner
def narrow(box, axis, cell, to_left, is_categorical):
    """Keep one side of a split of a box."""
    if is_categorical:
        bit = 1 << np.int64(cell)
        box.categories[axis] &= ~bit if to_left else bit
    elif to_left:
        box.highest[axis] = min(box.highest[axis], cell)
    else:
        box.lowest[axis] = max(box.lowest[axis], cell + 1)


@inner
def far_cell(axis, cell, here, own, costs, n_cells, is_categorical, box):
    """Cheapest cell of a box on the side of a split that here is not on; -1 without one."""
    if is_categorical:
        bit = 1 << np.int64(cell)
        there = box.categories[axis] & (~bit if here == cell else bit)
        return cheapest_category(costs, axis, there, own, n_cells)
    if here <= cell:
        return cell + 1 if cell + 1 <= box.highest[axis] else -1
    return cell if cell >= box.lowest[axis] else -1


@inner
def go(walk, n, axis, cell, to_left, is_categorical, there):
    """Take a side of a split, on which the point has the cell there; returns the trail's length."""
    box, step = walk.box, walk.trail[n]
    step[0] = axis
    step[1] = box.lowest[axis]
    step[2] = box.highest[axis]
    step[3] = walk.point[axis]
    walk.masks[n] = box.categories[axis]
    narrow(box, axis, cell, to_left, is_categorical)
    walk.point[axis] = there
    return n + 1


@inner
def go_back(walk, n, length):
    """Undo the steps of a trail of n down to a length."""
    while n > length:
        n -= 1
        axis = walk.trail[n, 0]
        walk.box.lowest[axis] = walk.trail[n, 1]
        walk.box.highest[axis] = walk.trail[n, 2]
        walk.point[axis] = walk.trail[n, 3]
        walk.box.categories[axis] = walk.masks[n]


@inner
def collect_leaves(
    forest, root, worth, bar, own, costs, n_cells, categorical, norm, budget, max_changes, walk,
    heap, n,
):  # fmt: skip
    """Add the leaves of a tree that are worth more than bar and within the budget to a heap.

    worth (nodes,): the most below each node. Leaves that hold the person already are left out.
    Returns the size of the heap.
    """
    node, price, changes, length, n_waiting = root, 0.0, 0, 0, 0
    while True:
        while worth[node] > bar and forest.axis[node] >= 0:
            axis, cell = forest.axis[node], forest.cell[node]
            here, is_categorical = walk.point[axis], categorical[axis]
            to_left = goes_left(here, cell, is_categorical)
            near, far = forest.left[node], forest.right[node]
            if not to_left:
                near, far = far, near
            more = changes + 1 if here == own[axis] else changes
            if worth[far] > bar and more <= max_changes:
                there = far_cell(
                    axis, cell, here, own[axis], costs, n_cells[axis], is_categorical, walk.box
                )
                dearer = np.inf
                if there >= 0:
                    dearer = price_with(costs, walk.point, axis, there, norm, price)
                if dearer <= budget:
                    walk.prices[n_waiting] = dearer
                    walk.waiting[n_waiting, 0] = far
                    walk.waiting[n_waiting, 1] = more
                    walk.waiting[n_waiting, 2] = length
                    walk.waiting[n_waiting, 3] = there
                    n_waiting += 1
            length = go(walk, length, axis, cell, to_left, is_categorical, here)
            node = near
        if worth[node] > bar and changes > 0:
            n = heap_push(heap, n, price, node)
        if n_waiting == 0:
            go_back(walk, length, 0)
            return n
        n_waiting -= 1
        node, changes = walk.waiting[n_waiting, 0], walk.waiting[n_waiting, 1]
        price, before = walk.prices[n_waiting], walk.waiting[n_waiting, 2]
        go_back(walk, length, before)
        above = forest.parent[node]
        axis = forest.axis[above]
        length = go(
            walk, before, axis, forest.cell[above], forest.left[above] == node, categorical[axis],
            walk.waiting[n_waiting, 3],
        )  # fmt: skip


@inner
def set_point(forest, leaf, own, costs, n_cells, categorical, box, point):
    """Set point to the cheapest of a leaf's region."""
    fill_whole_box(box, n_cells)
    node = leaf
    while forest.parent[node] >= 0:
        above = forest.parent[node]
        axis = forest.axis[above]
        narrow(box, axis, forest.cell[above], forest.left[above] == node, categorical[axis])
        node = above
    for a in range(own.shape[0]):
        if categorical[a]:
            point[a] = cheapest_category(costs, a, box.categories[a], own[a], n_cells[a])
        else:
            point[a] = min(max(own[a], box.lowest[a]), box.highest[a])
