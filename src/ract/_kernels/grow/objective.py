"""The objective of a split (Eq. 2, 4 and 5 of the paper): error plus recourse, or impurity plus it.

With P/N the weight of desired/undesired people in the node, M the exposed mass and M_L, M_R the
exposed mass that attains each side:

    labels (left, right)    errors        left without recourse
    (+, +)                  N             0
    (+, -)                  N_L + P_R     M - M_L
    (-, +)                  P_L + N_R     M - M_R
    (-, -)                  P             M

A side in which fewer than a least share of people is desired (the floor) may not take a +.

Errors of undesired people count 2 cut and those of desired ones 2 - 2 cut, so that without
recourse a side is labelled + from a share of desired people equal to the cut on; at one half all
errors count 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner

GINI, ENTROPY, ERROR = 0, 1, 2


class Sides(NamedTuple):
    """Weights on both sides of a split, and the exposed mass that misses one side, or both."""

    pos_l: float
    neg_l: float
    pos_r: float
    neg_r: float
    miss_l: float
    miss_r: float
    exposed: float


# What monotonic constraints ask of the splits of one axis (see ract.trees.monotone), by position:
# 1 or -1 if people on the right must be no worse or no better off, else 0; the label of everything
# below the node, -1 if it is free; for each row of the table above 0, or inf if it is ruled out.
DIRECTION, FROZEN, BOTH, LEFT, RIGHT, NEITHER = 0, 1, 2, 3, 4, 5


@inner
def set_limits(limits, direction, frozen):
    """Limits (6,) float64 of an axis with a direction, in a node whose labels may be frozen."""
    limits[DIRECTION] = direction
    limits[FROZEN] = frozen
    limits[BOTH] = np.inf if frozen == 0 else 0.0
    limits[LEFT] = np.inf if frozen >= 0 or direction == 1 else 0.0
    limits[RIGHT] = np.inf if frozen >= 0 or direction == -1 else 0.0
    limits[NEITHER] = np.inf if frozen == 1 else 0.0


@inner
def below_floor(pos, neg, floor):
    """Whether the share of desired people is too low for a desired leaf; that of nobody is not.

    Shares are compared, not weights: 7 of 100 are no less than 0.07, but less than 0.07 * 100.
    """
    return pos + neg > 0.0 and pos / (pos + neg) < floor


@inner
def majority(pos, neg, floor, cut):
    """Label by the cut on the share of desired people, if the floor allows it; a tie is desired."""
    return 1 if cut * neg <= (1.0 - cut) * pos and not below_floor(pos, neg, floor) else 0


@inner
def middle_is_low(pos_l, neg_l, pos_r, neg_r, cut):
    """Whether the shares of desired people on both sides have their middle below the cut."""
    left, right = pos_l + neg_l, pos_r + neg_r
    return pos_l * right + pos_r * left < 2.0 * cut * left * right


@inner
def keeps_direction(limits, left, right, pos_l, neg_l, pos_r, neg_r):
    """Whether neither labels nor shares of desired people go against the direction.

    pos_l / (pos_l + neg_l) > pos_r / (pos_r + neg_r) is the same as pos_l neg_r > pos_r neg_l,
    which has a meaning for an empty side too.
    """
    direction = limits[DIRECTION]
    return direction * (left - right) <= 0.0 and direction * (pos_l * neg_r - pos_r * neg_l) <= 0.0


@inner
def best_labels(sides, weight, floor, cut, limits):
    """Labels of both sides that minimise errors + weight x people left without recourse.

    Among equals the first row of the table wins.
    Returns (left, right, objective, mass left without recourse); the objective is inf where every
    row is ruled out.
    """
    both, neither = limits[BOTH], limits[NEITHER]
    only_left, only_right = limits[LEFT], limits[RIGHT]
    if limits[DIRECTION] != 0.0 and limits[FROZEN] < 0.0:
        # One side will freeze, so it must have the label that it freezes to.
        low = middle_is_low(sides.pos_l, sides.neg_l, sides.pos_r, sides.neg_r, cut)
        both, neither = (np.inf, 0.0) if low else (0.0, np.inf)
    if floor > 0.0:
        low_l = below_floor(sides.pos_l, sides.neg_l, floor)
        low_r = below_floor(sides.pos_r, sides.neg_r, floor)
        if low_l:
            both = only_left = np.inf
        if low_r:
            both = only_right = np.inf
        if low_l and low_r and limits[FROZEN] < 0.0:
            neither = 0.0  # the low side freezes, wherever the middle is
    pos_l, pos_r = (2.0 - 2.0 * cut) * sides.pos_l, (2.0 - 2.0 * cut) * sides.pos_r
    neg_l, neg_r = 2.0 * cut * sides.neg_l, 2.0 * cut * sides.neg_r
    left, right, best, without = 1, 1, neg_l + neg_r + both, 0.0
    value = neg_l + pos_r + weight * sides.miss_l + only_left
    if value < best:
        left, right, best, without = 1, 0, value, sides.miss_l
    value = pos_l + neg_r + weight * sides.miss_r + only_right
    if value < best:
        left, right, best, without = 0, 1, value, sides.miss_r
    value = pos_l + pos_r + weight * sides.exposed + neither
    if value < best:
        left, right, best, without = 0, 0, value, sides.exposed
    return left, right, best, without


@inner
def entropy(pos, neg):
    """Weight times entropy in bits."""
    if pos <= 0.0 or neg <= 0.0:
        return 0.0
    total = pos + neg
    return pos * math.log2(total / pos) + neg * math.log2(total / neg)


@inner
def impurity(criterion, pos_l, neg_l, pos_r, neg_r):
    """Weight times Gini impurity or entropy, summed over two sides (one division for Gini)."""
    if criterion == ENTROPY:
        return entropy(pos_l, neg_l) + entropy(pos_r, neg_r)
    left, right = pos_l + neg_l, pos_r + neg_r
    return 2.0 * (pos_l * neg_l * right + pos_r * neg_r * left) / (left * right)
