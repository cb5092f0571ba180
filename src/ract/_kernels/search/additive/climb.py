"""First points: greedy climbs from the current cells, and bringing a point back.

Both look at the boxes that hold the cells of all axes but one; which of its cells is enough is
then a question of few words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making
from ract._kernels.search.additive.prices import point_cost
from ract._kernels.search.additive.score import shortfall
from ract._kernels.search.cell_forest import Forest, PointRules, is_wanted
from ract._kernels.search.depth_first import read_point

# Another point must be cheaper by more than this part of the cost to replace one.
EQUAL = 1e-9


class PointProblem(NamedTuple):
    """Whose point is looked for, and who decides.

    forest, rules: the whole forests of all models, and which points they want.
    price, size float64 (axes, cells): what each cell costs them.
    """

    forest: Forest
    rules: PointRules
    price: np.ndarray
    size: np.ndarray


class BestPoint(NamedTuple):
    """The cheapest point so far, and room.

    cost float64 (2,): what it costs (infinite without one), and what another may cost at most.
    point, trial int64 (axes,). at int64 (active,): compressed cells of a point. before, after int64
    (active + 1, words): the boxes that hold the cells of the axes before each axis, and from it on.
    stop (1,) uint8: set from outside to end climbs.
    """

    cost: np.ndarray
    point: np.ndarray
    trial: np.ndarray
    at: np.ndarray
    before: np.ndarray
    after: np.ndarray
    stop: np.ndarray


@making
def new_best(bits, cost, point, stop):
    """The point that is known, and room."""
    n_active, n_words = bits.active.shape[0], bits.mask.shape[1]
    sets = np.zeros((2, n_active + 1, n_words), np.int64)
    return BestPoint(
        cost, point, point.copy(), np.zeros(n_active, np.int64), sets[0], sets[1], stop
    )


@inner
def find_holding(bits, everything, best):
    """Set before and after for the cells of a point."""
    at, before, after, mask = best.at, best.before, best.after, bits.mask
    n_active, n_words = at.shape[0], mask.shape[1]
    for s in range(n_words):
        before[0, s] = everything[0, s]
        after[n_active, s] = -1
    for i in range(n_active):
        for s in range(n_words):
            before[i + 1, s] = before[i, s] & mask[bits.offset[i] + at[i], s]
    for i in range(n_active - 1, -1, -1):
        for s in range(n_words):
            after[i, s] = after[i + 1, s] & mask[bits.offset[i] + at[i], s]


@inner
def is_accepted(boxes, bits, person, best):
    """Whether the models want the point; its original cells are the trial."""
    read_point(boxes, bits, best.at, best.trial)
    return is_wanted(person.forest, person.rules, best.trial, boxes.categorical)


@inner
def move_back(boxes, bits, prices, score, person, everything, i, best):
    """Move an axis of an accepted point back as far as it goes; returns whether it moved."""
    at, base, current, here = best.at, bits.offset[i], prices.current[i], best.at[i]
    find_holding(bits, everything, best)
    for s in range(bits.mask.shape[1]):
        best.before[i, s] &= best.after[i + 1, s]
    price = prices.price[base + here] + prices.size[base + here]
    step = 1 if here > current else -1
    cell = current
    n_cells = bits.offset[i + 1] - base
    for k in range(n_cells):
        if boxes.categorical[bits.active[i]]:
            cell = current if k == 0 else (k - 1 if k <= current else k)
        elif cell == here:
            break
        dear = prices.price[base + cell] + prices.size[base + cell]
        if cell != here and (cell == current or dear < price):
            if shortfall(bits, score, best.before[i], bits.mask, base + cell) <= 0:
                at[i] = cell
                if is_accepted(boxes, bits, person, best):
                    return True
                at[i] = here
        cell += step
    return False


@inner
def bring_back(boxes, bits, prices, score, person, everything, best):
    """Move every axis of an accepted point back as far as it goes, the dearest first."""
    moved = True
    while moved and not best.stop[0]:
        moved, last = False, np.inf
        while True:
            axis, dearest = -1, -1.0
            for i in range(best.at.shape[0]):
                c = bits.offset[i] + best.at[i]
                dear = prices.price[c] + prices.size[c]
                if best.at[i] != prices.current[i] and dearest < dear < last:
                    axis, dearest = i, dear
            if axis < 0 or best.stop[0]:
                break
            last = dearest
            if move_back(boxes, bits, prices, score, person, everything, np.int64(axis), best):
                moved = True


@inner
def offer_point(boxes, bits, prices, score, person, everything, best):
    """Bring a point back if it is accepted, and keep it if it is the best; whether it is."""
    if not is_accepted(boxes, bits, person, best):
        return False
    bring_back(boxes, bits, prices, score, person, everything, best)
    read_point(boxes, bits, best.at, best.trial)
    cost = point_cost(person.price, person.size, boxes.own, best.trial)
    if cost <= best.cost[1]:
        best.cost[0] = cost
        best.cost[1] = cost * (1 - EQUAL)
        for a in range(best.point.shape[0]):
            best.point[a] = best.trial[a]
    return True


@inner
def climb_greedily(bits, prices, score, changes, power, everything, still, best):
    """Take the step that gains most for its price until there is enough; returns whether there is.

    power: of the gain. still: an axis that stays where it is, or -1. Begins at the point, and sets
    it.
    """
    n_active, mask, at = best.at.shape[0], bits.mask, best.at
    cost, moved = 0.0, 0
    for i in range(n_active):
        cost += prices.price[bits.offset[i] + at[i]] + prices.size[bits.offset[i] + at[i]]
        moved += at[i] != prices.current[i]
    while True:
        find_holding(bits, everything, best)
        lacks = shortfall(bits, score, everything[0], best.before, np.int64(n_active))
        if lacks <= 0:
            return True
        if best.stop[0]:
            return False
        axis, cell, most, dearer = -1, 0, 0.0, 0.0
        for i in range(n_active):
            base = bits.offset[i]
            if i == still or (moved == changes and at[i] == prices.current[i]):
                continue
            for s in range(mask.shape[1]):
                best.before[i, s] &= best.after[i + 1, s]
            for c in range(bits.offset[i + 1] - base):
                extra = prices.price[base + c] - prices.price[base + at[i]]
                extra += prices.size[base + c] - prices.size[base + at[i]]
                if c == at[i] or extra < 0 or cost + extra > best.cost[1]:
                    continue
                gain = lacks - shortfall(bits, score, best.before[i], mask, base + c)
                if gain > 0:
                    worth = gain**power / (extra + 1e-300)
                    if worth > most:
                        axis, cell, most, dearer = i, c, worth, extra
        if axis < 0:
            return False
        moved += at[axis] == prices.current[axis]
        at[axis] = cell
        cost += dearer


@inner
def climb_all(boxes, bits, prices, score, person, changes, everything, best):
    """Greedy climbs from the current cells, with a gain to several powers."""
    for power in (1.0, 2.0, 0.5):
        for i in range(best.at.shape[0]):
            best.at[i] = prices.current[i]
        if climb_greedily(bits, prices, score, changes, power, everything, np.int64(-1), best):
            offer_point(boxes, bits, prices, score, person, everything, best)


@inner
def locate_best(boxes, bits, prices, best):
    """Set the point's compressed cells to those of the best; whether all of them are there."""
    for i in range(best.at.shape[0]):
        a = bits.active[i]
        cell = best.point[a]
        best.at[i] = prices.current[i] if cell == boxes.own[a] else -1
        for c in range(boxes.n_cells[a]):
            low, end = boxes.start[a, c], boxes.start[a, c + 1]
            if cell == low or (not boxes.categorical[a] and low <= cell < end):
                best.at[i] = c if best.at[i] < 0 else best.at[i]
        if best.at[i] < 0:
            return False
    return True


@inner
def climb_again(boxes, bits, prices, score, person, changes, everything, best):
    """Set one axis of the best point back and climb with the others, while that gains anything.

    Climbs can overshoot on the first axes that they take.
    """
    gains = True
    while gains:
        gains = False
        for i in range(best.at.shape[0]):
            if best.stop[0] or not locate_best(boxes, bits, prices, best):
                return
            if best.at[i] == prices.current[i]:
                continue
            best.at[i] = prices.current[i]
            for power in (1.0, 2.0):
                cost = best.cost[0]
                if power == 2.0:
                    if not locate_best(boxes, bits, prices, best):
                        return
                    best.at[i] = prices.current[i]
                if climb_greedily(
                    bits, prices, score, changes, power, everything, np.int64(i), best
                ):
                    offer_point(boxes, bits, prices, score, person, everything, best)
                gains = gains or best.cost[0] < cost
