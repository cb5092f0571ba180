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

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner, making
from ract._kernels.words import lowest_bit, popcount

# Shared words leave the sign alone, so that no addition overflows.
OWN_WIDTH, SHARED_WIDTH = 64, 63


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

    active: np.ndarray
    offset: np.ndarray
    words: np.ndarray
    first_box: np.ndarray
    slot: np.ndarray
    bit: np.ndarray
    start: np.ndarray
    low: np.ndarray
    top: np.ndarray
    large: np.ndarray
    own: np.ndarray
    mask: np.ndarray
    upto: np.ndarray
    after: np.ndarray
    bound_start: np.ndarray
    bounds: np.ndarray


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
def find_bounds(boxes, active, offset, bound_start, bounds):
    """List the active axes that restrict each box, and where it begins and ends there."""
    n = 0
    for r in range(boxes.tree.shape[0]):
        for i in range(active.shape[0]):
            a = active[i]
            last = boxes.n_cells[a] - 1
            if boxes.categorical[a]:
                bound = boxes.first[r, a] != (2 << last) - 1
            else:
                bound = boxes.first[r, a] > 0 or boxes.last[r, a] < last
            if bound:
                bounds[0, n] = i
                bounds[1, n] = -1 if boxes.categorical[a] else offset[i] + boxes.first[r, a]
                bounds[2, n] = -1 if boxes.categorical[a] else offset[i] + boxes.last[r, a]
                n += 1
        bound_start[r + 1] = n


@inner
def fill_masks(boxes, bits, stop):
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
            if boxes.categorical[a]:
                for c in range(end - begin):
                    if (boxes.first[r, a] >> c) & 1:
                        mask[begin + c, s] |= bit
            else:
                upto[begin + boxes.first[r, a], s] |= bit
                after[begin + boxes.last[r, a], s] |= bit
        if boxes.categorical[a]:
            continue
        for c in range(begin + 1, end):
            for s in range(mask.shape[1]):
                upto[c, s] |= upto[c - 1, s]
                after[begin + end - 1 - c, s] |= after[begin + end - c, s]
        for c in range(begin, end):
            for s in range(mask.shape[1]):
                mask[c, s] = upto[c, s] & after[c, s]


@making
def make_bits(boxes, n_trees, shared, stop):
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
    find_bounds(boxes, bits.active, bits.offset, bits.bound_start, bits.bounds)
    fill_masks(boxes, bits, stop)
    return bits


@inner
def has_box(bits, t, alive, sets, row):
    """Whether a tree of several words has an alive box in a row of sets (rows, words)."""
    for s in range(bits.words[t], bits.slot[bits.first_box[t + 1] - 1] + 1):
        if alive[s] & sets[row, s] != 0:
            return True
    return False


@inlined
def find_trees(bits, alive, sets, row, out):
    """Set out (words,) to the trees with an alive box in a row of sets, as their own bits.

    Of shared words.
    """
    for s in range(out.shape[0]):
        both, low = alive[s] & sets[row, s], bits.low[s]
        out[s] = (((both & low) + low) | both) & bits.top[s]
    for k in range(bits.large.shape[0]):
        t = bits.large[k]
        if has_box(bits, t, alive, sets, row):
            out[bits.words[t]] = bits.own[t]


@inner
def count_trees(bits, alive, sets, row):
    """Number of trees with an alive box in a row of sets (rows, words); of shared words."""
    n = 0
    for s in range(alive.shape[0]):
        both, low = alive[s] & sets[row, s], bits.low[s]
        n += popcount((((both & low) + low) | both) & bits.top[s])
    for k in range(bits.large.shape[0]):
        n += has_box(bits, bits.large[k], alive, sets, row)
    return n


@inner
def best_box(bits, t, alive, sets, row):
    """The best alive box of a tree in a row of sets, -1 if there is none; of words of its own."""
    for s in range(bits.words[t], bits.words[t + 1]):
        word = alive[s] & sets[row, s]
        if word != 0:
            return bits.start[s] + lowest_bit(word)
    return -1


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
def find_meeting(boxes, bits, r, meets):
    """Set row r of meets to the boxes that meet box r."""
    for s in range(meets.shape[1]):
        meets[r, s] = -1
    for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
        i, begin, end = bits.bounds[0, k], bits.bounds[1, k], bits.bounds[2, k]
        a, base = bits.active[i], bits.offset[i]
        for s in range(meets.shape[1]):
            if not boxes.categorical[a]:
                meets[r, s] &= bits.upto[end, s] & bits.after[begin, s]
                continue
            union = 0
            for c in range(boxes.n_cells[a]):
                if (boxes.first[r, a] >> c) & 1:
                    union |= bits.mask[base + c, s]
            meets[r, s] &= union
