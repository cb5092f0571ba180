"""Cells of a column and the cells that a person can reach.

A column with thresholds t0 < t1 < ... has the cells

    cell 0     cell 1     cell 2
    (.., t0]   (t0, t1]   (t1, ..)

so that "x <= t_b" is the same as "cell <= b".
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import kernel


@kernel
def find_cells(values, thresholds, out):
    """Cell of each value: the number of thresholds below it.

    values (n,) float64; thresholds (k,) float64, increasing; out (n,) unsigned integers.
    The halving loop has no branch to predict, which makes it several times faster.
    """
    n_thresholds = thresholds.shape[0]
    for i in range(values.shape[0]):
        x = values[i]
        first, length = 0, n_thresholds
        while length > 1:
            half = length >> 1
            first += half if thresholds[first + half - 1] < x else 0
            length -= half
        if n_thresholds > 0 and thresholds[first] < x:
            first += 1
        out[i] = first


@kernel
def interpolate(values, knots, heights, out):
    """Piecewise linear function through (knots, heights), flat beyond both ends.

    values (n,), knots (k,) increasing, heights (k,), out (n,): float64.
    """
    n_knots = knots.shape[0]
    for i in range(values.shape[0]):
        x = values[i]
        first, length = 0, n_knots
        while length > 1:
            half = length >> 1
            first += half if knots[first + half] <= x else 0
            length -= half
        if x <= knots[0]:
            out[i] = heights[0]
        elif first == n_knots - 1:
            out[i] = heights[first]
        else:
            slope = (heights[first + 1] - heights[first]) / (knots[first + 1] - knots[first])
            risen = heights[first] + slope * (x - knots[first])
            out[i] = min(risen, heights[first + 1])  # rounding must not overshoot


@kernel
def find_reach(cells, levels, enter_above, enter_below, budget, lowest, highest):
    """Lowest and highest cell that each person attains within the budget.

    cells (n,): the person's own cell. levels (n,) float64: their place on the effort scale.
    enter_above (c,): level of the cheapest value of each cell for someone who comes from below,
    non-decreasing, +inf where nobody can go; enter_below (c,): the same from above, -inf where
    nobody can go. lowest, highest (n,): results.

                 own
        .  .  L  x  .  .  H  .      L: first cell with level - enter_below <= budget
                                    H: last cell with enter_above - level <= budget
    """
    n_cells = enter_above.shape[0]
    for i in range(cells.shape[0]):
        own = np.int64(cells[i])
        level = levels[i]
        first, length = 0, n_cells
        while length > 1:
            half = length >> 1
            first += half if enter_above[first + half] - level <= budget else 0
            length -= half
        highest[i] = max(own, first)
        first, length = 0, n_cells
        while length > 1:
            half = length >> 1
            first += 0 if level - enter_below[first + half - 1] <= budget else half
            length -= half
        lowest[i] = min(own, first)


@kernel
def cell_costs(own, level, enter_above, enter_below, out):
    """Cost of each cell of one column for one person: 0 in their own, inf where nobody can go.

    out (c,) float64.
    """
    for c in range(enter_above.shape[0]):
        if c < own:
            out[c] = level - enter_below[c]
        elif c > own:
            out[c] = enter_above[c] - level
        else:
            out[c] = 0.0


@kernel
def add_category(column, k, out):
    """Write category k for the people whose one-hot column is set. column (n,); out (n,)."""
    for i in range(column.shape[0]):
        if column[i] > 0.5:
            out[i] = k
