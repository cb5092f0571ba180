"""Histograms over the cells of one axis, for a node's people and for the exposed.

Only cells in use are ever visited: a bit per cell says which they are, so that a node of ten
people costs ten steps per feature whatever the number of cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner


class Histograms(NamedTuple):
    """Counts over the cells of one axis; all zero between two axes.

    counts (c, 6) float64, by column: weight of undesired people, weight of desired people, number
    of people (kept only if rules.counted), exposed mass by lowest attainable cell, the same by
    highest, exposed mass by own category. touched (c / 64,) uint64: a bit per cell in use.
    """

    counts: np.ndarray
    touched: np.ndarray


NEG, POS, NUMBER, LOWEST, HIGHEST, OWN = 0, 1, 2, 3, 4, 5


@inner
def mark(touched, cell):
    """Note that a cell is in use."""
    touched[cell >> 6] |= np.uint64(1) << np.uint64(cell & 63)


@inner
def add_people(cells, order, first, last, labels, weights, counts, touched):
    """Count the node's people order[first:last] by cell.

    cells (n,): cell of everyone on this axis. labels, weights: of the node's people, in order.
    counts, touched: see Histograms. Returns the lowest and highest cell.
    """
    low = np.int64(cells[order[first]])
    high = low
    for k in range(first, last):
        cell = np.int64(cells[order[k]])
        mark(touched, cell)
        counts[cell, labels[k - first]] += weights[k - first]
        if cell < low:
            low = cell
        if cell > high:
            high = cell
    return low, high


@inner
def add_numbers(cells, order, first, last, counts):
    """Count the node's people by cell whatever their weight."""
    for k in range(first, last):
        counts[np.int64(cells[order[k]]), NUMBER] += 1.0


@inner
def add_exposed(lowest, highest, exposed, n_exposed, weights, counts, touched):
    """Count exposed people by the lowest and by the highest cell that they attain.

    lowest, highest (n,): reach of everyone on this axis. exposed (m,): who; weights (m,).
    """
    for k in range(n_exposed):
        i = exposed[k]
        low, high = np.int64(lowest[i]), np.int64(highest[i])
        counts[low, LOWEST] += weights[k]
        counts[high, HIGHEST] += weights[k]
        mark(touched, low)
        mark(touched, high)


@inner
def add_exposed_categories(cells, exposed, n_exposed, weights, counts):
    """Count exposed people by their own category."""
    for k in range(n_exposed):
        counts[np.int64(cells[exposed[k]]), OWN] += weights[k]


@inner
def is_constant(cells, order, first, last):
    """Whether the people order[first:last] are all in one cell."""
    cell = cells[order[first]]
    for k in range(np.uint64(first), np.uint64(last)):
        if cells[order[k]] != cell:
            return False
    return True


@inner
def add_many(cells, order, first, last, labels, weights, counted, n_cells, counts, touched):
    """As add_people, and add_numbers if counted, for a node with more people than cells.

    Which cells are in use is looked up at the end rather than noted person by person.
    """
    for k in range(first, last):
        cell = np.int64(cells[order[k]])
        counts[cell, labels[k - first]] += weights[k - first]
        if counted:
            counts[cell, NUMBER] += 1.0
    low, high = n_cells, -1
    for c in range(n_cells):
        if counts[c, NEG] + counts[c, POS] > 0.0:
            mark(touched, c)
            low = min(low, c)
            high = c
    return low, high


@inner
def add_many_exposed(lowest, highest, exposed, n_exposed, weights, n_cells, counts, touched):
    """As add_exposed, for more people than cells."""
    for k in range(n_exposed):
        i = exposed[k]
        counts[np.int64(lowest[i]), LOWEST] += weights[k]
        counts[np.int64(highest[i]), HIGHEST] += weights[k]
    for c in range(n_cells):
        if counts[c, LOWEST] + counts[c, HIGHEST] > 0.0:
            mark(touched, c)
