"""Slopes and curvatures of the loss, by row and by cell.

Cells of all axes stand end to end. What is summed over the rows in a cell is kept in two whole
numbers, so that a row costs two additions per axis, that sums are the same in whatever order rows
are added, and that what is left of a node is exactly its sums less those of one side:

    first word     slope, in steps          | people
    second word    curvature, in steps      | rows
                   from bit ``bits`` on       below it

Rows are people and, after them, points that people could get to; only people count towards the
size of a leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels.splitmix import next_below

# Words: slope of log loss by score and people, and curvature and rows.
SLOPE, CURVATURE = 0, 1
PEOPLE, ROWS = SLOPE, CURVATURE
RANGE = 2**31 - 1  # of numbers that are drawn
CHUNK = 1024  # rows that stay in fast memory from one step to the next


class Scale(NamedTuple):
    """How numbers are kept in words: bits (int64) for counts, and the step of amounts (float64)."""

    bits: int
    step: float


@inner
def amount(word, scale):
    """The slope or curvature in a word."""
    return np.float64(word >> scale.bits) * scale.step


@inner
def count(word, scale):
    """The people or rows in a word."""
    return word & ((np.int64(1) << scale.bits) - 1)


@inner
def word_of(amount, count, scale):
    """A slope or curvature, rounded to a step, and a count."""
    return (np.int64(np.rint(amount / scale.step)) << scale.bits) + np.int64(count)


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
        drawn = drawn & (is_person | (scores[row] < margin))  # without a jump that nobody foresees
        inside[n_inside] = row
        outside[n_outside] = row
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


@inner
def set_slopes(scores, target, weight, order, first, last, n_people, scale, slopes):
    """Derivatives of weight x log loss by the score, of the rows order[first:last]."""
    for q in range(first, last):
        row = order[q]
        share = 1.0 / (1.0 + np.exp(-scores[row]))
        slope, curvature = share - target[row], share * (1.0 - share)
        slopes[row, SLOPE] = word_of(weight[row] * slope, row < n_people, scale)
        slopes[row, CURVATURE] = word_of(weight[row] * curvature, 1, scale)


@inner
def clear(sums):
    """Set sums (cells, 2) to nothing."""
    for cell in range(sums.shape[0]):
        sums[cell, SLOPE] = sums[cell, CURVATURE] = 0


@inner
def fill(codes, starts, order, first, last, slopes, sums):
    """Add slopes to the cells of the rows order[first:last]."""
    n_axes = codes.shape[1]
    for q in range(first, last):
        row = order[q]
        slope, curvature = slopes[row, SLOPE], slopes[row, CURVATURE]
        for axis in range(n_axes):
            cell = starts[axis] + np.uint64(codes[row, axis])
            sums[cell, SLOPE] += slope
            sums[cell, CURVATURE] += curvature


@kernel
def sum_slopes(
    codes, starts, order, first, last, scores, target, weight, n_people, scale, slopes, sums
):
    """Find the slopes of the rows order[first:last], and sum them by cell.

    codes (rows, axes) unsigned. starts (axes + 1,) uint64: first cell of each axis. order (some,)
    uint32. scores, target, weight (rows,) float64. slopes (rows, 2), sums (cells, 2) int64:
    results.
    """
    clear(sums)
    for start in range(first, last, CHUNK):
        end = min(start + CHUNK, last)
        set_slopes(scores, target, weight, order, start, end, n_people, scale, slopes)
        fill(codes, starts, order, start, end, slopes, sums)


@inner
def add(sums, other, sign):
    """Add other sums to some (cells, 2), or with a sign of -1 take them out."""
    for cell in range(sums.shape[0]):
        sums[cell, SLOPE] += sign * other[cell, SLOPE]
        sums[cell, CURVATURE] += sign * other[cell, CURVATURE]
