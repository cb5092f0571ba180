"""What is said about plans beyond the cheapest point: margins, ranges, alternatives, obstacles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ract.recourse.common.answers import Answer, Answers
from ract.recourse.common.limits import LARGEST
from ract.recourse.common.problem import Problem
from ract.recourse.exact.decide import Person
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.alternatives import Candidate, diverse, held_at_home
from ract.recourse.explain.obstacles import locked, smallest_release
from ract.recourse.explain.ranges import Certifier
from ract.recourse.explain.robust import RobustSearch
from ract.recourse.options import Options
from ract.recourse.plan import Obstacle
from ract.status import Status

MAX_NODES = 200_000


def explain(
    search: ExactSearch, people: np.ndarray, budget: float, answers: Answers, options: Options
) -> None:
    """Extend the answers of an exact search by what the options ask for.

    Parameters
    ----------
    search : ExactSearch
    people : float (people, columns)
    budget : float
    answers : Answers
        Of these people; extended in place.
    options : Options
    """
    problem = search.problem
    shape = (len(people), len(problem.grid.axes))
    answers.low, answers.high = np.full(shape, np.nan), np.full(shape, np.nan)
    cells = problem.cells(people)
    explainer = Explainer(search, min(budget, LARGEST), answers, options)

    def one(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
        explainer.explain(i, people[i], cells[i], costs, stop)

    problem.for_each(one, people, cells, options.limits)


class Explainer:
    """Extends the answer of one person after the other."""

    def __init__(
        self, search: ExactSearch, budget: float, answers: Answers, options: Options
    ) -> None:
        self._search, self._problem, self._budget = search, search.problem, budget
        self._answers, self._options = answers, options
        self._changes = options.limits.changes_of(len(search.problem.grid.axes))

    def explain(
        self, i: int, person: np.ndarray, own: np.ndarray, costs: np.ndarray, stop: np.ndarray
    ) -> None:
        """Everything that was asked for about person i."""
        answers, options = self._answers, self._options
        if answers.status[i] == Status.NONE and options.explain:
            answers.obstacles[i] = self._obstacle(person, own, costs, stop)
        if answers.found[i] and options.margin > 0:
            self._add_margin(i, person, own, costs, stop)
        if not answers.found[i]:
            return
        if options.n_alternatives > 0:
            first = self._candidate(own, answers.values[i], answers.cost[i])

            def solve(home: frozenset[int]) -> Candidate | None:
                return self._cheapest(person, own, held_at_home(own, costs, home), stop)

            others = diverse(first, solve, options.n_alternatives + 1)[1:]
            answers.alternatives[i] = self._table(person, own, costs, others)
        assert answers.low is not None and answers.high is not None
        answers.low[i], answers.high[i] = self._ends(own, answers.values[i], costs)

    def _solver(
        self, own: np.ndarray, stop: np.ndarray, budget: float
    ) -> Callable[[np.ndarray], Answer]:
        def solve(costs: np.ndarray) -> Answer:
            person = Person(self._search.model, own, costs, self._changes, stop)
            return person.cheapest(budget, MAX_NODES)

        return solve

    def _cheapest(
        self, person: np.ndarray, own: np.ndarray, costs: np.ndarray, stop: np.ndarray
    ) -> Candidate | None:
        """The cheapest plan under some costs, with the margin that was asked for."""
        if self._options.margin > 0:
            search = RobustSearch(self._search, self._options.margin, MAX_NODES)
            robust = search.solve(person, own, costs, self._budget, self._changes, stop)
            if robust is None:
                return None
            cost = self._problem.cost.between(person[None], robust[None])[0]
            return self._candidate(own, robust, cost)
        found = self._solver(own, stop, self._budget)(costs)
        if found.point is None:
            return None
        values = self._problem.values(person[None], own[None], found.point[None])[0]
        return self._candidate(own, values, found.cost)

    def _candidate(self, own: np.ndarray, values: np.ndarray, cost: float) -> Candidate:
        point = self._problem.cells(values[None])[0]
        return Candidate(values, cost, frozenset(np.flatnonzero(point != own).tolist()))

    def _add_margin(
        self, i: int, person: np.ndarray, own: np.ndarray, costs: np.ndarray, stop: np.ndarray
    ) -> None:
        answers = self._answers
        plan = self._cheapest(person, own, costs, stop)
        if plan is None:
            answers.values[i], answers.cost[i] = person, np.inf
            answers.status[i] = Status.UNKNOWN
            return
        answers.values[i], answers.cost[i] = plan.values, plan.cost
        if plan.cost > answers.bound[i]:
            answers.status[i] = Status.FOUND

    def _table(
        self, person: np.ndarray, own: np.ndarray, costs: np.ndarray, plans: list[Candidate]
    ) -> Answers:
        table = Answers.unknown(np.tile(person, (len(plans), 1)))
        shape = (len(plans), len(own))
        table.low, table.high = np.empty(shape), np.empty(shape)
        table.status[:], table.bound[:] = Status.FOUND, np.nan
        for k, plan in enumerate(plans):
            table.values[k], table.cost[k] = plan.values, plan.cost
            table.low[k], table.high[k] = self._ends(own, plan.values, costs)
        return table

    def _ends(
        self, own: np.ndarray, values: np.ndarray, costs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        point = self._problem.cells(values[None])[0]
        lowest, highest = point, point
        if self._options.ranges:
            lowest, highest = Certifier(self._search.refusing).widen(own, point, costs)
        return cell_ends(self._problem, own, lowest, highest, point)

    def _obstacle(
        self, person: np.ndarray, own: np.ndarray, costs: np.ndarray, stop: np.ndarray
    ) -> Obstacle:
        """The features, or the budget, that keep someone from a plan."""
        solve = partial(self._solver, own, stop)
        anyhow = solve(LARGEST)(costs)
        needed = np.nan if anyhow.status == Status.UNKNOWN else anyhow.cost
        free = self._search.released.costs(person[None], own[None])[0]
        axes = self._problem.grid.axes
        features, proved = smallest_release(locked(axes), costs, free, solve(self._budget))
        return Obstacle(tuple(axes[a].feature.name for a in features), proved, needed)


def cell_ends(
    problem: Problem, own: np.ndarray, lowest: np.ndarray, highest: np.ndarray, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of an interval of cells, on the axes that a point changes.

    Infinite where there is no end; NaN on axes that stay, and on categorical ones.
    """
    low, high = np.full(len(own), np.nan), np.full(len(own), np.nan)
    for a in np.flatnonzero((point != own) & ~problem.categorical):
        feature, thresholds = problem.grid.axes[a].feature, problem.grid.thresholds[a]
        whole = feature.kind != "continuous"
        low[a], high[a] = -np.inf, np.inf
        if lowest[a] > 0:
            edge = thresholds[lowest[a] - 1]
            low[a] = np.floor(edge) + 1 if whole else np.nextafter(edge, np.inf)
        if highest[a] < len(thresholds):
            edge = thresholds[highest[a]]
            high[a] = np.floor(edge) if whole else edge
        if feature.lower is not None and point[a] < own[a]:
            low[a] = max(low[a], feature.lower)
        if feature.upper is not None and point[a] > own[a]:
            high[a] = min(high[a], feature.upper)
    return low, high
