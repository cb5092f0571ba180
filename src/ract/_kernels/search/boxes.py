"""Leaves of the trees that are left, as boxes on the cells that still matter.

Only cells delimited by a box matter, so each axis is compressed to those:

    cells     0 1 2 3 4 5 6 7 8 9
    boxes       |-----|             compressed to 5 cells: 0 | 1 2 | 3 4 | 5 6 7 | 8 9
                    |-------|
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner, kernel
from ract._kernels.search.cell_forest import path_categories


class Boxes(NamedTuple):
    """Boxes on compressed cells, in the order of their trees; of one tree the best label first.

    tree, label int64 (boxes,). first, last int64 (boxes, axes): interval on an ordinal axis; on a
    categorical one, first is a set of compressed categories as bits. n_cells int64 (axes,).
    start int64 (axes, cells + 1): first original cell of each compressed one (a category is
    itself). home int64 (axes,): the compressed cell that holds the person's own.
    """

    tree: Any
    label: Any
    first: Any
    last: Any
    n_cells: Any
    start: Any
    home: Any


@inner
def list_leaves(forest, least, tree, leaf):
    """List the leaves with at least a label, tree by tree, best label first; returns how many."""
    n = 0
    for t in range(forest.root.shape[0]):
        begin = n
        end = forest.axis.shape[0]
        if t + 1 < forest.root.shape[0]:
            end = np.int64(forest.root[t + 1])
        for node in range(forest.root[t], end):
            label = forest.label[node]
            if forest.axis[node] >= 0 or label < least:
                continue
            k = n
            while k > begin and forest.label[leaf[k - 1]] < label:
                leaf[k] = leaf[k - 1]
                k -= 1
            leaf[k] = node
            tree[n] = t
            n += 1
    return n


@inner
def fill_boxes(forest, box, categorical, leaf, label, first, last):
    """The boxes of listed leaves, on original cells."""
    n_axes = box.lowest.shape[0]
    for r in range(leaf.shape[0]):
        label[r] = forest.label[leaf[r]]
        for a in range(n_axes):
            first[r, a] = box.lowest[a]
            last[r, a] = box.highest[a]
            if categorical[a]:
                first[r, a] = path_categories(forest, leaf[r], a, box.categories[a])
        child = leaf[r]
        while forest.parent[child] >= 0:
            parent = np.int64(forest.parent[child])
            a, cell = forest.axis[parent], np.int64(forest.cell[parent])
            if not categorical[a]:
                if forest.left[parent] == child:
                    last[r, a] = min(last[r, a], cell)
                else:
                    first[r, a] = max(first[r, a], cell + 1)
            child = parent


@inner
def compress_categories(a, first, categories, start):
    """Number the categories that are left; returns how many there are."""
    k = 0
    for c in range(64):
        if (categories >> c) & 1:
            start[k] = c
            k += 1
    for r in range(first.shape[0]):
        bits = 0
        for j in range(k):
            bits |= ((first[r, a] >> start[j]) & 1) << j
        first[r, a] = bits
    return k


@inner
def compress_cells(a, first, last, low, high, place, start):
    """Number the cells that boxes delimit; returns how many there are. place (cells,): room."""
    for c in range(high - low + 1):
        place[c] = 0
    for r in range(first.shape[0]):
        if first[r, a] > low:
            place[first[r, a] - low] = 1
        if last[r, a] < high:
            place[last[r, a] + 1 - low] = 1
    k = 0
    start[0] = low
    place[0] = 0
    for c in range(1, high - low + 1):
        if place[c] == 1:
            k += 1
            start[k] = low + c
        place[c] = k
    start[k + 1] = high + 1
    for r in range(first.shape[0]):
        first[r, a] = place[first[r, a] - low]
        last[r, a] = place[last[r, a] - low]
    return k + 1


@kernel
def make_boxes(forest, least, box, own, categorical, most_cells):
    """The leaves of a pruned forest with at least a label, as arrays that make Boxes.

    Returns tree and label (2, boxes), first and last (2, boxes, axes), n_cells and home (2, axes)
    and start.
    """
    n_axes = box.lowest.shape[0]
    lists, leaf = (
        np.empty((2, forest.axis.shape[0]), np.int64),
        np.empty(forest.axis.shape[0], np.int64),
    )
    n = list_leaves(forest, least, lists[0], leaf)
    ends = np.empty((2, n, n_axes), np.int64)
    fill_boxes(forest, box, categorical, leaf[:n], lists[1], ends[0], ends[1])
    numbers, place = np.empty((2, n_axes), np.int64), np.empty(most_cells + 1, np.int64)
    start = np.zeros((n_axes, max(most_cells, 64) + 1), np.int64)
    for a in range(n_axes):
        if categorical[a]:
            k = compress_categories(a, ends[0], box.categories[a], start[a])
        else:
            k = compress_cells(a, ends[0], ends[1], box.lowest[a], box.highest[a], place, start[a])
        numbers[0, a] = k
        home = 0
        for c in range(k):
            if start[a, c] == own[a] or (not categorical[a] and start[a, c] < own[a]):
                home = c
        numbers[1, a] = home
    return lists[:, :n].copy(), ends, numbers, start


@inner
def place_point(boxes, found, own, categorical, point):
    """Original cells of a point of compressed ones: of each the one nearest to the own cell."""
    for a in range(own.shape[0]):
        low = boxes.start[a, found[a]]
        if categorical[a]:
            point[a] = low
        else:
            point[a] = min(max(own[a], low), boxes.start[a, found[a] + 1] - 1)
