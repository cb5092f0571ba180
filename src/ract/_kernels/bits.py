"""Boxes as bits: every box is a bit, and the boxes of one tree share one or more words of 64.

A partial choice of cells keeps the boxes that are still *alive*; choosing a cell keeps those in
the cell's mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.boxes import place_point


class Bits(NamedTuple):
    """What stays the same during a search; n_words = words[-1].

    active int64: axes with more than one cell. offset int64 (active + 1,): where an axis' cells
    start in mask. words int64 (trees + 1,): first word of each tree. first_box int64 (trees + 1,):
    its first box. slot, bit int64 (boxes,): word and bit of a box. mask int64 (cells, words):
    boxes that hold a cell. upto, after: boxes that begin at an ordinal cell or before it, and
    that end there or after it. bound_start int64 (boxes + 1,), bound_axis int64: the active axes
    that restrict a box.
    """

    active: Any
    offset: Any
    words: Any
    first_box: Any
    slot: Any
    bit: Any
    mask: Any
    upto: Any
    after: Any
    bound_start: Any
    bound_axis: Any


@inner
def give_bits(boxes, n_trees, words, first_box, slot, bit):
    """Number the boxes; returns the number of words."""
    n, r = 0, 0
    for t in range(n_trees):
        words[t] = n
        first_box[t] = r
        k = 0
        while r < boxes.tree.shape[0] and boxes.tree[r] == t:
            slot[r] = n + (k >> 6)
            bit[r] = 1 << (k & 63)
            k += 1
            r += 1
        n += (k + 63) >> 6
    words[n_trees] = n
    first_box[n_trees] = r
    return n


@inner
def find_bounds(boxes, categorical, active, bound_start, bound_axis):
    """List the active axes that restrict each box."""
    n = 0
    for r in range(boxes.tree.shape[0]):
        for i in range(active.shape[0]):
            a = active[i]
            last = boxes.n_cells[a] - 1
            if categorical[a]:
                bound = boxes.first[r, a] != (2 << last) - 1
            else:
                bound = boxes.first[r, a] > 0 or boxes.last[r, a] < last
            if bound:
                bound_axis[n] = i
                n += 1
        bound_start[r + 1] = n


@inner
def fill_masks(boxes, categorical, bits):
    """Set mask, upto and after.

    An ordinal cell lies in the boxes that begin at it or before it and end at it or after.
    """
    mask, upto, after = bits.mask, bits.upto, bits.after
    for i in range(bits.active.shape[0]):
        a, begin, end = bits.active[i], bits.offset[i], bits.offset[i + 1]
        for r in range(boxes.tree.shape[0]):
            s, bit = bits.slot[r], bits.bit[r]
            if categorical[a]:
                for c in range(end - begin):
                    if (boxes.first[r, a] >> c) & 1:
                        mask[begin + c, s] |= bit
            else:
                upto[begin + boxes.first[r, a], s] |= bit
                after[begin + boxes.last[r, a], s] |= bit
        if categorical[a]:
            continue
        for c in range(begin + 1, end):
            for s in range(mask.shape[1]):
                upto[c, s] |= upto[c - 1, s]
                after[begin + end - 1 - c, s] |= after[begin + end - c, s]
        for c in range(begin, end):
            for s in range(mask.shape[1]):
                mask[c, s] = upto[c, s] & after[c, s]


@inner
def make_bits(boxes, categorical, n_trees):
    """Everything about the boxes that stays the same during a search."""
    n_axes, n_boxes = boxes.n_cells.shape[0], boxes.tree.shape[0]
    axes = np.zeros((2, n_axes + 1), np.int64)
    n_active, n_cells = 0, 0
    for a in range(n_axes):
        if boxes.n_cells[a] > 1:
            axes[0, n_active] = a
            n_active += 1
            n_cells += boxes.n_cells[a]
            axes[1, n_active] = n_cells
    trees, each = np.empty((2, n_trees + 1), np.int64), np.zeros((3, n_boxes + 1), np.int64)
    n_words = give_bits(boxes, n_trees, trees[0], trees[1], each[0], each[1])
    bound_axis = np.empty(n_boxes * n_active, np.int64)
    sets = np.zeros((3, n_cells, n_words), np.int64)
    bits = Bits(
        axes[0, :n_active], axes[1], trees[0], trees[1], each[0], each[1], sets[0], sets[1],
        sets[2], each[2], bound_axis,
    )  # fmt: skip
    find_bounds(boxes, categorical, bits.active, bits.bound_start, bound_axis)
    fill_masks(boxes, categorical, bits)
    return bits


@inner
def mark_ends(boxes, bits, categorical, alive, stamp, begins, ends):
    """Stamp the ordinal cells where an alive box begins, and where one ends."""
    for r in range(boxes.tree.shape[0]):
        if alive[bits.slot[r]] & bits.bit[r] == 0:
            continue
        for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
            i = bits.bound_axis[k]
            a = bits.active[i]
            if not categorical[a]:
                begins[bits.offset[i] + boxes.first[r, a]] = stamp
                ends[bits.offset[i] + boxes.last[r, a]] = stamp


@inner
def restrict(alive, mask, cells, base, n):
    """Keep the boxes that hold one of some cells; returns whether any was lost."""
    changed = False
    for s in range(alive.shape[0]):
        union = 0
        for q in range(n):
            union |= mask[base + cells[base + q], s]
        kept = alive[s] & union
        if kept != alive[s]:
            alive[s] = kept
            changed = True
    return changed


@inner
def neighbours(boxes, bits, categorical, r, row):
    """Set row (words,) to the boxes that meet box r."""
    for s in range(row.shape[0]):
        row[s] = -1
    for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
        i = bits.bound_axis[k]
        a, base = bits.active[i], bits.offset[i]
        begin, end = base + boxes.last[r, a], base + boxes.first[r, a]
        for s in range(row.shape[0]):
            if not categorical[a]:
                row[s] &= bits.upto[begin, s] & bits.after[end, s]
                continue
            union = 0
            for c in range(boxes.n_cells[a]):
                if (boxes.first[r, a] >> c) & 1:
                    union |= bits.mask[base + c, s]
            row[s] &= union


class State(NamedTuple):
    """Where a search stands; rows of two-dimensional arrays are its levels.

    alive int64 (levels, words). chosen int64 (levels, active): cell of an axis or -1. lists int64
    (4, cells): stamps of begins and ends, the cells left of each axis, and room. n_left int64
    (active,): how many are left. options int64 (levels, cells + 1): cells to try, tried and
    n_options int64 (levels,): how many of them; axis_of: of which axis. stamps int64 (1,).
    meets int64 (boxes, words), known int8 (boxes,): the boxes that a box meets, once worked out.
    """

    alive: Any
    chosen: Any
    lists: Any
    n_left: Any
    options: Any
    n_options: Any
    tried: Any
    axis_of: Any
    stamps: Any
    meets: Any
    known: Any


@inner
def new_state(bits, n_boxes):
    """The start of a search: every box is alive, no cell is chosen."""
    n_active, n_levels = bits.active.shape[0], bits.active.shape[0] + 2
    n_cells, n_words = bits.mask.shape
    alive = np.zeros((n_levels, n_words), np.int64)
    for r in range(n_boxes):
        alive[0, bits.slot[r]] |= bits.bit[r]
    levels = np.zeros((4, n_levels), np.int64)
    return State(
        alive, np.full((n_levels, n_active), -1), np.zeros((4, n_cells), np.int64), levels[0],
        np.zeros((n_levels, n_cells + 1), np.int64), levels[1], levels[2], levels[3],
        np.zeros(1, np.int64), np.empty((n_boxes, n_words), np.int64), np.zeros(n_boxes, np.int8),
    )  # fmt: skip


@inner
def go_on(bits, state, depth):
    """Take the next option at or above a level; returns the new level, -1 when none is left."""
    while depth >= 0 and state.tried[depth] >= state.n_options[depth]:
        depth -= 1
    if depth < 0:
        return depth
    i, c = state.axis_of[depth], state.options[depth, state.tried[depth]]
    state.tried[depth] += 1
    for s in range(state.alive.shape[1]):
        state.alive[depth + 1, s] = state.alive[depth, s] & bits.mask[bits.offset[i] + c, s]
    for k in range(bits.active.shape[0]):
        state.chosen[depth + 1, k] = state.chosen[depth, k]
    state.chosen[depth + 1, i] = c
    return depth + 1


@inner
def read_point(boxes, bits, chosen, own, categorical, point):
    """Original cells of a full choice."""
    found = np.zeros(own.shape[0], np.int64)
    for k in range(bits.active.shape[0]):
        found[bits.active[k]] = chosen[k]
    place_point(boxes, found, own, categorical, point)
