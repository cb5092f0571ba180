"""Leaves of the trees that are left, as boxes on the cells that still matter.

Only cells delimited by a box matter, so each axis is compressed to those:

    cells     0 1 2 3 4 5 6 7 8 9
    boxes       |-----|             compressed to 5 cells: 0 | 1 2 | 3 4 | 5 6 7 | 8 9
                    |-------|

For someone who can supply a value, the cell of those without one comes right after the last
that they attain. A leaf with that cell and with some that are not next to it is two boxes:

    cells     3 4 5 6 7 ?
    leaf        |---|   ?           two boxes: 4 to 6, and ?
    leaf            |---?           one box: 6 to ?
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making, making_kernel
from ract._kernels.search.cell_forest import path_categories


class LeafBoxes(NamedTuple):
    """Boxes on compressed cells, in the order of their trees; of one tree the best label first.

    tree, label int64 (boxes,). first, last int64 (boxes, axes): interval on an ordinal axis; on a
    categorical one, first is a set of compressed categories as bits. n_cells int64 (axes,).
    start int64 (axes, cells + 1): first original cell of each compressed one (a category is
    itself). current int64 (axes,): the compressed cell that holds the person's own.
    missing int64 (axes,): original cell that stands for the own one of someone who can supply a
    value, or -1. own int64 (axes,): the person's original cells. categorical bool (axes,).
    """

    tree: np.ndarray
    label: np.ndarray
    first: np.ndarray
    last: np.ndarray
    n_cells: np.ndarray
    start: np.ndarray
    current: np.ndarray
    missing: np.ndarray
    own: np.ndarray
    categorical: np.ndarray


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
            last[r, a] = max(box.lowest[a], box.highest[a])
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
def may_supply(box, categorical, a):
    """Whether a box has both cells in order and that of people without a value."""
    return not categorical[a] and box.categories[a] != 0 and box.lowest[a] <= box.highest[a]


@inner
def admits_missing(forest, node, axis):
    """Whether the path to a node admits people without a value on an axis."""
    while forest.parent[node] >= 0:
        parent = np.int64(forest.parent[node])
        to_left = forest.left[parent] == node
        if forest.axis[parent] == axis and to_left != (forest.missing_left[parent] != 0):
            return False
        node = parent
    return True


@making
def add_missing(forest, box, categorical, leaf, first, last, apart):
    """Add the cells of people without a value to the boxes of leaves that can be two boxes each.

    first, last (leaves, axes): on original cells, changed. apart (leaves, axes): set to the axes
    on which that cell is not next to others. Returns how many axes these are for each leaf, -1 if
    nobody can come there, and how many boxes the leaves are, as float64.
    """
    n_apart, total = np.zeros(leaf.shape[0], np.int64), 0.0
    for r in range(leaf.shape[0]):
        for a in range(box.lowest.shape[0]):
            if n_apart[r] < 0 or not may_supply(box, categorical, a):
                continue
            admitted = admits_missing(forest, leaf[r], a)
            if first[r, a] > last[r, a]:
                if admitted:
                    first[r, a] = last[r, a] = box.highest[a] + 1
                else:
                    n_apart[r] = -1
            elif admitted and last[r, a] == box.highest[a]:
                last[r, a] += 1
            elif admitted:
                apart[r, n_apart[r]] = a
                n_apart[r] += 1
        if n_apart[r] >= 0:
            total += 2.0 ** n_apart[r]
    return n_apart, total


@inner
def copy_box(source, r, target, n):
    """Copy box r of some ends (2, boxes, axes) to place n of others."""
    for a in range(source.shape[2]):
        target[0, n, a] = source[0, r, a]
        target[1, n, a] = source[1, r, a]


@making
def split_boxes(box, lists, ends, apart, n_apart, n_boxes):
    """The boxes of leaves, each of which is two on every axis that is apart."""
    n_axes, n = box.lowest.shape[0], np.int64(0)
    split, new = np.empty((2, n_boxes), np.int64), np.empty((2, n_boxes, n_axes), np.int64)
    for r in range(n_apart.shape[0]):
        if n_apart[r] < 0:
            continue
        size = 1
        copy_box(ends, r, new, n)
        for k in range(n_apart[r]):
            a = apart[r, k]
            for q in range(n, n + size):
                copy_box(new, q, new, q + size)
                new[0, q + size, a] = new[1, q + size, a] = box.highest[a] + 1
            size *= 2
        for q in range(n, n + size):
            split[0, q] = lists[0, r]
            split[1, q] = lists[1, r]
        n += size
    return split, new


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


@making_kernel
def make_boxes(forest, least, box, own, categorical, most_cells, most_boxes):
    """The leaves of a pruned forest with at least a label, as arrays that make LeafBoxes.

    most_boxes: None where no axis has missing values; what is about them is not compiled then.
    Returns tree and label (2, boxes), first and last (2, boxes, axes), n_cells, current and missing
    (3, axes), start, and whether there are more than most_boxes, so that the rest is not for use.
    """
    n_axes = box.lowest.shape[0]
    n_nodes = forest.axis.shape[0]
    lists, leaf = np.empty((2, n_nodes), np.int64), np.empty(n_nodes, np.int64)
    n = list_leaves(forest, least, lists[0], leaf)
    ends, too_many = np.empty((2, n, n_axes), np.int64), False
    fill_boxes(forest, box, categorical, leaf[:n], lists[1], ends[0], ends[1])
    lists = lists[:, :n].copy()
    if most_boxes is not None:
        supply = False
        for a in range(n_axes):
            supply = supply or may_supply(box, categorical, a)
        if supply:
            apart = np.empty((n, n_axes), np.int64)
            n_apart, total = add_missing(
                forest, box, categorical, leaf[:n], ends[0], ends[1], apart
            )
            too_many = total > most_boxes
            if too_many:
                total, n_apart = 0.0, n_apart[:0]
            lists, ends = split_boxes(box, lists, ends, apart, n_apart, int(total))
    numbers, place = np.empty((3, n_axes), np.int64), np.empty(most_cells + 1, np.int64)
    start = np.zeros((n_axes, max(most_cells, 64) + 1), np.int64)
    for a in range(n_axes):
        low, high, missing = box.lowest[a], max(box.lowest[a], box.highest[a]), -1
        if may_supply(box, categorical, a):
            high += 1
            missing = high
        if categorical[a]:
            k = compress_categories(a, ends[0], box.categories[a], start[a])
        else:
            k = compress_cells(a, ends[0], ends[1], low, high, place, start[a])
        numbers[0, a] = k
        current = 0
        for c in range(k):
            if start[a, c] == own[a] or (not categorical[a] and start[a, c] < own[a]):
                current = c
        numbers[1, a] = current
        numbers[2, a] = missing
    return lists, ends, numbers, start, too_many


@inner
def place_point(boxes, point):
    """Replace compressed cells by original ones: of each the one nearest to the own cell."""
    for a in range(boxes.own.shape[0]):
        low, end = boxes.start[a, point[a]], boxes.start[a, point[a] + 1]
        if boxes.categorical[a]:
            point[a] = low
        else:
            point[a] = min(max(boxes.own[a], low), end - 1)
            if point[a] == boxes.missing[a]:
                point[a] = boxes.own[a]
