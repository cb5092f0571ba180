"""What a point of cells costs: the largest cost of its axes, or their sum."""

from __future__ import annotations

from ract._kernels._jit import inner

MAX, SUM = 0, 1


@inner
def price_with(costs, point, axis, cell, norm, price):
    """Price of a point after one axis moved out to a cell, from its price before.

    Summed afresh in the order of the axes, so that a dearer cell never makes a lower price.
    """
    if norm == MAX:
        return price if price > costs[axis, cell] else costs[axis, cell]
    total = 0.0
    for a in range(point.shape[0]):
        total += costs[a, cell if a == axis else point[a]]
    return total


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
