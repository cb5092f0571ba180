"""Exact search: the cheapest action of each person, with proof (l-infinity type costs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ract._kernels.search.decide_votes import NO, UNKNOWN, YES
from ract.actions import Feature
from ract.costs import FittedCost, LinearCost, require_max_norm
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.recourse.common.answers import Solutions
from ract.recourse.common.parallel import Watch, in_parts
from ract.recourse.common.problem import Problem, budgets_of
from ract.recourse.exact.cheapest import NONE, Cheapest
from ract.recourse.exact.decide import Model, Person

__all__ = ["NO", "UNKNOWN", "YES", "ExactSearch", "warm_up"]


class ExactSearch:
    """Exact search in an ensemble, whether it decides by votes, by a mean or by a sum.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
        With norm "max".

    Examples
    --------
    >>> from ract import RecourseTreeClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=500)
    >>> model = RecourseTreeClassifier(loans.actions, max_depth=4).fit(loans.frame, loans.target)
    >>> search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    >>> refused = model.encoder_.matrix(loans.frame[model.predict(loans.frame) == "refused"])
    >>> solutions = search.solve(refused, budget=0.3)
    >>> bool(model.ensemble_.decide(solutions.values[solutions.found]).all())
    True
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        require_max_norm(cost)
        self.problem = Problem(ensemble, axes, cost)
        self._model = Model.of(self.problem)
        self._model.simplified  # noqa: B018  worked out once, before threads ask for it
        warm_up(by_votes=ensemble.combine == "votes")

    def solve(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        max_changes: int | None = None,
        max_nodes: int = 10_000_000,
        time_limit: float | None = None,
        trees: np.ndarray | None = None,
        needed: np.ndarray | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Solutions:
        """The cheapest action of each person within a budget.

        Parameters
        ----------
        people : float (people, columns)
            Encoded people.
        budget : float or array of float
            The same for everyone, or one for each; inf for any action at all.
        max_changes : int, optional
            How many features an action may change.
        max_nodes : int
            Per person; a search that needs more ends as ``FOUND`` or ``OPEN``.
        time_limit : float, optional
            Seconds per person, with the same end.
        trees : bool (people, trees), optional
            Judge each person by these trees only, which vote; all by default.
        needed : int (people,), optional
            With ``trees``: how many of their votes each person needs.
        n_jobs : int, optional
            Threads.
        progress : bool
            Show a bar with the time left.
        """
        cells, watch = self.problem.cells(people), Watch(len(people), time_limit)
        found: list[Cheapest] = [Cheapest(NONE, np.inf, np.inf, None, 0)] * len(people)

        def answer(i: int, person: Person, own_budget: float) -> None:
            found[i] = person.cheapest(own_budget, max_nodes)

        self._for_each(
            answer, people, cells, budget, watch, max_changes, max_nodes, trees, needed, n_jobs,
            progress,
        )  # fmt: skip
        points = np.array(
            [own if f.point is None else f.point for own, f in zip(cells, found, strict=True)],
            np.int64,
        )
        return Solutions(
            status=np.array([f.status for f in found], np.int64),
            cost=np.array([f.cost for f in found]),
            bound=np.array([f.bound for f in found]),
            values=self.problem.values(people, cells, points.reshape(cells.shape)),
            nodes=np.array([f.nodes for f in found], np.int64),
            seconds=watch.seconds,
        )

    def attains(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        max_changes: int | None = None,
        max_nodes: int = 10_000_000,
        time_limit: float | None = None,
        trees: np.ndarray | None = None,
        needed: np.ndarray | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> np.ndarray:
        """Whether each person has an action within a budget, whatever it costs.

        One question instead of a descent to the cheapest action. Parameters are those of
        ``solve``.

        Returns
        -------
        int (people,)
            ``YES``, ``NO`` (both proved) or ``UNKNOWN`` (a limit was reached).
        """
        cells, watch = self.problem.cells(people), Watch(len(people), time_limit)
        answers = np.full(len(people), UNKNOWN, np.int64)

        def answer(i: int, person: Person, own_budget: float) -> None:
            answers[i] = person.attains(own_budget, max_nodes)

        self._for_each(
            answer, people, cells, budget, watch, max_changes, max_nodes, trees, needed, n_jobs,
            progress,
        )  # fmt: skip
        return answers

    def _for_each(
        self,
        answer: Callable[[int, Person, float], None],
        people: np.ndarray,
        cells: np.ndarray,
        budget: float | np.ndarray,
        watch: Watch,
        max_changes: int | None,
        max_nodes: int,
        trees: np.ndarray | None,
        needed: np.ndarray | None,
        n_jobs: int | None,
        progress: bool,
    ) -> None:
        """Put everyone before the model, in threads, each with a watch on their time."""
        budgets = budgets_of(budget, len(people))
        if max_nodes < 0:
            raise InvalidSpec(f"max_nodes must be 0 or more, got {max_nodes}.")
        if max_changes is not None and max_changes < 0:
            raise InvalidSpec(f"max_changes must be 0 or more, got {max_changes}.")
        changes = len(self.problem.grid.axes) if max_changes is None else max_changes

        def search(part: range) -> None:
            here = slice(part.start, part.stop)
            costs = self.problem.costs(people[here], cells[here])
            for i in part:
                with watch.timing(i) as stop:
                    model = self._model
                    if trees is not None and needed is not None:
                        model = model.part(trees[i], int(needed[i]))
                    person = Person(model, cells[i], costs[i - part.start], changes, stop)
                    answer(i, person, budgets[i])

        with watch.running():
            in_parts(search, len(people), n_jobs=n_jobs, progress=progress)


@cache
def warm_up(*, by_votes: bool) -> None:
    """Compile or load the kernels, so that nobody's time limit has to pay for it."""
    axis = Axis(Feature("x", "continuous"), (0,))
    split, left, right = (np.array([k, -1, -1], np.int32) for k in (0, 1, 2))
    trees = TreeEnsemble(
        split, np.zeros(3), left, right, np.array([0, 0, 1], np.uint8), np.array([0.0, 0.0, 1.0]),
        np.zeros(1, np.int32), "votes" if by_votes else "sum", 1,
    )  # fmt: skip
    problem = Problem(trees, [axis], LinearCost("max", np.ones(1)))
    own = np.zeros(1, np.int64)
    costs = problem.costs(np.zeros((1, 1)), own[None])[0]
    Person(Model.of(problem), own, costs, 1, np.zeros(1, np.uint8)).cheapest(1.0, 10)
