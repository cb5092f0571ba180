"""Cells of a column and the cells that a person can reach.

A column with thresholds t0 < t1 < ... has the cells

    cell 0     cell 1     cell 2
    (.., t0]   (t0, t1]   (t1, ..)

so that "x <= t_b" is the same as "cell <= b".
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel, making_kernel

N_BUCKETS = 1024


@inner
def bucket(x, low, scale):
    """Bucket of a number; never lower for a larger number, whatever the rounding."""
    k = (x - low) * scale
    if not k > 0.0:
        return 0
    if k >= N_BUCKETS - 1:
        return N_BUCKETS - 1
    return np.int64(k)


@inner
def fill_buckets(ordered, low, scale, start):
    """Set start (buckets + 1,) to how many of some ascending numbers lie in earlier buckets."""
    n = 0
    for k in range(N_BUCKETS):
        start[k] = n
        while n < ordered.shape[0] and bucket(ordered[n], low, scale) == k:
            n += 1
    start[N_BUCKETS] = n


@inner
def bucket_scale(ordered):
    """Lowest of some ascending numbers, and buckets per unit."""
    n = ordered.shape[0]
    if n == 0 or not ordered[n - 1] > ordered[0]:
        return 0.0, 0.0
    scale = N_BUCKETS / (ordered[n - 1] - ordered[0])
    return ordered[0], scale if scale < np.inf else 0.0


@making_kernel
def find_cells(values, thresholds, out):
    """Cell of each value: the number of thresholds below it.

    values (n,) float64; thresholds (k,) float64, increasing; out (n,) unsigned integers.
    Buckets of equal width narrow the search to the few thresholds of a value's own bucket.
    """
    low, scale = bucket_scale(thresholds)
    start = np.empty(N_BUCKETS + 1, np.int64)
    fill_buckets(thresholds, low, scale, start)
    for i in range(values.shape[0]):
        x = values[i]
        k = bucket(x, low, scale)
        first, last = start[k], start[k + 1]
        while first < last:
            middle = (first + last) >> 1
            if thresholds[middle] < x:
                first = middle + 1
            else:
                last = middle
        out[i] = first


@making_kernel
def interpolate(values, knots, heights, out):
    """Piecewise linear function through (knots, heights), flat beyond both ends.

    values (n,), knots (k,) increasing, heights (k,), out (n,): float64.
    """
    low, scale = bucket_scale(knots)
    n_knots = knots.shape[0]
    many = values.shape[0] > N_BUCKETS >> 4  # for a few, buckets take longer than they save
    start = np.empty(N_BUCKETS + 1 if many else 0, np.int64)
    if many:
        fill_buckets(knots, low, scale, start)
    for i in range(values.shape[0]):
        x = values[i]
        first, last = np.int64(0), n_knots
        if many:
            k = bucket(x, low, scale)
            first, last = start[k], start[k + 1]
        while first < last:
            middle = (first + last) >> 1
            if knots[middle] <= x:
                first = middle + 1
            else:
                last = middle
        if first == 0:
            out[i] = heights[0]
        elif first == n_knots:
            out[i] = heights[n_knots - 1]
        else:
            left = first - 1  # knots[left] <= x < knots[first]
            slope = (heights[first] - heights[left]) / (knots[first] - knots[left])
            risen = heights[left] + slope * (x - knots[left])
            out[i] = risen if risen < heights[first] else heights[first]  # never overshoots


@kernel
def find_reach(cells, levels, enter_above, enter_below, most, lowest, highest):
    """Lowest and highest cell that each person attains at a cost of at most ``most``.

    cells (n,): the person's own cell. levels (n,) float64: their place on the effort scale.
    enter_above (c,): level of the cheapest value of each cell for someone who comes from below,
    non-decreasing, +inf where nobody can go; enter_below (c,): the same from above, -inf where
    nobody can go. lowest, highest (n,): results.

                 own
        .  .  L  x  .  .  H  .      L: first cell with level - enter_below <= most
                                    H: last cell with enter_above - level <= most
    """
    n_cells = enter_above.shape[0]
    for i in range(cells.shape[0]):
        own = np.int64(cells[i])
        level = levels[i]
        first, length = 0, n_cells
        while length > 1:
            half = length >> 1
            first += half if enter_above[first + half] - level <= most else 0
            length -= half
        highest[i] = max(own, first)
        first, length = 0, n_cells
        while length > 1:
            half = length >> 1
            first += 0 if level - enter_below[first + half - 1] <= most else half
            length -= half
        lowest[i] = min(own, first)


@kernel
def add_category(column, k, out):
    """Write category k for the people whose one-hot column is set. column (n,); out (n,)."""
    for i in range(column.shape[0]):
        if column[i] > 0.5:
            out[i] = k
