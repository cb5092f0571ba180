"""One person's cheapest action that keeps all rules: branch and bound above the exact searches.

A search without the rules says what an action costs at least. Where its action breaks a rule, the
pieces of that rule's features are divided among cases, in none of which the action is possible any
more, and which together hold every action that keeps the rule; the cheapest case is next.

    if A then B       either not A, or A and B
    a sum too large   one of its terms has to be smaller by its part of the excess
    values of cells   the cheapest values inside these pieces, and every other piece
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ract._utils.status import Status
from ract.recourse.additive.person import SumDescent
from ract.recourse.common.answers import Answer
from ract.recourse.exact.cheapest import Descent
from ract.recourse.rules.choices import Choices
from ract.recourse.rules.inside import values_inside
from ract.recourse.rules.refined import Refined
from ract.recourse.rules.ruling import Masks, Met, Ruling, close_pieces

# Costs that differ by less than this part are the same, whatever the order in which they add up.
SAME = 1e-9


@dataclass
class RuleState:
    """What is known so far: the best action, and bounds of cases that were not decided."""

    limit: float
    cost: float = np.inf
    values: np.ndarray | None = None
    loose: float = np.inf
    nodes: int = 0

    def take(self, values: np.ndarray, cost: float) -> None:
        """Take an action if it is cheaper."""
        if cost < self.cost and cost <= self.limit:
            self.values, self.cost = values, cost
            self.limit = cost * (1 - SAME) if cost > 0 else -np.inf  # nothing costs less than 0


@dataclass(frozen=True)
class RuledPerson:
    """One person before a model, or before several, who keeps rules between features.

    Parameters
    ----------
    person : Descent
        The same person without the rules.
    row : float (columns,)
        Their encoded values.
    ruling : Ruling
    changes : int
        How many features they may change.
    still : frozenset of int
        Axes that stay.
    """

    person: Descent
    row: np.ndarray
    ruling: Ruling
    changes: int
    still: frozenset[int] = field(default=frozenset())

    @property
    def own(self) -> np.ndarray:
        """Zeros: the points of answers say which axes change."""
        return np.zeros(len(self.person.own), np.int64)

    @cached_property
    def choices(self) -> dict[int, Choices]:
        """The pieces of every axis that rules name."""
        person = self.person
        return self.ruling.choices(person.model.problem.grid, self.row, person.own, person.costs)

    @cached_property
    def met(self) -> list[Met]:
        """Of every implication the axes, and the pieces in which its conditions hold."""
        return self.ruling.met(self.choices)

    def attains(self, budget: float, max_nodes: int) -> Status:
        """Whether they have an action within a budget: FOUND, NONE or UNKNOWN."""
        found = self.cheapest(budget, max_nodes, enough=np.inf)
        return Status.FOUND if found.values is not None else found.status

    def cheapest(
        self, budget: float, max_nodes: int, least: float = 0.0, *, enough: float = 0.0
    ) -> Answer:
        """Their cheapest action within a budget, if none costs less than is known.

        enough: an action that costs no more than this ends the search.
        """
        state, count = RuleState(budget), 0
        masks = self.ruling.open_at_first(self.choices, self.still)
        queue: list[tuple[float, int, Masks]] = [(least, 0, masks)]
        while queue and queue[0][0] <= state.limit:
            done = state.values is not None and state.cost <= enough
            if done or self.person.stop[0] or state.nodes >= max_nodes:
                state.loose = min(state.loose, queue[0][0])
                break
            bound, _, masks = heapq.heappop(queue)
            state.nodes += 1
            bound, cases = self._decide(masks, bound, state, max_nodes)
            for case in cases:
                count += 1
                heapq.heappush(queue, (bound, count, case))
        return self._answer(state)

    def _answer(self, state: RuleState) -> Answer:
        proved = state.loose > state.limit
        if state.values is None:
            status = Status.NONE if proved else Status.UNKNOWN
            return Answer(status, bound=np.inf if proved else state.loose, nodes=state.nodes)
        changed = self.own
        for a, axis in enumerate(self.person.model.problem.grid.axes):
            columns = list(axis.columns)
            before, after = self.row[columns], state.values[columns]
            same = (before == after) | (np.isnan(before) & np.isnan(after))
            changed[a] = not same.all()
        status = Status.OPTIMAL if proved else Status.FOUND
        bound = state.cost if proved else min(state.loose, state.cost)
        return Answer(status, state.cost, bound, changed, state.nodes, state.values)

    def _decide(
        self, masks: Masks, bound: float, state: RuleState, max_nodes: int
    ) -> tuple[float, list[Masks]]:
        """Search some open pieces; what is left to decide, and what it costs at least."""
        if not close_pieces(self.ruling, self.choices, self.met, masks):
            return bound, []
        refined = Refined.of(self.person, self.choices, masks, self.still, self.changes)
        found = refined.cheapest(state.limit, max_nodes - state.nodes)
        state.nodes += found.nodes
        if found.status == Status.NONE:
            return bound, []
        bound = max(bound, found.bound)
        if found.point is None:
            state.loose = min(state.loose, bound)
            return bound, []
        at = {a: int(refined.piece(a, found.point)) for a in self.choices}
        cases = self._implied(masks, at) or self._fewer(masks, at, refined, found.point)
        cases = cases or self._smaller(masks, at)
        if cases:
            return bound, cases
        return bound, self._settle(masks, at, refined, found, bound, state)

    def _implied(self, masks: Masks, at: dict[int, int]) -> list[Masks]:
        """The two cases of an implication that is broken."""
        for a, first, b, second in self.met:
            if first[at[a]] and not second[at[b]]:
                both = masks | {a: masks[a] & first}
                both[b] = both[b] & second
                return [dict(masks) | {a: masks[a] & ~first}, both]
        return []

    def _fewer(
        self, masks: Masks, at: dict[int, int], refined: Refined, point: np.ndarray
    ) -> list[Masks]:
        """Cases of an axis that has to move, where too many move besides."""
        free = (a for a in range(len(point)) if a not in self.choices)
        changes = sum(point[a] != refined.person.own[a] for a in free)
        changes += sum(at[a] != self.choices[a].own for a in at)
        if changes <= self.changes:
            return []
        for a in refined.moved:
            if masks[a].sum() > 1:
                one = np.arange(len(masks[a])) == at[a]
                return [dict(masks) | {a: one}, dict(masks) | {a: masks[a] & ~one}]
        raise AssertionError("a point with too many changes")  # every move was counted

    def _smaller(self, masks: Masks, at: dict[int, int]) -> list[Masks]:
        """Cases of a sum that is too large whatever the values within these pieces."""
        for row in self.ruling.rows:
            best = [row.best(k, self.choices[a]) for k, a in enumerate(row.axes)]
            terms = np.array([t[at[a]] for t, a in zip(best, row.axes, strict=True)])
            excess = row.excess(terms)
            if excess > 0:
                free = [k for k, a in enumerate(row.axes) if masks[a].sum() > 1]
                return list(self._shared(masks, row.axes, best, terms, excess, free))
        return []

    def _shared(
        self,
        masks: Masks,
        axes: tuple[int, ...],
        best: list[np.ndarray],
        terms: np.ndarray,
        excess: float,
        free: list[int],
    ) -> Iterator[Masks]:
        rest = dict(masks)
        for k in free:
            smaller = best[k] <= terms[k] - excess / len(free) * (1 - SAME)
            yield dict(rest) | {axes[k]: rest[axes[k]] & smaller}
            rest[axes[k]] = rest[axes[k]] & ~smaller

    def _settle(
        self,
        masks: Masks,
        at: dict[int, int],
        refined: Refined,
        found: Answer,
        bound: float,
        state: RuleState,
    ) -> list[Masks]:
        """Take the point, with values inside its pieces that keep all sums."""
        assert found.point is not None
        values = self._values(refined, found.point, at)
        exact = found.status == Status.OPTIMAL
        broken = [
            row
            for row in self.ruling.rows
            if row.excess(row.factors * np.array([self.choices[a].value[at[a]] for a in row.axes]))
            > 0
        ]
        if not broken:
            state.take(values, self._cost(values))
            if not exact:
                state.loose = min(state.loose, bound)
            return []
        part = 1.0 if not isinstance(self.person, SumDescent) else self.person.objective.largest
        inside, proved = values_inside(self.ruling, self.choices, at, self._slopes(at), part)
        if inside is not None:
            for a, value in zip(self.ruling.added, inside, strict=True):
                values[self._column(a)] = value
            state.take(values, self._cost(values))
        # Inside these pieces the point is the best one of the other axes too, unless the largest
        # effort counts beside the sum.
        if not (proved and exact and (part in (0.0, 1.0) or inside is None)):
            state.loose = min(state.loose, bound)
        return list(self._others(masks, at))

    def _others(self, masks: Masks, at: dict[int, int]) -> Iterator[Masks]:
        """Every combination of pieces of the axes that are added up, but one."""
        rest = dict(masks)
        for a in self.ruling.added:
            position = np.arange(len(rest[a]))
            for side in (position < at[a], position > at[a]):
                if (rest[a] & side).any():
                    yield dict(rest) | {a: rest[a] & side}
            rest[a] = rest[a] & (position == at[a])

    def _column(self, a: int) -> int:
        return int(self.person.model.problem.grid.axes[a].columns[0])

    def _slopes(self, at: dict[int, int]) -> dict[int, float]:
        """What a unit away from the cheapest value costs inside the pieces of a point."""
        slopes, cost = {}, self.person.model.problem.cost
        for a in self.ruling.added:
            low, high = self.choices[a].low[at[a]], self.choices[a].high[at[a]]
            levels = cost.level(self._column(a), np.array([low, high]))
            slopes[a] = float((levels[1] - levels[0]) / (high - low)) if high > low else 0.0
        return slopes

    def _values(self, refined: Refined, point: np.ndarray, at: dict[int, int]) -> np.ndarray:
        """Encoded values of a point, the cheapest of each piece."""
        problem, cells = self.person.model.problem, self.person.own.copy()
        for a in range(len(point)):
            if a not in at:
                cells[a] = refined.cell(a, point)
        values = problem.values_of(self.row, self.person.own, cells)
        for a, k in at.items():
            axis, pieces = problem.grid.axes[a], self.choices[a]
            if axis.is_categorical:
                values[list(axis.columns)] = np.arange(len(axis.columns)) == k
            else:
                values[axis.columns[0]] = pieces.value[k]
        return values

    def _cost(self, values: np.ndarray) -> float:
        cost = self.person.model.problem.cost
        return float(cost.between(self.row[None], values[None])[0])
