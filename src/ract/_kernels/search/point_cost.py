"""What a point of cells costs: the costs of its axes under a norm, or a quadratic form of moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner

MAX, SUM, SQUARES = 0, 1, 2


class Joint(NamedTuple):
    """A cost that does not split by axis: the length of a weighted move in a quadratic form.

    precision float64 (columns, columns): the form; empty for costs that split by axis.
    moves float64 (axes, cells): one person's weighted move into each cell of an ordinal axis.
    weight float64 (axes,), column int64 (axes,): weight and first column of each axis.
    moved float64 (columns,): room for a move.
    """

    precision: Any
    moves: Any
    weight: Any
    column: Any
    moved: Any


@inner
def part(cost, norm):
    """What the cost of an axis adds to a norm that is not the largest."""
    return cost if norm == SUM else cost * cost


@inner
def price_with(costs, point, axis, cell, norm, price):
    """Price of a point after one axis moved out to a cell, from its price before.

    Summed afresh in the order of the axes, so that a dearer cell never makes a lower price.
    """
    if norm == MAX:
        return price if price > costs[axis, cell] else costs[axis, cell]
    total = 0.0
    for a in range(point.shape[0]):
        total += part(costs[a, cell if a == axis else point[a]], norm)
    return total if norm == SUM else np.sqrt(total)


@inner
def joint_cost(joint, own, point, categorical):
    """Cost of a point under a quadratic form."""
    moved = joint.moved
    for j in range(moved.shape[0]):
        moved[j] = 0.0
    for a in range(own.shape[0]):
        if point[a] == own[a]:
            continue
        j = joint.column[a]
        if categorical[a]:
            moved[j + own[a]] = -joint.weight[a]
            moved[j + point[a]] = joint.weight[a]
        else:
            moved[j] = joint.moves[a, point[a]]
    total = 0.0
    for j in range(moved.shape[0]):
        if moved[j] == 0.0:
            continue
        for k in range(moved.shape[0]):
            total += moved[j] * joint.precision[j, k] * moved[k]
    return np.sqrt(total) if total > 0.0 else 0.0


@inner
def cheapest_category(costs, axis, admitted, own, n):
    """The own category if it is admitted, or the first of the cheapest that are; -1 if none is."""
    if (admitted >> own) & 1:
        return own
    best = -1
    for k in range(n):
        if (admitted >> k) & 1 and (best < 0 or costs[axis, k] < costs[axis, best]):
            best = k
    return best
