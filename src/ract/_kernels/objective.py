"""The objective of a split (Eq. 2, 4 and 5 of the paper): error plus recourse, or impurity plus it.

With P/N the weight of desired/undesired people in the node, M the exposed mass and M_L, M_R the
exposed mass that attains each side:

    labels (left, right)    errors        left without recourse
    (+, +)                  N             0
    (+, -)                  N_L + P_R     M - M_L
    (-, +)                  P_L + N_R     M - M_R
    (-, -)                  P             M
"""

from __future__ import annotations

import math
from typing import NamedTuple

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


@inner
def best_labels(sides, weight):
    """Labels of both sides that minimise errors + weight x people left without recourse.

    Among equals the first row of the table wins.
    Returns (left, right, objective, mass left without recourse).
    """
    left, right, best, without = 1, 1, sides.neg_l + sides.neg_r, 0.0
    value = sides.neg_l + sides.pos_r + weight * sides.miss_l
    if value < best:
        left, right, best, without = 1, 0, value, sides.miss_l
    value = sides.pos_l + sides.neg_r + weight * sides.miss_r
    if value < best:
        left, right, best, without = 0, 1, value, sides.miss_r
    value = sides.pos_l + sides.pos_r + weight * sides.exposed
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
