"""Exact search: the cheapest action of each person, with proof (votes, l-infinity type costs)."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from ract._kernels import solve as kernel
from ract._kernels.cell_forest import DESIRED, MIXED
from ract.costs import FittedCost, require_max_norm
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.recourse.problem import Problem, budgets_of, for_each_person
from ract.recourse.solutions import FOUND, NONE, OPEN, OPTIMAL, Solutions

__all__ = ["FOUND", "NONE", "OPEN", "OPTIMAL", "Solutions", "VoteSearch"]


class VoteSearch:
    """Exact search in an ensemble that decides by votes.

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
    >>> search = VoteSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    >>> refused = model.encoder_.matrix(loans.frame[model.predict(loans.frame) == "refused"])
    >>> solutions = search.solve(refused, budget=0.3)
    >>> bool(model.ensemble_.decide(solutions.values[solutions.found]).all())
    True
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        if ensemble.combine != "votes":
            raise InvalidSpec(f"Exact search by votes needs votes, not {ensemble.combine!r}.")
        require_max_norm(cost)
        self._problem = problem = Problem(ensemble, axes, cost)
        verdicts, self._forest = kernel.simplify(
            problem.forest, problem.grid.n_cells, problem.categorical
        )
        self._always, self._mixed = verdicts == DESIRED, verdicts == MIXED
        self._needed = int(ensemble.cutoff)

    def solve(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        max_nodes: int = 10_000_000,
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
        max_nodes : int
            Per person; a search that needs more ends as ``FOUND`` or ``OPEN``.
        trees : bool (people, trees), optional
            Judge each person by these trees only; all by default.
        needed : int (people,), optional
            With ``trees``: how many of their votes each person needs.
        n_jobs : int, optional
            Threads.
        progress : bool
            Show a bar with the time left.
        """
        budgets = budgets_of(budget, len(people))
        if max_nodes < 0:
            raise InvalidSpec(f"max_nodes must be 0 or more, got {max_nodes}.")
        if trees is None or needed is None:
            trees = np.ones((len(people), len(self._mixed)), np.bool_)
            needed = np.full(len(people), self._needed)
        problem = self._problem
        members = np.ascontiguousarray(trees[:, self._mixed])
        open_votes = needed - trees[:, self._always].sum(axis=1)
        cells, levels = problem.cells(people), problem.levels(people)
        points, numbers = cells.copy(), np.empty((len(people), 4))
        seconds = np.zeros(len(people))

        def search(i: int) -> None:
            begun = perf_counter()
            kernel.solve(
                self._forest, members[i], open_votes[i], cells[i], levels[i],
                problem.price_list, problem.grid.n_cells, problem.categorical, budgets[i],
                max_nodes, points[i], numbers[i],
            )  # fmt: skip
            seconds[i] = perf_counter() - begun

        for_each_person(search, len(people), n_jobs=n_jobs, progress=progress)
        status = numbers[:, 0].astype(np.int64)
        nodes = numbers[:, 3].astype(np.int64)
        values = problem.values(people, cells, points)
        return Solutions(status, numbers[:, 1], numbers[:, 2], values, nodes, seconds)
