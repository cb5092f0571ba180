"""Is there a point whose leaf values add up to enough? Branch and bound over cells.

Here every leaf is a box, the best value of a tree in its lowest bit, so that the best alive value
of a tree is found at its lowest set bit, and their sum bounds what any point can have:

    tree t   value   .9  .7  .7  .4  .1
             alive    0   1   0   1   1     at most .7; a cell whose mask lacks that box costs
             cell     1   0   1   1   0     the tree .7 - .4

A cell that loses more than the slack is dropped. Where that is not enough, trees share out what
they are worth (``shares``): that bounds what trees which have to agree can have, says more of what
each cell loses, and the cells that lose least are a point worth trying. What is left is cut in two.
A limit on changes shares out with them (``few_moves``); then a cut parts the current cell from
others. Sums in another order differ in the last digits, so bounds leave a tolerance and a point
counts as a solution only when the whole forest, added up as the model does, accepts it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making, making_kernel
from ract._kernels.search.bits import make_bits, restrict
from ract._kernels.search.cell_forest import is_wanted
from ract._kernels.search.decide_votes import FOUND, NONE, UNKNOWN
from ract._kernels.search.depth_first import new_state, read_point
from ract._kernels.search.few_moves import guess_few, new_few
from ract._kernels.search.propagate import must_change, propagate_bound
from ract._kernels.search.shares import find_losses, new_shares, share_out, take_cells

# Shares are improved again while a round closes this part of what the bound is too high by.
GAIN = 0.05
# What adding up shares can be wrong by, as a part of all values.
ROUNDING = 1e-10
# How sharply a cut looks at the cells that lose least.
SHARPNESS = 0.5


@inner
def drop_losing_cells(bits, alive, chosen, state, slack):
    """Drop cells that lose more than slack; returns whether a box was lost."""
    cells, n_left, losses, changed = state.lists[2], state.n_left, state.losses, False
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
def sharpen(boxes, bits, value, least, changes, alive, chosen, state, shares, few, stop):
    """Improve the shares while that pays, drop cells; returns the bound and if a box was lost."""
    cells, n_left, last = state.lists[2], state.n_left, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            n_left[i] = 1
            cells[bits.offset[i]] = chosen[i]
    take_cells(bits, cells, n_left, shares, few)
    bound = share_out(boxes, bits, value, changes, alive, state, shares, few, stop)
    while bound >= least and last - bound > GAIN * (bound - least) and not stop[0]:
        last = bound
        bound = share_out(boxes, bits, value, changes, alive, state, shares, few, stop)
    if bound < least or stop[0]:
        return bound, False
    find_losses(boxes, bits, value, changes, alive, state, shares, few, stop)
    return bound, drop_losing_cells(bits, alive, chosen, state, bound - least)


@inner
def guess_point(boxes, bits, state, changes, few, guess):
    """Set guess (active,) to the cells that lose least; returns whether few enough change."""
    if changes < bits.active.shape[0]:
        return guess_few(boxes, bits, state, changes, few, guess)
    for i in range(bits.active.shape[0]):
        base, least = bits.offset[i], np.inf
        for q in range(state.n_left[i]):
            if state.losses[base + q] < least:
                least = state.losses[base + q]
                guess[i] = state.lists[2, base + q]
    return True


@inner
def most_lost_axis(boxes, bits, changes, chosen, state):
    """The open axis whose cells lose most together; -1 if every axis has one cell left.

    With a limit on changes, that which loses most by keeping its current cell or by changing.
    """
    best, most, limited, losses = -1, -1.0, changes < bits.active.shape[0], state.losses
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        base, current = bits.offset[i], boxes.current[bits.active[i]]
        sum_, away = 0.0, np.inf
        for q in range(state.n_left[i]):
            if not limited or state.lists[2, base + q] == current:
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
def cut_cells(bits, i, current, guess, alive, chosen, state, unit, stack, top):
    """Put the cells left of axis i on the stack, in two parts; that of the guess comes next.

    current: a cell to cut from all others if it is left, or -1.
    """
    cells, n_left, base = state.lists[2], state.n_left, bits.offset[i]
    apart = not must_change(np.int64(-1), current, cells, base, n_left[i])
    middle = middle_of(base, n_left[i], state.losses, unit)
    border = cells[base + middle - 1]
    guess_is_low = guess == current if apart else guess <= border
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
            if (c == current if apart else c <= border) != low:
                stack.open[level, base + c] = 0
                continue
            n, last = n + 1, c
            for s in range(alive.shape[0]):
                stack.alive[level, s] |= alive[s] & bits.mask[base + c, s]
        if n == 1:
            stack.chosen[level, i] = last


class CutStack(NamedTuple):
    """Parts of the cells that are still to be searched.

    alive int64 (levels, words), chosen int64 (levels, active): as in a state. open int8 (levels,
    cells of all axes): the cells of the part, of those that lie in the same alive boxes one.
    """

    alive: np.ndarray
    chosen: np.ndarray
    open: np.ndarray


@making
def new_cut_stack(bits, alive):
    """All cells. A cut closes a cell, so that no more than there are cells are open questions."""
    n_cells, n_words = bits.mask.shape
    stack = CutStack(
        np.zeros((n_cells + 2, n_words), np.int64),
        np.full((n_cells + 2, bits.active.shape[0]), -1),
        np.ones((n_cells + 2, n_cells), np.int8),
    )
    stack.alive[0] = alive
    return stack


@making_kernel
def decide_sums(boxes, n_trees, value, least, changes, forest, rules, max_nodes, stop, point):
    """Whether a point's values add up to enough for the forest to accept it.

    value float64 (boxes,). least: no point with a smaller sum is accepted, rounding included.
    forest, rules: the whole forest and which points are wanted. The rest as for votes.
    """
    bits, n_boxes = make_bits(boxes, n_trees, False, stop), boxes.tree.shape[0]
    if stop[0]:  # making bits takes long where there are many boxes
        return UNKNOWN, 1
    state, shares = new_state(bits, n_boxes), new_shares(bits, n_trees)
    stack, few = new_cut_stack(bits, state.alive[0]), new_few(bits)
    guess = np.zeros(bits.active.shape[0], np.int64)
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
            bound = propagate_bound(
                boxes, bits, value, least, changes, alive, chosen, stack.open[top], state, stop
            )
            if bound >= least and not stop[0]:
                bound, changed = sharpen(
                    boxes, bits, value, loose, changes, alive, chosen, state, shares, few, stop
                )
            if stop[0]:
                return UNKNOWN, nodes
        if bound < loose:
            continue
        if guess_point(boxes, bits, state, changes, few, guess):
            read_point(boxes, bits, guess, point)
            if is_wanted(forest, rules, point, boxes.categorical):
                return FOUND, nodes
        i = most_lost_axis(boxes, bits, changes, chosen, state)
        if i >= 0:
            current = boxes.current[bits.active[i]] if changes < bits.active.shape[0] else -1
            cut_cells(bits, i, current, guess[i], alive, chosen, state, unit, stack, top)
            top += 2
    return NONE, nodes
