"""Search for actions that keep rules between features, on top of an exact search.

What is said about plans is how far people may go, and who may do more. Where doing more is asked
for, everyone from the plan on is proved to be accepted, whether or not they keep the rules there.
What people are told goes no further than where no rule can break, whatever else of the plan is
done more of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.answers import Answer
from ract.recourse.common.search import UNLIMITED, Batch, Limits, RecourseSearch, ceilings_of
from ract.recourse.exact.cheapest import Descent, preferred
from ract.recourse.exact.decide import ModelDescent
from ract.recourse.exact.search import MAX_NODES, ExactSearch, cheapest_of, strongest_by
from ract.recourse.exact.several import SeveralSearch
from ract.recourse.explain import explainer as exact
from ract.recourse.explain.alternatives import Candidate, diverse, table_of
from ract.recourse.explain.explainer import cell_ends
from ract.recourse.explain.ranges import Certifier
from ract.recourse.explain.robust import STRICTER, categories_beyond, last_cell, needing_more
from ract.recourse.options import Options
from ract.recourse.rules.person import RuledPerson
from ract.recourse.rules.ruling import Ruling

Box = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RuledExplainer:
    """Extends plans that keep rules by what the options ask for.

    Parameters
    ----------
    search : ExactSearch
        The same search without the rules.
    decision : ExactSearch
        The search before the model's own decision, which may need less than plans must win.
    options : Options
    """

    search: ExactSearch
    decision: ExactSearch
    options: Options

    def held(self, person: RuledPerson, found: Answer, budget: float) -> Candidate | None:
        """The plan that was found, or a dearer one for everyone who does more if that is asked for.

        Without one of these, the plan that was found.
        """
        first = candidate(person, found)
        if first is None or not self.options.at_least:
            return first
        plan: Candidate | None = first
        for share in (*STRICTER, None):
            if plan is None:
                return first
            if self._goes_on(person, plan):
                return replace(plan, bound=first.bound, beyond=True)
            if share is not None:
                stricter = replace(person, person=needing_more(_plain(person), share))
                plan = candidate(stricter, stricter.cheapest(budget, exact.MAX_NODES, first.bound))
        return first

    def ends(self, person: RuledPerson, plan: Candidate) -> Box:
        """Ends of the range of each change: as far as it is proved, and no rule can break."""
        problem, ruling = self.search.problem, person.ruling
        grid, sign = problem.grid, self._signs(person, plan)
        cells, own = problem.cells(plan.values[None])[0], person.person.own
        lowest, highest = cells, cells
        if plan.beyond:
            lowest, highest = self._beyond(person, plan)
        elif self.options.ranges or self.options.at_least:
            free = [a for a in np.flatnonzero(sign).tolist() if a not in ruling.axes]
            certifier = Certifier(self.search.refusing, stop=person.person.stop)
            lowest, highest = certifier.widen(own, cells, cells, person.person.costs, free)
        # Rules may move someone within their own cell.
        within = (sign != 0) & (cells == own)
        like = np.where(within, cells - sign / 2, own)
        low, high = cell_ends(grid, like, lowest, highest, cells, beyond=plan.beyond)
        values = {a: float(plan.values[grid.axes[a].columns[0]]) for a in ruling.axes}
        ranges = {a: (value, value) for a, value in values.items()}
        for a in ruling.axes:
            if not plan.beyond or sign[a] == 0:
                low[a] = high[a] = np.nan
                continue
            far = ruling.furthest(a, ranges, int(sign[a]))
            ranges[a] = values[a], far  # those after it have less room
            if sign[a] > 0:
                low[a], high[a] = values[a], min(high[a], far)
            else:
                low[a], high[a] = max(low[a], far), values[a]
        n = problem.n_features
        return low[:n], high[:n]

    def _signs(self, person: RuledPerson, plan: Candidate) -> np.ndarray:
        """The direction in which a plan moves each number; 0 of those that it supplies, too."""
        axes = self.search.problem.grid.axes
        columns = [axis.columns[0] for axis in axes]
        sign = np.nan_to_num(np.sign(plan.values[columns] - person.row[columns]))
        return np.where([axis.is_categorical for axis in axes], 0, sign).astype(np.int64)

    def _beyond(self, person: RuledPerson, plan: Candidate) -> Box:
        """First and last cells of everyone who does more."""
        problem = self.search.problem
        lowest = problem.cells(plan.values[None])[0]
        highest, sign = lowest.copy(), self._signs(person, plan)
        for a in np.flatnonzero(sign).tolist():
            side, rises = (highest, True) if sign[a] > 0 else (lowest, False)
            side[a] = last_cell(problem, a, int(side[a]), rises=rises)
        return lowest, highest

    def _goes_on(self, person: RuledPerson, plan: Candidate) -> bool:
        """Whether everyone who does more than a plan asks is proved to be accepted."""
        problem, asking = self.search.problem, _plain(person)
        also = categories_beyond(problem, asking, problem.cells(plan.values[None])[0])
        certifier = Certifier(self.decision.refusing, exact.MAX_NODES, also, asking.stop)
        return certifier.holds(*self._beyond(person, plan))


def find_strongest_ruled(
    person: RuledPerson, budget: float, max_nodes: int
) -> tuple[RuledPerson, Answer]:
    """The same person before a model that asks for the most that they can win within a budget.

    Parameters and results are those of ``ract.recourse.exact.search.find_strongest_point``.
    """
    plain = _plain(person)
    model, problem = plain.model, plain.model.problem

    def look(wanted: float | None) -> Answer:
        asked = plain if wanted is None else replace(plain, model=model.needing(wanted))
        return replace(person, person=asked).cheapest(budget, max_nodes, enough=np.inf)

    def score(found: Answer) -> float:
        assert found.values is not None
        return float(problem.ensemble.score(found.values[None])[0])

    everywhere = np.zeros_like(plain.costs)
    most = model.within(model.simplified, plain.own, everywhere, 0.0, len(plain.own)).best
    best, answer = strongest_by(look, score, model, most, plain.stop)
    if best is None:
        return person, answer
    return replace(person, person=replace(plain, model=model.needing(best))), answer


def _plain(person: RuledPerson) -> ModelDescent:
    """The same person before one model, without the rules."""
    assert isinstance(person.person, ModelDescent)
    return person.person


def candidate(person: RuledPerson, found: Answer) -> Candidate | None:
    """What was found, as a plan among others; None if nothing was."""
    if found.point is None or found.values is None:
        return None
    return Candidate(found.values, found.cost, found.point, person.own, found.bound)


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
        self._search, self._ruling = search, ruling

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
        n_features = self._search.problem.n_features
        if explainer is not None:
            low, high = answers.add_ends(n_features)
            answers.beyond = beyond = np.zeros(len(batch.people), bool)

        def search(i: int, person: RuledPerson) -> None:
            budget, most = batch.budgets[i], None
            if strongest:
                person, most = find_strongest_ruled(person, budget, max_nodes)
            found = preferred(prefer, person, budget, max_nodes, answers.bound[i])
            found = cheapest_of(most, found)
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
                ends = None if explainer is None else partial(explainer.ends, person)
                answers.alternatives[i] = table_of(others, person.row, n_features, ends)

        answers.seconds = self.for_each(search, batch.people, batch.limits)

    def attains(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        limits: Limits = UNLIMITED,
    ) -> np.ndarray:
        """Whether each person has an action within a budget, as in ``ExactSearch``."""
        budgets, max_nodes = ceilings_of(budget, len(people)), limits.nodes(MAX_NODES)
        status = np.full(len(people), Status.UNKNOWN, np.int8)

        def search(i: int, person: RuledPerson) -> None:
            status[i] = person.attains(budgets[i], max_nodes)

        self.for_each(search, people, limits)
        return status

    def for_each(
        self, search: Callable[[int, RuledPerson], None], people: np.ndarray, limits: Limits
    ) -> np.ndarray:
        """Call a search with every person's number and themselves; returns the seconds of each."""

        def one(i: int, person: Descent) -> None:
            search(i, RuledPerson(person, people[i], self._ruling, person.changes))

        return self._search.for_each(one, people, limits)
