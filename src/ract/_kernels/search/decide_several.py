"""Is there a point that each of several models accepts? One search with a bound for every model.

The models share cells, choices of cells and what is left of each axis; each keeps boxes of its own.
Votes are counted and sums are bounded as in the searches of a single model, and a cell is dropped
as soon as it leaves one model too little:

    cells     0    1    2    3      model 1 needs 5, model 2 needs 7.0
    model 1   4    6    8    5      cell 0 goes
    model 2   9.1  6.2  8.4  7.3    cell 1 goes: branching takes 2 or 3, of which 2 leaves each
                                    model more than it needs

What a model has to spare is measured in its own unit, and the scarcest counts. A point is a
solution only when every model, added up as it does itself, accepts it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner, making, making_kernel
from ract._kernels.search.bits import (
    Bits,
    best_box,
    count_trees,
    find_meeting,
    make_bits,
    mark_ends,
    restrict,
)
from ract._kernels.search.boxes import LeafBoxes
from ract._kernels.search.cell_forest import is_wanted
from ract._kernels.search.conflicts import Conflicts, lost_to_conflicts, new_conflicts
from ract._kernels.search.decide_votes import FOUND, NONE, SCARCE, UNKNOWN
from ract._kernels.search.depth_first import SearchState, branch, go_on, new_state, read_point
from ract._kernels.search.propagate import (
    different_cells,
    find_best,
    keep_current,
    lost_with_cell,
    must_change,
    undominated_cells,
)

# How sharply branching prefers axes on which sums have little to spare.
SHARPNESS = 0.5


class Group(NamedTuple):
    """One model in the search.

    boxes, bits, state, room: of its trees alone, on the cells of all. Of the first model's state
    chosen cells, lists and options are those of the search. value float64 (boxes,). used int64
    (trees,): room. bound float64 (1,): most that it can have.
    """

    boxes: LeafBoxes
    bits: Bits
    state: SearchState
    room: Conflicts
    value: np.ndarray
    used: np.ndarray
    bound: np.ndarray
    by_votes: bool
    least: float
    scale: float


@making
def make_group(boxes, value, needs, scale, g, stop):
    """Model g, with all of its boxes alive."""
    begin, end = needs.first[g], needs.first[g + 1]
    low, high = np.searchsorted(boxes.tree, begin), np.searchsorted(boxes.tree, end)
    own = LeafBoxes(
        boxes.tree[low:high] - begin, boxes.label[low:high], boxes.first[low:high],
        boxes.last[low:high], boxes.n_cells, boxes.start, boxes.current, boxes.missing,
        boxes.own, boxes.categorical,
    )  # fmt: skip
    n_trees, n_boxes = end - begin, high - low
    bits = make_bits(own, n_trees, needs.by_votes[g], stop)
    room = new_conflicts(n_trees, n_boxes, bits.mask.shape[1])
    used = np.zeros((1, n_trees), np.int64)[0]
    return Group(
        own, bits, new_state(bits, n_boxes), room, value[low:high], used,
        np.zeros(1), needs.by_votes[g], needs.least[g], scale[g],
    )  # fmt: skip


@inner
def find_bound(group, depth):
    """Set the most that a model can have; returns whether that is enough."""
    bits, state = group.bits, group.state
    alive = state.alive[depth]
    if group.by_votes:
        group.bound[0] = count_trees(bits, alive, state.alive, np.int64(0))
    else:
        group.bound[0] = find_best(bits, group.value, alive, state)
    return group.bound[0] >= group.least


@inner
def keep_cells(group, depth, chosen, cells, n_left, different, losses):
    """Drop the cells with which a model has too little; returns whether every axis keeps one.

    different int64 (active,): how many cells an axis had before any model. losses (all cells,):
    minus what the scarcest model has to spare.
    """
    bits, alive = group.bits, group.state.alive[depth]
    slack = group.bound[0] - group.least
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        base, n = bits.offset[i], np.int64(0)
        for q in range(n_left[i]):
            cell, lost = bits.offset[i] + cells[base + q], 0.0
            if different[i] > 1 and group.by_votes:
                lost = group.bound[0] - count_trees(bits, alive, bits.mask, cell)
            elif different[i] > 1:
                lost = lost_with_cell(bits, group.value, alive, cell, group.state.best, slack)
            if lost <= slack:
                cells[base + n] = cells[base + q]
                losses[base + n] = max(losses[base + q], (lost - slack) * group.scale)
                n += 1
        if n == 0:
            return False
        n_left[i] = n
    return True


@making
def propagate_models(groups, only_votes, changes, depth, different, open_):
    """Drop cells and boxes that cannot take part; returns whether every model has enough.

    only_votes: whether more boxes are never worse, so that dominated cells can go. different
    (active,): room. open_ (all cells,): ones. The rest as for votes and sums.
    """
    boxes, bits, state = groups[0].boxes, groups[0].bits, groups[0].state
    n_active, chosen, n_left = bits.active.shape[0], state.chosen[depth], state.n_left
    begins, ends, cells, losses = state.lists[0], state.lists[1], state.lists[2], state.losses
    while True:
        state.stamps[0] += 1
        stamp = state.stamps[0]
        for g in range(len(groups)):
            if not find_bound(groups[g], depth):
                return False
            mark_ends(groups[g].bits, groups[g].state.alive[depth], stamp, begins, ends)
        for i in range(n_active):
            different[i] = 0
            if chosen[i] >= 0:
                continue
            a, base = bits.active[i], bits.offset[i]
            if only_votes:
                kept = boxes.current[a] if changes < n_active else -1
                n_left[i] = undominated_cells(boxes, a, base, kept, stamp, begins, ends, cells)
            else:
                n_left[i] = different_cells(boxes, a, base, stamp, begins, ends, open_, cells)
            different[i] = n_left[i]
            losses[base : base + n_left[i]] = -np.inf
        for g in range(len(groups)):
            if not keep_cells(groups[g], depth, chosen, cells, n_left, different, losses):
                return False
        moved = 0
        for i in range(n_active):
            if chosen[i] < 0 and n_left[i] == 1:
                chosen[i] = cells[bits.offset[i]]
            current = boxes.current[bits.active[i]]
            moved += must_change(chosen[i], current, cells, bits.offset[i], n_left[i])
        if changes < n_active and moved > changes:
            return False
        if changes < n_active and moved == changes:
            keep_current(boxes, bits, None, chosen, cells, n_left)
        changed = False
        for g in range(len(groups)):
            alive, mask = groups[g].state.alive[depth], groups[g].bits.mask
            for i in range(n_active):
                if n_left[i] < different[i]:
                    lost_some = restrict(alive, mask, cells, bits.offset[i], n_left[i])
                    changed = lost_some or changed
        if not changed:
            return True


@inlined
def best_together(boxes, bits, value, alive, t, u, state):
    """The best sum of an alive box of tree t and one of tree u that meet; -inf without such."""
    joint, best = -np.inf, state.best
    for r in range(best[t], bits.first_box[t + 1]):
        if alive[bits.slot[r]] & bits.bit[r] == 0:
            continue
        if value[r] + value[best[u]] <= joint:
            break
        if state.known[r] == 0:
            find_meeting(boxes, bits, r, state.meets)
            state.known[r] = 1
        other = best_box(bits, u, alive, state.meets, r)
        if other >= 0 and value[r] + value[other] > joint:
            joint = value[r] + value[other]
    return joint


@inlined
def lost_in_pairs(boxes, bits, value, alive, slack, state, used):
    """What pairs of trees lose at least because their best boxes do not meet; stops above slack."""
    best, n_trees, lost = state.best, used.shape[0], 0.0
    for t in range(n_trees):
        used[t] = 0
    for t in range(n_trees):
        if used[t]:
            continue
        r, partner, most = best[t], -1, 0.0
        if state.known[r] == 0:
            find_meeting(boxes, bits, r, state.meets)
            state.known[r] = 1
        for u in range(t + 1, n_trees):
            if used[u] or state.meets[r, bits.slot[best[u]]] & bits.bit[best[u]] != 0:
                continue
            joint = best_together(boxes, bits, value, alive, t, u, state)
            if value[r] + value[best[u]] - joint > most:
                partner, most = u, value[r] + value[best[u]] - joint
        if partner >= 0:
            used[partner] = 1
            lost += most
            if lost > slack:
                return lost
    return lost


@inner
def has_enough(group, depth):
    """Whether a model has enough although trees cannot agree, and how many boxes were dropped."""
    boxes, bits, state, room = group.boxes, group.bits, group.state, group.room
    alive, slack, dropped = state.alive[depth], group.bound[0] - group.least, 0
    if not group.by_votes:
        lost = lost_in_pairs(boxes, bits, group.value, alive, slack, state, group.used)
    elif slack < SCARCE * group.bound[0]:
        votes, dropped = lost_to_conflicts(boxes, bits, alive, slack, state, room)
        lost = float(votes)
    else:
        lost = 0.0
    return lost <= slack, dropped


@making_kernel
def decide_several(boxes, value, needs, scale, changes, forest, rules, max_nodes, stop, point):
    """Whether every model accepts some point.

    boxes: of the trees that are left of all models, one model after the other. value float64
    (boxes,). scale float64 (models,): how much a vote, or a sum of one, counts in the choice of
    axes and cells. forest, rules: the whole forests. The rest as for votes.
    """
    groups = [make_group(boxes, value, needs, scale, 0, stop)]
    for g in range(1, needs.least.shape[0]):
        groups.append(make_group(boxes, value, needs, scale, g, stop))
    bits, state, only_votes = groups[0].bits, groups[0].state, needs.by_votes.all()
    different = np.zeros(bits.active.shape[0], np.int64)
    open_ = np.ones(bits.mask.shape[0], np.int8)
    nodes, depth = 0, np.int64(0)
    while depth >= 0:
        nodes += 1
        if nodes > max_nodes or stop[0]:
            return UNKNOWN, nodes
        state.n_options[depth] = 0
        state.tried[depth] = 0
        enough, dropped = True, 1
        while enough and dropped > 0:
            enough = propagate_models(groups, only_votes, changes, depth, different, open_)
            dropped = 0
            for g in range(len(groups)):
                if enough:
                    enough, n = has_enough(groups[g], depth)
                    dropped += n
        if enough and not branch(bits, state, depth, 0.0, 1.0):
            read_point(boxes, bits, state.chosen[depth], point)
            if is_wanted(forest, rules, point, boxes.categorical):
                return FOUND, nodes
        depth = go_on(bits, state, depth)
        for g in range(1, len(groups)):
            if depth > 0:
                i = state.axis_of[depth - 1]
                cell = bits.offset[i] + state.chosen[depth, i]
                alive_boxes, mask = groups[g].state.alive, groups[g].bits.mask
                for s in range(mask.shape[1]):
                    alive_boxes[depth, s] = alive_boxes[depth - 1, s] & mask[cell, s]
    return NONE, nodes
