"""Exact search: the cheapest action of each person, with proof (l-infinity type costs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, cached_property, partial
from typing import Any, Self

import numpy as np

from ract._utils.status import Status
from ract.data.actions import Feature
from ract.data.costs import FittedCost, LinearCost, require_max_norm
from ract.data.encoder import Axis
from ract.recourse.common.answers import Answer
from ract.recourse.common.limits import Limits, ceilings_of
from ract.recourse.common.problem import Problem
from ract.recourse.common.search import Batch, Search
from ract.recourse.exact.decide import Model, Person
from ract.recourse.exact.preferred import PREFERRED
from ract.recourse.exact.strongest import find_strongest
from ract.trees.ensemble import TreeEnsemble

MAX_NODES = 10_000_000


class ExactSearch(Search):
    """Exact search in an ensemble, whether it decides by votes, by a mean or by a sum.

    ``solve`` takes besides: ``strongest``, to look for the cheapest of those actions within the
    budget that win most votes, the highest score, or of a single voting tree the largest share;
    and ``trees`` (people, trees) with ``needed`` (people,): ask these trees only, and how many of
    their votes, or what mean, each person needs.

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
        self.problem = Problem(ensemble, axes, cost)
        self.model = Model.of(self.problem)
        self.model.simplified  # noqa: B018  made once, before threads ask for it
        self._warm_up()

    def _take(self, cost: FittedCost) -> None:
        """Refuse costs that are not for this search."""
        require_max_norm(cost)

    def _warm_up(self) -> None:
        """Compile or load the kernels."""
        warm_up(by_votes=self.problem.ensemble.combine == "votes")

    def _person(
        self, model: Model, own: np.ndarray, costs: np.ndarray, changes: int, stop: np.ndarray
    ) -> Person:
        """One person before a model; parameters are those of ``Descent``."""
        return Person(model, own, costs, changes, stop)

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
        other = copy(self)
        for name in ("refusing", "graded", "released"):
            vars(other).pop(name, None)
        other.problem = self.problem.of_goal(ensemble)
        other.model = Model.of(other.problem)
        vars(other.model)["simplified"] = self.model.simplified  # what the trees hold is the same
        return other

    @cached_property
    def refusing(self) -> Model:
        """The model the other way round, simplified: undesired points are wanted."""
        refusing = self.model.refusing()
        refusing.simplified  # noqa: B018
        return refusing

    @cached_property
    def graded(self) -> Self:
        """The search before the same decision by a score which grows with the strength."""
        ensemble = self.problem.ensemble.graded
        if ensemble is self.problem.ensemble:
            return self
        other = copy(self)
        for name in ("refusing", "released"):
            vars(other).pop(name, None)
        other.problem = self.problem.of_values(ensemble)
        other.model = Model.of(other.problem)
        other.model.simplified  # noqa: B018
        other._warm_up()
        return other

    @cached_property
    def released(self) -> Problem:
        """The same problem with every feature free to change either way, within its bounds."""
        return self.problem.released()

    def fill(
        self,
        batch: Batch,
        *,
        strongest: bool = False,
        prefer: str | None = None,
        then: Callable[[int, Person, Answer], None] | None = None,
        **trees: Any,
    ) -> None:
        """Fill the table, which may know bounds of costs already.

        ``prefer``: "fewest" changes, then the cheapest; "cheapest", then the fewest changes.
        ``then`` is called after each person, while their costs are at hand.
        """
        if strongest and self.graded is not self:
            self.graded.fill(batch, strongest=True, prefer=prefer, then=then, **trees)
            return
        people, answers = batch.people, batch.answers
        cells, max_nodes = self.problem.cells(people), batch.limits.nodes(MAX_NODES)

        def search(i: int, person: Person) -> None:
            budget, most = batch.budgets[i], None
            if strongest:
                person, most = find_strongest(person, people[i], budget, max_nodes)
            find = person.cheapest if prefer is None else partial(PREFERRED[prefer], person)
            found = find(budget, max_nodes, answers.bound[i])
            if most is not None and most.point is not None:
                proved = (most.status, found.status) == (Status.OPTIMAL, Status.OPTIMAL)
                best = most if found.point is None else found
                status = Status.OPTIMAL if proved else Status.FOUND
                found = best._replace(status=status, nodes=most.nodes + found.nodes)
            answers.status[i], answers.nodes[i] = found.status, found.nodes
            answers.cost[i], answers.bound[i] = found.cost, found.bound
            if found.point is not None:
                answers.values[i] = self.problem.values_of(people[i], cells[i], found.point)
            if then is not None:
                then(i, person, found)

        answers.seconds = self._for_each(search, people, cells, batch.limits, **trees)

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
        found = self._person(self.model, own[0], costs, changes, stop).cheapest(budget, max_nodes)
        point = own[0] if found.point is None else found.point
        return found, problem.values_of(person, own[0], point)

    def attains(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        trees: np.ndarray | None = None,
        needed: np.ndarray | None = None,
        **limits: Any,
    ) -> np.ndarray:
        """Whether each person has an action within a budget, whatever it costs.

        One question instead of a descent to the cheapest action. Parameters are those of
        ``solve``.

        Returns
        -------
        int8 (people,)
            ``Status.FOUND``, ``NONE`` (both proved) or ``UNKNOWN`` (a limit was reached).
        """
        cells, budgets = self.problem.cells(people), ceilings_of(budget, len(people))
        status, limit = np.full(len(people), Status.UNKNOWN, np.int8), Limits(**limits)
        max_nodes = limit.nodes(MAX_NODES)

        def search(i: int, person: Person) -> None:
            status[i] = person.attains(budgets[i], max_nodes)

        self._for_each(search, people, cells, limit, trees, needed)
        return status

    def _for_each(
        self,
        search: Callable[[int, Person], None],
        people: np.ndarray,
        cells: np.ndarray,
        limits: Limits,
        trees: np.ndarray | None = None,
        needed: np.ndarray | None = None,
    ) -> np.ndarray:
        """Put everyone before the model; returns the seconds that each person took."""
        changes = limits.changes_of(len(self.problem.grid.axes))

        def one(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
            model = self.model
            if trees is not None and needed is not None:
                model = model.part(trees[i], float(needed[i]))
            search(i, self._person(model, cells[i], costs, changes, stop))

        return self.problem.for_each(one, people, cells, limits)


@cache
def warm_up(*, by_votes: bool) -> None:
    """Compile or load the kernels, so that nobody's time limit has to pay for it."""
    axes = [Axis(Feature(name, "continuous"), (k,)) for k, name in enumerate("xy")]
    trees = TreeEnsemble.stump(0, 0.0, "votes" if by_votes else "sum")
    problem = Problem(trees, axes, LinearCost("max", np.ones(2)))
    own = np.zeros(2, np.int64)
    costs = problem.costs(np.zeros((1, 2)), own[None])[0]
    Person(Model.of(problem), own, costs, 1, np.zeros(1, np.uint8)).cheapest(1.0, 10)
