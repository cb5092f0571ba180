"""Exact search: the cheapest action of each person, with proof (l-infinity type costs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ract.costs import FittedCost, require_max_norm
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.recourse.descent import NONE, Cheapest
from ract.recourse.people import Watch, in_parts
from ract.recourse.problem import Problem, budgets_of
from ract.recourse.questions import Model, Person
from ract.recourse.solutions import Solutions

Adjust = Callable[[int, np.ndarray, np.ndarray], None]


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
        adjust: Adjust | None = None,
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
        adjust : callable, optional
            ``adjust(i, own, costs)`` may raise or lower what cells cost person i, in place; inf
            forbids a cell. own int64 (axes,), costs float64 (axes, cells).
        n_jobs : int, optional
            Threads.
        progress : bool
            Show a bar with the time left.
        """
        problem, n_axes = self.problem, len(self.problem.grid.axes)
        budgets = budgets_of(budget, len(people))
        if max_nodes < 0:
            raise InvalidSpec(f"max_nodes must be 0 or more, got {max_nodes}.")
        if max_changes is not None and max_changes < 0:
            raise InvalidSpec(f"max_changes must be 0 or more, got {max_changes}.")
        changes = n_axes if max_changes is None else max_changes
        cells, watch = problem.cells(people), Watch(len(people), time_limit)
        found: list[Cheapest] = [Cheapest(NONE, np.inf, np.inf, None, 0)] * len(people)

        def search(part: range) -> None:
            here = slice(part.start, part.stop)
            costs = problem.costs(people[here], cells[here])
            for i in part:
                with watch.timing(i) as stop:
                    model = self._model
                    if trees is not None and needed is not None:
                        model = model.part(trees[i], int(needed[i]))
                    if adjust is not None:
                        adjust(i, cells[i], costs[i - part.start])
                    person = Person(model, cells[i], costs[i - part.start], changes, stop)
                    found[i] = person.cheapest(budgets[i], max_nodes)

        with watch.running():
            in_parts(search, len(people), n_jobs=n_jobs, progress=progress)
        points = np.array(
            [own if f.point is None else f.point for own, f in zip(cells, found, strict=True)]
        )
        return Solutions(
            status=np.array([f.status for f in found], np.int64),
            cost=np.array([f.cost for f in found]),
            bound=np.array([f.bound for f in found]),
            values=problem.values(people, cells, points.reshape(cells.shape)),
            nodes=np.array([f.nodes for f in found], np.int64),
            seconds=watch.seconds,
        )
