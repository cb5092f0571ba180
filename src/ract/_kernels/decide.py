"""Is there a point that lies in desired boxes of enough trees? A search with bit sets.

Every box is a bit; the boxes of one tree share one or more words of 64. A partial choice of cells
keeps the boxes that are still *alive*; a tree is alive while one of its boxes is. For each axis:

    cells   0   1   2   3   4        only cells where some alive box ends after others began can
    boxes   |-------|   |---|        be best (here 1, 2 and 4): every other cell lies in no box
                |-----------|        that a neighbour does not lie in too

A cell with which fewer than the needed trees stay alive is dropped; when every axis has one cell
left, a solution is found. Branching takes the axis with the least slack.

Trees that cannot agree sharpen the bound: if no alive box of tree t meets any alive box of some
partner trees, at least one of them is lost. Disjoint such groups are counted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.boxes import has_category

YES, NO, UNKNOWN = 1, 0, -1
# How sharply branching prefers axes with little slack; which trees are tried for conflicts (by
# their number of alive boxes), and how scarce slack must be for that to pay.
SHARPNESS = 0.25
MOST_ALIVE = 6
SCARCE = 0.45


class Bits(NamedTuple):
    """Boxes as bits.

    active int64: axes with more than one cell. offset int64 (active + 1,): where an axis' cells
    start in mask. slot int64, bit uint64 (boxes,): word and bit of a box. words int64 (trees + 1,):
    first word of each tree. mask uint64 (cells, words): boxes that hold a cell. upto, after: boxes
    that begin at an ordinal cell or before it, and that end there or after it.
    bound_start int64 (boxes + 1,), bound_axis int64: the ordinal active axes that restrict a box.
    first_box int64 (trees + 1,): first box of each tree.
    """

    active: Any
    offset: Any
    slot: Any
    bit: Any
    words: Any
    mask: Any
    upto: Any
    after: Any
    bound_start: Any
    bound_axis: Any
    first_box: Any


@inner
def give_bits(boxes, slot, bit, words, first_box):
    """Number the boxes; returns the number of words."""
    n, r = 0, 0
    for t in range(boxes.n_trees):
        words[t] = n
        first_box[t] = r
        k = 0
        while r < boxes.tree.shape[0] and boxes.tree[r] == t:
            slot[r] = n + (k >> 6)
            bit[r] = np.uint64(1) << np.uint64(k & 63)
            k += 1
            r += 1
        n += (k + 63) >> 6
    words[boxes.n_trees] = n
    first_box[boxes.n_trees] = r
    return n


@inner
def fill_masks(boxes, categorical, active, n_active, offset, slot, bit, mask, upto, after):
    """Set mask, upto and after (cells, words), as Bits says.

    An ordinal cell lies in the boxes that begin at it or before and end at it or after.
    """
    n_words = mask.shape[1]
    for r in range(boxes.tree.shape[0]):
        for i in range(n_active):
            a = active[i]
            if not categorical[a]:
                upto[offset[i] + boxes.first[r, a], slot[r]] |= bit[r]
                after[offset[i] + boxes.last[r, a], slot[r]] |= bit[r]
                continue
            for c in range(boxes.n_cells[a]):
                if has_category(boxes, r, a, c):
                    mask[offset[i] + c, slot[r]] |= bit[r]
    for i in range(n_active):
        if categorical[active[i]]:
            continue
        for c in range(offset[i] + 1, offset[i + 1]):
            for s in range(n_words):
                upto[c, s] |= upto[c - 1, s]
        for c in range(offset[i + 1] - 2, offset[i] - 1, -1):
            for s in range(n_words):
                after[c, s] |= after[c + 1, s]
        for c in range(offset[i], offset[i + 1]):
            for s in range(n_words):
                mask[c, s] = upto[c, s] & after[c, s]


@inner
def make_bits(boxes, categorical):
    """Everything about the boxes that stays the same during a search."""
    n_axes, n_boxes = boxes.n_cells.shape[0], boxes.tree.shape[0]
    active, n_active, n_cells = np.empty(n_axes, np.int64), 0, 0
    offset = np.zeros(n_axes + 1, np.int64)
    for a in range(n_axes):
        if boxes.n_cells[a] > 1:
            active[n_active] = a
            n_active += 1
            n_cells += boxes.n_cells[a]
            offset[n_active] = n_cells
    slot, bit = np.empty(n_boxes, np.int64), np.empty(n_boxes, np.uint64)
    words = np.empty(boxes.n_trees + 1, np.int64)
    first_box = np.empty(boxes.n_trees + 1, np.int64)
    n_words = give_bits(boxes, slot, bit, words, first_box)
    mask = np.zeros((n_cells, n_words), np.uint64)
    upto = np.zeros((n_cells, n_words), np.uint64)
    after = np.zeros((n_cells, n_words), np.uint64)
    fill_masks(boxes, categorical, active, n_active, offset, slot, bit, mask, upto, after)
    bound_start = np.zeros(n_boxes + 1, np.int64)
    bound_axis = np.empty(n_boxes * n_active, np.int64)
    n = 0
    for r in range(n_boxes):
        for i in range(n_active):
            a = active[i]
            if not categorical[a]:
                if boxes.first[r, a] > 0 or boxes.last[r, a] < boxes.n_cells[a] - 1:
                    bound_axis[n] = i
                    n += 1
        bound_start[r + 1] = n
    return Bits(
        active[:n_active], offset, slot, bit, words, mask, upto, after, bound_start, bound_axis,
        first_box,
    )  # fmt: skip


@inner
def trees_alive(alive, mask, words, n_trees):
    """How many trees have a box in both sets of boxes."""
    count = np.int64(0)
    if words[n_trees] == n_trees:
        for t in range(n_trees):
            count += np.int64((alive[t] & mask[t]) != np.uint64(0))
        return count
    for t in range(n_trees):
        for s in range(words[t], words[t + 1]):
            if alive[s] & mask[s] != np.uint64(0):
                count += 1
                break
    return count


@inner
def mark_ends(boxes, bits, alive, stamp, begins, ends):
    """Stamp the cells where an alive box begins, and where one ends."""
    for r in range(boxes.tree.shape[0]):
        if alive[bits.slot[r]] & bits.bit[r] == np.uint64(0):
            continue
        for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
            i = bits.bound_axis[k]
            a = bits.active[i]
            begins[bits.offset[i] + boxes.first[r, a]] = stamp
            ends[bits.offset[i] + boxes.last[r, a]] = stamp


@inner
def undominated_cells(n_cells, base, is_categorical, stamp, begins, ends, cells):
    """Cells of an axis that can be best, written to cells[base:]; returns their number."""
    n = 0
    if is_categorical:
        for c in range(n_cells):
            cells[base + c] = c
        return n_cells
    begun = True
    for c in range(n_cells):
        if begins[base + c] == stamp:
            begun = True
        if begun and (c == n_cells - 1 or ends[base + c] == stamp):
            cells[base + n] = c
            n += 1
            begun = False
    return n


@inner
def restrict(alive, mask, cells, base, n):
    """Keep the boxes that hold one of some cells; returns whether any was lost."""
    changed = False
    for s in range(alive.shape[0]):
        union = np.uint64(0)
        for q in range(n):
            union |= mask[base + cells[base + q], s]
        kept = alive[s] & union
        if kept != alive[s]:
            alive[s] = kept
            changed = True
    return changed


@inner
def propagate(
    boxes, bits, categorical, needed, alive, chosen, stamps, begins, ends, cells, counts, n_left
):
    """Drop cells and boxes that cannot take part; returns the trees alive, -1 if too few.

    chosen (active,): cell of an axis or -1. cells, counts (all cells,): what is left of each axis
    and how many trees stay alive with it. n_left (active,): how many cells are left.
    """
    n_trees = boxes.n_trees
    while True:
        count = trees_alive(alive, alive, bits.words, n_trees)
        if count < needed:
            return -1
        stamps[0] += 1
        mark_ends(boxes, bits, alive, stamps[0], begins, ends)
        changed = False
        for i in range(bits.active.shape[0]):
            if chosen[i] >= 0:
                n_left[i] = 1
                continue
            a, base = bits.active[i], bits.offset[i]
            before = undominated_cells(
                boxes.n_cells[a], base, categorical[a], stamps[0], begins, ends, cells
            )
            if before == 1:
                n_left[i] = 1
                chosen[i] = cells[base]
                continue
            n = 0
            for q in range(before):
                c = cells[base + q]
                together = trees_alive(alive, bits.mask[base + c], bits.words, n_trees)
                if together >= needed:
                    cells[base + n] = c
                    counts[base + n] = together
                    n += 1
            if n == 0:
                return -1
            n_left[i] = n
            if n == 1:
                chosen[i] = cells[base]
            if n < before and restrict(alive, bits.mask, cells, base, n):
                changed = True
        if not changed:
            return count


@inner
def neighbours(boxes, bits, categorical, r, row):
    """Set row (words,) to the boxes that meet box r."""
    n_words = row.shape[0]
    for s in range(n_words):
        row[s] = ~np.uint64(0)
    for k in range(bits.bound_start[r], bits.bound_start[r + 1]):
        i = bits.bound_axis[k]
        a = bits.active[i]
        begin = bits.offset[i] + boxes.last[r, a]
        end = bits.offset[i] + boxes.first[r, a]
        for s in range(n_words):
            row[s] &= bits.upto[begin, s] & bits.after[end, s]
    for i in range(bits.active.shape[0]):
        a = bits.active[i]
        if categorical[a]:
            for s in range(n_words):
                union = np.uint64(0)
                for c in range(boxes.n_cells[a]):
                    if has_category(boxes, r, a, c):
                        union |= bits.mask[bits.offset[i] + c, s]
                row[s] &= union


@inner
def meets_tree(row, alive, words, t):
    """Whether any alive box of tree t is in the row."""
    for s in range(words[t], words[t + 1]):
        if row[s] & alive[s] != np.uint64(0):
            return True
    return False


@inner
def order_trees(boxes, bits, alive, n_alive, used, order):
    """Count the alive boxes of each tree and list the alive trees, fewest boxes first.

    Returns their number. used is set for the others. Trees with many boxes (64 and more) are not
    told apart.
    """
    buckets = np.zeros(66, np.int64)
    for t in range(boxes.n_trees):
        n = 0
        for r in range(bits.first_box[t], bits.first_box[t + 1]):
            if alive[bits.slot[r]] & bits.bit[r] != np.uint64(0):
                n += 1
        n_alive[t] = n
        used[t] = n == 0
        buckets[min(n, 64) + 1] += 1
    for k in range(1, 66):
        buckets[k] += buckets[k - 1]
    dead = buckets[1]
    for t in range(boxes.n_trees):
        k = min(n_alive[t], 64)
        if k > 0:
            order[buckets[k] - dead] = t
            buckets[k] += 1
    return boxes.n_trees - dead


@inner
def find_partner(row, alive, words, order, n, used, t):
    """An unused tree with many alive boxes of which none is in the row; -1 if there is none."""
    for k in range(n - 1, -1, -1):
        other = order[k]
        if not used[other] and other != t and not meets_tree(row, alive, words, other):
            return other
    return -1


@inner
def lost_to_conflicts(boxes, bits, categorical, alive, slack, known, meets, n_alive, used, order):
    """At least how many alive trees are lost because they cannot agree; stops above slack."""
    n = order_trees(boxes, bits, alive, n_alive, used, order)
    partners = np.empty(MOST_ALIVE + 1, np.int64)
    lost, free = 0, n
    for k in range(n):
        t = order[k]
        if n_alive[t] > MOST_ALIVE or lost + free // 2 <= slack:
            break
        if used[t]:
            continue
        n_partners, conflict = 0, True
        for r in range(bits.first_box[t], bits.first_box[t + 1]):
            if alive[bits.slot[r]] & bits.bit[r] == np.uint64(0):
                continue
            if not known[r]:
                neighbours(boxes, bits, categorical, r, meets[r])
                known[r] = True
            blocked = False
            for p in range(n_partners):
                if not meets_tree(meets[r], alive, bits.words, partners[p]):
                    blocked = True
                    break
            if blocked:
                continue
            partner = find_partner(meets[r], alive, bits.words, order, n, used, t)
            if partner < 0:
                conflict = False
                break
            partners[n_partners] = partner
            n_partners += 1
        if conflict:
            lost += 1
            used[t] = True
            free -= 1 + n_partners
            for p in range(n_partners):
                used[partners[p]] = True
            if lost > slack:
                break
    return lost


@inner
def branching_axis(bits, needed, chosen, n_left, counts):
    """The open axis with the least slack over its cells; -1 if every axis is settled."""
    best, least = -1, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        score = 0.0
        for q in range(n_left[i]):
            score += math.exp(SHARPNESS * (counts[bits.offset[i] + q] - needed))
        if score < least:
            least = score
            best = i
    return best


@inner
def sort_by_count(cells, counts, base, n, out):
    """Copy the cells of an axis to out, those with most trees first."""
    for q in range(n):
        c, k = cells[base + q], counts[base + q]
        p = q
        while p > 0 and counts[base + p - 1] < k:
            counts[base + p] = counts[base + p - 1]
            out[p] = out[p - 1]
            p -= 1
        counts[base + p] = k
        out[p] = c


@inner
def decide(boxes, needed, categorical, max_nodes, point):
    """Whether a point lies in desired boxes of at least needed trees.

    point (axes,) int64: set to compressed cells of a solution. Returns YES, NO or UNKNOWN (more
    than max_nodes nodes), and the number of nodes.
    """
    for a in range(point.shape[0]):
        point[a] = 0
    if needed <= 0:
        return YES, 0
    if boxes.n_trees < needed:
        return NO, 0
    bits = make_bits(boxes, categorical)
    n_active, n_words = bits.active.shape[0], bits.mask.shape[1]
    n_cells, n_boxes, n_trees = bits.mask.shape[0], boxes.tree.shape[0], boxes.n_trees
    alive = np.zeros((n_active + 2, n_words), np.uint64)
    chosen = np.full((n_active + 2, n_active), -1, np.int64)
    for r in range(n_boxes):
        alive[0, bits.slot[r]] |= bits.bit[r]
    begins, ends = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    cells, counts = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    n_left, stamps = np.zeros(n_active, np.int64), np.zeros(1, np.int64)
    known, meets = np.zeros(n_boxes, np.bool_), np.empty((n_boxes, n_words), np.uint64)
    n_alive, used = np.zeros(n_trees, np.int64), np.zeros(n_trees, np.bool_)
    axis_of = np.zeros(n_active + 2, np.int64)
    options = np.zeros((n_active + 2, n_cells + 1), np.int64)
    n_options, tried = np.zeros(n_active + 2, np.int64), np.zeros(n_active + 2, np.int64)
    order = np.zeros(n_trees, np.int64)
    nodes, depth, fresh = 0, np.int64(0), True
    while depth >= 0:
        if fresh:
            fresh = False
            nodes += 1
            if nodes > max_nodes:
                return UNKNOWN, nodes
            n_options[depth] = 0
            tried[depth] = 0
            count = propagate(
                boxes, bits, categorical, needed, alive[depth], chosen[depth], stamps,
                begins, ends, cells, counts, n_left,
            )  # fmt: skip
            slack = count - needed
            if count >= 0 and slack < SCARCE * count:
                lost = lost_to_conflicts(
                    boxes, bits, categorical, alive[depth], slack, known, meets,
                    n_alive, used, order,
                )  # fmt: skip
                if lost > slack:
                    count = -1
            if count >= 0:
                i = branching_axis(bits, needed, chosen[depth], n_left, counts)
                if i < 0:
                    for k in range(n_active):
                        point[bits.active[k]] = chosen[depth, k]
                    return YES, nodes
                axis_of[depth] = i
                n_options[depth] = n_left[i]
                sort_by_count(cells, counts, bits.offset[i], n_left[i], options[depth])
        if tried[depth] >= n_options[depth]:
            depth -= 1
            continue
        i = axis_of[depth]
        c = options[depth, tried[depth]]
        tried[depth] += 1
        for s in range(n_words):
            alive[depth + 1, s] = alive[depth, s] & bits.mask[bits.offset[i] + c, s]
        for k in range(n_active):
            chosen[depth + 1, k] = chosen[depth, k]
        chosen[depth + 1, i] = c
        depth += 1
        fresh = True
    return NO, nodes
