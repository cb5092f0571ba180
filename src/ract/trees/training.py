"""What every learner does before the first split: check, encode, bin, price, reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ract._utils.progress import in_threads
from ract._utils.typing import TableLike
from ract.data.actions import ActionSpace, Feature, unrestricted
from ract.data.costs import Cost, FittedCost, fit_cost, refuse_percent, require_max_norm
from ract.data.encoder import EncodedColumns, Encoder
from ract.data.frames import Table, read_table
from ract.data.grid import Grid
from ract.trees.grower import People

MANY_PEOPLE = 50_000  # from here on a table is read in threads


@dataclass(frozen=True)
class TrainingSetting:
    """How people are described and what an action costs them."""

    actions: ActionSpace | None
    cost: str | Cost
    budget: float
    max_bins: int


@dataclass(frozen=True)
class Weights:
    """How much people count.

    Parameters
    ----------
    sample : float64 (people,) or None
        For percentiles, cells and recourse; None if all count alike.
    growing : float64 (people,)
        For errors: the same times the weights of classes.
    """

    sample: np.ndarray | None
    growing: np.ndarray

    @property
    def people(self) -> np.ndarray:
        """Sample weights, ones if all count alike."""
        return np.ones(len(self.growing)) if self.sample is None else self.sample

    def of(self, rows: np.ndarray) -> Weights:
        """Those of some people."""
        return Weights(None if self.sample is None else self.sample[rows], self.growing[rows])


@dataclass(frozen=True)
class TrainingSet:
    """A table ready for growing, and what later tables need to be read in the same way.

    ``rows`` are hashes of the people, by which later tables are checked for any of them; None if
    there are too many to keep.
    """

    encoder: Encoder
    grid: Grid
    cost: FittedCost
    people: People
    weights: Weights
    rows: np.ndarray | None

    def take(self, rows: np.ndarray) -> TrainingSet:
        """Some of the people, in the cells and with the costs of all."""
        return replace(
            self, people=self.people.take(rows), weights=self.weights.of(rows), rows=None
        )


def prepare(
    X: TableLike,
    desired: np.ndarray,
    weights: Weights,
    setting: TrainingSetting,
    *,
    with_reach: bool,
    n_jobs: int | None = None,
) -> TrainingSet:
    """Encode and bin a table, learn the cost from it and, if asked, find everyone's reach."""
    table = read_table(X)
    encoder = Encoder(table, setting.actions)
    columns = EncodedColumns(table, encoder.axes)  # the encoder has checked this very table
    learn = partial(fit_cost, missing=encoder.missing_cells)
    jobs: list[Callable[[], Any]] = [  # each sorts, or reads, every column
        partial(learn, setting.cost, columns, encoder.weights, weights.sample),
        partial(Grid.from_columns, encoder.axes, columns, setting.max_bins, weights.sample),
        partial(different_rows, columns),
    ]
    threads = effective_n_jobs(n_jobs) if len(desired) >= MANY_PEOPLE else 1
    cost, grid, rows = in_threads(jobs, threads)
    require_max_norm(cost)
    refuse_percent(cost, setting.budget)
    people = people_on(grid, cost, columns, desired, setting.budget, with_reach=with_reach)
    return TrainingSet(encoder, grid, cost, people, weights, rows)


def row_hashes(columns: Iterable[np.ndarray]) -> np.ndarray:
    """A number for each row of encoded columns, equal for equal rows (uint64).

    Examples
    --------
    >>> rows = row_hashes(np.array([[1.0, 2.0, 1.0], [0.0, 5.0, -0.0]]))
    >>> rows[0] == rows[2], rows[0] == rows[1]
    (np.True_, np.False_)
    """
    mixed: np.uint64 | np.ndarray = np.uint64(0)
    for column in columns:
        values = np.asarray(column, np.float64) + 0.0
        values[np.isnan(values)] = np.nan  # NaN has many patterns of bits
        bits = values.view(np.uint64)
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed ^ (mixed >> np.uint64(29))
    return np.asarray(mixed, np.uint64)


def different_rows(columns: Iterable[np.ndarray]) -> np.ndarray:
    """The numbers of all rows that differ, ascending.

    NumPy's own ``unique`` looks numbers up in a table, which takes many times as long.
    """
    rows = np.sort(row_hashes(columns))
    return rows[np.append(True, rows[1:] != rows[:-1])[: len(rows)]]


def people_on(
    grid: Grid,
    cost: FittedCost,
    columns: Any,
    desired: np.ndarray,
    budget: float,
    *,
    with_reach: bool,
) -> People:
    """Encoded people on a grid, with their reach if asked."""
    cells = grid.cells(columns)
    if with_reach:
        reach = grid.price(cost).reach(columns, cells, budget)
        lowest, highest, can_enter = reach.lowest, reach.highest, reach.categories
    else:
        lowest = highest = cells
        can_enter = tuple(
            np.zeros((len(axis.columns),) * 2, np.bool_) if axis.is_categorical else None
            for axis in grid.axes
        )
    ordinal = np.array([table is None for table in can_enter])
    missing = np.where(ordinal, grid.missing_cell, -1)
    return People(cells, lowest, highest, grid.n_cells, can_enter, desired, missing)


def space_for_part(actions: ActionSpace | None, whole: Table, part: Table) -> ActionSpace:
    """The space that a part of the people declares, able to read all of them.

    Bounds come from the part alone, so that they do not depend on people who are held out;
    kinds, categories and whether values are missing come from everybody, and so do features that
    the part has no value of.
    """
    if actions is None:
        actions = unrestricted(whole)
        actions = actions.with_features(feature.blank() for feature in actions)
    everybody = actions.complete(whole)
    empty = {f.name: f for f in everybody if not f.columns and part.missing(f.name).all()}
    declared = {f.name: f for f in actions} | empty
    declared_by_part = actions.with_features(declared.values()).complete(part)

    def merged(whole: Feature, part: Feature) -> Feature:
        if whole.is_categorical or whole.kind != part.kind:
            return whole
        return replace(part, missing=whole.missing, supply_cost=whole.supply_cost)

    return actions.with_features(map(merged, everybody, declared_by_part))
