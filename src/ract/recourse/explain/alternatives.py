"""Other plans for the same person, with other features."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answers


@dataclass(frozen=True)
class Candidate:
    """A plan among others: its encoded values, its cost, its cells and the person's own.

    bound: what no plan with the same axes at home can cost less than. beyond: whether it is proved
    to hold for everyone who does more.
    """

    values: np.ndarray
    cost: float
    point: np.ndarray
    start: np.ndarray
    bound: float = 0.0
    beyond: bool = False

    @cached_property
    def changed(self) -> frozenset[int]:
        """The axes that it changes."""
        return frozenset(np.flatnonzero(self.point != self.start).tolist())


Solve = Callable[[frozenset[int], float], Candidate | None]
Ends = Callable[[Candidate], tuple[np.ndarray, np.ndarray]]


def diverse(first: Candidate, solve: Solve, n_plans: int) -> list[Candidate]:
    """The cheapest plans of which none changes all the features of one before it.

    A plan that does not change all of some features leaves at least one of them at home; so the
    search branches on which one, cheapest branch first.

    Parameters
    ----------
    first : Candidate
        The cheapest plan of all.
    solve : callable
        The cheapest plan with some axes held at home, of which is known what none can cost less
        than; None if there is none.
    n_plans : int
        How many plans to give, the first included; fewer when there are no more.

    Examples
    --------
    >>> def solve(home, least):
    ...     free = [a for a in (0, 1, 2) if a not in home]
    ...     point = np.arange(3) == free[0] if free else None
    ...     return Candidate(np.zeros(3), float(free[0]), point, np.zeros(3)) if free else None
    >>> [plan.cost for plan in diverse(solve(frozenset(), 0.0), solve, 5)]
    [0.0, 1.0, 2.0]
    """
    plans: list[Candidate] = []
    queue: list[tuple[float, int, frozenset[int], Candidate]] = [
        (first.cost, 0, frozenset(), first)
    ]
    seen: set[frozenset[int]] = {frozenset()}
    while queue and len(plans) < n_plans:
        _, _, kept, plan = heapq.heappop(queue)
        within = [earlier.changed for earlier in plans if earlier.changed <= plan.changed]
        if not within:
            plans.append(plan)
            within = [plan.changed]
            if len(plans) == n_plans:  # nobody sees what comes after it
                break
        for axis in sorted(within[0]):
            home = kept | {axis}
            if home in seen:
                continue
            seen.add(home)
            found = solve(home, plan.bound)  # what is held besides makes nothing cheaper
            if found is not None:
                heapq.heappush(queue, (found.cost, len(seen), home, found))
    return plans


def without_changes(start: np.ndarray, costs: np.ndarray, axes: frozenset[int]) -> np.ndarray:
    """Costs under which some axes cannot change.

    own int64 (axes,), costs float64 (axes, cells).
    """
    fixed = costs.copy()
    for a in axes:
        fixed[a], fixed[a, start[a]] = np.inf, 0.0
    return fixed


def table_of(
    plans: list[Candidate], person: np.ndarray, n_features: int, ends: Ends | None = None
) -> Answers:
    """Further plans of one person as a table.

    Parameters
    ----------
    plans : list of Candidate
    person : float (columns,)
        Their encoded values.
    n_features : int
    ends : callable, optional
        Between which values each changed number of a plan may lie; by default nothing is proved.
    """
    table = Answers.unknown(np.tile(person, (len(plans), 1)))
    low, high = table.add_ends(n_features)
    table.status[:], table.bound[:] = Status.FOUND, np.nan
    table.beyond = np.array([plan.beyond for plan in plans], bool)
    for k, plan in enumerate(plans):
        table.values[k], table.cost[k] = plan.values, plan.cost
        if ends is not None:
            low[k], high[k] = ends(plan)
    return table
