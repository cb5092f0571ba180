"""Search for actions that keep rules between features, on top of an exact search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answer, Answers
from ract.recourse.common.search import Batch, Limits, RecourseSearch, ceilings_of
from ract.recourse.exact.cheapest import preferred
from ract.recourse.exact.search import MAX_NODES, ExactSearch
from ract.recourse.exact.several import SeveralSearch
from ract.recourse.explain.alternatives import Candidate, diverse
from ract.recourse.rules.explain import RuledExplainer, candidate, find_strongest_ruled
from ract.recourse.rules.person import RuledPerson
from ract.recourse.rules.ruling import Ruling


class RuledSearch(RecourseSearch):
    """Exact search in one model, or in several, under rules between features.

    ``OPTIMAL`` means that no action that keeps the rules costs less by more than 1e-9 of the cost.
    Features that rules add up may take every value: not only the cheapest of each cell.

    Parameters
    ----------
    search : ExactSearch or SeveralSearch
        The same search without the rules.
    ruling : Ruling
    """

    def __init__(self, search: ExactSearch | SeveralSearch, ruling: Ruling) -> None:
        self._ruling = ruling
        self._person: Callable[..., Any] = search._person
        self._problem = search.problem

    def fill(
        self,
        batch: Batch,
        *,
        prefer: str | None = None,
        n_alternatives: int = 0,
        strongest: bool = False,
        explainer: RuledExplainer | None = None,
    ) -> None:
        """Fill the table; options as in ``find_recourse``, others are those of an explainer."""
        answers, max_nodes = batch.answers, batch.limits.nodes(MAX_NODES)
        if explainer is not None:
            low, high = answers.add_ends(self._problem.n_features)
            answers.beyond = beyond = np.zeros(len(batch.people), bool)

        def search(i: int, person: RuledPerson) -> None:
            budget, most = batch.budgets[i], None
            if strongest:
                person, most = find_strongest_ruled(person, budget, max_nodes)
            found = preferred(prefer, person, budget, max_nodes, answers.bound[i])
            if most is not None and most.values is not None:
                proved = (most.status, found.status) == (Status.OPTIMAL, Status.OPTIMAL)
                best = most if found.values is None else found
                status = Status.OPTIMAL if proved else Status.FOUND
                found = best._replace(status=status, nodes=most.nodes + found.nodes)
            answers.record(i, found)

            def plan_of(asking: RuledPerson, answer: Answer) -> Candidate | None:
                if explainer is None:
                    return candidate(asking, answer)
                return explainer.held(asking, answer, budget)

            first = plan_of(person, found)
            if first is None:
                return
            answers.values[i], answers.cost[i] = first.values, first.cost
            if first.cost > found.cost:
                answers.status[i] = Status.FOUND
            if explainer is not None:
                low[i], high[i] = explainer.ends(person, first)
                beyond[i] = first.beyond
            if n_alternatives:

                def solve(still: frozenset[int], least: float) -> Candidate | None:
                    asking = replace(person, still=still)
                    return plan_of(asking, asking.cheapest(budget, max_nodes, least))

                others = diverse(first, solve, n_alternatives + 1)[1:]
                table = _table if explainer is None else explainer.table
                answers.alternatives[i] = table(person, others)

        answers.seconds = self.for_each(search, batch.people, batch.limits)

    def attains(
        self, people: np.ndarray, budget: float | np.ndarray = np.inf, **limits: Any
    ) -> np.ndarray:
        """Whether each person has an action within a budget, as in ``ExactSearch``."""
        budgets, limit = ceilings_of(budget, len(people)), Limits(**limits)
        status, max_nodes = np.full(len(people), Status.UNKNOWN, np.int8), limit.nodes(MAX_NODES)

        def search(i: int, person: RuledPerson) -> None:
            status[i] = person.attains(budgets[i], max_nodes)

        self.for_each(search, people, limit)
        return status

    def for_each(
        self, search: Callable[[int, RuledPerson], None], people: np.ndarray, limits: Limits
    ) -> np.ndarray:
        """Call a search with every person's number and themselves; returns the seconds of each."""
        cells = self._problem.cells(people)
        changes = limits.changes_of(len(self._problem.grid.axes))

        def one(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
            person = self._person(cells[i], costs, changes, stop)
            search(i, RuledPerson(person, people[i], self._ruling, changes))

        return self._problem.for_each(one, people, cells, limits)


def _table(person: RuledPerson, plans: list[Candidate]) -> Answers:
    """Further plans of one person as a table."""
    table = Answers.unknown(np.tile(person.row, (len(plans), 1)))
    table.status[:], table.bound[:] = Status.FOUND, np.nan
    for k, plan in enumerate(plans):
        table.values[k], table.cost[k] = plan.values, plan.cost
    return table
