"""Costs and missing values: learned from known values, with a price for handing one in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ract.data.costs.distribution import Distribution, middle_value
from ract.data.costs.protocols import Columns, FittedCost, MissingCell, Norm, Supply

# The median over pairs of people is taken over pairs of so many of their values at most.
MOST_VALUES = 1000
# So many values in the middle are averaged where no single person's may be kept.
NOT_ONE = 5


class Known(Sequence[np.ndarray]):
    """Encoded columns with NaN wherever a person has no value, categories included."""

    def __init__(self, columns: Columns, cells: Sequence[MissingCell]) -> None:
        self._columns = columns
        marked = (cell for cell in cells if cell.categorical)
        self._mark = {j: cell.columns[-1] for cell in marked for j in cell.columns}

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: Any) -> Any:
        column = self._columns[index]
        if isinstance(column, Distribution):  # of known values
            return column
        column = np.asarray(column)
        if index not in self._mark:
            return column
        return np.where(np.asarray(self._columns[self._mark[index]]) == 1, np.nan, column)


def known_values(
    column: np.ndarray | Distribution, sample_weight: np.ndarray | None
) -> tuple[Any, np.ndarray | None]:
    """The known values of a column, and the weights of the people who have them.

    A column that nobody has a value in, as in a part of a table, counts as 0 for everyone.
    """
    if isinstance(column, Distribution):
        return column, None
    column = np.asarray(column)
    known = ~np.isnan(column)
    if known.all():
        return column, sample_weight
    if not known.any():
        return np.zeros(len(column)), sample_weight
    return column[known], None if sample_weight is None else sample_weight[known]


def supplies(
    cost: FittedCost,
    known: Columns,
    cells: Sequence[MissingCell],
    sample_weight: np.ndarray | None,
    *,
    exact: bool,
) -> tuple[Supply, ...]:
    """What supplying a value costs in each feature that allows it.

    Where nobody said, it is the median effort of a change: over pairs of people whose known values
    differ, the effort of moving from one to the other, whatever directions are allowed.
    """
    return tuple(
        _supply_of_category(cost, known, cell, sample_weight)
        if cell.categorical
        else _supply_of_number(cost, known, cell, sample_weight, exact)
        for cell in cells
        if cell.supply
    )


def _supply_of_number(
    cost: FittedCost,
    known: Columns,
    cell: MissingCell,
    sample_weight: np.ndarray | None,
    exact: bool,
) -> Supply:
    (column,) = cell.columns
    distribution = Distribution.of(*known_values(known[column], sample_weight))
    middle = float(distribution.in_the_middle(1 if exact else NOT_ONE).mean())
    if cell.cost is not None:
        return Supply(cell.columns, cell.cost * cell.weight, middle)
    ordered, mass = distribution.values, distribution.mass
    if len(ordered) > MOST_VALUES:
        ranks = (np.arange(MOST_VALUES) + 0.5) * distribution.reached[-1] / MOST_VALUES
        ordered, mass = ordered[np.searchsorted(distribution.reached, ranks)], np.ones(MOST_VALUES)
    level = cost.level(column, ordered)
    one, other = np.triu_indices(len(ordered), 1)
    pairs = level[other] - level[one], mass[one] * mass[other]
    return Supply(cell.columns, _median_of(*pairs), middle)


def _supply_of_category(
    cost: FittedCost, known: Columns, cell: MissingCell, sample_weight: np.ndarray | None
) -> Supply:
    if cell.cost is not None:
        return Supply(cell.columns, cell.cost * cell.weight, 0.0)
    columns = cell.columns[:-1]
    distributions = [Distribution.of(*known_values(known[j], sample_weight)) for j in columns]
    share = np.array([d.mass[d.values == 1].sum() / d.reached[-1] for d in distributions])
    switch = switch_costs(cost, columns)
    one, other = np.triu_indices(len(columns), 1)
    pairs = switch[one, other], share[one] * share[other]
    return Supply(cell.columns, _median_of(*pairs), 0.0)


def switch_costs(cost: FittedCost, columns: Sequence[int]) -> np.ndarray:
    """Cost of leaving one category (row) for another (column): both columns flip."""
    ends = np.array([0.0, 1.0])
    flip = np.array([float(np.ptp(cost.level(j, ends))) for j in columns])
    return added(cost.norm, flip[:, None], flip[None, :])


def added(norm: Norm, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Two efforts at once."""
    if norm == "max":
        return np.maximum(one, other)
    return one + other


def without_missing(
    start: np.ndarray, stop: np.ndarray, supply: Sequence[Supply]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Actions in known values only, and what each supplies (actions x supplies) costs.

    Where a value is missing before, after or both times, both ends become the same.
    """
    start, stop = np.atleast_2d(start).astype(np.float64), np.atleast_2d(stop).astype(np.float64)
    supplied = np.zeros((max(len(start), len(stop)), len(supply)))
    start, stop = (
        np.array(np.broadcast_to(end, (len(supplied), end.shape[1]))) for end in (start, stop)
    )
    for k, one in enumerate(supply):
        mark, columns = one.columns[-1], list(one.columns)
        if len(columns) > 1:  # a category, whose last column marks people without one
            rows = (start[:, mark] == 1) & (stop[:, mark] == 0)
            start[np.ix_(rows, columns)] = stop[np.ix_(rows, columns)]
        else:
            rows = np.isnan(start[:, mark]) & ~np.isnan(stop[:, mark])
        supplied[rows, k] = one.cost
    missing = np.isnan(start) | np.isnan(stop)
    start[missing] = stop[missing] = 0.0
    return start, stop, supplied


def _median_of(values: np.ndarray, weights: np.ndarray) -> float:
    """The weighted median; 0 of nothing."""
    return middle_value(values, weights) if weights.sum() > 0 else 0.0
