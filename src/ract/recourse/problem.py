"""A model in the cells of its own thresholds, and what each cell costs each person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ract._kernels.cell_forest import Forest
from ract._kernels.solve import PriceList
from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.grid import Grid, Prices

MOST_CATEGORIES = 64
LARGEST = float(np.finfo(np.float64).max)


class Problem:
    """What every search starts from: trees and prices on the grid of the model's thresholds.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
        One that has levels by column.

    Attributes
    ----------
    grid : Grid
    prices : Prices
    categorical : bool (axes,)

    Examples
    --------
    >>> from ract import RecourseTreeClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=500)
    >>> model = RecourseTreeClassifier(loans.actions, max_depth=4).fit(loans.frame, loans.target)
    >>> problem = Problem(model.ensemble_, model.encoder_.axes, model.cost_)
    >>> people = model.encoder_.matrix(loans.frame)
    >>> cells = problem.cells(people)
    >>> bool((problem.values(people, cells, cells) == people).all())
    True
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        self.ensemble = ensemble
        self.cost = cost
        splits = ensemble.feature >= 0
        self.grid = Grid.from_splits(axes, ensemble.feature[splits], ensemble.threshold[splits])
        _refuse_too_many_categories(self.grid)
        self.prices = self.grid.price(cost)
        self.categorical = np.array([axis.is_categorical for axis in self.grid.axes])

    def cells(self, people: np.ndarray) -> np.ndarray:
        """Cell of each person on each axis, int64 (people x axes)."""
        return np.ascontiguousarray(self.grid.cells(list(people.T)).T.astype(np.int64))

    def levels(self, people: np.ndarray) -> np.ndarray:
        """Place of each person on the effort scale of each ordinal axis (people x axes)."""
        levels = np.zeros((len(people), len(self.grid.axes)))
        for a, axis in enumerate(self.grid.axes):
            if not axis.is_categorical:
                column = axis.columns[0]
                levels[:, a] = self.cost.level(column, people[:, column])
        return levels

    def values(self, people: np.ndarray, cells: np.ndarray, points: np.ndarray) -> np.ndarray:
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

    @cached_property
    def forest(self) -> Forest:
        """The trees in cells, for kernels."""
        trees, ensemble = self.ensemble.on_grid(self.grid), self.ensemble
        return Forest(
            np.concatenate([tree.axis for tree in trees]),
            np.concatenate([tree.cell for tree in trees]),
            ensemble.left.astype(np.int32),
            ensemble.right.astype(np.int32),
            ensemble.parent,
            ensemble.label.astype(np.uint8),
            ensemble.root.astype(np.int32),
        )

    @cached_property
    def price_list(self) -> PriceList:
        """The prices, for kernels."""
        return _flat_prices(self.prices)


def budgets_of(budget: float | np.ndarray, n_people: int) -> np.ndarray:
    """Each person's budget, finite: an infinite cost is no way, whatever the budget."""
    budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), (n_people,)).copy()
    if not (budgets >= 0).all():
        raise InvalidSpec(f"budget must be 0 or more, got {budgets.min()}.")
    return np.minimum(budgets, LARGEST)


def for_each_person(
    search: Callable[[int], None], n_people: int, *, n_jobs: int | None, progress: bool = False
) -> None:
    """Call a search with every person's number, in threads, with a bar on the error stream."""
    workers = effective_n_jobs(n_jobs)
    size = max(1, min(64, -(-n_people // (4 * workers))))
    everyone = range(n_people)
    parts = [everyone[first : first + size] for first in range(0, n_people, size)]

    def run(part: range) -> int:
        for i in part:
            search(i)
        return len(part)

    done = Parallel(n_jobs=workers, prefer="threads", return_as="generator")(
        delayed(run)(part) for part in parts
    )
    if not progress:
        for _ in done:
            pass
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("Searching for recourse"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=n_people)
        for n in done:
            bar.advance(task, n)


def _flat_prices(prices: Prices) -> PriceList:
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
    return PriceList(start, np.concatenate(above), np.concatenate(below), np.concatenate(switch))


def _refuse_too_many_categories(grid: Grid) -> None:
    for axis in grid.axes:
        if axis.is_categorical and len(axis.columns) > MOST_CATEGORIES:
            raise InvalidSpec(
                f"Feature {axis.feature.name!r} has {len(axis.columns)} categories; the exact "
                f"search takes at most {MOST_CATEGORIES}."
            )
