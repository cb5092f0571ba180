"""What is told about plans beyond the cheapest point: margins, ranges, others, reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ract.recourse.common.answers import Solutions
from ract.recourse.common.parallel import Watch, in_parts
from ract.recourse.common.problem import LARGEST, Problem, budgets_of
from ract.recourse.exact.cheapest import FOUND, NONE, OPEN, Cheapest
from ract.recourse.exact.decide import Model, Person
from ract.recourse.explain.alternatives import Option, diverse, held_at_home
from ract.recourse.explain.obstacles import locked, released, smallest_release
from ract.recourse.explain.ranges import Certifier
from ract.recourse.explain.robust import MarginSearch
from ract.recourse.plan import Reason

MAX_NODES = 200_000


@dataclass(frozen=True)
class Wishes:
    """What to tell of each person."""

    margin: float = 0.0
    ranges: bool = False
    n_alternatives: int = 0
    explain: bool = True
    max_changes: int | None = None
    time_limit: float | None = None
    n_jobs: int | None = None
    progress: bool = False


@dataclass
class Details:
    """What is told, by position among the people that were searched.

    low, high : float (people, axes)
        Values between which each changed number may lie.
    """

    values: np.ndarray
    cost: np.ndarray
    status: np.ndarray
    bound: np.ndarray
    low: np.ndarray
    high: np.ndarray
    others: dict[int, list[Any]] = field(default_factory=dict)
    reasons: dict[int, Reason] = field(default_factory=dict)


def tell(
    problem: Problem, people: np.ndarray, budget: float, solutions: Solutions, wishes: Wishes
) -> Details:
    """Margins, ranges, other plans and reasons for the answers of an exact search."""
    shape = (len(people), len(problem.grid.axes))
    details = Details(
        solutions.values.copy(), solutions.cost.copy(), solutions.status.copy(),
        solutions.bound.copy(), np.full(shape, np.nan), np.full(shape, np.nan),
    )  # fmt: skip
    teller = Teller(problem, budget, wishes, details)
    watch = Watch(len(people), wishes.time_limit)

    def run(part: range) -> None:
        here = slice(part.start, part.stop)
        cells = problem.cells(people[here])
        costs = problem.costs(people[here], cells)
        free = teller.free.costs(people[here], cells) if wishes.explain else costs
        for i in part:
            k = i - part.start
            with watch.timing(i) as stop:
                teller.tell(i, people[i], cells[k], costs[k], free[k], stop)

    with watch.running():
        in_parts(run, len(people), n_jobs=wishes.n_jobs, progress=wishes.progress)
    return details


class Teller:
    """Fills in the details of one person after the other."""

    def __init__(self, problem: Problem, budget: float, wishes: Wishes, details: Details) -> None:
        self.problem = problem
        self.free = problem.with_axes(released(problem.grid.axes))
        self._wishes, self._details = wishes, details
        self._budget = float(budgets_of(budget, 1)[0])
        self._model = Model.of(problem)
        self._model.simplified  # noqa: B018  worked out once, before threads ask for it
        self._certifier = Certifier(self._model.refusing())
        n_axes = len(problem.grid.axes)
        self._changes = n_axes if wishes.max_changes is None else wishes.max_changes

    def tell(
        self, i: int, person: np.ndarray, own: np.ndarray, costs: np.ndarray, free: np.ndarray,
        stop: np.ndarray,
    ) -> None:  # fmt: skip
        """Everything that was wished about person i."""
        details, wishes = self._details, self._wishes
        if details.status[i] == NONE and wishes.explain:
            details.reasons[i] = self._reason(own, costs, free, stop)
        if not np.isfinite(details.cost[i]):
            return
        if wishes.margin > 0:
            self._with_margin(i, person, own, costs)
            if not np.isfinite(details.cost[i]):
                return
        first = self._option(own, details.values[i], details.cost[i])
        if wishes.n_alternatives > 0:

            def solve(home: frozenset[int]) -> Option | None:
                return self._cheapest(person, own, held_at_home(own, costs, home), stop)

            others = diverse(first, solve, wishes.n_alternatives + 1)[1:]
            details.others[i] = [self._told(person, own, costs, other) for other in others]
        details.low[i], details.high[i] = self._ends(own, details.values[i], costs)

    def _solver(self, own: np.ndarray, budget: float, stop: np.ndarray) -> Any:
        def solve(costs: np.ndarray) -> Cheapest:
            person = Person(self._model, own, costs, self._changes, stop)
            return person.cheapest(budget, MAX_NODES)

        return solve

    def _cheapest(
        self, person: np.ndarray, own: np.ndarray, costs: np.ndarray, stop: np.ndarray
    ) -> Option | None:
        """The cheapest plan under some costs, with the margin that was wished."""
        if self._wishes.margin > 0:
            search = MarginSearch(self.problem, self._wishes.margin, MAX_NODES)
            values = search.solve(person, own, costs, self._budget, self._changes)
            if values is None:
                return None
            cost = self.problem.cost.between(person[None], values[None])[0]
            return self._option(own, values, cost)
        found = self._solver(own, self._budget, stop)(costs)
        if found.point is None:
            return None
        values = self.problem.values(person[None], own[None], found.point[None])[0]
        return self._option(own, values, found.cost)

    def _option(self, own: np.ndarray, values: np.ndarray, cost: float) -> Option:
        point = self.problem.cells(values[None])[0]
        return Option(values, cost, frozenset(np.flatnonzero(point != own).tolist()))

    def _with_margin(self, i: int, person: np.ndarray, own: np.ndarray, costs: np.ndarray) -> None:
        details = self._details
        option = self._cheapest(person, own, costs, np.zeros(1, np.uint8))
        if option is None:
            details.values[i], details.cost[i], details.status[i] = person, np.inf, OPEN
            return
        details.values[i], details.cost[i] = option.values, option.cost
        if option.cost > details.bound[i]:
            details.status[i] = FOUND

    def _told(
        self, person: np.ndarray, own: np.ndarray, costs: np.ndarray, option: Option
    ) -> tuple[Any, ...]:
        effort = efforts(self.problem, person[None], option.values[None])[0]
        return (option.values, option.cost, effort, *self._ends(own, option.values, costs))

    def _ends(
        self, own: np.ndarray, values: np.ndarray, costs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        point = self.problem.cells(values[None])[0]
        lowest, highest = point, point
        if self._wishes.ranges:
            lowest, highest = self._certifier.widen(own, point, costs)
        return cell_ends(self.problem, own, lowest, highest, point)

    def _reason(
        self, own: np.ndarray, costs: np.ndarray, free: np.ndarray, stop: np.ndarray
    ) -> Reason:
        """The features, or the budget, that keep someone from a plan."""
        anyhow = self._solver(own, LARGEST, stop)(costs)
        axes = locked(self.problem.grid.axes)
        solve = self._solver(own, self._budget, stop)
        features, proved = smallest_release(axes, costs, free, solve)
        names = tuple(self.problem.grid.axes[a].feature.name for a in features)
        return Reason(names, proved, anyhow.cost)


def cell_ends(
    problem: Problem, own: np.ndarray, lowest: np.ndarray, highest: np.ndarray, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of an interval of cells, on the axes that a point changes.

    Infinite where there is no end; NaN on axes that stay, and on categorical ones.
    """
    low, high = np.full(len(own), np.nan), np.full(len(own), np.nan)
    for a in np.flatnonzero((point != own) & ~problem.categorical).tolist():
        lower, upper = problem.grid.axes[a].feature.bounds
        first, last = problem.grid.ends(a)
        falls = point[a] < own[a]
        low[a] = max(first[lowest[a]], lower) if falls else first[lowest[a]]
        high[a] = last[highest[a]] if falls else min(last[highest[a]], upper)
    return low, high


def efforts(problem: Problem, people: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What each feature's change costs alone (people x axes)."""
    return np.stack(
        [_effort(problem, axis.columns, people, values) for axis in problem.grid.axes], 1
    )


def _effort(
    problem: Problem, columns: Sequence[int], people: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """The cost of an action that changes only some columns."""
    only = people.copy()
    only[:, list(columns)] = values[:, list(columns)]
    return problem.cost.between(people, only)
