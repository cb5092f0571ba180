"""The cheapest action of one person under a cost that is the largest effort of one feature.

The optimum is one of finitely many costs. From the bound that trees give one by one, go up in
growing steps until a solution turns up, halve what lies between by quick questions, and settle
what they left open with a thorough one just below the best:

    refuted   |   quick questions came to no answer   | found
    ----------|---------------------------------------x-------
           proved                                    high
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels.boxes import make_boxes, nearest_cell
from ract._kernels.cell_forest import (
    Box,
    Forest,
    cheapest_leaves,
    count_votes,
    empty_forest,
    prune,
    set_box,
    take,
)
from ract._kernels.decide import NO, YES, decide

QUICK_NODES = 40


@inner
def empty_box(n_axes):
    """Room for a box."""
    return Box(np.empty(n_axes, np.int64), np.empty(n_axes, np.int64), np.zeros(n_axes, np.uint64))


@inner
def ask(forest, needed, own, costs, n_cells, categorical, limit, max_nodes, room, point):
    """Whether a point that costs at most limit has the needed votes.

    point (axes,) int64: set to cells. Returns the answer and the nodes used.
    """
    box, pruned, visited, met, verdict = room
    set_box(own, costs, n_cells, categorical, limit, box)
    always, n_trees, n_nodes = prune(forest, box, categorical, visited, met, verdict, pruned)
    if always + n_trees < needed:
        return NO, 0
    for a in range(own.shape[0]):
        point[a] = own[a]
    if always >= needed:
        return YES, 0
    boxes = make_boxes(take(pruned, n_trees, n_nodes), box, categorical, costs.shape[1])
    found = np.empty(own.shape[0], np.int64)
    answer, nodes = decide(boxes, needed - always, categorical, max_nodes, found)
    if answer == YES:
        for a in range(own.shape[0]):
            point[a] = nearest_cell(boxes, a, found[a], own[a], categorical[a])
    return answer, nodes


@inner
def sort(values):
    """Sort a few numbers in place, ascending (Shell's method)."""
    n = values.shape[0]
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            value, j = values[k], k
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@inner
def candidate_costs(costs, n_cells, least, most):
    """Distinct cell costs between least and most, ascending."""
    n = 0
    for a in range(n_cells.shape[0]):
        for c in range(n_cells[a]):
            if least <= costs[a, c] <= most:
                n += 1
    found = np.empty(n)
    n = 0
    for a in range(n_cells.shape[0]):
        for c in range(n_cells[a]):
            if least <= costs[a, c] <= most:
                found[n] = costs[a, c]
                n += 1
    sort(found)
    kept = 0
    for k in range(n):
        if kept == 0 or found[k] > found[kept - 1]:
            found[kept] = found[k]
            kept += 1
    return found[:kept]


OPTIMAL, NONE, FOUND, OPEN = 0, 1, 2, 3


@inner
def polish(forest, needed, own, costs, categorical, point):
    """Move the dearest axis of a solution home while it keeps the votes; returns its cost."""
    while True:
        dearest, price = -1, 0.0
        for a in range(own.shape[0]):
            if point[a] != own[a] and costs[a, point[a]] > price:
                dearest, price = a, costs[a, point[a]]
        if dearest < 0:
            return price
        here = point[dearest]
        cell = own[dearest]
        kept = False
        while cell != here and not kept:
            point[dearest] = cell
            kept = costs[dearest, cell] < price and (
                count_votes(forest, point, categorical) >= needed
            )
            if not kept:
                if categorical[dearest]:
                    break
                cell += 1 if here > cell else -1
        if not kept:
            point[dearest] = here
            return price


@inner
def position(prices, price):
    """Index of the first of some ascending prices that is not below a price."""
    low, high = 0, prices.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if prices[middle] < price:
            low = middle + 1
        else:
            high = middle
    return low


class PriceList(NamedTuple):
    """What cells cost, for anyone (grid.Prices in flat arrays).

    start int64 (axes,): where an axis begins. above, below: level of the cheapest value of each
    cell of an ordinal axis from below and from above. switch: tables of categorical axes.
    """

    start: Any
    above: Any
    below: Any
    switch: Any


@inner
def fill_costs(prices, own, levels, n_cells, categorical, out):
    """Cost of every cell for one person. own int64, levels float64 (axes,); out (axes, cells)."""
    for a in range(own.shape[0]):
        start, n = prices.start[a], n_cells[a]
        for c in range(n):
            if categorical[a]:
                out[a, c] = prices.switch[start + own[a] * n + c]
            elif c == own[a]:
                out[a, c] = 0.0
            elif c < own[a]:
                out[a, c] = levels[a] - prices.below[start + c]
            else:
                out[a, c] = prices.above[start + c] - levels[a]


@inner
def some_trees(forest, members):
    """A forest of only the trees that are marked; it shares the nodes."""
    root, n = np.empty(forest.root.shape[0], np.int32), 0
    for t in range(forest.root.shape[0]):
        if members[t]:
            root[n] = forest.root[t]
            n += 1
    return Forest(
        forest.axis, forest.cell, forest.left, forest.right, forest.parent, forest.label, root[:n]
    )


@inner
def set_numbers(numbers, status, cost, bound, nodes):
    """Write a result."""
    numbers[0] = status
    numbers[1] = cost
    numbers[2] = bound
    numbers[3] = nodes


@inner
def widest(n_cells):
    """Most cells of any axis."""
    most = 0
    for a in range(n_cells.shape[0]):
        if n_cells[a] > most:
            most = n_cells[a]
    return most


@inner
def first_bound(forest, needed, own, costs, n_cells, categorical, budget):
    """What the cheapest action costs at least: enough trees must vote desired at their price."""
    n_trees = forest.root.shape[0]
    if n_trees < needed:
        return np.inf
    least = np.empty(n_trees)
    cheapest_leaves(forest, own, costs, n_cells, categorical, budget, least)
    sort(least)
    return least[needed - 1]


@kernel
def solve(
    forest, members, needed, own, levels, price_list, n_cells, categorical, budget, max_nodes,
    point, numbers,
):  # fmt: skip
    """Cheapest point with at least needed votes within a budget, for one person.

    members bool (trees,): the trees that count. own int64, levels float64 (axes,): the person's
    cells and their places on the effort scales. point int64 (axes,): set to the best point found.
    numbers (4,): set to a status (OPTIMAL; NONE within the budget; FOUND, not proved; OPEN), cost,
    lower bound and nodes.

    proved: every price below this index is refuted. low: the next that is worth asking, which a
    quick search that came to no answer moves on too. high: index of the best found.
    """
    n_axes, n_all, n_trees = own.shape[0], forest.axis.shape[0], forest.root.shape[0]
    costs = np.empty((n_axes, widest(n_cells)))
    fill_costs(price_list, own, levels, n_cells, categorical, costs)
    for a in range(n_axes):
        point[a] = own[a]
    if needed <= 0:
        set_numbers(numbers, OPTIMAL, 0.0, 0.0, 0)
        return
    forest = some_trees(forest, members)
    bound = first_bound(forest, needed, own, costs, n_cells, categorical, budget)
    if not bound <= budget:
        set_numbers(numbers, NONE, np.inf, np.inf, 0)
        return
    # Inside the budget's box the forest is small; everything after works on what is left of it.
    box = empty_box(n_axes)
    visited, met = np.empty(n_all, np.int32), np.empty(n_all, np.uint8)
    verdict, copy = np.empty(n_all, np.uint8), empty_forest(n_all, n_trees)
    set_box(own, costs, n_cells, categorical, budget, box)
    always, n_left, n_nodes = prune(forest, box, categorical, visited, met, verdict, copy)
    needed = needed - always
    room = (box, empty_forest(n_nodes, n_left), visited, met, verdict)
    small = take(copy, n_left, n_nodes)

    prices = candidate_costs(costs, n_cells, bound, budget)
    n = prices.shape[0]
    trial = np.empty(n_axes, np.int64)
    best, used, proved, low, high, step, at = np.inf, 0, 0, 0, n, 1 + n // 24, 0
    while proved < high:
        going_up = high == n
        thorough = False
        if low >= high or (going_up and at >= n - 1):
            # Every quick question below has been asked: settle it just below the best.
            at, thorough = high - 1, True
        elif not going_up:
            at = (low + high) >> 1
        allowed = max_nodes - used
        if not thorough and allowed > QUICK_NODES:
            allowed = QUICK_NODES
        answer, nodes = ask(
            small, needed, own, costs, n_cells, categorical, prices[at], allowed, room, trial
        )
        used += nodes
        if answer == YES:
            best = polish(small, needed, own, costs, categorical, trial)
            for a in range(n_axes):
                point[a] = trial[a]
            high = position(prices, best)
            low = proved if low > high or thorough else low
        elif answer == NO:
            proved = at + 1
            low = low if low > proved else proved
        elif thorough:
            set_numbers(numbers, OPEN if going_up else FOUND, best, prices[proved], used)
            return
        else:
            low = at + 1
        if going_up and answer != YES:
            at = at + step if at + step < n - 1 else n - 1
            step *= 2
    if high == n:
        set_numbers(numbers, NONE, np.inf, np.inf, used)
    else:
        set_numbers(numbers, OPTIMAL, best, best, used)


@kernel
def simplify(forest, n_cells, categorical):
    """Merge equal siblings; returns every tree's verdict, and the forest of the mixed ones."""
    n_axes, n_nodes, n_trees = n_cells.shape[0], forest.axis.shape[0], forest.root.shape[0]
    box, out = empty_box(n_axes), empty_forest(n_nodes, n_trees)
    for a in range(n_axes):
        box.lowest[a] = 0
        box.highest[a] = n_cells[a] - 1
        for k in range(n_cells[a]):
            if categorical[a]:
                box.categories[a] |= np.uint64(1) << np.uint64(k)
    visited, met = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.uint8)
    verdict, verdicts = np.empty(n_nodes, np.uint8), np.empty(n_trees, np.uint8)
    _, n_left, n = prune(forest, box, categorical, visited, met, verdict, out)
    for t in range(n_trees):
        verdicts[t] = verdict[forest.root[t]]
    return verdicts, take(out, n_left, n)
