"""Which leaves of a tree people attain.

A person attains a leaf when on every axis something within their reach lies inside it. Going down
the tree, an interval of cells is only tested against each threshold; of each categorical axis
they carry the categories that are in their reach and that the path still admits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making, making_kernel
from ract._kernels.grow.gaps import (
    attains_sides,
    copy_spans,
    narrow_left,
    narrow_right,
    whole_spans,
)


class Tree(NamedTuple):
    """axis (-1: leaf), cell, left, right, missing_left of every node; the root is node 0."""

    axis: np.ndarray
    cell: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray


class Reaches(NamedTuple):
    """Cell and reach of everyone (axes, people), and the category tables (see grow.Data).

    missing, slots (axes,) int64: the missing cell of an ordinal axis and its place in spans, or -1.
    """

    cells: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    n_cells: np.ndarray
    tables: np.ndarray
    sets: np.ndarray
    can_enter: np.ndarray
    missing: np.ndarray
    slots: np.ndarray


@inner
def categories_in_reach(reaches, person, out):
    """Set out (categories,) to the categories that a person can enter, all axes end to end."""
    for axis in range(reaches.n_cells.shape[0]):
        table = reaches.tables[axis]
        if table >= 0:
            c = reaches.n_cells[axis]
            own = np.int64(reaches.cells[axis, person])
            for k in range(c):
                out[reaches.sets[axis] + k] = reaches.can_enter[table + own * c + k]


@inner
def has_other(sets, row, first, n, cell):
    """Whether a set holds anything but one category."""
    for k in range(n):
        if k != cell and sets[row, first + k]:
            return True
    return False


@making
def longer(array, length):
    """The array itself if it has room, else a copy with room for twice the length."""
    if length <= array.shape[0]:
        return array
    grown = np.empty(2 * length, np.int32)
    for k in range(array.shape[0]):
        grown[k] = array[k]
    return grown


@making_kernel
def leaves_attained(tree, reaches, people, depth, n_categories, n_slots):
    """Leaves that each of some people attains.

    people (m,) int64; depth: of the tree; n_categories: of all categorical axes; n_slots: number of
    ordinal axes with a missing cell.
    Returns start (m + 1,) int64 and leaves int32: person k attains leaves[start[k]:start[k + 1]].
    """
    start = np.zeros(people.shape[0] + 1, np.int64)
    leaves = np.empty(4 * people.shape[0] + 16, np.int32)
    stack = np.empty(depth + 2, np.int32)
    sets = np.zeros((depth + 2, n_categories), np.bool_)
    spans = np.zeros((depth + 2, n_slots, 3), np.int32)
    n = 0
    for k in range(people.shape[0]):
        person = people[k]
        categories_in_reach(reaches, person, sets[0])
        whole_spans(spans, 0, reaches.missing, reaches.slots)
        stack[0] = 0
        row = np.int64(0)
        while row >= 0:
            node = stack[row]
            axis = tree.axis[node]
            if axis < 0:
                leaves = longer(leaves, n + 1)
                leaves[n] = node
                n += 1
                row -= 1
                continue
            cell, first = np.int64(tree.cell[node]), reaches.sets[axis]
            if first >= 0:
                to_right = sets[row, first + cell]
                to_left = has_other(sets, row, first, reaches.n_cells[axis], cell)
            else:
                lowest = np.int64(reaches.lowest[axis, person])
                highest = np.int64(reaches.highest[axis, person])
                to_right = highest > cell
                to_left = lowest <= cell
            slot, missing_left = reaches.slots[axis], np.int64(tree.missing_left[node])
            if slot >= 0 and np.int64(reaches.cells[axis, person]) == reaches.missing[axis]:
                to_left, to_right = attains_sides(
                    lowest, highest, cell, missing_left == 1, spans, row, slot
                )
            # The right child takes this row, the left one the row above it (or this one).
            if to_right and to_left:
                for j in range(n_categories):
                    sets[row + 1, j] = sets[row, j]
                copy_spans(spans, row, row + 1)
                if slot >= 0:
                    narrow_left(spans, row + 1, slot, cell, missing_left)
                    narrow_right(spans, row, slot, cell, missing_left)
                if first >= 0:
                    sets[row + 1, first + cell] = False
                    for j in range(first, first + reaches.n_cells[axis]):
                        sets[row, j] = j == first + cell
                stack[row] = tree.right[node]
                stack[row + 1] = tree.left[node]
                row += 1
            elif to_right:
                if slot >= 0:
                    narrow_right(spans, row, slot, cell, missing_left)
                if first >= 0:
                    for j in range(first, first + reaches.n_cells[axis]):
                        sets[row, j] = j == first + cell
                stack[row] = tree.right[node]
            else:
                if slot >= 0:
                    narrow_left(spans, row, slot, cell, missing_left)
                if first >= 0:
                    sets[row, first + cell] = False
                stack[row] = tree.left[node]
        start[k + 1] = n
    return start, leaves[:n]
