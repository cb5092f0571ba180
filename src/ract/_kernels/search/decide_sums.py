"""Is there a point whose leaf values add up to enough? The search for votes, with sums.

Here every leaf is a box, the best value of a tree in its lowest bit, so that the best alive value
of a tree is found at its lowest set bit, and their sum bounds what any point can have:

    tree t   value   .9  .7  .7  .4  .1
             alive    0   1   0   1   1     at most .7; a cell whose mask lacks that box costs
             cell     1   0   1   1   0     the tree .7 - .4

A cell that loses more than the slack is dropped. Pairs of trees whose best boxes do not meet
lose at least what their best boxes that do meet have less; disjoint pairs add up. Sums in
another order differ in the last digits, so bounds leave a tolerance and a point counts as a
solution only when the whole forest, added up as the model does, accepts it.
"""

from __future__ import annotations

import math

import numpy as np

from ract._kernels._jit import inlined, inner, kernel
from ract._kernels.search.bits import (
    find_meeting,
    go_on,
    lowest_bit,
    make_bits,
    mark_ends,
    new_state,
    read_point,
    restrict,
)
from ract._kernels.search.cell_forest import is_wanted
from ract._kernels.search.decide_votes import FOUND, NONE, UNKNOWN, go_home, left_home

SHARPNESS = 0.5


@inlined
def best_box(bits, t, alive, sets, row):
    """The best alive box of a tree in a row of sets; -1 if there is none."""
    for s in range(bits.words[t], bits.words[t + 1]):
        word = alive[s] & sets[row, s]
        if word != 0:
            return bits.start[s] + lowest_bit(word)
    return -1


@inlined
def find_best(bits, value, alive, state, best):
    """Best alive box of each tree; returns the sum of their values, -inf if a tree has none."""
    sum_ = 0.0
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
        if bits.mask[cell, bits.slot[r]] & bits.bit[r] != 0:
            continue
        other = best_box(bits, t, alive, bits.mask, cell)
        if other < 0:
            return np.inf
        lost += value[r] - value[other]
        if lost > slack:
            return lost
    return lost


@inner
def different_cells(n_cells, base, is_categorical, home, stamp, begins, ends, cells):
    """Of each run of cells that lie in the same alive boxes the one nearest to home."""
    n = 0
    for c in range(n_cells):
        same = n > 0 and begins[base + c] != stamp and ends[base + c - 1] != stamp
        if is_categorical or not same:
            cells[base + n] = c
            n += 1
        elif c <= home:
            cells[base + n - 1] = c
    return n


@inner
def propagate(
    boxes, bits, categorical, value, least, changes, alive, chosen, state, losses, best
):  # fmt: skip
    """Drop cells and boxes that cannot take part; returns the best sum, -inf if below least.

    As for votes. losses (all cells,): what the best sum loses with each cell left.
    """
    n_active, n_left, stamps = bits.active.shape[0], state.n_left, state.stamps
    begins, ends, cells = state.lists[0], state.lists[1], state.lists[2]
    while True:
        sum_ = find_best(bits, value, alive, state, best)
        if sum_ < least:
            return -np.inf
        stamps[0] += 1
        mark_ends(bits, alive, stamps[0], begins, ends)
        changed, moved = False, 0
        for i in range(n_active):
            a, base = bits.active[i], bits.offset[i]
            home = boxes.home[a]
            if chosen[i] < 0:
                before = different_cells(
                    boxes.n_cells[a], base, categorical[a], home, stamps[0], begins, ends, cells
                )
                n = np.int64(0)
                for q in range(before):
                    c = cells[base + q]
                    lost = 0.0
                    if before > 1:
                        lost = lost_with_cell(bits, value, alive, base + c, best, sum_ - least)
                    if lost <= sum_ - least:
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
            if left_home(chosen[i], home, cells, base, n_left[i]):
                moved += 1
        if moved > changes:
            return -np.inf
        if moved == changes and changes < n_active:
            changed = go_home(boxes, bits, alive, chosen, cells, n_left) or changed
        if not changed:
            return sum_


