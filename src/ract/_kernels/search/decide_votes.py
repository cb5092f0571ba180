"""Is there a point that lies in desired boxes of enough trees? A search with bit sets.

A tree is alive while one of its desired boxes is. For each axis:

    cells   0   1   2   3   4        only cells where some alive box ends after others began can
    boxes   |-------|   |---|        be best (here 1, 2 and 4): every other cell lies in no box
                |-----------|        that a neighbour does not lie in too

A cell with which fewer than the needed trees stay alive is dropped; when every axis has one cell
left, a solution is found. Branching takes the axis with the least slack.

Trees that cannot agree sharpen the bound (``conflicts``).

With a limit on the number of changed features, an axis counts as changed once its home cell is
out; when the limit is reached, every other axis stays at home.
"""

from __future__ import annotations

import math

import numpy as np

from ract._kernels._jit import inner, making_kernel
from ract._kernels.search.bits import (
    find_trees,
    go_on,
    make_bits,
    mark_ends,
    new_state,
    read_point,
    restrict,
)
from ract._kernels.search.conflicts import lost_to_conflicts, new_conflicts
from ract._kernels.search.far import MOST_MOVES, drop_far, find_near, mark_moved, new_far
from ract._utils.status import Status

FOUND, NONE, UNKNOWN = Status.FOUND.value, Status.NONE.value, Status.UNKNOWN.value
# How sharply branching prefers axes with little slack, and how scarce slack must be for conflicts
# to be worth looking for.
SHARPNESS = 0.25
SCARCE = 0.45


@inner
def undominated_cells(n_cells, base, is_categorical, home, stamp, begins, ends, cells):
    """Cells of an axis that can be best, written to cells[base:]; returns their number.

    home: a cell to keep in any case, or -1.
    """
    n, begun = 0, True
    for c in range(n_cells):
        begun = begun or begins[base + c] == stamp
        best = begun and (c == n_cells - 1 or ends[base + c] == stamp)
        if best or is_categorical or c == home:
            cells[base + n] = c
            n += 1
        begun = begun and not best
    return n


@inner
def propagate(boxes, bits, categorical, needed, changes, alive, chosen, state, far):
    """Drop cells and boxes that cannot take part; returns the trees alive, -1 if too few.

    changes: how many axes may leave home. alive (words,), chosen (active,): of the level. The
    last row of the state's lists is set to how many trees stay alive with each cell left.
    """
    n_active, n_left, stamps = bits.active.shape[0], state.n_left, state.stamps
    begins, ends, cells, counts = state.lists[0], state.lists[1], state.lists[2], state.lists[3]
    moved = mark_moved(boxes, bits, chosen, far) if changes < n_active else 0
    while True:
        moves = changes - moved
        few = changes < n_active and 0 < moves <= MOST_MOVES
        if few:
            drop_far(boxes, bits, moves, alive, far)
        count = find_trees(bits, alive, state.alive, np.int64(0), state.trees)
        if count < needed:
            return -1
        stamps[0] += 1
        mark_ends(bits, alive, stamps[0], begins, ends)
        changed, moved = False, 0
        for i in range(n_active):
            a, base = bits.active[i], bits.offset[i]
            home = boxes.home[a] if changes < n_active else -1
            if chosen[i] < 0:
                before = undominated_cells(
                    boxes.n_cells[a], base, categorical[a], home, stamps[0], begins, ends, cells
                )
                n = np.int64(0)
                if few:
                    find_near(boxes, bits, i, moves, alive, far)
                for q in range(before):
                    c = cells[base + q]
                    together = count
                    if before > 1 and few and c != home:
                        together = find_trees(bits, far.near, bits.mask, base + c, state.trees)
                    elif before > 1:
                        together = find_trees(bits, alive, bits.mask, base + c, state.trees)
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
            if home >= 0 and left_home(chosen[i], home, cells, base, n_left[i]):
                changed = changed or not far.moved[i]
                far.moved[i] = 1
                moved += 1
        if moved > changes:
            return -1
        if moved == changes and changes < n_active:
            changed = go_home(boxes, bits, alive, chosen, cells, n_left) or changed
        if not changed:
            return count


@inner
def left_home(chosen, home, cells, base, n):
    """Whether an axis has no way to stay at home."""
    if chosen >= 0:
        return chosen != home
    for q in range(n):
        if cells[base + q] == home:
            return False
    return True


@inner
def go_home(boxes, bits, alive, chosen, cells, n_left):
    """Send every axis that can still stay at home there; returns whether a box was lost."""
    changed = False
    for i in range(bits.active.shape[0]):
        home, base = boxes.home[bits.active[i]], bits.offset[i]
        if chosen[i] < 0 and not left_home(chosen[i], home, cells, base, n_left[i]):
            chosen[i] = home
            n_left[i] = 1
            cells[base] = home
            changed = restrict(alive, bits.mask, cells, base, np.int64(1)) or changed
    return changed


@inner
def branching_axis(bits, needed, chosen, n_left, counts):
    """The open axis with the least slack over its cells; -1 if every axis has one cell left."""
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


@making_kernel
def decide_votes(boxes, n_trees, needed, changes, own, categorical, max_nodes, stop, point):
    """Whether a point lies in desired boxes of at least needed of n_trees trees.

    changes: how many axes may leave home. stop (1,) uint8: set from outside to end the search.
    point (axes,) int64: set to the original cells of a solution. Returns FOUND, NONE or
    UNKNOWN (stopped, or more than max_nodes nodes), and the number of nodes.
    """
    bits, n_boxes = make_bits(boxes, categorical, n_trees, True, stop), boxes.tree.shape[0]
    if stop[0]:  # making bits takes long where there are many boxes
        return UNKNOWN, 1
    state, room = new_state(bits, n_boxes), new_conflicts(n_trees, n_boxes, bits.mask.shape[1])
    far = new_far(bits)
    nodes, depth = 0, np.int64(0)
    while depth >= 0:
        nodes += 1
        if nodes > max_nodes or stop[0]:
            return UNKNOWN, nodes
        alive, chosen = state.alive[depth], state.chosen[depth]
        state.n_options[depth] = 0
        state.tried[depth] = 0
        before, dropped = n_trees + 1, 1
        while dropped > 0:
            count = propagate(boxes, bits, categorical, needed, changes, alive, chosen, state, far)
            slack = count - needed
            if count < 0 or count == before or slack >= SCARCE * count:
                break
            before = count
            lost, dropped = lost_to_conflicts(boxes, bits, categorical, alive, slack, state, room)
            if lost > slack:
                count = -1
                break
        if count >= 0:
            i = branching_axis(bits, needed, chosen, state.n_left, state.lists[3])
            if i < 0:
                read_point(boxes, bits, chosen, own, categorical, point)
                return FOUND, nodes
            state.axis_of[depth] = i
            n = state.n_left[i]
            state.n_options[depth] = n
            sort_by_count(state.lists[2], state.lists[3], bits.offset[i], n, state.options[depth])
        depth = go_on(bits, state, depth)
    return NONE, nodes
