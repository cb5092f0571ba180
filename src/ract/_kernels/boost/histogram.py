"""Slopes and curvatures of the loss, by row and by cell.

Cells of all axes stand end to end, and what is summed over the rows in a cell stands side by side,
so that a row costs one addition of four numbers per axis. Rows are people and, after them, points
that people could get to; only people count towards the size of a leaf.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels._random import next_below

# Of log loss by score, both times the weight; whether the row is a person; one.
SLOPE, CURVATURE, PEOPLE, ROWS = 0, 1, 2, 3
RANGE = 2**31 - 1  # of numbers that are drawn


@kernel
def draw_rows(state, shares, n_people, scores, margin, inside, outside):
    """Draw the rows that a tree is grown on: a share of people, and of points below a margin.

    state (1,) uint64. shares: of people and of points. scores (rows,) float64. inside, outside
    (rows,) uint32: those drawn and all others. Returns how many were drawn.
    """
    n_inside, n_outside = 0, 0
    for row in range(scores.shape[0]):
        is_person = row < n_people
        share = shares[0] if is_person else shares[1]
        drawn = share >= 1.0 or next_below(state, RANGE) < share * RANGE
        inside[n_inside] = row
        outside[n_outside] = row
        drawn = drawn and (is_person or scores[row] < margin)
        n_inside += 1 if drawn else 0
        n_outside += 0 if drawn else 1
    return n_inside


@kernel
def pull_points(scores, n_people, margin, step, most, of_person, weight):
    """Raise the weights of points below a margin by a step, up to a limit, times their person's.

    scores, weight (rows,) float64. of_person (rows,) float64: what a person counts.
    """
    for row in range(n_people, scores.shape[0]):
        if scores[row] < margin:
            raised = weight[row] + step * of_person[row]
            weight[row] = min(raised, most * of_person[row])


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
