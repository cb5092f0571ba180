"""The best split of a node, and what a node is worth.

With sums G of slopes and H of curvatures, a leaf of value v lowers the loss by

    worth(v) = -(2 G v + (H + l2) v^2)        up to a factor of two, most at v = -G / (H + l2)

and monotonic constraints keep v between bounds. Every split sends the rows of one interval of
cells to the right and all others to the left:

    x > c                            c + 1 ... last         (people without a value go left)
    x > c or missing                 c + 1 ... missing      (the missing cell is the last)
    missing                          missing
    a category                       c
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.boost.histogram import CURVATURE, PEOPLE, ROWS, SLOPE, Scale, amount, count
from ract._kernels.splitmix import next_below

# A side with less curvature has nearly no say, and a gain below rounding is none.
LEAST_CURVATURE, LEAST_GAIN = 1e-3, 1e-12
# Gains that are this close, beside their size, differ by the order in which rows were added.
ALIKE = 1e-10


class AxisLayout(NamedTuple):
    """The axes of a table of cells.

    starts (axes + 1,) uint64: first cell of each, all end to end. categorical (axes,) bool.
    missing (axes,) int64: the missing cell of an ordinal axis, its last, or -1. directions (axes,)
    int64: -1, 0 or 1.
    """

    starts: np.ndarray
    categorical: np.ndarray
    missing: np.ndarray
    directions: np.ndarray


class SplitRules(NamedTuple):
    """How trees are grown.

    max_leaves, min_leaf (people), n_axes (drawn for a split): int64. l2, learning_rate:
    float64. newest_first: split the newest leaf, not the best one. scale: Scale of all sums.
    """

    max_leaves: int
    min_leaf: int
    n_axes: int
    l2: float
    learning_rate: float
    newest_first: bool
    scale: Scale


@inner
def is_better(gain, best):
    """Whether a gain is larger by more than rounding; of splits that are alike the first counts."""
    return gain > best + ALIKE * abs(best)


@inner
def leaf_value(slope, curvature, l2, lower, upper):
    """The value of a leaf within bounds."""
    total = curvature + l2
    value = -slope / total if total > 0.0 else 0.0
    return min(max(value, lower), upper)


@inner
def worth(slope, curvature, l2, lower, upper):
    """How much a leaf lowers the loss."""
    value = leaf_value(slope, curvature, l2, lower, upper)
    return -(2.0 * slope + (curvature + l2) * value) * value


@inner
def gain_of(slope, curvature, other_slope, other_curvature, direction, bounds, l2):
    """What both sides of a split are worth together; -inf if they go the wrong way.

    slope, curvature: of the left side, then of the right side. bounds: of the node's value.
    """
    lower, upper = bounds
    if direction == 0 and lower == -np.inf and upper == np.inf:
        left = slope * slope / (curvature + l2)
        return left + other_slope * other_slope / (other_curvature + l2)
    left = leaf_value(slope, curvature, l2, lower, upper)
    right = leaf_value(other_slope, other_curvature, l2, lower, upper)
    if direction * (right - left) < 0.0:
        return -np.inf
    gain = -(2.0 * slope + (curvature + l2) * left) * left
    return gain - (2.0 * other_slope + (other_curvature + l2) * right) * right


@inner
def sweep(sums, first, last, start, total, direction, bounds, rules, best):
    """The best threshold of ordered cells first ... last - 1.

    start: words of what is on the left whatever the threshold. total: those of the node. Returns
    the gain, best if none is larger, and the cell that ends the left side, -1 if none is.
    """
    one, two = start
    scale, at = rules.scale, np.int64(-1)
    n_people = count(total[PEOPLE], scale)
    all_slope, all_curvature = amount(total[SLOPE], scale), amount(total[CURVATURE], scale)
    for cell in range(first, last - 1):
        if sums[cell, ROWS] == 0:
            continue
        one += sums[cell, 0]
        two += sums[cell, 1]
        people, curvature = count(one, scale), amount(two, scale)
        if people < rules.min_leaf or curvature < LEAST_CURVATURE:
            continue
        other = all_curvature - curvature
        if n_people - people < rules.min_leaf or other < LEAST_CURVATURE:
            break
        slope = amount(one, scale)
        gain = gain_of(slope, curvature, all_slope - slope, other, direction, bounds, rules.l2)
        if is_better(gain, best):
            best, at = gain, np.int64(cell)
    return best, at


@inner
def midway(sums, cell, last):
    """The middle of the cells without rows that follow a cell, before the next with some."""
    following = cell + 1
    while following < last and sums[following, ROWS] == 0:
        following += 1
    return cell if following == last else cell + (following - cell - 1) // 2


@inner
def split_ordinal(sums, axis, layout, total, bounds, rules, best):
    """The best split of an ordinal axis: gain, first and last cell of its right side, missing left.

    first is -1 if no gain is larger than best.
    """
    start, end = np.int64(layout.starts[axis]), np.int64(layout.starts[axis + 1])
    missing, direction = layout.missing[axis], layout.directions[axis]
    last = end if missing < 0 else end - 1
    first_cell, last_cell, missing_left = np.int64(-1), np.int64(-1), np.int64(-1)
    nothing = (np.int64(0), np.int64(0))
    best, at = sweep(sums, start, last, nothing, total, direction, bounds, rules, best)
    if missing < 0 or sums[last, ROWS] == 0:
        if at >= 0:
            first_cell, last_cell = midway(sums, at, last) + 1, last - 1
        return best, first_cell - start, last_cell - start, missing_left
    if at >= 0:
        first_cell, last_cell, missing_left = midway(sums, at, last) + 1, last, np.int64(0)
    gone = (sums[last, 0], sums[last, 1])
    best, at = sweep(sums, start, last, gone, total, direction, bounds, rules, best)
    if at >= 0:
        first_cell, last_cell, missing_left = midway(sums, at, last) + 1, last - 1, np.int64(1)
    # Known against missing: nothing in it is more or less of the feature.
    gain = gain_apart(sums, last, total, bounds, rules)
    if is_better(gain, best):
        best, first_cell, last_cell, missing_left = gain, last, last, np.int64(0)
    return best, first_cell - start, last_cell - start, missing_left


@inner
def gain_apart(sums, cell, total, bounds, rules):
    """What a cell on the right and all others on the left are worth; -inf if one is too small."""
    scale = rules.scale
    slope, curvature = amount(sums[cell, SLOPE], scale), amount(sums[cell, CURVATURE], scale)
    people = count(sums[cell, PEOPLE], scale)
    other_slope = amount(total[SLOPE], scale) - slope
    other_curvature = amount(total[CURVATURE], scale) - curvature
    few = min(people, count(total[PEOPLE], scale) - people) < rules.min_leaf
    if few or min(curvature, other_curvature) < LEAST_CURVATURE:
        return -np.inf
    return gain_of(other_slope, other_curvature, slope, curvature, 0, bounds, rules.l2)


@inner
def split_categorical(sums, axis, layout, total, bounds, rules, best):
    """The best category to part from all others: gain and category, -1 if none is better."""
    start, end = np.int64(layout.starts[axis]), np.int64(layout.starts[axis + 1])
    category = np.int64(-1)
    for cell in range(start, end):
        if sums[cell, ROWS] == 0:
            continue
        gain = gain_apart(sums, cell, total, bounds, rules)
        if is_better(gain, best):
            best, category = gain, np.int64(cell) - start
    return best, category


@inner
def best_split(sums, total, bounds, layout, rules, axes, state):
    """The best split of a node on axes drawn for it.

    sums (cells, 2) int64. total: words of the node. axes (axes,) int64, a permutation; state (1,)
    uint64. Returns gain (0 for none), axis, first and last cell of the right side, and whether
    people without a value go left: -1 where nobody in the node has none.
    """
    slope, curvature = amount(total[SLOPE], rules.scale), amount(total[CURVATURE], rules.scale)
    alone = worth(slope, curvature, rules.l2, bounds[0], bounds[1])
    best = alone + LEAST_GAIN
    found, first, last, missing_left = np.int64(-1), np.int64(0), np.int64(0), np.int64(-1)
    n = axes.shape[0]
    for k in range(rules.n_axes):
        if rules.n_axes < n:
            other = k + next_below(state, n - k)
            axes[k], axes[other] = axes[other], axes[k]
        axis = axes[k]
        if layout.categorical[axis]:
            best, category = split_categorical(sums, axis, layout, total, bounds, rules, best)
            if category >= 0:
                found, first, last, missing_left = axis, category, category, np.int64(-1)
        else:
            before = best
            best, low, high, side = split_ordinal(sums, axis, layout, total, bounds, rules, best)
            if best > before:
                found, first, last, missing_left = axis, low, high, side
    return best - alone if found >= 0 else 0.0, found, first, last, missing_left
