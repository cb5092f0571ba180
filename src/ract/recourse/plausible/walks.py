"""Rows on the way from a person to others, of which the cheapest plausible one is wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ract.recourse.common.anchors import Anchors, inside
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.region_by_steps import enter_by_steps

# Costs at which reach is looked at, walks per person, rows that are scored at once.
STEPS = 32
MOST_STARTS = 32
SCORED_AT_ONCE = 256


class Walks:
    """Ways into the regions of accepted people, and on towards them.

    Parameters
    ----------
    problem : CellProblem
        The model, and what actions cost.
    is_plausible : function of rows
        Which rows are plausible, as an array of bool.
    reference : float (people, columns)
        Those with the desired class who are plausible are aimed at.
    """

    def __init__(
        self,
        problem: CellProblem,
        is_plausible: Callable[[np.ndarray], np.ndarray],
        reference: np.ndarray,
    ) -> None:
        self._problem, self._is_plausible = problem, is_plausible
        self._moves = Moves(problem.grid.axes, problem.cost)
        reference = np.asarray(reference, dtype=np.float64)
        reference = reference[is_plausible(reference)]
        self._anchors = Anchors.among(problem.ensemble, reference)
        self._no_effects = np.zeros((reference.shape[1],) * 2)

    def cheapest(
        self, person: np.ndarray, budget: float, known: np.ndarray | None, stop: np.ndarray
    ) -> tuple[np.ndarray, float, int]:
        """Values and cost of the best row, and how many rows were scored; inf if there is none.

        known (columns,): an action with the desired class, plausible or not, if there is one.
        stop (1,) uint8: set when the person's time is up.
        """
        if stop[0]:
            return person, np.inf, 0
        cap = min(budget, self._moves.dearest(person))
        rows = self._rows(PersonOutcomes(person, self._moves, self._no_effects), cap, known)
        price = self._problem.cost.between(np.tile(person, (len(rows), 1)), rows)
        good = (price <= budget) & self._problem.ensemble.decide(rows)
        rows, price = rows[good], price[good]
        order = np.lexsort(((rows != person).sum(axis=1), price))
        for start in range(0, len(order), SCORED_AT_ONCE):
            if stop[0]:
                return person, np.inf, start
            part = order[start : start + SCORED_AT_ONCE]
            plausible = self._is_plausible(rows[part])
            if plausible.any():
                best = part[int(np.argmax(plausible))]
                return rows[best], float(price[best]), start + len(part)
        return person, np.inf, len(order)

    def _rows(self, outcomes: PersonOutcomes, cap: float, known: np.ndarray | None) -> np.ndarray:
        """Rows on the ways to people from entries into regions, a known action, and the person.

        Where efforts add up, the ways from the person matter: those that begin in a region have
        spent the budget on features that need not change.
        """
        starts, ends = self._starts(outcomes, cap)
        near = self._near(outcomes.person, np.arange(len(self._anchors.points)))
        begin = [] if self._problem.cost.norm == "max" else [outcomes.person]
        for start in begin if known is None else [*begin, known]:
            starts = np.concatenate([starts, np.tile(start, (len(near), 1))])
            ends = np.concatenate([ends, self._anchors.points[near]])
        goals, efforts, columns = self._goals(outcomes, cap, starts, ends)
        now, rows = starts.copy(), [starts]
        for turn in np.argsort(efforts, axis=1, kind="stable").T:  # a feature of each walk
            for f in np.unique(turn):
                these = np.ix_(turn == f, columns[f])
                now[these] = goals[these]
            rows.append(now.copy())
        return np.unique(np.concatenate(rows), axis=0)

    def _near(self, person: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Those accepted people who are nearest in what can be changed."""
        goals = np.where(self._moves.actionable, self._anchors.points[which], person)
        distance = self._problem.cost.between(np.tile(person, (len(which), 1)), goals)
        return which[np.argsort(distance, kind="stable")[:MOST_STARTS]]

    def _starts(self, outcomes: PersonOutcomes, cap: float) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest rows of the nearest regions, and the accepted person of each region."""
        person, anchors = outcomes.person, self._anchors
        near = self._near(person, anchors.meeting(*outcomes.hull(cap)))
        reached = outcomes.reached(outcomes.everything(), cap, STEPS)
        lower, upper = np.empty((len(near), len(person))), np.empty((len(near), len(person)))
        for k, r in enumerate(near):
            price = outcomes.first_costs(reached, anchors.lower[r], anchors.upper[r])
            lower[k], upper[k] = anchors.region(int(r), price)
        starts = enter_by_steps(outcomes, self._moves.numeric, lower, upper, cap)
        entered = inside(starts, lower, upper)
        return starts[entered], anchors.points[near[entered]]

    def _goals(
        self, outcomes: PersonOutcomes, cap: float, starts: np.ndarray, ends: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """How far each walk may go, what each feature costs there, and each feature's columns."""
        person, moves, cost = outcomes.person, self._moves, self._problem.cost
        _, [low], [high] = outcomes.ranges(cap)
        goals, efforts = starts.copy(), []
        for j in map(int, moves.numeric):
            goals[:, j] = np.clip(ends[:, j], low[j], high[j])
            here = cost.level(j, person[j : j + 1])
            efforts.append(np.abs(cost.level(j, goals[:, j]) - here))
        for group, own, table in zip(moves.groups, outcomes.own, moves.switches, strict=True):
            price = table[own, ends[:, group].argmax(axis=1)]
            goals[:, group] = np.where((price <= cap)[:, None], ends[:, group], starts[:, group])
            efforts.append(np.where(price <= cap, price, 0.0))
        columns = [np.array([j]) for j in moves.numeric] + list(moves.groups)
        return goals, np.stack(efforts, axis=1), columns
