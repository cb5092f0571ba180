"""Is there a point that each of several models accepts? One search with a bound for every model.

The models share cells, choices of cells and what is left of each axis; each keeps boxes of its own.
Votes are counted and sums are bounded as in the searches of a single model, and a cell is dropped
as soon as one model cannot do with it:

    cells     0    1    2    3      model 1 needs 5, model 2 needs 7.0
    model 1   4    6    8    5      cell 0 goes
    model 2   9.1  6.2  8.4  7.3    cell 1 goes: branching takes 2 or 3, of which 2 leaves each
                                    model more than it needs

What a model has to spare is measured in its own unit, and the scarcest counts. A point is a
solution only when every model, added up as it does itself, accepts it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner, making, making_kernel
from ract._kernels.search.bits import (
    find_meeting,
    find_trees,
    go_on,
    make_bits,
    mark_ends,
    new_state,
    read_point,
    restrict,
)
from ract._kernels.search.boxes import Boxes
from ract._kernels.search.cell_forest import is_wanted
from ract._kernels.search.conflicts import lost_to_conflicts, new_conflicts
from ract._kernels.search.decide_sums import best_box, different_cells, find_best, lost_with_cell
from ract._kernels.search.decide_votes import (
    FOUND,
    NONE,
    SCARCE,
    UNKNOWN,
    left_home,
    undominated_cells,
)

# How sharply branching prefers axes on which sums have little to spare.
SHARPNESS = 0.5


class Needs(NamedTuple):
    """What is asked of the trees that are left of each model.

    first int64 (models + 1,): first tree of each model. by_votes bool (models,). least float64
    (models,): no point with fewer votes, or a smaller sum, is accepted. scale float64 (models,):
    how much a vote, or a sum of one, counts in the choice of axes and cells.
    """

    first: Any
    by_votes: Any
    least: Any
    scale: Any


class Group(NamedTuple):
    """One model in the search.

    boxes, bits, state, room: of its trees alone, on the cells of all. Of the first model's state
    chosen cells, lists and options are those of the search. value float64 (boxes,). best, used
    int64 (trees,): room. bound float64 (1,): most that it can have.
    """

    boxes: Any
    bits: Any
    state: Any
    room: Any
    value: Any
    best: Any
    used: Any
    bound: Any
    by_votes: bool
    least: float
    scale: float


@making
def make_group(boxes, value, categorical, needs, g, stop):
    """Model g, with all of its boxes alive."""
    begin, end = needs.first[g], needs.first[g + 1]
    low, high = np.searchsorted(boxes.tree, begin), np.searchsorted(boxes.tree, end)
    own = Boxes(
        boxes.tree[low:high] - begin, boxes.label[low:high], boxes.first[low:high],
        boxes.last[low:high], boxes.n_cells, boxes.start, boxes.home, boxes.missing,
    )  # fmt: skip
    n_trees, n_boxes = end - begin, high - low
    bits = make_bits(own, categorical, n_trees, needs.by_votes[g], stop)
    room = new_conflicts(n_trees, n_boxes, bits.mask.shape[1])
    trees = np.zeros((2, n_trees), np.int64)
    return Group(
        own, bits, new_state(bits, n_boxes), room, value[low:high], trees[0], trees[1],
        np.zeros(1), needs.by_votes[g], needs.least[g], needs.scale[g],
    )  # fmt: skip


@inner
def find_bound(group, depth):
    """Set the most that a model can have; returns whether that is enough."""
    bits, state = group.bits, group.state
    alive = state.alive[depth]
    if group.by_votes:
        group.bound[0] = find_trees(bits, alive, state.alive, np.int64(0), state.trees)
    else:
        group.bound[0] = find_best(bits, group.value, alive, state, group.best)
    return group.bound[0] >= group.least


@inner
def keep_cells(group, depth, chosen, cells, n_left, different, losses):
    """Drop the cells with which a model has too little; returns whether every axis keeps one.

    different int64 (active,): how many cells an axis had before any model. losses (all cells,):
    minus what the scarcest model has to spare.
    """
    bits, alive, trees = group.bits, group.state.alive[depth], group.state.trees
    slack = group.bound[0] - group.least
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        base, n = bits.offset[i], np.int64(0)
        for q in range(n_left[i]):
            cell, lost = bits.offset[i] + cells[base + q], 0.0
            if different[i] > 1 and group.by_votes:
                lost = group.bound[0] - find_trees(bits, alive, bits.mask, cell, trees)
            elif different[i] > 1:
                lost = lost_with_cell(bits, group.value, alive, cell, group.best, slack)
            if lost <= slack:
                cells[base + n] = cells[base + q]
                losses[base + n] = max(losses[base + q], (lost - slack) * group.scale)
                n += 1
        if n == 0:
            return False
        n_left[i] = n
    return True


@inner
def stay_home(boxes, bits, chosen, cells, n_left):
    """Choose home on every axis that can still stay there."""
    for i in range(bits.active.shape[0]):
        home, base = boxes.home[bits.active[i]], bits.offset[i]
        if chosen[i] < 0 and not left_home(chosen[i], home, cells, base, n_left[i]):
            chosen[i] = home
            n_left[i] = 1
            cells[base] = home


@making
def propagate(groups, only_votes, categorical, changes, depth, different, open_, losses):
    """Drop cells and boxes that cannot take part; returns whether every model has enough.

    only_votes: whether more boxes are never worse, so that dominated cells can go. different
    (active,): room. open_ (all cells,): ones. The rest as for votes and sums.
    """
    boxes, bits, state = groups[0].boxes, groups[0].bits, groups[0].state
    n_active, chosen, n_left = bits.active.shape[0], state.chosen[depth], state.n_left
    begins, ends, cells = state.lists[0], state.lists[1], state.lists[2]
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
            home, n_cells = boxes.home[a], boxes.n_cells[a]
            if only_votes:
                kept = home if changes < n_active else -1
                n_left[i] = undominated_cells(
                    n_cells, base, categorical[a], kept, stamp, begins, ends, cells
                )
            else:
                n_left[i] = different_cells(
                    n_cells, base, categorical[a], home, stamp, begins, ends, open_, cells
                )
            different[i] = n_left[i]
            losses[base : base + n_left[i]] = -np.inf
        for g in range(len(groups)):
            if not keep_cells(groups[g], depth, chosen, cells, n_left, different, losses):
                return False
        moved = 0
        for i in range(n_active):
            if chosen[i] < 0 and n_left[i] == 1:
                chosen[i] = cells[bits.offset[i]]
            home = boxes.home[bits.active[i]]
            moved += left_home(chosen[i], home, cells, bits.offset[i], n_left[i])
        if changes < n_active and moved > changes:
            return False
        if changes < n_active and moved == changes:
            stay_home(boxes, bits, chosen, cells, n_left)
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
def has_enough(group, categorical, depth):
    """Whether a model has enough although some of its trees cannot agree, and boxes that died."""
    boxes, bits, state, room = group.boxes, group.bits, group.state, group.room
    alive, slack, dropped = state.alive[depth], group.bound[0] - group.least, 0
    if not group.by_votes:
        lost = lost_in_pairs(
            boxes, bits, categorical, group.value, alive, slack, group.best, state, group.used
        )  # fmt: skip
    elif slack < SCARCE * group.bound[0]:
        votes, dropped = lost_to_conflicts(boxes, bits, categorical, alive, slack, state, room)
        lost = float(votes)
    else:
        lost = 0.0
    return lost <= slack, dropped


@inner
def branching_axis(bits, chosen, n_left, losses):
    """The open axis with the least slack over its cells; -1 if every axis has one cell left."""
    best, least = -1, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        score = 0.0
        for q in range(n_left[i]):
            score += math.exp(-losses[bits.offset[i] + q])
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


@making_kernel
def decide_several(
    boxes, value, needs, changes, forest, rules, own, categorical, max_nodes, stop, point
):  # fmt: skip
    """Whether every model accepts some point.

    boxes: of the trees that are left of all models, one model after the other. value float64
    (boxes,). forest, rules: the whole forests. The rest as for votes.
    """
    groups = [make_group(boxes, value, categorical, needs, 0, stop)]
    for g in range(1, needs.least.shape[0]):
        groups.append(make_group(boxes, value, categorical, needs, g, stop))
    bits, state, only_votes = groups[0].bits, groups[0].state, needs.by_votes.all()
    different, losses = np.zeros(bits.active.shape[0], np.int64), np.zeros(bits.mask.shape[0])
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
            enough, dropped = propagate(
                groups, only_votes, categorical, changes, depth, different, open_, losses
            ), 0  # fmt: skip
            for g in range(len(groups)):
                if enough:
                    enough, n = has_enough(groups[g], categorical, depth)
                    dropped += n
        if enough:
            i = branching_axis(bits, state.chosen[depth], state.n_left, losses)
            if i < 0:
                read_point(boxes, bits, state.chosen[depth], own, categorical, point)
                if is_wanted(forest, rules, point, categorical):
                    return FOUND, nodes
            else:
                state.axis_of[depth] = i
                n = state.n_left[i]
                state.n_options[depth] = n
                sort_by_loss(state.lists[2], losses, bits.offset[i], n, state.options[depth])
        depth = go_on(bits, state, depth)
        for g in range(1, len(groups)):
            if depth > 0:
                i = state.axis_of[depth - 1]
                cell = bits.offset[i] + state.chosen[depth, i]
                alive_boxes, mask = groups[g].state.alive, groups[g].bits.mask
                for s in range(mask.shape[1]):
                    alive_boxes[depth, s] = alive_boxes[depth - 1, s] & mask[cell, s]
    return NONE, nodes
