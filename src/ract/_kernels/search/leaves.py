"""The cheapest leaf of any tree whose nearest point the whole ensemble accepts (Algorithm 2).

Leaves are taken in the order of their prices, so that the first whose point is accepted is the
best, and what has been seen by then bounds every other action from below:

    leaves by price   x  x   x    x     x      x        A
                                  |                     |
                      enough trees could agree      accepted
                      only from here on: bound      best
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making_kernel
from ract._kernels.search.cell_forest import is_wanted
from ract._kernels.search.heap import Heap, drop_first
from ract._kernels.search.leaf_walk import collect_leaves, goes_left, new_walk, set_point
from ract._utils.status import Status

OPTIMAL, FOUND = Status.OPTIMAL.value, Status.FOUND.value
NONE, UNKNOWN = Status.NONE.value, Status.UNKNOWN.value


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
