r"""The cheapest leaf of any tree whose nearest point the whole ensemble accepts (Algorithm 2).

Leaves are taken in the order of their prices, so that the first whose point is accepted is the
best, and what has been seen by then bounds every other action from below:

    leaves by price   x  x   x    x     x      x        A
                                  |                     |
                      enough trees could agree      accepted
                      only from here on: bound      best

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

from ract._kernels._jit import inner, making, making_kernel
from ract._kernels.search.cell_forest import Box, is_wanted
from ract._kernels.search.heap import Heap, drop_first, heap_push
from ract._utils.status import Status

OPTIMAL, FOUND = Status.OPTIMAL.value, Status.FOUND.value
NONE, UNKNOWN = Status.NONE.value, Status.UNKNOWN.value
MAX, SUM = 0, 1  # what a point costs: the largest cost of its axes, or their sum


@inner
def price_with(costs, point, axis, cell, norm, price):
    """Price of a point after one axis moved out to a cell, from its price before.

    Summed afresh in the order of the axes, so that a dearer cell never makes a lower price.
    """
    if norm == MAX:
        return price if price > costs[axis, cell] else costs[axis, cell]
    total = 0.0
    for a in range(point.shape[0]):
        total += costs[a, cell if a == axis else point[a]]
    return total


@inner
def cheapest_category(costs, axis, admitted, own, n):
    """The own category if it is admitted, or the first of the cheapest that are; -1 if none is."""
    if (admitted >> own) & 1:
        return own
    best = -1
    for k in range(n):
        if (admitted >> k) & 1 and (best < 0 or costs[axis, k] < costs[axis, best]):
            best = k
    return best


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


class Leaves(NamedTuple):
    """What the leaves of a forest give, and which of them are candidates.

    value float64 (nodes,): what a leaf adds to the total. worth (nodes,): most that a candidate
    below a node adds; -inf without one. rest (trees,): most that a leaf gives that is no candidate.
    gain: whether only leaves that add more than the person's own are candidates for that person.
    tree int32 (nodes,). depth: of the deepest tree. least: no point is accepted whose leaves add
    up to less.
    """

    value: np.ndarray
    worth: np.ndarray
    rest: np.ndarray
    gain: bool
    tree: np.ndarray
    depth: int
    least: float


@inner
def leaf_of_point(forest, node, point, categorical):
    """Leaf of a tree in which a point of cells lies."""
    while forest.axis[node] >= 0:
        axis = forest.axis[node]
        if goes_left(point[axis], forest.cell[node], categorical[axis]):
            node = forest.left[node]
        else:
            node = forest.right[node]
    return node


@inner
def may_be_enough(leaves, given):
    """Whether what the trees give can be enough, however it is added up."""
    total = 0.0
    for t in range(given.shape[0]):
        total += given[t]
    return total >= leaves.least


@inner
def set_given(forest, leaves, point, categorical, given):
    """What each tree gives to a point. given (trees,)."""
    for t in range(forest.root.shape[0]):
        given[t] = leaves.value[leaf_of_point(forest, forest.root[t], point, categorical)]


@making_kernel
def search_leaves(
    forest, leaves, accepting, rules, own, costs, n_cells, categorical, norm, budget,
    max_changes, stop, point, numbers,
):  # fmt: skip
    """Cheapest nearest point of a candidate leaf that the ensemble accepts, for one person.

    accepting, rules: a forest that accepts the same points, and when. own int64 (axes,), costs
    float64 (axes, cells): the person's cells and what each cell costs them. stop (1,) uint8: set
    from outside to end the search. point int64 (axes,): set to the cells of the best point.
    numbers (4,): set to a status, cost, lower bound and points tried.

    most (trees,): the most that a tree gives to any point that costs less than the next leaf. While
    that is not enough, no such point is accepted.
    """
    n_axes, n_trees = own.shape[0], forest.root.shape[0]
    for a in range(n_axes):
        point[a] = own[a]
    given, most = np.empty(n_trees), np.empty(n_trees)
    set_given(forest, leaves, own, categorical, given)
    numbers[:] = 0.0
    numbers[0] = OPTIMAL
    if is_wanted(accepting, rules, own, categorical):
        return
    walk = new_walk(own, n_cells, leaves.depth)
    room = (forest.axis.shape[0] + n_trees) // 2  # as many as there are leaves
    heap, n = Heap(np.empty(room), np.empty(room, np.int32)), 0
    for t in range(n_trees):
        most[t] = max(leaves.rest[t], given[t])
        bar = given[t] if leaves.gain else -np.inf
        n = collect_leaves(
            forest, forest.root[t], leaves.worth, bar, own, costs, n_cells, categorical, norm,
            budget, max_changes, walk, heap, n,
        )  # fmt: skip

    trial = np.empty(n_axes, np.int64)
    enough, bound, best, tried = may_be_enough(leaves, most), 0.0, np.inf, 0
    while n > 0 and heap.price[0] < best:
        price, leaf = heap.price[0], heap.number[0]
        if stop[0]:
            if not enough:  # no cheaper point is accepted
                enough, bound = True, price
            break
        n = drop_first(heap, n)
        t = leaves.tree[leaf]
        if leaves.value[leaf] > most[t]:
            most[t] = leaves.value[leaf]
            if not enough and may_be_enough(leaves, most):
                enough, bound = True, price
        tried += 1
        set_point(forest, leaf, own, costs, n_cells, categorical, walk.box, trial)
        if not is_wanted(accepting, rules, trial, categorical):
            continue
        best = price  # no leaf after it is cheaper
        for a in range(n_axes):
            point[a] = trial[a]
    if not enough:  # every leaf below the best was seen, or every leaf within the budget
        bound = best
    numbers[0] = UNKNOWN if enough else NONE
    if best < np.inf:
        numbers[0] = OPTIMAL if bound >= best else FOUND
    numbers[1] = best
    numbers[2] = min(bound, best)
    numbers[3] = tried
