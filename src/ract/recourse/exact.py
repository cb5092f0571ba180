"""Exact search: the cheapest action of each person, with proof (votes, l-infinity type costs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ract._kernels import solve as kernel
from ract._kernels.cell_forest import DESIRED, MIXED, Forest
from ract.costs import FittedCost, require_max_norm
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.grid import Grid, Prices

MOST_CATEGORIES = 64


@dataclass(frozen=True)
class Solutions:
    """Results of a batch of people, in their order.

    Parameters
    ----------
    status : int (people,)
        ``OPTIMAL``; ``NONE`` within the budget, proved; ``FOUND`` but not proved cheapest; or
        ``OPEN``: the limit was reached first.
    cost, bound : float (people,)
        Cost of the action found (inf if none) and what it cannot be below.
    values : float (people, columns)
        Encoded values after the action; the person's own where none was found.
    nodes : int (people,)
        Nodes of the search.
    """

    status: np.ndarray
    cost: np.ndarray
    bound: np.ndarray
    values: np.ndarray
    nodes: np.ndarray

    @property
    def found(self) -> np.ndarray:
        """Who has an action."""
        return np.isfinite(self.cost)

    @property
    def gap(self) -> np.ndarray:
        """How far the cost may lie above the cheapest; 0 where it is proved."""
        gap = np.zeros(len(self.cost))
        open_ = np.isin(self.status, (FOUND, OPEN))
        gap[open_] = self.cost[open_] - self.bound[open_]
        return gap


OPTIMAL, NONE, FOUND, OPEN = kernel.OPTIMAL, kernel.NONE, kernel.FOUND, kernel.OPEN


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
        splits = ensemble.feature >= 0
        self.grid = Grid.from_splits(axes, ensemble.feature[splits], ensemble.threshold[splits])
        self.prices = self.grid.price(cost)
        self._categorical = np.array([axis.is_categorical for axis in self.grid.axes])
        _refuse_too_many_categories(self.grid)
        verdicts, self._forest = kernel.simplify(
            _flat(ensemble, self.grid), self.grid.n_cells, self._categorical
        )
        self._always, self._mixed = verdicts == DESIRED, verdicts == MIXED
        self._needed = int(ensemble.cutoff)
        self._price_list = _flat_prices(self.prices)

    def solve(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        max_nodes: int = 10_000_000,
        trees: np.ndarray | None = None,
        needed: np.ndarray | None = None,
        n_jobs: int | None = None,
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
        """
        budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), (len(people),)).copy()
        if not (budgets >= 0).all():
            raise InvalidSpec(f"budget must be 0 or more, got {budgets.min()}.")
        budgets = np.minimum(budgets, np.finfo(np.float64).max)  # an infinite cost is no way
        if max_nodes < 0:
            raise InvalidSpec(f"max_nodes must be 0 or more, got {max_nodes}.")
        if trees is None or needed is None:
            trees = np.ones((len(people), len(self._mixed)), np.bool_)
            needed = np.full(len(people), self._needed)
        members = np.ascontiguousarray(trees[:, self._mixed])
        open_votes = needed - trees[:, self._always].sum(axis=1)
        cells = np.ascontiguousarray(self.grid.cells(list(people.T)).T.astype(np.int64))
        levels = self._levels(people)
        points, numbers = cells.copy(), np.empty((len(people), 4))

        def run(part: range) -> None:
            for i in part:
                kernel.solve(
                    self._forest, members[i], open_votes[i], cells[i], levels[i],
                    self._price_list, self.grid.n_cells, self._categorical, budgets[i],
                    max_nodes, points[i], numbers[i],
                )  # fmt: skip

        workers = effective_n_jobs(n_jobs)
        size = max(1, min(64, -(-len(people) // (4 * workers))))
        everyone = range(len(people))
        parts = [everyone[first : first + size] for first in range(0, len(people), size)]
        Parallel(n_jobs=workers, prefer="threads")(delayed(run)(part) for part in parts)
        status = numbers[:, 0].astype(np.int64)
        nodes = numbers[:, 3].astype(np.int64)
        values = self._values(people, cells, points)
        return Solutions(status, numbers[:, 1], numbers[:, 2], values, nodes)

    def _levels(self, people: np.ndarray) -> np.ndarray:
        levels = np.zeros((len(people), len(self.grid.axes)))
        for a, axis in enumerate(self.grid.axes):
            if not axis.is_categorical:
                column = axis.columns[0]
                levels[:, a] = self.prices.cost.level(column, people[:, column])
        return levels

    def _values(self, people: np.ndarray, cells: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Encoded values of points: the cheapest of each cell that differs from the own one."""
        values = np.array(people, dtype=np.float64)
        for a, axis in enumerate(self.grid.axes):
            moved = np.flatnonzero(points[:, a] != cells[:, a])
            to = points[moved, a]
            entries = self.prices.entries[a]
            if entries is None:
                values[moved[:, None], np.array(axis.columns)] = np.eye(len(axis.columns))[to]
            else:
                up = to > cells[moved, a]
                values[moved, axis.columns[0]] = np.where(up, entries.above[to], entries.below[to])
        return values


def _flat(ensemble: TreeEnsemble, grid: Grid) -> Forest:
    trees = ensemble.on_grid(grid)
    return Forest(
        np.concatenate([tree.axis for tree in trees]),
        np.concatenate([tree.cell for tree in trees]),
        ensemble.left.astype(np.int32),
        ensemble.right.astype(np.int32),
        ensemble.parent,
        ensemble.label.astype(np.uint8),
        ensemble.root.astype(np.int32),
    )


def _flat_prices(prices: Prices) -> kernel.PriceList:
    start = np.zeros(len(prices.grid.axes), np.int64)
    above: list[Any] = [np.zeros(0)]
    below: list[Any] = [np.zeros(0)]
    switch: list[Any] = [np.zeros(0)]
    n_ordinal, n_switch = 0, 0
    for a, (entries, table) in enumerate(zip(prices.entries, prices.switches, strict=True)):
        if entries is not None:
            start[a] = n_ordinal
            n_ordinal += len(entries.above)
            above.append(entries.above_level)
            below.append(entries.below_level)
        elif table is not None:
            start[a] = n_switch
            n_switch += table.size
            switch.append(table.ravel())
    return kernel.PriceList(
        start, np.concatenate(above), np.concatenate(below), np.concatenate(switch)
    )


def _refuse_too_many_categories(grid: Grid) -> None:
    for axis in grid.axes:
        if axis.is_categorical and len(axis.columns) > MOST_CATEGORIES:
            raise InvalidSpec(
                f"Feature {axis.feature.name!r} has {len(axis.columns)} categories; the exact "
                f"search takes at most {MOST_CATEGORIES}."
            )