@inlined
def best_together(boxes, bits, categorical, value, alive, t, u, best, state):
    """The best sum of an alive box of tree t and one of tree u that meet; -inf without such."""
    joint = -np.inf
    for r in range(best[t], bits.first_box[t + 1]):
        if alive[bits.slot[r]] & bits.bit[r] == 0:
            continue
        if value[r] + value[best[u]] <= joint:
            break
        if state.known[r] == 0:
            find_meeting(boxes, bits, categorical, r, state.meets)
            state.known[r] = 1
        other = best_box(bits, u, alive, state.meets, r)
        if other >= 0 and value[r] + value[other] > joint:
            joint = value[r] + value[other]
    return joint


@inlined
def lost_in_pairs(boxes, bits, categorical, value, alive, slack, best, state, used):
    """What pairs of trees lose at least because their best boxes do not meet; stops above slack."""
    n_trees, lost = best.shape[0], 0.0
    for t in range(n_trees):
        used[t] = 0
    for t in range(n_trees):
        if used[t]:
            continue
        r, partner, most = best[t], -1, 0.0
        if state.known[r] == 0:
            find_meeting(boxes, bits, categorical, r, state.meets)
            state.known[r] = 1
        for u in range(t + 1, n_trees):
            if used[u] or state.meets[r, bits.slot[best[u]]] & bits.bit[best[u]] != 0:
                continue
            joint = best_together(boxes, bits, categorical, value, alive, t, u, best, state)
            if value[r] + value[best[u]] - joint > most:
                partner, most = u, value[r] + value[best[u]] - joint
        if partner >= 0:
            used[partner] = 1
            lost += most
            if lost > slack:
                return lost
    return lost


@inner
def branching_axis(bits, chosen, n_left, losses, slack, unit):
    """The open axis with the least slack over its cells; -1 if every axis has one cell left."""
    best, least = -1, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        score = 0.0
        for q in range(n_left[i]):
            score += math.exp(SHARPNESS * (slack - losses[bits.offset[i] + q]) / unit)
        if score < least:
            least = score
            best = i
    return best


@inner
def sort_by_loss(cells, losses, base, n, out):
    """Copy the cells of an axis to out, those that lose least first."""
    for q in range(n):
        c, lost = cells[base + q], losses[base + q]
        p = q
        while p > 0 and losses[base + p - 1] > lost:
            losses[base + p] = losses[base + p - 1]
            out[p] = out[p - 1]
            p -= 1
        losses[base + p] = lost
        out[p] = c


@kernel
def decide_sums(
    boxes, n_trees, value, least, unit, changes, forest, rule, own, categorical, max_nodes, stop,
    point,
):  # fmt: skip
    """Whether a point's values add up to enough for the forest to accept it.

    value float64 (boxes,). least: no point with a smaller sum is accepted, rounding included.
    unit: what counts as a large loss. forest, rule: the whole forest and which points are wanted.
    The rest as for votes.
    """
    bits = make_bits(boxes, categorical, n_trees, False)
    state, losses = new_state(bits, boxes.tree.shape[0]), np.zeros(bits.mask.shape[0])
    best, used = np.zeros(n_trees, np.int64), np.zeros(n_trees, np.int64)
    nodes, depth = 0, np.int64(0)
    while depth >= 0:
        nodes += 1
        if nodes > max_nodes or stop[0]:
            return UNKNOWN, nodes
        alive, chosen = state.alive[depth], state.chosen[depth]
        state.n_options[depth] = 0
        state.tried[depth] = 0
        slack = propagate(
            boxes, bits, categorical, value, least, changes, alive, chosen, state, losses, best
        ) - least  # fmt: skip
        if slack >= 0:
            slack -= lost_in_pairs(boxes, bits, categorical, value, alive, slack, best, state, used)
        if slack >= 0:
            i = branching_axis(bits, chosen, state.n_left, losses, slack, unit)
            if i < 0:
                read_point(boxes, bits, chosen, own, categorical, point)
                if is_wanted(forest, rule, point, categorical):
                    return FOUND, nodes
            else:
                state.axis_of[depth] = i
                n = state.n_left[i]
                state.n_options[depth] = n
                sort_by_loss(state.lists[2], losses, bits.offset[i], n, state.options[depth])
        depth = go_on(bits, state, depth)
    return NONE, nodes
