"""Cutting a node in two by the price of one axis.

    price    0 .1 .2 | .4 .7 .9      the dear side spends at least .4 of the room, so that all other
             cheap   | dear          axes shrink too; the cheap side shrinks this one

Every axis is cut on trial. Each side loses a part of the slack, and the dear side a part of the
room; the axis of which both lose most (their product) is taken. Where changes are limited, the
current cell is cut from all else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making
from ract._kernels.search.additive.score import part_lost

# The part of an axis' dearest price below which its cells are the cheap side.
CHEAP = 0.35
# What a side counts that loses nothing, as a part of slack and room.
NOTHING = 0.01


# Nodes that may wait besides those of a dive, and numbers that they may take.
MOST_WAITING, MOST_NUMBERS = 4000, 1 << 24


class NodeStack(NamedTuple):
    """Nodes that are still to be searched.

    alive int64 (levels, words), open int8 (levels, cells), floor float64 (levels,): what no point
    of the node can cost less than.
    """

    alive: np.ndarray
    open: np.ndarray
    floor: np.ndarray


@making
def new_node_stack(bits, alive):
    """All cells. A cut closes a cell, so that no dive leaves more nodes than there are cells."""
    n_cells, n_words = bits.mask.shape
    n = n_cells + 2 + min(MOST_WAITING, MOST_NUMBERS // (n_cells + n_words))
    stack = NodeStack(
        np.zeros((n, n_words), np.int64), np.zeros((n, n_cells), np.int8), np.zeros(n)
    )
    stack.open[0] = 1
    stack.alive[0] = alive
    return stack


@inner
def raise_lowest(stack, top):
    """Put the node of the lowest floor on top of the stack, unless too many are waiting."""
    low = top - 1
    if top + stack.open.shape[1] + 2 > stack.floor.shape[0]:
        return
    for k in range(top - 1):
        if stack.floor[k] < stack.floor[low]:
            low = k
    last = top - 1
    if low != last:
        stack.floor[low], stack.floor[last] = stack.floor[last], stack.floor[low]
        for s in range(stack.alive.shape[1]):
            word = stack.alive[low, s]
            stack.alive[low, s] = stack.alive[last, s]
            stack.alive[last, s] = word
        for c in range(stack.open.shape[1]):
            kept = stack.open[low, c]
            stack.open[low, c] = stack.open[last, c]
            stack.open[last, c] = kept


@inner
def dear_above(bits, prices, room, i, few):
    """The price above which the cells of an axis are its dear side; the cheapest never are."""
    base, low, high = bits.offset[i], np.inf, 0.0
    for q in range(room.n_left[i]):
        extra = prices.price[base + room.cells[base + q]] - room.cheapest[i]
        high = max(high, extra)
        if extra > 0:
            low = min(low, extra)
    if low > CHEAP * high or (few and room.cheapest[i] == 0):
        return room.cheapest[i]
    return room.cheapest[i] + CHEAP * high


@inner
def cut_axis(bits, prices, score, alive, room, rest, few):
    """The axis to cut; -1 if no axis has two prices left. rest: what may be spent yet."""
    axis, most, sides = -1, -1.0, room.sides
    for i in range(bits.active.shape[0]):
        if room.n_left[i] < 2:
            continue
        base, step = bits.offset[i], np.inf
        limit = dear_above(bits, prices, room, i, few)
        sides[:] = 0
        for q in range(room.n_left[i]):
            c = base + room.cells[base + q]
            dear = 1 if prices.price[c] > limit else 0
            if dear:
                step = min(step, prices.price[c] - room.cheapest[i])
            for s in range(alive.shape[0]):
                sides[dear, s] |= bits.mask[c, s]
        if step == np.inf:
            continue
        cheap = min(1.0, part_lost(bits, score, alive, sides, np.int64(0)))
        dear_side = min(1.0, part_lost(bits, score, alive, sides, np.int64(1)))
        if rest > 0:
            dear_side += min(1.0, step / rest)
        worth = (NOTHING + cheap) * (NOTHING + dear_side)
        if worth > most:
            axis, most = i, worth
    return axis


@inner
def open_axis(room):
    """An axis with several cells, or -1."""
    for i in range(room.n_left.shape[0]):
        if room.n_left[i] > 1:
            return i
    return -1


@inner
def push_part(bits, alive, open_, i, cells, base, first, last, floor, stack, top):
    """Put the node on the stack, with some listed cells of axis i only."""
    for c in range(stack.open.shape[1]):
        stack.open[top, c] = open_[c]
    for c in range(base, bits.offset[i + 1]):
        stack.open[top, c] = 0
    stack.alive[top, :] = 0
    for q in range(first, last):
        c = base + cells[base + q]
        stack.open[top, c] = 1
        for s in range(alive.shape[0]):
            stack.alive[top, s] |= alive[s] & bits.mask[c, s]
    stack.floor[top] = floor


@inner
def cut_by_price(bits, prices, alive, open_, room, i, limit, floor, stack, top):
    """Put both sides of an axis on the stack, the cheap one to come next."""
    base, n, cells = bits.offset[i], np.int64(0), room.cells
    for q in range(room.n_left[i]):  # the cheap cells first
        c = cells[base + q]
        if not prices.price[base + c] > limit:
            cells[base + q] = cells[base + n]
            cells[base + n] = c
            n += 1
    push_part(bits, alive, open_, i, cells, base, n, room.n_left[i], floor, stack, top)
    push_part(bits, alive, open_, i, cells, base, np.int64(0), n, floor, stack, top + 1)


@inner
def cut_off_one(bits, alive, open_, room, i, floor, stack, top):
    """As cut, where all cells cost the same: one of them, and the rest."""
    base, n = bits.offset[i], room.n_left[i]
    push_part(bits, alive, open_, i, room.cells, base, np.int64(1), n, floor, stack, top)
    push_part(
        bits, alive, open_, i, room.cells, base, np.int64(0), np.int64(1), floor, stack, top + 1
    )
