"""What cells of a search cost, and what a box costs at least.

The cost of a point is the sum of a price per axis, and the largest of a size per axis (nothing of
one of them, for a plain sum or a plain maximum). On an ordered axis both rise away from the current
cell. So a box without the current cell of an axis forces a change, at least to its nearest cell:

    cells     0   1   2   now  4   5   6
    price    .7  .5  .1   0   .2  .3  .9
    box                           |------|     forces a change to cell 5: .3
    box           |-------------|              does not
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making


class MovePrices(NamedTuple):
    """Prices of the cells of active axes, counted over all axes.

    price, size float64 (cells,). current int64 (active,): current cell of each axis.
    start int64 (boxes + 1,): first entry of each box in away. away int64: the nearest cell to
    which a box forces an axis; on a categorical axis the current cell stands for any other.
    """

    price: np.ndarray
    size: np.ndarray
    current: np.ndarray
    start: np.ndarray
    away: np.ndarray


@inner
def forced_cell(boxes, a, base, r):
    """The cell to which a box forces an axis, or -1."""
    current = boxes.current[a]
    if boxes.categorical[a]:
        return base + current if (boxes.first[r, a] >> current) & 1 == 0 else -1
    if boxes.first[r, a] > current:
        return base + boxes.first[r, a]
    return base + boxes.last[r, a] if boxes.last[r, a] < current else -1


@making
def make_prices(boxes, bits, price, size):
    """Prices of compressed cells, from those of original ones (axes, cells)."""
    n_active, n_boxes, own = bits.active.shape[0], boxes.tree.shape[0], boxes.own
    cell, current = np.zeros((2, bits.mask.shape[0])), np.zeros(n_active, np.int64)
    start, away = np.zeros(n_boxes + 1, np.int64), np.empty(n_boxes * n_active, np.int64)
    for i in range(n_active):
        a, base = bits.active[i], bits.offset[i]
        current[i] = boxes.current[a]
        for c in range(boxes.n_cells[a]):
            low, end = boxes.start[a, c], boxes.start[a, c + 1]
            near = low if boxes.categorical[a] else min(max(own[a], low), end - 1)
            if c != current[i] and near != own[a]:
                cell[0, base + c] = price[a, near]
                cell[1, base + c] = size[a, near]
    n = 0
    for r in range(n_boxes):
        for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
            i = bits.bounds[0, k]
            a = bits.active[i]
            to = forced_cell(boxes, a, bits.offset[i], r)
            if to >= 0:
                away[n] = to
                n += 1
        start[r + 1] = n
    return MovePrices(cell[0], cell[1], current, start, away[:n].copy())


@inner
def point_cost(price, size, own, point):
    """What a point of original cells costs."""
    sum_, largest = 0.0, 0.0
    for a in range(own.shape[0]):
        if point[a] != own[a]:
            sum_ += price[a, point[a]]
            largest = max(largest, size[a, point[a]])
    return sum_ + largest
