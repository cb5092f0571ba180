"""Dropping cells and boxes that cannot take part in a solution.

A cell is dropped if too little can be won with it, and a box if none of the cells left of an axis
lies in it. Trees that vote are worth 1 each while a box of theirs is alive; else the best alive box
of every tree is added up. Of the cells of an axis not all are looked at. Where trees vote, more
boxes are never worse:

    cells   0   1   2   3   4        only cells where some alive box ends after others began can
    boxes   |-------|   |---|        be best (here 1, 2 and 4): every other cell lies in no box
                |-----------|        that a neighbour does not lie in too

Where values are added up, of cells that lie in the same boxes one is enough.

With a limit on the number of changed features, an axis counts as changed once its current cell is
dropped; when the limit is reached, every other axis keeps its current cell.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inlined, inner
from ract._kernels.search.bits import best_box, count_trees, mark_ends, restrict
from ract._kernels.search.far import MOST_MOVES, drop_far, find_near, mark_moved


@inner
def undominated_cells(boxes, a, base, current, stamp, begins, ends, cells):
    """Cells of an axis that can be best, written to cells[base:]; returns their number.

    current: a cell to keep in any case, or -1.
    """
    n, begun, n_cells = 0, True, boxes.n_cells[a]
    for c in range(n_cells):
        begun = begun or begins[base + c] == stamp
        best = begun and (c == n_cells - 1 or ends[base + c] == stamp)
        if best or boxes.categorical[a] or c == current:
            cells[base + n] = c
            n += 1
        begun = begun and not best
    return n


@inner
def different_cells(boxes, a, base, stamp, begins, ends, open_, cells):
    """Cells of an axis that differ, written to cells[base:]; returns their number.

    Of each run of open cells in the same alive boxes it is the one nearest to the current cell.
    """
    n, same = 0, False
    for c in range(boxes.n_cells[a]):
        same = same and begins[base + c] != stamp and ends[base + c - 1] != stamp
        if not open_[base + c]:
            continue
        if boxes.categorical[a] or not same:
            cells[base + n] = c
            n += 1
            same = True
        elif c <= boxes.current[a]:
            cells[base + n - 1] = c
    return n


@inner
def must_change(chosen, current, cells, base, n):
    """Whether an axis has no way to keep its current cell."""
    if chosen >= 0:
        return chosen != current
    for q in range(n):
        if cells[base + q] == current:
            return False
    return True


@inlined
def find_best(bits, value, alive, state):
    """Best alive box of each tree; returns the sum of their values, -inf if a tree has none."""
    best, sum_ = state.best, 0.0
    for t in range(best.shape[0]):
        best[t] = best_box(bits, t, alive, state.alive, 0)
        if best[t] < 0:
            return -np.inf
        sum_ += value[best[t]]
    return sum_


@inlined
def lost_with_cell(bits, value, alive, cell, best, slack):
    """What the best sum loses with a cell; anything above slack may stand for more."""
    lost = 0.0
    for t in range(best.shape[0]):
        r = best[t]
        if alive[bits.slot[r]] & bits.mask[cell, bits.slot[r]] & bits.bit[r] != 0:
            continue
        other = best_box(bits, t, alive, bits.mask, cell)
        if other < 0:
            return np.inf
        lost += value[r] - value[other]
        if lost > slack:
            return lost
    return lost


@inner
def keep_current(boxes, bits, alive, chosen, cells, n_left):
    """Choose the current cell on every axis that still can; returns whether a box was lost.

    alive may be None: boxes are then left as they are.
    """
    changed = False
    for i in range(bits.active.shape[0]):
        current, base = boxes.current[bits.active[i]], bits.offset[i]
        if chosen[i] < 0 and not must_change(chosen[i], current, cells, base, n_left[i]):
            chosen[i] = current
            n_left[i] = 1
            cells[base] = current
            if alive is not None:
                changed = restrict(alive, bits.mask, cells, base, np.int64(1)) or changed
    return changed


@inner
def propagate_bound(boxes, bits, value, least, changes, alive, chosen, open_, state, stop):
    """Drop cells and boxes that cannot take part; returns the bound, -inf if it is below least.

    value float64 (boxes,), or None where trees vote, which then share words. changes: how many axes
    may change. alive (words,), chosen (active,), open_ int8 (cells of all axes,): of the node.
    The state's losses are set to what the bound loses with each cell left. What was found is not
    for use if stop was set meanwhile.
    """
    n_active, n_left, stamps = bits.active.shape[0], state.n_left, state.stamps
    begins, ends, cells = state.lists[0], state.lists[1], state.lists[2]
    limited, far, losses = changes < n_active, state.far, state.losses
    moved = mark_moved(boxes, bits, chosen, far) if limited else 0
    while True:
        moves = changes - moved
        few = limited and 0 < moves <= MOST_MOVES
        if few:
            drop_far(boxes, bits, moves, alive, far)
        if value is None:
            bound = np.float64(count_trees(bits, alive, state.alive, np.int64(0)))
        else:
            bound = find_best(bits, value, alive, state)
        if bound < least:
            return -np.inf
        stamps[0] += 1
        mark_ends(bits, alive, stamps[0], begins, ends)
        changed, moved = False, 0
        for i in range(n_active):
            if stop[0]:
                return bound
            a, base = bits.active[i], bits.offset[i]
            current = boxes.current[a]
            if chosen[i] < 0:
                if value is None:
                    kept = current if limited else -1
                    before = undominated_cells(boxes, a, base, kept, stamps[0], begins, ends, cells)
                else:
                    before = different_cells(boxes, a, base, stamps[0], begins, ends, open_, cells)
                n = np.int64(0)
                if few:
                    find_near(boxes, bits, i, moves, alive, far)
                for q in range(before):
                    c, lost = cells[base + q], 0.0
                    if before > 1:
                        near = far.near if few and c != current else alive
                        if value is None:
                            lost = bound - count_trees(bits, near, bits.mask, base + c)
                        else:
                            lost = lost_with_cell(
                                bits, value, near, base + c, state.best, bound - least
                            )
                    if lost <= bound - least:
                        cells[base + n] = c
                        losses[base + n] = lost
                        n += 1
                if n == 0:
                    return -np.inf
                n_left[i] = n
                if n == 1:
                    chosen[i] = cells[base]
                if n < before and restrict(alive, bits.mask, cells, base, n):
                    changed = True
            if limited and must_change(chosen[i], current, cells, base, n_left[i]):
                changed = changed or not far.moved[i]
                far.moved[i] = 1
                moved += 1
        if moved > changes:
            return -np.inf
        if moved == changes and limited:
            changed = keep_current(boxes, bits, alive, chosen, cells, n_left) or changed
        if not changed:
            return bound
