"""Slopes and curvatures of the loss, by row and by cell.

Cells of all axes stand end to end, and what is summed over the rows in a cell stands side by side,
so that a row costs one addition of four numbers per axis. Rows are people and, after them, points
that people could get to; only people count towards the size of a leaf.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel

# Of log loss by score, both times the weight; whether the row is a person; one.
SLOPE, CURVATURE, PEOPLE, ROWS = 0, 1, 2, 3


@kernel
def set_slopes(scores, target, weight, order, n_people, slopes):
    """Derivatives of weight x log loss by the score, of some rows.

    scores, target, weight (rows,) float64. order (some,) uint32. slopes (rows, 4) float64.
    """
    for k in range(order.shape[0]):
        row = order[k]
        share = 1.0 / (1.0 + np.exp(-scores[row]))
        slopes[row, SLOPE] = weight[row] * (share - target[row])
        slopes[row, CURVATURE] = weight[row] * share * (1.0 - share)
        slopes[row, PEOPLE] = 1.0 if row < n_people else 0.0
        slopes[row, ROWS] = 1.0


@inner
def fill(codes, starts, order, first, last, slopes, sums):
    """Sum slopes over the cells of the rows order[first:last].

    codes (rows, axes) unsigned. starts (axes + 1,) uint64: first cell of each axis. sums (cells,
    4) float64.
    """
    for k in range(sums.shape[0]):
        for j in range(4):
            sums[k, j] = 0.0
    n_axes = codes.shape[1]
    for q in range(first, last):
        row = order[q]
        slope, curvature = slopes[row, 0], slopes[row, 1]
        people, rows = slopes[row, 2], slopes[row, 3]
        for axis in range(n_axes):
            cell = starts[axis] + np.uint64(codes[row, axis])
            sums[cell, 0] += slope
            sums[cell, 1] += curvature
            sums[cell, 2] += people
            sums[cell, 3] += rows


@inner
def subtract(sums, other):
    """Take other sums out of some (cells, 4)."""
    for k in range(sums.shape[0]):
        for j in range(4):
            sums[k, j] -= other[k, j]
