"""What is said about plans beyond the cheapest point: margins, ranges, alternatives, obstacles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from ract._utils.status import Status
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.common.answers import Answer, Answers
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.search import LARGEST, Batch, ceilings_of
from ract.recourse.exact import search as exact
from ract.recourse.exact.cheapest import preferred
from ract.recourse.exact.decide import Model, ModelDescent
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.alternatives import Candidate, diverse, table_of, without_changes
from ract.recourse.explain.ranges import Certifier
from ract.recourse.explain.robust import RobustSearch, categories_beyond, furthest
from ract.recourse.options import Options
from ract.recourse.plan import Obstacle

MAX_NODES = 200_000
# The highest level is tried before the cheapest plan is found with so many nodes of the search, and
# in a model of so many nodes of trees.
QUICK_NODES, QUICK_SIZE = 200, 100_000
# Sets of features whose release is tried, of two features or more.
MOST_SETS = 120


class Explainer:
    """Extends the answers of an exact search, person by person, by what the options ask for.

    Parameters
    ----------
    search : ExactSearch
    batch : Batch
        Its answers are extended in place.
    budget : float
    options : Options
    rules : sequence of Axis
        The rules of the action space, which those of the search may differ from.
    decision : ExactSearch
        The search before the model's own decision, which may need less than plans must win.
    stronger : sequence of ExactSearch
        In the same trees, which must add up to more and more: the levels of the options.
    """

    def __init__(
        self,
        search: ExactSearch,
        batch: Batch,
        budget: float,
        options: Options,
        rules: Sequence[Axis],
        decision: ExactSearch,
        stronger: Sequence[ExactSearch] = (),
    ) -> None:
        self._search, self._problem, self._options = search, search.problem, options
        self._stronger = stronger
        self._rules, self._axes, self._decision = rules, search.problem.grid.axes, decision
        self._robust = options.margin > 0 or options.at_least
        if options.margin > 0 or options.ranges:
            search.refusing  # noqa: B018  made before anybody's time begins
        if options.at_least:
            decision.refusing  # noqa: B018
        features = range(search.problem.n_features)
        self._unfolded = [a for a in features if not search.problem.folded[a]]
        self._barred = [a for a in self._unfolded if self._axes[a] != rules[a]]
        self._people, self._answers = batch.people, batch.answers
        self._budget = float(ceilings_of(budget, 1)[0])
        self._max_nodes = min(batch.limits.nodes(MAX_NODES), MAX_NODES)
        self._nodes = batch.limits.nodes(exact.MAX_NODES)
        self._low, self._high = batch.answers.add_ends(search.problem.n_features)
        self._answers.beyond = self._beyond = np.zeros(len(batch.people), bool)

    def explain(self, i: int, asking: ModelDescent, ask: Callable[[], Answer]) -> None:
        """Find and write down everything that was asked for about person i."""
        answers, options, usual = self._answers, self._options, asking
        cheapest = cache(lambda: self._plan(self._people[i], usual, ask()))
        asking, found, first = self._highest(i, asking, ask, cheapest)
        answers.record(i, found)
        if found.status == Status.NONE and options.explain:
            answers.obstacles[i] = self._obstacle(self._people[i], asking)
        if first is None:
            if found.point is not None:
                answers.withdraw(np.array([i]), self._people)
            return
        answers.values[i], answers.cost[i] = first.values, first.cost
        if first.cost > found.bound:
            answers.status[i] = Status.FOUND
        if options.n_alternatives > 0:

            def solve(unchanged: frozenset[int], least: float) -> Candidate | None:
                costs = without_changes(asking.own, asking.costs, unchanged)
                fixed = replace(asking, costs=costs)
                cheapest = fixed.cheapest(self._budget, self._max_nodes, least)
                return self._plan_that_holds(self._people[i], fixed, cheapest)

            alternatives = diverse(first, solve, options.n_alternatives + 1)[1:]
            answers.alternatives[i] = self._table(i, asking, alternatives)
        if options.levels.beside and asking is not usual and (smaller := cheapest()) is not None:
            beside = self._table(i, usual, [smaller])
            beside.weaker, beside.bound[:] = np.ones(1, bool), ask().bound
            before = answers.alternatives.get(i)
            answers.alternatives[i] = beside if before is None else before.with_rows(beside)
        self._low[i], self._high[i] = self._ends(asking, first)
        self._beyond[i] = first.beyond

    def _highest(
        self,
        i: int,
        asking: ModelDescent,
        ask: Callable[[], Answer],
        cheapest: Callable[[], Candidate | None],
    ) -> tuple[ModelDescent, Answer, Candidate | None]:
        """Person i before the highest level of which there is a plan, and that plan.

        The highest that is not ruled out comes first, since most people reach it: with few nodes,
        so that time is left to find any plan at all. Then levels are bisected. A plan that holds
        for everyone who does more is kept unless the other does, too.
        """
        levels, prefer, tried = self._stronger, self._options.prefer, {}
        if levels:
            inside = asking.most(self._budget)
            levels = [one for one in levels if one.model.least <= inside]

        def at_level(k: int, least: float, nodes: int) -> tuple[ModelDescent, Answer, Any]:
            person = asking.before(levels[k].model)
            answer = preferred(prefer, person, self._budget, nodes, least)
            return person, answer, self._plan(self._people[i], person, answer)

        reached, missed, at, safe = -1, len(levels), len(levels) - 1, not self._options.at_least
        if levels and len(self._problem.forest.axis) <= QUICK_SIZE:
            top = at_level(at, 0.0, min(QUICK_NODES, self._nodes))
            if top[1].status == Status.OPTIMAL and top[2] is not None and (safe or top[2].beyond):
                return top
            tried = {at: top} if top[1].status in (Status.OPTIMAL, Status.NONE) else {}
        found, best = ask(), None
        least = 0.0 if prefer == "fewest" else found.bound
        while found.point is not None and missed - reached > 1 and not asking.stop[0]:
            level = tried.get(at) or at_level(at, least, self._nodes)
            plan = level[2]
            if plan is not None and not (safe or plan.beyond):
                usual = cheapest()
                plan = None if usual is not None and usual.beyond else plan
            if plan is None:
                missed = at
            else:
                reached, best = at, level
            at = (reached + missed) // 2
        return (asking, found, cheapest()) if best is None else best

    def _plan(self, person: np.ndarray, asking: ModelDescent, found: Answer) -> Candidate | None:
        """The plan that holds, or without a margin the one that was found."""
        plan = self._plan_that_holds(person, asking, found)
        if plan is not None or found.point is None or self._options.margin > 0:
            return plan
        values = self._problem.values_of(person, asking.own, found.point)
        return Candidate(values, found.cost, found.point, asking.own, found.bound)

    def _plan_that_holds(
        self, person: np.ndarray, asking: ModelDescent, found: Answer
    ) -> Candidate | None:
        """The plan that was found, or the first dearer one that holds as was asked for."""
        problem, start = self._problem, asking.own
        if found.point is None:
            return None
        if not self._robust:
            values = problem.values_of(person, start, found.point)
            return Candidate(values, found.cost, found.point, start, found.bound)
        beyond = self._decision.refusing if self._options.at_least else None
        model = self._decided(asking)
        search = RobustSearch(model, self._options.margin, self._max_nodes, beyond)
        holding = search.solve(person, asking, self._budget, found)
        if holding is None:
            return None
        values, point = holding
        cost = asking.cost_of(point)
        if self._options.margin > 0:
            cost = float(problem.cost.between(person[None], values[None])[0])
        return Candidate(values, cost, point, start, found.bound, self._options.at_least)

    def _decided(self, asking: ModelDescent) -> Model:
        """Before what a plan holds: the level that it has, or what was asked for."""
        return asking.model if self._stronger else self._search.model

    def _table(self, i: int, asking: ModelDescent, plans: list[Candidate]) -> Answers:
        ends = partial(self._ends, asking)
        return table_of(plans, self._people[i], self._problem.n_features, ends)

    def _ends(self, asking: ModelDescent, plan: Candidate) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the range of each change: as far as it is proved to hold."""
        point, beyond = plan.point, plan.beyond
        lowest, highest = point, point
        if beyond:
            far = furthest(self._problem, asking, point)
            lowest, highest = np.minimum(point, far), np.maximum(point, far)
        # What is needed of a value that is supplied is always said.
        wide = self._problem.supplied_axes(asking.own, point)
        if not beyond and (self._options.ranges or self._options.at_least):
            wide = np.flatnonzero((point != asking.own) & ~self._problem.categorical).tolist()
        if len(wide):
            also = categories_beyond(self._problem, asking, point) if beyond else {}
            refusing = self._decision.refusing if beyond else self._decided(asking).refusing
            certifier = Certifier(refusing, also=also, stop=asking.stop)
            lowest, highest = certifier.widen(asking.own, lowest, highest, asking.costs, wide)
        n, grid = self._problem.n_features, self._problem.grid
        low, high = cell_ends(grid, asking.own, lowest, highest, point, beyond=beyond)
        return low[:n], high[:n]

    def _obstacle(self, person: np.ndarray, asking: ModelDescent) -> Obstacle:
        """The options, the rules or the budget that keep someone from a plan."""
        # There is none within the budget.
        anyhow = asking.cheapest(LARGEST, self._max_nodes, least=self._budget)
        needed = np.nan if anyhow.status == Status.UNKNOWN else anyhow.cost

        def release(axes: Sequence[int], rules: CellProblem) -> tuple[tuple[int, ...], bool]:
            free = rules.costs(person[None], asking.own[None])[0]
            costs, free = asking.costs, np.minimum(asking.costs, free)
            return smallest_release(axes, costs, free, solve)

        def solve(costs: np.ndarray) -> Answer:
            return replace(asking, costs=costs).cheapest(self._budget, self._max_nodes)

        def names(axes: Sequence[int]) -> tuple[str, ...]:
            return tuple(self._axes[a].feature.name for a in axes)

        barred, proved = release(self._barred, self._allowed) if self._barred else ((), True)
        if barred:
            return Obstacle((), proved, needed, names(barred))
        kept = [a for a in locked(self._axes) if a in self._unfolded]
        released, sure = release(sorted({*kept, *self._barred}), self._released)
        # A feature that is folded is never released, and might be what holds them.
        sure = sure and bool(released or not self._problem.folded.any())
        ruled = [a for a in locked(self._rules) if a in released]
        barred = tuple(a for a in released if a not in ruled)
        return Obstacle(names(ruled), proved and sure, needed, names(barred))

    @cached_property
    def _allowed(self) -> CellProblem:
        """The problem under the rules of the action space alone."""
        return self._problem.with_axes(self._rules)

    @cached_property
    def _released(self) -> CellProblem:
        """The problem with every feature free to change either way, within its bounds."""
        return self._allowed.released() if self._barred else self._search.released


