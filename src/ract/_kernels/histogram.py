"""Histograms over the cells of one axis, for a node's people and for its exposed reachers.

Only cells that somebody touches are ever looked at: a bit per cell says which, so that a node of
ten people costs ten steps per feature whatever the number of cells.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner

# Position of the lowest set bit of a 64-bit word, through a de Bruijn sequence.
_SEQUENCE = 0x03F79D71B4CB0A89
_POSITION = np.zeros(64, np.int64)
for _k in range(64):
    _POSITION[((_SEQUENCE << _k) & 0xFFFFFFFFFFFFFFFF) >> 58] = _k


@inner
def lowest_bit(word):
    """Position of the lowest set bit of a non-zero uint64."""
    alone = word & (~word + np.uint64(1))
    return _POSITION[(alone * np.uint64(_SEQUENCE)) >> np.uint64(58)]


@inner
def add_people(cells, order, first, last, labels, weights, counts, touched):
    """Count the node's people order[first:last] by cell.

    cells (n,): cell of everyone on this axis. labels, weights: of the node's people, in order.
    counts, touched: see split.Histograms. Returns the lowest and highest cell.
    """
    low = np.int64(cells[order[first]])
    high = low
    for k in range(first, last):
        cell = np.int64(cells[order[k]])
        touched[cell >> 6] |= np.uint64(1) << np.uint64(cell & 63)
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
        counts[np.int64(cells[order[k]]), 2] += 1.0


@inner
def add_exposed(lowest, highest, exposed, n_exposed, weights, counts, touched):
    """Count exposed reachers by the lowest and by the highest cell that they attain.

    lowest, highest (n,): reach of everyone on this axis. exposed (m,): who; weights (m,).
    """
    for k in range(n_exposed):
        i = exposed[k]
        low, high = np.int64(lowest[i]), np.int64(highest[i])
        counts[low, 3] += weights[k]
        counts[high, 4] += weights[k]
        touched[low >> 6] |= np.uint64(1) << np.uint64(low & 63)
        touched[high >> 6] |= np.uint64(1) << np.uint64(high & 63)


@inner
def add_exposed_categories(cells, exposed, n_exposed, weights, counts):
    """Count exposed reachers by their own category."""
    for k in range(n_exposed):
        counts[np.int64(cells[exposed[k]]), 5] += weights[k]
