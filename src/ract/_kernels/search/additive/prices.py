"""What cells of a search cost, and what a box costs at least.

The cost of a point is the sum of a price per axis, and the largest of a size per axis (nothing of
one of them, for a plain sum or a plain maximum). On an ordered axis both rise away from home. So a
box that does not hold the home cell of an axis forces it away, at least to its nearest cell:

    cells     0   1   2  home  4   5   6
    price    .7  .5  .1   0   .2  .3  .9
    box                           |------|     forces away to cell 5: .3
    box           |-------------|              does not
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner, making


class Prices(NamedTuple):
    """Prices of the cells of active axes, counted over all axes.

    price, size float64 (cells,). home int64 (active,): the cell of each axis that is home.
    start int64 (boxes + 1,): first entry of each box in away. away int64: the nearest cell to
    which a box forces an axis away; on a categorical axis home itself stands for any other.
    """

    price: Any
    size: Any
    home: Any
    start: Any
    away: Any


@inner
def forced_cell(boxes, is_categorical, a, base, r):
    """The cell to which a box forces an axis, or -1."""
    home = boxes.home[a]
    if is_categorical:
        return base + home if (boxes.first[r, a] >> home) & 1 == 0 else -1
    if boxes.first[r, a] > home:
        return base + boxes.first[r, a]
    return base + boxes.last[r, a] if boxes.last[r, a] < home else -1


@making
def make_prices(boxes, bits, categorical, own, price, size):
    """Prices of compressed cells, from those of original ones (axes, cells)."""
    n_active, n_boxes = bits.active.shape[0], boxes.tree.shape[0]
    cell, home = np.zeros((2, bits.mask.shape[0])), np.zeros(n_active, np.int64)
    start, away = np.zeros(n_boxes + 1, np.int64), np.empty(n_boxes * n_active, np.int64)
    for i in range(n_active):
        a, base = bits.active[i], bits.offset[i]
        home[i] = boxes.home[a]
        for c in range(boxes.n_cells[a]):
            low, end = boxes.start[a, c], boxes.start[a, c + 1]
            near = low if categorical[a] else min(max(own[a], low), end - 1)
            if c != home[i] and near != own[a]:
                cell[0, base + c] = price[a, near]
                cell[1, base + c] = size[a, near]
    n = 0
    for r in range(n_boxes):
        for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
            i = bits.bounds[0, k]
            a = bits.active[i]
            to = forced_cell(boxes, categorical[a], a, bits.offset[i], r)
            if to >= 0:
                away[n] = to
                n += 1
        start[r + 1] = n
    return Prices(cell[0], cell[1], home, start, away[:n].copy())


@inner
def point_cost(price, size, own, point):
    """What a point of original cells costs."""
    sum_, largest = 0.0, 0.0
    for a in range(own.shape[0]):
        if point[a] != own[a]:
            sum_ += price[a, point[a]]
            largest = max(largest, size[a, point[a]])
    return sum_ + largest