def locked(axes: Sequence[Axis]) -> list[int]:
    """Positions of the axes that are fixed or may move one way only."""
    return [a for a, axis in enumerate(axes) if axis.feature.change != "any"]


def smallest_release(
    candidates: Sequence[int],
    costs: np.ndarray,
    free: np.ndarray,
    solve: Callable[[np.ndarray], Answer],
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
    sufficient = list(candidates)
    for a in candidates:
        if works([b for b in sufficient if b != a]):
            sufficient.remove(a)
    asked = 0
    for size in range(2, len(sufficient)):
        for axes in combinations(candidates, size):
            asked += 1
            if asked > MOST_SETS:
                return tuple(sufficient), False
            if works(axes):
                return axes, proved
    return tuple(sufficient), proved


def ends_of_cells(grid: Grid, people: np.ndarray, answers: Answers) -> Answers:
    """The same answers with the ends of each plan's own cells, in which no tree differs."""
    starts, points = (grid.cells(list(table.T)).T.astype(int) for table in (people, answers.values))
    low, high = answers.add_ends(len(grid.axes))
    for i in np.flatnonzero(answers.found).tolist():
        low[i], high[i] = cell_ends(grid, starts[i], points[i], points[i], points[i])
    return answers


def cell_ends(
    grid: Grid,
    start: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    point: np.ndarray,
    *,
    beyond: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of an interval of cells, on the axes that a point changes.

    Infinite where there is no end; NaN on axes that stay, and on categorical ones. beyond: cells
    without an end serve as a whole, further than the bounds of a feature too. So they do where
    someone supplies a value, unless every value serves.
    """
    low, high = np.full(len(start), np.nan), np.full(len(start), np.nan)
    for a in np.flatnonzero(point != start).tolist():
        if grid.axes[a].is_categorical:
            continue
        lower, upper = grid.axes[a].feature.bounds
        first, last = grid.ends(a)
        low[a], high[a] = first[lowest[a]], last[highest[a]]
        supplied, falls = start[a] == grid.missing_cell[a], point[a] < start[a]
        whole = beyond or (supplied and np.isfinite([low[a], high[a]]).any())
        if falls and not (whole and np.isinf(low[a])):
            low[a] = max(low[a], lower)
        if (supplied or not falls) and not (whole and np.isinf(high[a])):
            high[a] = min(high[a], upper)
    return low, high
