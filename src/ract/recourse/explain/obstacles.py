"""Why someone has no plan: the features that hold them, or the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from ract._utils.status import Status
from ract.data.encoder import Axis
from ract.recourse.common.answers import Answer

Solve = Callable[[np.ndarray], Answer]

MOST_SETS = 120


def locked(axes: Sequence[Axis]) -> list[int]:
    """Positions of the axes that are fixed or may move one way only."""
    return [a for a, axis in enumerate(axes) if axis.feature.change != "any"]


def smallest_release(
    candidates: Sequence[int], costs: np.ndarray, free: np.ndarray, solve: Solve
) -> tuple[tuple[int, ...], bool]:
    """The smallest set of axes whose release gives a plan, and whether no smaller one would.

    Parameters
    ----------
    candidates : sequence of int
        Axes that can be released.
    costs, free : float64 (axes, cells)
        What cells cost the person as things are, and with every axis released.
    solve : callable
        The cheapest plan under some costs.
    """
    proved = True

    def works(axes: Sequence[int]) -> bool:
        nonlocal proved
        mixed = costs.copy()
        mixed[list(axes)] = free[list(axes)]
        found = solve(mixed)
        proved = proved and found.status != Status.UNKNOWN
        return found.point is not None

    if not candidates or not works(candidates):
        return (), proved
    for a in candidates:
        if works((a,)):
            return (a,), True
    kept = list(candidates)
    for a in candidates:
        if works([b for b in kept if b != a]):
            kept.remove(a)
    asked = 0
    for size in range(2, len(kept)):
        for axes in combinations(candidates, size):
            asked += 1
            if asked > MOST_SETS:
                return tuple(kept), False
            if works(axes):
                return axes, proved
    return tuple(kept), proved
