"""Live regions: where the trees answer as they do for a known person, and the nearest of them."""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel, making_kernel
from ract._kernels.search.cell_forest import Box
from ract._kernels.search.leaf_walk import fill_whole_box, goes_left, narrow
from ract._kernels.search.point_cost import MAX, SUM, cheapest_category, joint_cost, part


@kernel
def live_regions(forest, cells, n_cells, categorical, lowest, highest, categories):
    """The intersection of the leaves that each person falls into, as a box of cells.

    cells int64 (people, axes). lowest, highest int64 and categories int64 (people, axes): set.
    """
    for i in range(cells.shape[0]):
        box = Box(lowest[i], highest[i], categories[i])
        fill_whole_box(box, n_cells)
        for t in range(forest.root.shape[0]):
            node = forest.root[t]
            while forest.axis[node] >= 0:
                axis, cell = forest.axis[node], forest.cell[node]
                to_left = goes_left(cells[i, axis], cell, categorical[axis])
                narrow(box, axis, cell, to_left, categorical[axis])
                node = forest.left[node] if to_left else forest.right[node]


@inner
def nearest_point(
    region, order, own, costs, n_cells, categorical, norm, budget, max_changes, least, point
):
    """Set point to the cheapest of a region and return its price; inf if it is cut.

    least: what a norm that is not the largest had added up to for the best so far, or its price.
    A single axis that costs more than the budget rules the region out under every norm.
    """
    total, changes = 0.0, 0
    for k in range(order.shape[0]):
        a = order[k]
        if categorical[a]:
            cell = cheapest_category(costs, a, region.categories[a], own[a], n_cells[a])
        else:
            cell = min(max(own[a], region.lowest[a]), region.highest[a])
        point[a] = cell
        if cell == own[a]:
            continue
        changes += 1
        cost = costs[a, cell]
        if norm == MAX:
            total = cost if cost > total else total
        else:
            total += part(cost, norm)
        if not cost <= budget or changes > max_changes or total >= least:
            return np.inf
    return total


@making_kernel
def nearest_region(
    lowest, highest, categories, order, own, costs, n_cells, categorical, norm, joint, budget,
    max_changes, stop, point,
):  # fmt: skip
    """Cheapest point in any region, for one person; returns its cost, inf without one.

    lowest, highest, categories int64 (regions, axes). order int64 (axes,): in which to look at the
    axes. costs float64 (axes, cells). stop (1,) uint8: set from outside to end the search.
    point int64 (axes,): set to cells.
    """
    n_axes = own.shape[0]
    trial = np.empty(n_axes, np.int64)
    best, least = np.inf, np.inf
    for r in range(lowest.shape[0]):
        if stop[0]:
            break
        region = Box(lowest[r], highest[r], categories[r])
        total = nearest_point(
            region, order, own, costs, n_cells, categorical, norm, budget, max_changes, least, trial
        )
        if not total < least:
            continue
        cost = total if norm <= SUM else np.sqrt(total)
        if joint.precision.shape[0] > 0:
            cost = joint_cost(joint, own, trial, categorical)
        if cost < best and cost <= budget:
            best = cost
            least = cost if joint.precision.shape[0] > 0 else total
            for a in range(n_axes):
                point[a] = trial[a]
    return best
