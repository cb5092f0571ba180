"""The cheapest leaf of any tree whose nearest point the whole ensemble accepts (Algorithm 2).

Leaves are taken in the order of their prices, so that the first whose point is accepted is the
best, and what has been seen by then bounds every other action from below:

    leaves by price   x  x   x    x     x      x        A
                                  |                     |
                      enough trees could agree      accepted
                      only from here on: bound      best

The point of a region stays the point of the side of a split that it lies on. Only the other side
has another, which differs on the axis of the split and is dearer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making_kernel
from ract._kernels.search.cell_forest import Box, is_wanted, path_categories
from ract._kernels.search.heap import Heap, drop_first, heap_push
from ract._utils.status import Status

OPTIMAL, FOUND = Status.OPTIMAL.value, Status.FOUND.value
NONE, UNKNOWN = Status.NONE.value, Status.UNKNOWN.value
MAX, SUM = 0, 1  # what a point costs: the largest cost of its axes, or their sum


class Leaves(NamedTuple):
    """What the leaves of a forest give, and which of them are candidates.

    value float64 (nodes,): what a leaf adds to the total. worth (nodes,): most that a candidate
    below a node adds; -inf without one. rest (trees,): most that a leaf gives that is no candidate.
    gain: whether only leaves that add more than the person's own are candidates for that person.
    tree int32 (nodes,). least: no point is accepted whose leaves add up to less.
    """

    value: np.ndarray
    worth: np.ndarray
    rest: np.ndarray
    gain: bool
    tree: np.ndarray
    least: float


@inner
def leaf_of_point(forest, node, point, categorical):
    """Leaf of a tree in which a point of cells lies."""
    while forest.axis[node] >= 0:
        axis, cell = forest.axis[node], forest.cell[node]
        to_left = point[axis] != cell if categorical[axis] else point[axis] <= cell
        node = forest.left[node] if to_left else forest.right[node]
    return node


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


@inner
def path_cells(forest, node, axis, n):
    """First and last of n cells of an ordinal axis that the path to a node admits."""
    low, high = np.int64(0), np.int64(n - 1)
    while forest.parent[node] >= 0:
        above = forest.parent[node]
        if forest.axis[above] == axis:
            cell = np.int64(forest.cell[above])
            if forest.left[above] == node:
                high = min(high, cell)
            else:
                low = max(low, cell + 1)
        node = above
    return low, high


@inner
def nearest_point(forest, node, own, costs, n_cells, categorical, norm, box, point):
    """Set point to the cheapest in the region of a node, which holds some; returns its price.

    box: room; set to the region.
    """
    for a in range(own.shape[0]):
        box.lowest[a], box.highest[a], box.categories[a] = 0, n_cells[a] - 1, -1
    while forest.parent[node] >= 0:
        above = forest.parent[node]
        a, cell, to_left = forest.axis[above], forest.cell[above], forest.left[above] == node
        if categorical[a]:
            bit = 1 << np.int64(cell)
            box.categories[a] &= ~bit if to_left else bit
        elif to_left:
            box.highest[a] = min(box.highest[a], cell)
        else:
            box.lowest[a] = max(box.lowest[a], cell + 1)
        node = above
    price = 0.0
    for a in range(own.shape[0]):
        if categorical[a]:
            point[a] = cheapest_category(costs, a, box.categories[a], own[a], n_cells[a])
        else:
            point[a] = min(max(own[a], box.lowest[a]), box.highest[a])
        cost = costs[a, point[a]]
        price = price + cost if norm == SUM else max(price, cost)
    return price


@inner
def split_cells(forest, node, own, costs, n_cells, categorical):
    """The cell of a region's point on the axis of its split, and the cheapest on the other side.

    That is -1 if there is none.
    """
    axis, cell = forest.axis[node], np.int64(forest.cell[node])
    if categorical[axis]:
        bit, n = np.int64(1) << cell, n_cells[axis]
        admitted = path_categories(forest, np.int64(node), np.int64(axis), np.int64(-1))
        here = cheapest_category(costs, axis, admitted, own[axis], n)
        other = admitted & (~bit if here == cell else bit)
        return here, cheapest_category(costs, axis, other, own[axis], n)
    low, high = path_cells(forest, node, axis, n_cells[axis])
    here = min(max(own[axis], low), high)
    if here <= cell:
        return here, cell + 1 if cell < high else np.int64(-1)
    return here, cell if cell >= low else np.int64(-1)


@inner
def collect_leaves(
    forest, leaves, given, own, costs, n_cells, categorical, norm, budget, max_changes, prices,
    changes, box, point, heap,
):  # fmt: skip
    """Put the candidate leaves within the budget and the changes on a heap; returns how many.

    Leaves that hold the person already are left out. prices float64, changes int64 (nodes,), box,
    point int64 (axes,): room. prices are the largest cost of a cell, at least.
    """
    n = 0
    for t in range(forest.root.shape[0]):
        prices[forest.root[t]] = 0.0
        changes[forest.root[t]] = 0
    for node in range(forest.axis.shape[0]):  # children stand after their parents
        price, axis = prices[node], forest.axis[node]
        bar = given[leaves.tree[node]] if leaves.gain else -np.inf
        wanted = leaves.worth[node] > bar and price <= budget and changes[node] <= max_changes
        if axis < 0:
            if wanted and changes[node] > 0:
                if norm == SUM:
                    price = nearest_point(
                        forest, node, own, costs, n_cells, categorical, norm, box, point
                    )
                if price <= budget:
                    n = heap_push(heap, n, price, node)
            continue
        near, far = forest.left[node], forest.right[node]
        prices[near] = prices[far] = np.inf
        if wanted:
            here, there = split_cells(forest, node, own, costs, n_cells, categorical)
            in_left = here != forest.cell[node] if categorical[axis] else here <= forest.cell[node]
            if not in_left:
                near, far = far, near
            prices[near] = price
            changes[near] = changes[node]
            if there >= 0:
                prices[far] = max(price, costs[axis, there])
                changes[far] = changes[node] + (here == own[axis])
    return n


@inner
def may_be_enough(leaves, given):
    """Whether what the trees give can be enough, however it is added up."""
    total = 0.0
    for t in range(given.shape[0]):
        total += given[t]
    return total >= leaves.least


@making_kernel
def search_leaves(
    forest, leaves, accepting, rules, own, costs, n_cells, categorical, norm, budget,
    max_changes, stop, point,
):  # fmt: skip
    """Cheapest nearest point of a candidate leaf that the ensemble accepts, for one person.

    accepting, rules: a forest that accepts the same points, and when. own int64 (axes,), costs
    float64 (axes, cells): the person's cells and what each cell costs them. stop (1,) uint8: set
    from outside to end the search. point int64 (axes,): set to the cells of the point. Returns a
    status, cost, lower bound and points tried.

    most (trees,): the most that a tree gives to any point that costs less than the next leaf. While
    that is not enough, no such point is accepted.
    """
    n_nodes, n_trees = forest.axis.shape[0], forest.root.shape[0]
    if is_wanted(accepting, rules, own, categorical):
        return OPTIMAL, 0.0, 0.0, 0
    given, most = np.empty(n_trees), np.empty(n_trees)
    for t in range(n_trees):
        given[t] = leaves.value[leaf_of_point(forest, forest.root[t], own, categorical)]
        most[t] = max(leaves.rest[t], given[t])
    numbers = np.empty((3, own.shape[0]), np.int64)
    box = Box(numbers[0], numbers[1], numbers[2])
    room = (n_nodes + n_trees) // 2  # as many as there are leaves
    heap = Heap(np.empty(room), np.empty(room, np.int32))
    n = collect_leaves(
        forest, leaves, given, own, costs, n_cells, categorical, norm, budget, max_changes,
        np.empty(n_nodes), np.empty(n_nodes, np.int64), box, point, heap,
    )  # fmt: skip
    enough, bound, tried = may_be_enough(leaves, most), 0.0, 0
    while n > 0:
        price, leaf = heap.price[0], heap.number[0]
        if stop[0]:  # no cheaper point is accepted
            return UNKNOWN, np.inf, bound if enough else price, tried
        n = drop_first(heap, n)
        t = leaves.tree[leaf]
        if leaves.value[leaf] > most[t]:
            most[t] = leaves.value[leaf]
            if not enough and may_be_enough(leaves, most):
                enough, bound = True, price
        tried += 1
        nearest_point(forest, leaf, own, costs, n_cells, categorical, norm, box, point)
        if is_wanted(accepting, rules, point, categorical):
            if not enough:  # every cheaper leaf was seen
                bound = price
            return (OPTIMAL if bound >= price else FOUND), price, bound, tried
    if not enough:  # every leaf within the budget was seen
        return NONE, np.inf, np.inf, tried
    return UNKNOWN, np.inf, bound, tried
