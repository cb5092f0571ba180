"""Exact search: the cheapest action of each person, with proof (l-infinity type costs)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Generic, Self, TypeVar

import numpy as np

from ract._utils.status import Status
from ract.data.actions import Feature
from ract.data.costs import FittedCost, LinearCost, require_max_norm
from ract.data.encoder import Axis
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.search import UNLIMITED, Batch, Limits, RecourseSearch, ceilings_of
from ract.recourse.exact.cheapest import Descent, preferred
from ract.recourse.exact.decide import Model, ModelDescent
from ract.trees.ensemble import TreeEnsemble

MAX_NODES = 10_000_000

P = TypeVar("P", bound=Descent)

# A question about scores halves what lies between until this share of a model's range is left,
# and then asks for anything better at all.
FINE = 1e-3


class CellSearch(RecourseSearch, Generic[P]):
    """What exact searches in one model and in several have in common."""

    problem: CellProblem

    def _take(self, cost: FittedCost) -> None:
        """Refuse costs that are not for this search."""
        require_max_norm(cost)

    @abstractmethod
    def _warm_up(self) -> None:
        """Compile or load the kernels."""

    @abstractmethod
    def _person(self, own: np.ndarray, costs: np.ndarray, changes: int, stop: np.ndarray) -> P:
        """One person before the model; parameters are those of ``Descent``."""

    def for_each(
        self, search: Callable[[int, P], None], people: np.ndarray, limits: Limits
    ) -> np.ndarray:
        """Call a search with everyone's number and descent; returns the seconds that each took."""
        cells, changes = self.problem.cells(people), limits.changes_of(len(self.problem.grid.axes))

        def descend(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
            search(i, self._person(cells[i], costs, changes, stop))

        return self.problem.for_each(descend, people, cells, limits)

    def _write(self, batch: Batch, i: int, person: P, found: Answer) -> None:
        """Write what was found for person i into the table."""
        if found.point is not None:
            values = self.problem.values_of(batch.people[i], person.own, found.point)
            found = found._replace(values=values)
        batch.answers.record(i, found)


class ExactSearch(CellSearch[ModelDescent]):
    """Exact search in an ensemble, whether it decides by votes, by a mean or by a sum.

    ``solve`` takes besides: ``strongest``, to look for the cheapest of those actions within the
    budget that win most votes, the highest score, or of a single voting tree the largest share.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
        With norm "max".

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree()
    >>> search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    >>> refused = model.encoder_.matrix(loans.frame[model.predict(loans.frame) == "refused"])
    >>> answers = search.solve(refused, budget=0.3)
    >>> bool(model.ensemble_.decide(answers.values[answers.found]).all())
    True
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        self._take(cost)
        self.problem = CellProblem(ensemble, axes, cost)
        self.model = Model.of(self.problem)
        self.model.simplified  # noqa: B018  made once, before threads ask for it
        self._warm_up()

    def _warm_up(self) -> None:
        compile_kernels(by_votes=self.problem.ensemble.combine == "votes")

    def _person(
        self, own: np.ndarray, costs: np.ndarray, changes: int, stop: np.ndarray
    ) -> ModelDescent:
        return ModelDescent(self.model, own, costs, changes, stop)

    @classmethod
    def prepared(cls, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> Self:
        """The search, kept with the trees from one call to the next, whatever they must win."""
        make = partial(cls, ensemble, axes, cost)
        # A search holds its trees and cost, so that their ids are nobody else's while it is kept.
        search: Self = ensemble.memo.get((cls, tuple(axes), id(cost), ensemble.key), make)
        same = search.problem.ensemble.cutoff == ensemble.cutoff
        return search if same else search.of_goal(ensemble)

    def of_goal(self, ensemble: TreeEnsemble) -> Self:
        """The search in the same trees, which must add up to something else."""
        other = self._in(self.problem.of_goal(ensemble))
        vars(other.model)["simplified"] = self.model.simplified  # what the trees hold is the same
        return other

    def _in(self, problem: CellProblem) -> Self:
        """The search in a problem of the same cells."""
        other = copy(self)
        for name in ("graded", "released"):
            vars(other).pop(name, None)
        other.problem, other.model = problem, Model.of(problem)
        return other

    @property
    def refusing(self) -> Model:
        """The model the other way round, simplified: undesired points are wanted."""
        refusing = self.model.refusing
        refusing.simplified  # noqa: B018
        return refusing

    @cached_property
    def graded(self) -> Self:
        """The search before the same decision by a score which grows with the strength."""
        ensemble = self.problem.ensemble.graded
        if ensemble is self.problem.ensemble:
            return self
        other = self._in(self.problem.of_values(ensemble))
        other.model.simplified  # noqa: B018
        other._warm_up()
        return other

    @cached_property
    def released(self) -> CellProblem:
        """The same problem with every feature free to change either way, within its bounds."""
        return self.problem.released()

    def fill(
        self,
        batch: Batch,
        *,
        strongest: bool = False,
        prefer: str | None = None,
        then: Callable[[int, ModelDescent, Callable[[], Answer]], None] | None = None,
    ) -> None:
        """Fill the table, which may know bounds of costs already.

        ``prefer``: "fewest" changes, then the cheapest; "cheapest", then the fewest changes.
        ``then`` is called for each person in place of writing down their action, while their costs
        are at hand; it asks for that action if it needs it.
        """
        if strongest and self.graded is not self:
            return self.graded.fill(batch, strongest=True, prefer=prefer, then=then)
        people, answers = batch.people, batch.answers
        max_nodes = batch.limits.nodes(MAX_NODES)

        def search(i: int, person: ModelDescent) -> None:
            budget, least, most = batch.budgets[i], answers.bound[i], None
            if strongest:
                person, most = find_strongest_point(person, people[i], budget, max_nodes)

            @cache
            def ask() -> Answer:
                return cheapest_of(most, preferred(prefer, person, budget, max_nodes, least))

            if then is None:
                self._write(batch, i, person, ask())
            else:
                then(i, person, ask)

        answers.seconds = self.for_each(search, people, batch.limits)

    def cheapest(
        self,
        person: np.ndarray,
        budget: float,
        max_nodes: int,
        stop: np.ndarray,
        max_changes: int | None = None,
        still: np.ndarray | None = None,
    ) -> tuple[Answer, np.ndarray]:
        """One person's answer and encoded values after it, for searches that begin with this one.

        stop (1,) uint8: set when the person's time is up. still (axes,) bool: features that stay
        as they are.
        """
        problem, row = self.problem, person[None]
        own = problem.cells(row)
        costs = problem.costs(row, own)[0]
        if still is not None:
            costs[still] = np.where(np.arange(costs.shape[1]) == own[0][still, None], 0.0, np.inf)
        changes = len(costs) if max_changes is None else max_changes
        found = self._person(own[0], costs, changes, stop).cheapest(budget, max_nodes)
        point = own[0] if found.point is None else found.point
        return found, problem.values_of(person, own[0], point)

    def attains(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        limits: Limits = UNLIMITED,
        *,
        trees: np.ndarray | None = None,
        needed: np.ndarray | None = None,
    ) -> np.ndarray:
        """Whether each person has an action within a budget, whatever it costs.

        One question instead of a descent to the cheapest action. Parameters are those of
        ``solve``; and ``trees`` (people, trees) with ``needed`` (people,): ask these trees only,
        and how many of their votes, or what mean, each person needs.

        Returns
        -------
        int8 (people,)
            ``Status.FOUND``, ``NONE`` (both proved) or ``UNKNOWN`` (a limit was reached).
        """
        status = np.full(len(people), Status.UNKNOWN, np.int8)
        budgets, max_nodes = ceilings_of(budget, len(people)), limits.nodes(MAX_NODES)

        def search(i: int, person: ModelDescent) -> None:
            if trees is not None and needed is not None:
                part = person.model.part(trees[i], float(needed[i]))
                person = replace(person, model=part)
            status[i] = person.attains(budgets[i], max_nodes)

        self.for_each(search, people, limits)
        return status


@cache
def compile_kernels(*, by_votes: bool) -> None:
    """Compile or load the kernels, so that nobody's time limit has to pay for it."""
    axes = [Axis(Feature(name, "continuous"), (k,)) for k, name in enumerate("xy")]
    trees = TreeEnsemble.stump(0, 0.0, "votes" if by_votes else "sum")
    problem = CellProblem(trees, axes, LinearCost("max", np.ones(2)))
    own = np.zeros(2, np.int64)
    costs = problem.costs(np.zeros((1, 2)), own[None])[0]
    ModelDescent(Model.of(problem), own, costs, 1, np.zeros(1, np.uint8)).cheapest(1.0, 10)


def find_strongest_point(
    person: ModelDescent, values: np.ndarray, budget: float, max_nodes: int
) -> tuple[ModelDescent, Answer]:
    """The same person before a model that asks for the most that they can win within a budget.

    Parameters
    ----------
    person : ModelDescent
    values : float (columns,)
        Their encoded values.
    budget : float
    max_nodes : int
        Per question.

    Returns
    -------
    person : ModelDescent
        As given if they can win nothing, or if that is unknown.
    answer : Answer
        An action that wins so much, whatever it costs; optimal if none is proved to win more.
    """
    if person.stop[0]:
        return person, Answer(Status.UNKNOWN)
    whole, problem, squeeze = person, person.model.problem, None
    if person.squeezed is not None:
        person, squeeze = person.squeezed
    model, inside = person.model, person.inside(budget)

    def score(found: Answer) -> float:
        assert found.point is not None
        cells = found.point if squeeze is None else squeeze.cells(found.point)
        after = problem.values_of(values, whole.own, cells)
        return float(problem.ensemble.score(after[None])[0])

    def look(wanted: float | None) -> Answer:
        asked = person if wanted is None else replace(person, model=model.needing(wanted))
        there = person.own.copy()
        status, used = asked.look(inside, max_nodes, there, budget)
        if status != Status.FOUND:
            return Answer(Status(status), nodes=used)
        return Answer(Status.FOUND, person.cost_of(there), 0.0, there, used)

    best, answer = strongest_by(look, score, model, inside.best, person.stop)
    if best is None:
        return whole, answer
    answer = answer if squeeze is None else squeeze.answer(answer)
    return replace(whole, model=whole.model.needing(best)), answer


def cheapest_of(most: Answer | None, found: Answer) -> Answer:
    """What was found among the actions that win most, after one of them; else that one."""
    if most is None or most.point is None:
        return found
    proved = (most.status, found.status) == (Status.OPTIMAL, Status.OPTIMAL)
    best = most if found.point is None else found
    status = Status.OPTIMAL if proved else Status.FOUND
    return best._replace(status=status, nodes=most.nodes + found.nodes)


def strongest_by(
    look: Callable[[float | None], Answer],
    score: Callable[[Answer], float],
    model: Model,
    most: float,
    stop: np.ndarray,
) -> tuple[float | None, Answer]:
    """The most that can be won, and an action that wins it; None and why not, without any.

    Parameters
    ----------
    look : callable
        An action that wins so much (by default, that is enough for the decision), if there is one.
    score : callable
        What an action wins.
    model : Model
    most : float
        What all trees can add up to at most.
    stop : uint8 (1,)
        Set when the time is up.
    """
    found = look(None)
    if found.point is None:
        return None, found
    rule, by_votes, nodes, proved = model.rule, model.by_votes, found.nodes, True
    best, most = score(found), (most + rule.base) / rule.divisor
    fine = 1.0 if by_votes else FINE * float(np.ptp(rule.weight))
    while best < most and not stop[0]:
        wanted = best + 1 if by_votes else float(np.nextafter(best, np.inf))
        if most - best > fine:
            middle = (best + most) / 2
            wanted = max(wanted, np.ceil(middle) if by_votes else middle)
        better = look(wanted)
        nodes += better.nodes
        if better.point is not None:
            best, found = score(better), better
        else:
            proved = proved and better.status == Status.NONE
            most = wanted - 1 if by_votes else float(np.nextafter(wanted, -np.inf))
    status = Status.OPTIMAL if proved and best >= most else Status.FOUND
    return best, found._replace(status=status, bound=0.0, nodes=nodes)
