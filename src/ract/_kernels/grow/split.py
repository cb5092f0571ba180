"""The best split of a node on one axis, from the axis' histograms.

The best split so far is kept in small arrays, so that the search over axes needs no objects:
value (3,) float64  = objective, weight of desired and undesired left
split (5,) int64    = axis, cell, label of left, label of right, whether people without a value go
                      left (axis -1: none yet)
limits (6,) float64 = what a split of the axis at hand must keep to (ract._kernels.grow.objective)

On an axis with missing values the cell after the ordered ones holds people without a value. A
threshold is tried with them on its left and on its right; they may also be parted from all others,
by a threshold above the last ordered cell. A node without any sends them to its larger side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner
from ract._kernels.grow.histogram import HIGHEST, LOWEST, NEG, NUMBER, OWN, POS
from ract._kernels.grow.objective import (
    ERROR,
    FROZEN,
    Sides,
    below_floor,
    best_labels,
    impurity,
    keeps_direction,
    majority,
)
from ract._kernels.words import lowest_bit


class Node(NamedTuple):
    """What the search needs to know of a node."""

    pos: float
    neg: float
    number: float
    exposed: float


class MissingRows(NamedTuple):
    """People without a value on one axis, as a sweep over the ordered cells sees them.

    toward: the side that they go to. neg, pos, number: weights and number of the node's, if that
    is the left one. exposed: mass of the exposed among them. low, high: the ordered cells
    of the node that those may supply; high is below low if there are none. clears: whether the
    sweep clears the histograms.
    """

    toward: np.int64
    neg: float
    pos: float
    number: float
    exposed: float
    low: int
    high: int
    clears: bool


# Where people without a value go: to a side, to the larger one, or the node admits none of them.
# Numbers of NumPy, since Numba compiles a function again for every number of Python.
TO_LEFT, TO_RIGHT, TO_LARGER, NOWHERE = (np.int64(k) for k in range(4))


class BestSplit(NamedTuple):
    """The best split so far (see the head of this file)."""

    value: np.ndarray
    split: np.ndarray
    limits: np.ndarray


@inner
def is_allowed(number_l, node, rules):
    """Whether both sides have the people that a leaf needs."""
    return number_l >= rules.min_leaf and node.number - number_l >= rules.min_leaf


@inner
def number_with(number, neg, pos, cell, counts, rules):
    """Number of people on a side once a cell has joined it; anything from 1 on where all is enough.

    neg, pos: weights of the side with the cell, which are numbers unless rules.counted.
    """
    if rules.counted:
        return number + counts[cell, NUMBER]
    return neg + pos if rules.min_leaf > 1 else 1.0


@inner
def missing_go_left(toward, pos_l, neg_l, pos_r, neg_r):
    """Whether people without a value go left; those that a node does not admit are sent too."""
    if toward >= TO_LARGER:
        return pos_l + neg_l >= pos_r + neg_r
    return toward == TO_LEFT


@inner
def keep(best, objective, axis, cell, left, right, toward, pos_l, neg_l, pos_r, neg_r):
    """Remember a split, unless it is out of order."""
    if keeps_direction(best.limits, left, right, pos_l, neg_l, pos_r, neg_r):
        best.value[0] = objective
        best.value[1] = pos_l
        best.value[2] = neg_l
        best.split[0] = axis
        best.split[1] = cell
        best.split[2] = left
        best.split[3] = right
        best.split[4] = missing_go_left(toward, pos_l, neg_l, pos_r, neg_r)


@inner
def offer_split(axis, cell, toward, sides, rules, best):
    """Keep a split if its objective is strictly below the best so far."""
    left, right, objective, without = best_labels(
        sides, rules.recourse_weight, rules.floor, rules.cut, best.limits
    )
    if objective == np.inf:
        return
    pos_l, neg_l, pos_r, neg_r = sides.pos_l, sides.neg_l, sides.pos_r, sides.neg_r
    if rules.criterion != ERROR:
        mixed = impurity(rules.criterion, pos_l, neg_l, pos_r, neg_r)
        objective = mixed + rules.recourse_weight * without
    if objective < best.value[0]:
        keep(best, objective, axis, cell, left, right, toward, pos_l, neg_l, pos_r, neg_r)


@inner
def offer_threshold(axis, cell, pos_l, neg_l, attain_l, attain_r, gap, node, rules, best):
    """Offer the threshold above a cell; attain_l, attain_r: exposed who have a value."""
    pos_r, neg_r = node.pos - pos_l, node.neg - neg_l
    if gap.exposed > 0.0:
        left = missing_go_left(gap.toward, pos_l, neg_l, pos_r, neg_r)
        stay = gap.toward != NOWHERE
        if (stay and left) or gap.low <= min(cell, gap.high):
            attain_l += gap.exposed
        if (stay and not left) or max(cell + 1, gap.low) <= gap.high:
            attain_r += gap.exposed
    miss_l, miss_r = node.exposed - attain_l, node.exposed - attain_r
    sides = Sides(pos_l, neg_l, pos_r, neg_r, miss_l, miss_r, node.exposed)
    offer_split(axis, cell, gap.toward, sides, rules, best)


@inner
def sweep_unexposed(axis, n_cells, node, gap, rules, histograms, best):
    """One pass over the touched cells when nobody's recourse is at stake: impurity alone.

    A threshold is scored when the next cell comes up, and lies midway between the two. Between
    two cells that hold only the same class there is none better than beside them (nor, with a
    direction, any in order when the better one beside it is not), so it is passed over.
    Histograms are cleared behind the pass. n_cells: of the ordered cells.
    """
    counts, touched = histograms.counts, histograms.touched
    # Where both sides must be desired, the floor refuses splits; else it only lowers labels.
    bounded = rules.floor > 0.0 and best.limits[FROZEN] == 1.0
    may_skip = rules.min_leaf == 1 and not bounded
    neg_l, pos_l, number_l = gap.neg, gap.pos, gap.number
    last, last_neg, last_pos = -1, 0.0, 0.0
    for word in range((n_cells + 63) >> 6):
        bits = touched[word]
        if gap.clears:
            touched[word] = np.uint64(0)
        while bits != np.uint64(0):
            cell = (word << 6) + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            neg, pos = counts[cell, NEG], counts[cell, POS]
            if gap.clears:
                counts[cell, NEG] = 0.0
                counts[cell, POS] = 0.0
            same = (neg == 0.0 and last_neg == 0.0) or (pos == 0.0 and last_pos == 0.0)
            same = same and may_skip
            if last >= 0 and not same and is_allowed(number_l, node, rules):
                pos_r, neg_r = node.pos - pos_l, node.neg - neg_l
                mixed = impurity(rules.criterion, pos_l, neg_l, pos_r, neg_r)
                if bounded and (
                    below_floor(pos_l, neg_l, rules.floor) or below_floor(pos_r, neg_r, rules.floor)
                ):
                    mixed = np.inf
                if mixed < best.value[0]:
                    left = majority(pos_l, neg_l, rules.floor, rules.cut)
                    right = majority(pos_r, neg_r, rules.floor, rules.cut)
                    if best.limits[FROZEN] >= 0.0:
                        left = right = int(best.limits[FROZEN])
                    middle = (last + cell - 1) >> 1
                    keep(
                        best, mixed, axis, middle, left, right, gap.toward, pos_l, neg_l, pos_r,
                        neg_r,
                    )  # fmt: skip
            neg_l += neg
            pos_l += pos
            number_l = number_with(number_l, neg_l, pos_l, cell, counts, rules)
            if rules.counted and gap.clears:
                counts[cell, NUMBER] = 0.0
            last, last_neg, last_pos = cell, neg, pos


@inner
def sweep_exposed(axis, n_cells, low, high, node, gap, rules, histograms, best):
    """The same when recourse is at stake.

    A threshold may also lie between two cells that hold none of the node's people, since it
    decides who attains which side:

        cell     3    7    8    12       threshold between 7 and 8:
        people   x    x         x        left are those in 3 and 7,
        ends       <     <  >     >      exposed on the left: those whose lowest cell is <= 7,
                                         exposed on the right: those whose highest cell is > 7

    low, high: it lies from the cell low on and below the cell high.
    """
    counts, touched = histograms.counts, histograms.touched
    pos_l, neg_l, number_l = gap.pos, gap.neg, gap.number
    attain_l, attain_r = 0.0, node.exposed - gap.exposed
    last = -1
    for word in range((n_cells + 63) >> 6):
        bits = touched[word]
        if gap.clears:
            touched[word] = np.uint64(0)
        while bits != np.uint64(0):
            cell = (word << 6) + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            enough = is_allowed(number_l, node, rules)
            if last >= 0 and cell > low and last < high and enough:
                middle = max(low, min((last + cell - 1) >> 1, high - 1))
                offer_threshold(
                    axis, middle, pos_l, neg_l, attain_l, attain_r, gap, node, rules, best
                )
            neg_l += counts[cell, NEG]
            pos_l += counts[cell, POS]
            attain_l += counts[cell, LOWEST]
            attain_r -= counts[cell, HIGHEST]
            number_l = number_with(number_l, neg_l, pos_l, cell, counts, rules)
            if gap.clears:
                for k in range(6):
                    counts[cell, k] = 0.0
            last = cell


@inner
def clear_histograms(histograms, n_cells):
    """Clear the histograms of an axis, cell by cell."""
    for cell in range(n_cells):
        for k in range(6):
            histograms.counts[cell, k] = 0.0
    for word in range((n_cells + 63) >> 6):
        histograms.touched[word] = np.uint64(0)


@inner
def sweep_every_threshold(axis, n_cells, low, high, node, gap, rules, histograms, best):
    """For 0-1 loss: every threshold whose sides have enough people; the lowest wins a tie.

    By the authors' rules every threshold but the last is a candidate, also with nobody on one
    side; when such a one wins, the node is a leaf.
    """
    counts = histograms.counts
    pos_l, neg_l, number_l = gap.pos, gap.neg, gap.number
    attain_l, attain_r = 0.0, node.exposed - gap.exposed
    for cell in range(n_cells - 2 if rules.by_authors and n_cells > 2 else n_cells - 1):
        neg_l += counts[cell, NEG]
        pos_l += counts[cell, POS]
        attain_l += counts[cell, LOWEST]
        attain_r -= counts[cell, HIGHEST]
        number_l = number_with(number_l, neg_l, pos_l, cell, counts, rules)
        parts = low <= cell < high and is_allowed(number_l, node, rules)
        if parts or rules.by_authors:
            offer_threshold(axis, cell, pos_l, neg_l, attain_l, attain_r, gap, node, rules, best)
    if gap.clears:
        clear_histograms(histograms, n_cells)


@inlined
def sweep_axis(axis, n_cells, low, high, n_exposed, node, gap, rules, histograms, best):
    """One pass over the ordered cells."""
    if rules.criterion == ERROR:
        sweep_every_threshold(axis, n_cells, low, high, node, gap, rules, histograms, best)
    elif n_exposed > 0:
        sweep_exposed(axis, n_cells, low, high, node, gap, rules, histograms, best)
    else:
        sweep_unexposed(axis, n_cells, node, gap, rules, histograms, best)


@inner
def attains_another(can_enter, table, n_cells, admitted, row, first_set, own, cell):
    """Whether someone in category own can enter an admitted category other than cell.

    can_enter: flat tables; this axis' starts at table. admitted (stack, categories): sets; this
    axis' starts at column first_set.
    """
    for k in range(n_cells):
        if k != cell and admitted[row, first_set + k] and can_enter[table + own * n_cells + k]:
            return True
    return False


@inner
def sweep_categories(axis, data, node, rules, admitted, row, histograms, best):
    """Each category against the rest: it goes right, the others left. Histograms are cleared."""
    n_cells, table, first_set = data.layout[axis, 0], data.layout[axis, 1], data.layout[axis, 2]
    counts = histograms.counts
    for cell in range(n_cells):
        neg_r, pos_r = counts[cell, NEG], counts[cell, POS]
        if rules.by_authors:
            if not admitted[row, first_set + cell]:
                continue
        elif neg_r + pos_r == 0.0:
            continue
        else:
            here = number_with(0.0, neg_r, pos_r, cell, counts, rules)
            if not is_allowed(here, node, rules):
                continue
        attain_l, attain_r = 0.0, 0.0
        for own in range(n_cells):
            mass = counts[own, OWN]
            if mass > 0.0:
                if data.can_enter[table + own * n_cells + cell]:
                    attain_r += mass
                if attains_another(
                    data.can_enter, table, n_cells, admitted, row, first_set, own, cell
                ):
                    attain_l += mass
        miss_l, miss_r = node.exposed - attain_l, node.exposed - attain_r
        sides = Sides(
            node.pos - pos_r, node.neg - neg_r, pos_r, neg_r, miss_l, miss_r, node.exposed
        )
        offer_split(axis, cell, TO_LARGER, sides, rules, best)
    clear_histograms(histograms, n_cells)
