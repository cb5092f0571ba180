"""Is there a point whose leaf values add up to enough? Branch and bound over cells.

Here every leaf is a box, the best value of a tree in its lowest bit, so that the best alive value
of a tree is found at its lowest set bit, and their sum bounds what any point can have:

    tree t   value   .9  .7  .7  .4  .1
             alive    0   1   0   1   1     at most .7; a cell whose mask lacks that box costs
             cell     1   0   1   1   0     the tree .7 - .4

A cell that loses more than the slack is dropped. Where that is not enough, trees share out what
they are worth (``shares``): that bounds what trees which have to agree can have, says more of what
each cell loses, and the cells that lose least are a point worth trying. What is left is cut in two.
A limit on changes shares out with them (``few_moves``); then a cut parts home from other cells.
Sums in another order differ in the last digits, so bounds leave a tolerance and a point counts as
a solution only when the whole forest, added up as the model does, accepts it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner, making, making_kernel
from ract._kernels.search.bits import (
    lowest_bit,
    make_bits,
    mark_ends,
    new_state,
    read_point,
    restrict,
)
from ract._kernels.search.cell_forest import is_wanted
from ract._kernels.search.decide_votes import FOUND, NONE, UNKNOWN, go_home, left_home
from ract._kernels.search.far import MOST_MOVES, drop_far, find_near, mark_moved, new_far
from ract._kernels.search.few_moves import guess_few, new_few
from ract._kernels.search.shares import find_losses, new_shares, share_out, take_cells

# Shares are improved again while a round closes this part of what the bound is too high by.
GAIN = 0.05
# What adding up shares can be wrong by, as a part of all values.
ROUNDING = 1e-10
# How sharply a cut looks at the cells that lose least.
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
def different_cells(n_cells, base, is_categorical, home, stamp, begins, ends, open_, cells):
    """Of each run of open cells that lie in the same alive boxes the one nearest to home."""
    n, same = 0, False
    for c in range(n_cells):
        same = same and begins[base + c] != stamp and ends[base + c - 1] != stamp
        if not open_[base + c]:
            continue
        if is_categorical or not same:
            cells[base + n] = c
            n += 1
            same = True
        elif c <= home:
            cells[base + n - 1] = c
    return n


@inner
def propagate(
    boxes, bits, categorical, value, least, changes, alive, chosen, open_, state, losses, best, far,
    stop,
):  # fmt: skip
    """Drop cells and boxes that cannot take part; returns the best sum, -inf if below least.

    As for votes. losses (all cells,): what the best sum loses with each cell left. What was found
    is not for use if stop was set meanwhile.
    """
    n_active, n_left, stamps = bits.active.shape[0], state.n_left, state.stamps
    begins, ends, cells = state.lists[0], state.lists[1], state.lists[2]
    moved = mark_moved(boxes, bits, chosen, far) if changes < n_active else 0
    while True:
        moves = changes - moved
        few = changes < n_active and 0 < moves <= MOST_MOVES
        if few:
            drop_far(boxes, bits, moves, alive, far)
        sum_ = find_best(bits, value, alive, state, best)
        if sum_ < least:
            return -np.inf
        stamps[0] += 1
        mark_ends(bits, alive, stamps[0], begins, ends)
        changed, moved = False, 0
        for i in range(n_active):
            if stop[0]:
                return sum_
            a, base = bits.active[i], bits.offset[i]
            home = boxes.home[a]
            if chosen[i] < 0:
                before = different_cells(
                    boxes.n_cells[a], base, categorical[a], home, stamps[0], begins, ends, open_,
                    cells,
                )  # fmt: skip
                n = np.int64(0)
                if few:
                    find_near(boxes, bits, i, moves, alive, far)
                for q in range(before):
                    c = cells[base + q]
                    lost = 0.0
                    if before > 1 and few and c != home:
                        lost = lost_with_cell(bits, value, far.near, base + c, best, sum_ - least)
                    elif before > 1:
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
                changed = changed or (changes < n_active and not far.moved[i])
                far.moved[i] = 1
                moved += 1
        if moved > changes:
            return -np.inf
        if moved == changes and changes < n_active:
            changed = go_home(boxes, bits, alive, chosen, cells, n_left) or changed
        if not changed:
            return sum_


@inner
def drop_cells(bits, alive, chosen, state, losses, slack):
    """Drop cells that lose more than slack; returns whether a box was lost."""
    cells, n_left, changed = state.lists[2], state.n_left, False
    for i in range(bits.active.shape[0]):
        base, n = bits.offset[i], np.int64(0)
        for q in range(n_left[i]):
            if losses[base + q] <= slack:
                cells[base + n] = cells[base + q]
                losses[base + n] = losses[base + q]
                n += 1
        if n < n_left[i]:
            n_left[i] = n
            if n == 1:
                chosen[i] = cells[base]
            changed = restrict(alive, bits.mask, cells, base, n) or changed
    return changed


@inner
def sharpen(
    boxes, bits, categorical, value, least, changes, alive, chosen, state, shares, few, losses,
    stop,
):  # fmt: skip
    """Improve the shares while that pays, drop cells; returns the bound and if a box was lost."""
    cells, n_left, last = state.lists[2], state.n_left, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            n_left[i] = 1
            cells[bits.offset[i]] = chosen[i]
    take_cells(bits, cells, n_left, shares, few)
    bound = share_out(
        boxes, bits, categorical, value, changes, alive, cells, n_left, shares, few, stop
    )
    while bound >= least and last - bound > GAIN * (bound - least) and not stop[0]:
        last = bound
        bound = share_out(
            boxes, bits, categorical, value, changes, alive, cells, n_left, shares, few, stop
        )
    if bound < least or stop[0]:
        return bound, False
    find_losses(
        boxes, bits, categorical, value, changes, alive, cells, n_left, shares, few, losses, stop
    )
    return bound, drop_cells(bits, alive, chosen, state, losses, bound - least)


@inner
def guess_point(boxes, bits, state, losses, changes, few, guess):
    """Set guess (active,) to the cells that lose least; returns whether few enough left home."""
    if changes < bits.active.shape[0]:
        return guess_few(boxes, bits, state.lists[2], state.n_left, changes, few, losses, guess)
    for i in range(bits.active.shape[0]):
        base, least = bits.offset[i], np.inf
        for q in range(state.n_left[i]):
            if losses[base + q] < least:
                least = losses[base + q]
                guess[i] = state.lists[2, base + q]
    return True


@inner
def branching_axis(boxes, bits, changes, chosen, state, losses):
    """The open axis whose cells lose most together; -1 if every axis has one cell left.

    With a limit on changes, that which loses most by staying at home or by leaving it.
    """
    best, most, limited = -1, -1.0, changes < bits.active.shape[0]
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        base, home = bits.offset[i], boxes.home[bits.active[i]]
        sum_, away = 0.0, np.inf
        for q in range(state.n_left[i]):
            if not limited or state.lists[2, base + q] == home:
                sum_ += losses[base + q]
            else:
                away = min(away, losses[base + q])
        if limited:
            sum_ += away
        if sum_ > most:
            most = sum_
            best = i
    return best


@inner
def middle_of(base, n, losses, unit):
    """How many of n cells of an axis come first when they are cut in two that lose alike."""
    middle, half = 1, 0.0
    for q in range(n):
        half += math.exp(-SHARPNESS * losses[base + q] / unit) / 2
    half -= math.exp(-SHARPNESS * losses[base] / unit)
    while middle < n - 1 and half > 0:
        half -= math.exp(-SHARPNESS * losses[base + middle] / unit)
        middle += 1
    return middle


@inner
def cut(bits, i, home, guess, alive, chosen, state, losses, unit, stack, top):
    """Put the cells left of axis i on the stack, in two parts; that of the guess comes next.

    home: a cell to cut from all others if it is left, or -1.
    """
    cells, n_left, base = state.lists[2], state.n_left, bits.offset[i]
    apart = not left_home(np.int64(-1), home, cells, base, n_left[i])
    middle = middle_of(base, n_left[i], losses, unit)
    border = cells[base + middle - 1]
    guess_is_low = guess == home if apart else guess <= border
    for level in range(top, top + 2):
        low = (level == top + 1) == guess_is_low
        for c in range(stack.open.shape[1]):
            stack.open[level, c] = 0
        for s in range(alive.shape[0]):
            stack.alive[level, s] = 0
        for j in range(bits.active.shape[0]):
            stack.chosen[level, j] = chosen[j]
            for q in range(n_left[j]):
                stack.open[level, bits.offset[j] + cells[bits.offset[j] + q]] = 1
        n, last = 0, np.int64(-1)
        for q in range(n_left[i]):
            c = cells[base + q]
            if (c == home if apart else c <= border) != low:
                stack.open[level, base + c] = 0
                continue
            n, last = n + 1, c
            for s in range(alive.shape[0]):
                stack.alive[level, s] |= alive[s] & bits.mask[base + c, s]
        if n == 1:
            stack.chosen[level, i] = last


class Stack(NamedTuple):
    """Parts of the cells that are still to be searched.

    alive int64 (levels, words), chosen int64 (levels, active): as in a state. open int8 (levels,
    cells of all axes): the cells of the part, of those that lie in the same alive boxes one.
    """

    alive: Any
    chosen: Any
    open: Any


@making
def new_stack(bits, alive):
    """All cells. A cut closes a cell, so that no more than there are cells are open questions."""
    n_cells, n_words = bits.mask.shape
    stack = Stack(
        np.zeros((n_cells + 2, n_words), np.int64),
        np.full((n_cells + 2, bits.active.shape[0]), -1),
        np.ones((n_cells + 2, n_cells), np.int8),
    )
    stack.alive[0] = alive
    return stack


@making_kernel
def decide_sums(
    boxes, n_trees, value, least, changes, forest, rules, own, categorical, max_nodes, stop, point,
):  # fmt: skip
    """Whether a point's values add up to enough for the forest to accept it.

    value float64 (boxes,). least: no point with a smaller sum is accepted, rounding included.
    forest, rules: the whole forest and which points are wanted. The rest as for votes.
    """
    bits, n_boxes = make_bits(boxes, categorical, n_trees, False, stop), boxes.tree.shape[0]
    if stop[0]:  # making bits takes long where there are many boxes
        return UNKNOWN, 1
    state, losses = new_state(bits, n_boxes), np.zeros(bits.mask.shape[0])
    stack, shares = new_stack(bits, state.alive[0]), new_shares(bits, n_trees)
    few, guess = new_few(bits), np.zeros(bits.active.shape[0], np.int64)
    best, far = np.zeros(n_trees, np.int64), new_far(bits)
    loose = least - ROUNDING * np.abs(value).sum()
    unit = 0.0
    for t in range(n_trees):
        unit += (value[bits.first_box[t]] - value[bits.first_box[t + 1] - 1]) / n_trees
    nodes, top = 0, 1
    while top > 0:
        nodes += 1
        if nodes > max_nodes or stop[0]:
            return UNKNOWN, nodes
        top -= 1
        alive, chosen = stack.alive[top].copy(), stack.chosen[top].copy()
        bound, changed = np.inf, True
        while changed and bound >= loose:
            bound = propagate(
                boxes, bits, categorical, value, least, changes, alive, chosen, stack.open[top],
                state, losses, best, far, stop,
            )  # fmt: skip
            if bound >= least and not stop[0]:
                bound, changed = sharpen(
                    boxes, bits, categorical, value, loose, changes, alive, chosen, state, shares,
                    few, losses, stop,
                )  # fmt: skip
            if stop[0]:
                return UNKNOWN, nodes
        if bound < loose:
            continue
        if guess_point(boxes, bits, state, losses, changes, few, guess):
            read_point(boxes, bits, guess, own, categorical, point)
            if is_wanted(forest, rules, point, categorical):
                return FOUND, nodes
        i = branching_axis(boxes, bits, changes, chosen, state, losses)
        if i >= 0:
            home = boxes.home[bits.active[i]] if changes < bits.active.shape[0] else -1
            cut(bits, i, home, guess[i], alive, chosen, state, losses, unit, stack, top)
            top += 2
    return NONE, nodes
