"""Desired boxes: where the trees that are left vote desired, on the cells that still matter.

Only cells delimited by a box matter, so each axis is compressed to those:

    cells     0 1 2 3 4 5 6 7 8 9
    boxes       |-----|             compressed to 5 cells: 0 | 1 2 | 3 4 | 5 6 7 | 8 9
                    |-------|
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.cell_forest import path_categories


class Boxes(NamedTuple):
    """Desired boxes on compressed cells, in the order of their trees.

    tree int64 (boxes,). first, last int64 (boxes, axes): interval on an ordinal axis.
    categories uint64 (boxes, axes): set on a categorical one. n_cells int64 (axes,).
    start int64 (axes, cells + 1): first original cell of each compressed one (a category is
    itself). n_trees: how many trees they belong to.
    """

    tree: Any
    first: Any
    last: Any
    categories: Any
    n_cells: Any
    start: Any
    n_trees: int


@inner
def desired_boxes(forest, box, categorical, tree, first, last, categories):
    """Write the boxes of the desired leaves of a pruned forest; returns their number."""
    n_axes, n, t = box.lowest.shape[0], 0, 0
    n_trees = forest.root.shape[0]
    for node in range(forest.axis.shape[0]):
        while t + 1 < n_trees and forest.root[t + 1] <= node:
            t += 1
        if forest.axis[node] >= 0 or forest.label[node] != 1:
            continue
        tree[n] = t
        for a in range(n_axes):
            first[n, a] = box.lowest[a]
            last[n, a] = box.highest[a]
            if categorical[a]:
                categories[n, a] = path_categories(forest, node, a, box)
        child = node
        while forest.parent[child] >= 0:
            parent = forest.parent[child]
            a, cell = forest.axis[parent], forest.cell[parent]
            if not categorical[a]:
                if forest.left[parent] == child:
                    if cell < last[n, a]:
                        last[n, a] = cell
                elif cell + 1 > first[n, a]:
                    first[n, a] = cell + 1
            child = parent
        n += 1
    return n


@inner
def compress(n, first, last, categories, box, categorical, n_cells, start):
    """Rewrite n boxes on compressed cells; fills n_cells and start."""
    n_axes = box.lowest.shape[0]
    cut, place = np.zeros(start.shape[1] + 1, np.bool_), np.zeros(start.shape[1] + 1, np.int64)
    for a in range(n_axes):
        if categorical[a]:
            k = 0
            for c in range(64):
                if (box.categories[a] >> np.uint64(c)) & np.uint64(1):
                    start[a, k] = c
                    k += 1
            n_cells[a] = k
            for r in range(n):
                bits = np.uint64(0)
                for j in range(k):
                    if (categories[r, a] >> np.uint64(start[a, j])) & np.uint64(1):
                        bits |= np.uint64(1) << np.uint64(j)
                categories[r, a] = bits
            continue
        low, width = box.lowest[a], box.highest[a] - box.lowest[a] + 1
        for c in range(width):
            cut[c] = False
        for r in range(n):
            if first[r, a] > low:
                cut[first[r, a] - low] = True
            if last[r, a] < box.highest[a]:
                cut[last[r, a] + 1 - low] = True
        k = 0
        start[a, 0] = low
        place[0] = 0
        for c in range(1, width):
            if cut[c]:
                k += 1
                start[a, k] = low + c
            place[c] = k
        n_cells[a] = k + 1
        start[a, k + 1] = box.highest[a] + 1
        for r in range(n):
            first[r, a] = place[first[r, a] - low]
            last[r, a] = place[last[r, a] - low]


@inner
def make_boxes(forest, box, categorical, most_cells):
    """The desired boxes of a pruned forest in a box."""
    n_axes, room = box.lowest.shape[0], forest.axis.shape[0]
    tree = np.empty(room, np.int64)
    first, last = np.empty((room, n_axes), np.int64), np.empty((room, n_axes), np.int64)
    categories = np.zeros((room, n_axes), np.uint64)
    n = desired_boxes(forest, box, categorical, tree, first, last, categories)
    n_cells, start = np.empty(n_axes, np.int64), np.zeros((n_axes, most_cells + 65), np.int64)
    compress(n, first, last, categories, box, categorical, n_cells, start)
    return Boxes(
        tree[:n], first[:n], last[:n], categories[:n], n_cells, start, forest.root.shape[0]
    )


@inner
def has_category(boxes, r, a, cell):
    """Whether box r holds a compressed category of axis a."""
    return (boxes.categories[r, a] >> np.uint64(cell)) & np.uint64(1) != np.uint64(0)


@inner
def nearest_cell(boxes, a, k, own, is_categorical):
    """The original cell nearest to a person's own inside compressed cell k."""
    if is_categorical or own < boxes.start[a, k]:
        return boxes.start[a, k]
    if own >= boxes.start[a, k + 1]:
        return boxes.start[a, k + 1] - 1
    return own
