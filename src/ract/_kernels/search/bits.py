"""Boxes as bits of words.

A partial choice of cells keeps the boxes that are still *alive*; choosing a cell keeps those in
the cell's mask. Either every tree has words of its own, or trees share words, so that there is
much less to go through. Shared words are asked which trees have a box in a set. The last bit of a
tree stands for it, and one addition carries into all of them:

    trees    c c b b b a a
    low      0 1 0 1 1 0 1     all bits of a tree but its last
    top      1 0 1 0 0 1 0     its last
    set x    0 0 0 1 0 1 0     (((x & low) + low) | x) & top   gives   0 0 1 0 0 1 0: b and a
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from ract._kernels._jit import inlined, inner, making
from ract._kernels.search.boxes import place_point

# Shared words leave the sign alone, so that no addition overflows.
OWN_WIDTH, SHARED_WIDTH = 64, 63
# A number with a different top six bits for each of its 64 shifts tells which bit is set.
SHIFTED = 0x03F79D71B4CB0A89
PLACE = np.zeros(64, np.int64)
for _k in range(64):
    PLACE[((SHIFTED << _k) & (2**64 - 1)) >> 58] = _k


class Bits(NamedTuple):
    """What stays the same during a search.

    active int64: axes with more than one cell. offset int64 (active + 1,): where an axis' cells
    start in mask. words int64 (trees + 1,): first word of each tree; the last entry is the number
    of words. first_box int64 (trees + 1,): first box of each tree. slot, bit int64 (boxes,): word
    and bit of a box. start int64 (words,): first box of a word.

    low, top int64 (words,): of shared words, see above; 0 in the words of trees that need more
    than one. large int64: those trees. own int64 (trees,): the bit, in its first word, that stands
    for a tree.

    mask int64 (cells, words): boxes that hold a cell. upto, after: boxes that begin at an ordinal
    cell or before it, and that end there or after it. bound_start int64 (boxes + 1,): where a box
    starts in bounds int64 (3, n): active axes that restrict it, and there its first and last cell,
    counted over all axes, or -1 on a categorical axis.
    """

    active: Any
    offset: Any
    words: Any
    first_box: Any
    slot: Any
    bit: Any
    start: Any
    low: Any
    top: Any
    large: Any
    own: Any
    mask: Any
    upto: Any
    after: Any
    bound_start: Any
    bounds: Any


@inlined
def lowest_bit(word):
    """Position of the lowest set bit of a word that is not 0."""
    return PLACE[(((word & -word) * SHIFTED) >> 58) & 63]


@intrinsic
def popcount(typingctx, word):
    """Number of set bits of a word: one instruction, which also works on several words at once."""

    def instruction(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), instruction


@inner
def give_bits(boxes, n_trees, shared, words, first_box, slot, bit):
    """Number the boxes, tree by tree; returns the number of words."""
    width = SHARED_WIDTH if shared else OWN_WIDTH
    n, used, r, n_boxes = 0, 0, 0, boxes.tree.shape[0]
    for t in range(n_trees):
        first_box[t] = r
        while r < n_boxes and boxes.tree[r] == t:
            r += 1
        k = r - first_box[t]
        if used > 0 and (not shared or used + k > width):
            n, used = n + 1, 0
        words[t] = n
        for q in range(first_box[t], r):
            if used == width:
                n, used = n + 1, 0
            slot[q] = n
            bit[q] = 1 << used
            used += 1
        if k > width:
            n, used = n + 1, 0
    first_box[n_trees] = r
    words[n_trees] = n + (used > 0)
    return words[n_trees]


@inner
def mark_trees(first_box, slot, bit, start, low, top, own, large):
    """Set start, low, top and own; list the trees with several words, returns how many."""
    n_large, n_trees = 0, own.shape[0]
    for t in range(n_trees):
        first, last = first_box[t], first_box[t + 1] - 1
        if first > last:
            continue
        own[t] = bit[last]
        if slot[first] != slot[last]:
            own[t] = bit[first]
            large[n_large] = t
            n_large += 1
        for r in range(first, last + 1):
            if bit[r] == 1:
                start[slot[r]] = r
            if slot[first] == slot[last] and r < last:
                low[slot[r]] |= bit[r]
        if slot[first] == slot[last]:
            top[slot[last]] |= bit[last]
    return n_large


@inner
def find_bounds(boxes, categorical, active, offset, bound_start, bounds):
    """List the active axes that restrict each box, and where it begins and ends there."""
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
                bounds[0, n] = i
                bounds[1, n] = -1 if categorical[a] else offset[i] + boxes.first[r, a]
                bounds[2, n] = -1 if categorical[a] else offset[i] + boxes.last[r, a]
                n += 1
        bound_start[r + 1] = n


@inner
def fill_masks(boxes, categorical, bits, stop):
    """Set mask, upto and after.

    An ordinal cell lies in the boxes that begin at it or before it and end at it or after.
    """
    mask, upto, after = bits.mask, bits.upto, bits.after
    for i in range(bits.active.shape[0]):
        if stop[0]:
            return
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


@making
def make_bits(boxes, categorical, n_trees, shared, stop):
    """Everything about the boxes that stays the same during a search.

    stop (1,) uint8: set from outside to end it; what was made by then is not for use.
    """
    n_axes, n_boxes = boxes.n_cells.shape[0], boxes.tree.shape[0]
    axes = np.zeros((2, n_axes + 1), np.int64)
    n_active, n_cells = 0, 0
    for a in range(n_axes):
        if boxes.n_cells[a] > 1:
            axes[0, n_active] = a
            n_active += 1
            n_cells += boxes.n_cells[a]
            axes[1, n_active] = n_cells
    trees, each = np.zeros((4, n_trees + 1), np.int64), np.zeros((3, n_boxes + 1), np.int64)
    n_words = give_bits(boxes, n_trees, shared, trees[0], trees[1], each[0], each[1])
    numbers, sets = np.zeros((3, n_words), np.int64), np.zeros((3 * n_cells, n_words), np.int64)
    n_large = mark_trees(
        trees[1], each[0], each[1], numbers[0], numbers[1], numbers[2], trees[2, :n_trees], trees[3]
    )
    bits = Bits(
        axes[0, :n_active], axes[1], trees[0], trees[1], each[0], each[1], numbers[0], numbers[1],
        numbers[2], trees[3, :n_large], trees[2], sets[:n_cells], sets[n_cells : 2 * n_cells],
        sets[2 * n_cells :], each[2], np.empty((3, n_boxes * n_active), np.int64),
    )  # fmt: skip
    find_bounds(boxes, categorical, bits.active, bits.offset, bits.bound_start, bits.bounds)
    fill_masks(boxes, categorical, bits, stop)
    return bits


@inlined
def find_trees(bits, alive, sets, row, out):
    """Set out (words,) to the trees with an alive box in a row of sets (rows, words).

    Of shared words; trees are their own bits. Returns their number.
    """
    n = 0
    for s in range(out.shape[0]):
        both, low = alive[s] & sets[row, s], bits.low[s]
        both = (((both & low) + low) | both) & bits.top[s]
        out[s] = both
        while both != 0:
            both &= both - 1
            n += 1
    for k in range(bits.large.shape[0]):
        t = bits.large[k]
        for s in range(bits.words[t], bits.slot[bits.first_box[t + 1] - 1] + 1):
            if alive[s] & sets[row, s] != 0:
                out[bits.words[t]] = bits.own[t]
                n += 1
                break
    return n


@inlined
def mark_ends(bits, alive, stamp, begins, ends):
    """Stamp the ordinal cells where an alive box begins, and where one ends."""
    for s in range(alive.shape[0]):
        word = alive[s]
        while word != 0:
            r = bits.start[s] + lowest_bit(word)
            word &= word - 1
            for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
                if bits.bounds[1, k] >= 0:
                    begins[bits.bounds[1, k]] = stamp
                    ends[bits.bounds[2, k]] = stamp


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
def find_meeting(boxes, bits, categorical, r, meets):
    """Set row r of meets to the boxes that meet box r."""
    for s in range(meets.shape[1]):
        meets[r, s] = -1
    for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
        i, begin, end = bits.bounds[0, k], bits.bounds[1, k], bits.bounds[2, k]
        a, base = bits.active[i], bits.offset[i]
        for s in range(meets.shape[1]):
            if not categorical[a]:
                meets[r, s] &= bits.upto[end, s] & bits.after[begin, s]
                continue
            union = 0
            for c in range(boxes.n_cells[a]):
                if (boxes.first[r, a] >> c) & 1:
                    union |= bits.mask[base + c, s]
            meets[r, s] &= union


class State(NamedTuple):
    """Where a search stands; rows of two-dimensional arrays are its levels.

    alive int64 (levels, words). chosen int64 (levels, active): cell of an axis or -1. lists int64
    (4, cells): stamps of begins and ends, the cells left of each axis, and room. n_left int64
    (active,): how many are left. options int64 (levels, cells + 1): cells to try, tried and
    n_options int64 (levels,): how many of them; axis_of: of which axis. stamps int64 (1,).
    meets int64 (boxes, words), known int64 (boxes,): the boxes that a box meets, once worked out.
    trees int64 (words,): room.
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
    trees: Any


@making
def new_state(bits, n_boxes):
    """The start of a search: every box is alive, no cell is chosen."""
    n_active, n_levels = bits.active.shape[0], bits.active.shape[0] + 2
    n_cells, n_words = bits.mask.shape
    words, levels = np.zeros((n_levels + 1, n_words), np.int64), np.zeros((5, n_levels), np.int64)
    for r in range(n_boxes):
        words[0, bits.slot[r]] |= bits.bit[r]
    chosen = np.zeros((n_levels, n_active), np.int64)
    for i in range(n_active):
        chosen[0, i] = -1
    return State(
        words[:n_levels], chosen, np.zeros((4, n_cells), np.int64), levels[0],
        np.zeros((n_levels, n_cells + 1), np.int64), levels[1], levels[2], levels[3], levels[4],
        np.empty((n_boxes, n_words), np.int64), np.zeros((1, n_boxes), np.int64)[0],
        words[n_levels],
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
    for a in range(point.shape[0]):
        point[a] = 0
    for k in range(bits.active.shape[0]):
        point[bits.active[k]] = chosen[k]
    place_point(boxes, own, categorical, point)
