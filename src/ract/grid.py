"""The grid: every question of recourse is asked of axis-aligned cells.

A grid cuts each feature into cells: intervals between thresholds, or categories. A feature with
missing values has one cell more, the last one, for people without a value. With a cost it
becomes a price list, which knows the cheapest value that a person attains in each cell and
what it costs. Learner and searches read from it what a person can do, and so agree; the rules
themselves (directions and bounds) are those of ``ract.actions.Feature``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ract._cuts import IntegerTable, cut, known_of, sharp
from ract._kernels.cells import add_category, cell_costs, find_cells, find_reach
from ract.costs import FittedCost, Supply, require_max_norm
from ract.costs.supply import switch_costs
from ract.encoding import Axis
from ract.errors import InvalidSpec

Columns = Sequence[np.ndarray]

MOST_CELLS = 65_536
FEW_PEOPLE = 16  # below, looking up each of them is fastest
MANY_PEOPLE = 50_000  # from here on the kernel saves more time than it takes to compile


@dataclass(frozen=True)
class Grid:
    """Cells of every feature.

    Parameters
    ----------
    axes : tuple of Axis
    thresholds : tuple of float arrays
        Increasing thresholds of each axis; ``x <= thresholds[b]`` is cell b or below. Empty
        for categorical axes, whose cells are their categories.

    Examples
    --------
    >>> from ract.encoding import Encoder
    >>> people = np.array([[1.0], [2.0], [4.0]])
    >>> encoder = Encoder(people)
    >>> grid = Grid.from_columns(encoder.axes, encoder.encode(people))
    >>> grid.thresholds
    (array([1.5, 3. ]),)
    >>> grid.cells(encoder.encode(people))
    array([[0, 1, 2]], dtype=uint8)
    """

    axes: tuple[Axis, ...]
    thresholds: tuple[np.ndarray, ...]

    @classmethod
    def from_columns(
        cls,
        axes: Sequence[Axis],
        columns: Columns,
        max_cells: int = 256,
        sample_weight: np.ndarray | None = None,
    ) -> Grid:
        """The grid of a table: thresholds midway between observed values.

        Parameters
        ----------
        axes : sequence of Axis
        columns : sequence of float arrays, one per encoded column
        max_cells : int
            A column with more distinct values than this is cut at quantiles instead; its missing
            cell counts.
        sample_weight : array, one per person, optional
            How much each person counts; all alike by default.
        """
        if not 2 <= max_cells <= MOST_CELLS:
            raise InvalidSpec(f"max_cells must lie between 2 and {MOST_CELLS}, got {max_cells}.")
        return cls(
            tuple(axes),
            tuple(
                np.empty(0)
                if axis.is_categorical
                else cut(*known_of(axis, columns, sample_weight), max_cells - axis.has_missing)
                for axis in axes
            ),
        )

    @classmethod
    def from_splits(cls, axes: Sequence[Axis], column: np.ndarray, threshold: np.ndarray) -> Grid:
        """The grid of a model: the thresholds of its own splits.

        Parameters
        ----------
        axes : sequence of Axis
        column, threshold : arrays
            Encoded column and threshold of every split; an infinite one parts missing values
            from all others.
        """
        column, threshold = column[np.isfinite(threshold)], threshold[np.isfinite(threshold)]
        return cls(
            tuple(axes),
            tuple(
                np.empty(0)
                if axis.is_categorical
                else np.unique(sharp(axis, threshold[column == axis.columns[0]]))
                for axis in axes
            ),
        )

    def cells_of_splits(self, a: int, threshold: np.ndarray) -> np.ndarray:
        """Cell b of each threshold of an ordinal axis: x <= threshold is cell <= b.

        That of an infinite threshold is the last cell that has values.
        """
        return np.searchsorted(self.thresholds[a], sharp(self.axes[a], threshold))

    @cached_property
    def n_cells(self) -> np.ndarray:
        """Number of cells of each axis."""
        return np.array(
            [
                len(axis.columns) if axis.is_categorical else len(thresholds) + 1 + axis.has_missing
                for axis, thresholds in zip(self.axes, self.thresholds, strict=True)
            ],
            dtype=np.int64,
        )

    @cached_property
    def missing_cell(self) -> np.ndarray:
        """The cell of people without a value on each axis, its last one; -1 if there is none."""
        return np.where([axis.has_missing for axis in self.axes], self.n_cells - 1, -1)

    @cached_property
    def with_missing(self) -> tuple[int, ...]:
        """The ordinal axes on which values may be missing."""
        axes = enumerate(self.axes)
        return tuple(a for a, axis in axes if axis.has_missing and not axis.is_categorical)

    @cached_property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """The smallest integer type that holds a cell."""
        return np.min_scalar_type(int(self.n_cells.max()) - 1)

    def cells(self, columns: Columns) -> np.ndarray:
        """Cell of every person on every axis (axes x people)."""
        n_people = len(columns[0])
        out = np.zeros((len(self.axes), n_people), dtype=self.dtype)
        for a in range(len(self.axes)):
            self._fill_cells(a, columns, out[a])
        return out

    def _fill_cells(self, a: int, columns: Columns, out: np.ndarray) -> None:
        axis = self.axes[a]
        if axis.is_categorical:
            for k, j in enumerate(axis.columns):
                add_category(np.ascontiguousarray(columns[j], dtype=np.float64), k, out)
            return
        values = np.ascontiguousarray(columns[axis.columns[0]], dtype=np.float64)
        if axis.has_missing and np.isnan(values).any():
            known = ~np.isnan(values)
            found = np.empty(int(known.sum()), out.dtype)
            self._fill_ordered(a, values[known], found)
            out[known], out[~known] = found, self.missing_cell[a]
            return
        self._fill_ordered(a, values, out)

    def _fill_ordered(self, a: int, values: np.ndarray, out: np.ndarray) -> None:
        """Cells of known values of an ordinal axis."""
        table = None if len(values) < FEW_PEOPLE else IntegerTable.of(self.axes[a], values)
        if table is not None:
            out[:] = np.searchsorted(self.thresholds[a], table.values).astype(out.dtype)[table.at]
        elif len(values) < MANY_PEOPLE:
            out[:] = np.searchsorted(self.thresholds[a], values)
        else:
            find_cells(values, self.thresholds[a], out)

    def ends(self, a: int) -> tuple[np.ndarray, np.ndarray]:
        """First and last value of each cell of an ordinal axis; infinite where there is none.

        The cell of missing values is left out.
        """
        floor = np.concatenate([[-np.inf], self.thresholds[a]])  # cell c is (floor[c], ceiling[c]]
        ceiling = np.concatenate([self.thresholds[a], [np.inf]])
        if self.axes[a].feature.kind == "continuous":
            return np.where(np.isinf(floor), floor, np.nextafter(floor, np.inf)), ceiling
        return np.floor(floor) + 1, np.floor(ceiling)

    def span(self, a: int, own: float) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value in each cell that a person may take on an ordinal axis.

        Parameters
        ----------
        a : int
        own : float
            The person's value; NaN if they have none.

        Returns
        -------
        lowest, highest : float (cells that have values,)
            NaN in cells that the person cannot enter.

        Examples
        --------
        >>> from ract.encoding import Encoder
        >>> axes = Encoder(np.array([[1], [2], [9]])).axes
        >>> Grid.from_splits(axes, np.array([0]), np.array([4.5])).span(0, own=2.0)
        (array([1., 5.]), array([4., 9.]))
        """
        feature = self.axes[a].feature
        lower, upper = feature.limits(own)
        if np.isnan(own):
            lower, upper = feature.bounds if feature.may_supply else (np.inf, -np.inf)
        first, last = self.ends(a)
        lowest, highest = np.maximum(first, lower), np.minimum(last, upper)
        empty = lowest > highest
        lowest[empty] = highest[empty] = np.nan
        return lowest, highest

    def price(self, cost: FittedCost) -> Prices:
        """What each cell costs, for any person, under a cost."""
        ordinal: list[Entries | None] = []
        switches: list[np.ndarray | None] = []
        for a, axis in enumerate(self.axes):
            ordinal.append(None if axis.is_categorical else self._entries(a, cost))
            switches.append(_switch_costs(axis, cost) if axis.is_categorical else None)
        return Prices(self, cost, tuple(ordinal), tuple(switches), self._handed_in(cost))

    def _handed_in(self, cost: FittedCost) -> tuple[HandedIn | None, ...]:
        """What people without a value may hand in on each ordinal axis."""
        handed: list[HandedIn | None] = [None] * len(self.axes)
        for a, axis in enumerate(self.axes):
            if axis.is_categorical or not axis.feature.may_supply:
                continue
            supply = supply_of(axis, cost)
            middle = supply.middle
            if axis.feature.kind != "continuous":
                middle = np.floor(middle + 0.5)
            lowest, highest = self.span(a, np.nan)
            values = np.clip(middle, lowest, highest)  # NaN where no value is allowed
            handed[a] = HandedIn(supply.cost, values)
        return tuple(handed)

    def _entries(self, a: int, cost: FittedCost) -> Entries:
        """The value at which each cell of an ordinal axis is entered from below and from above."""
        feature, column = self.axes[a].feature, self.axes[a].columns[0]
        (above, below), (lower, upper) = self.ends(a), feature.bounds
        empty = above > below
        # Nobody comes from below into the first cell, nor from above into the last.
        above[empty | np.isinf(above) | (above > upper) | (not feature.may_rise)] = np.nan
        below[empty | np.isinf(below) | (below < lower) | (not feature.may_fall)] = np.nan
        above_level = _levels(cost, column, above, np.inf)
        return Entries(above, above_level, below, _levels(cost, column, below, -np.inf))


@dataclass(frozen=True)
class Entries:
    """Cheapest attainable value of each cell of an ordinal axis, and its level.

    ``above`` serves people who come from below and so enter at the cell's lower end; ``below``
    serves those who come from above. Where nobody can go the value is NaN and the level is
    +inf or -inf.
    """

    above: np.ndarray
    above_level: np.ndarray
    below: np.ndarray
    below_level: np.ndarray


@dataclass(frozen=True)
class HandedIn:
    """What people without a value may hand in on an ordinal axis.

    ``values`` has the value of each ordered cell that is nearest to the median known value, NaN
    where no value is allowed.
    """

    cost: float
    values: np.ndarray

    @property
    def costs(self) -> np.ndarray:
        """What handing in a value of each ordered cell costs; inf where none is allowed."""
        return np.where(np.isnan(self.values), np.inf, self.cost)


@dataclass(frozen=True)
class Reach:
    """What people attain within a budget.

    Parameters
    ----------
    lowest, highest : integer arrays (axes x people)
        Lowest and highest attainable cell, the person's own included. Of someone without a value
        on an ordinal axis: those that they may hand in, beside their own cell; both are their own
        cell if there is nothing.
    categories : tuple of boolean matrices or None
        For a categorical axis, ``[a, b]``: whether people in category a can enter b.
    """

    lowest: np.ndarray
    highest: np.ndarray
    categories: tuple[np.ndarray | None, ...]


@dataclass(frozen=True)
class Prices:
    """A grid under a cost: cheapest value and cost of every cell, for any person."""

    grid: Grid
    cost: FittedCost
    entries: tuple[Entries | None, ...]
    switches: tuple[np.ndarray | None, ...]
    handed_in: tuple[HandedIn | None, ...]

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Levels of all ``entries`` from below and from above (axes x most cells).

        Infinite where nobody can go, beyond the last cell and on categorical axes.
        """
        shape = len(self.entries), int(self.grid.n_cells.max())
        above, below = np.full(shape, np.inf), np.full(shape, -np.inf)
        for a, entries in enumerate(self.entries):
            if entries is not None:
                above[a, : len(entries.above)] = entries.above_level
                below[a, : len(entries.above)] = entries.below_level
        return above, below

    def reach(self, columns: Columns, cells: np.ndarray, budget: float) -> Reach:
        """What every person attains at a cost of at most ``budget`` in each feature.

        Parameters
        ----------
        columns : sequence of float arrays, one per encoded column
        cells : integer array (axes x people), from ``Grid.cells``
        budget : float
        """
        require_max_norm(self.cost)
        if not budget >= 0:
            raise InvalidSpec(f"budget must be 0 or more, got {budget}.")
        lowest, highest = cells.copy(), cells.copy()
        categories: list[np.ndarray | None] = []
        for a, (axis, entries, switch) in enumerate(
            zip(self.grid.axes, self.entries, self.switches, strict=True)
        ):
            categories.append(None if switch is None else switch <= budget)
            if entries is None:
                continue
            if axis.feature.actionable:
                self._fill_reach(a, axis, entries, columns, cells[a], budget, lowest[a], highest[a])
            if axis.has_missing:
                missing = cells[a] == self.grid.missing_cell[a]
                lowest[a, missing], highest[a, missing] = self._ends_handed_in(a, budget)
        return Reach(lowest, highest, tuple(categories))

    def _ends_handed_in(self, a: int, budget: float) -> tuple[int, int]:
        """Lowest and highest cell that people without a value may hand in on an ordinal axis."""
        handed, own = self.handed_in[a], int(self.grid.missing_cell[a])
        inside = np.flatnonzero(handed.costs <= budget) if handed is not None else np.zeros(0)
        return (int(inside[0]), int(inside[-1])) if len(inside) else (own, own)

    def _fill_reach(
        self,
        a: int,
        axis: Axis,
        entries: Entries,
        columns: Columns,
        cells: np.ndarray,
        budget: float,
        lowest: np.ndarray,
        highest: np.ndarray,
    ) -> None:
        column = axis.columns[0]
        values = np.asarray(columns[column])
        if axis.has_missing:
            values = np.where(np.isnan(values), axis.feature.lower or 0.0, values)
        above = np.minimum.accumulate(entries.above_level[::-1])[::-1]
        below = np.maximum.accumulate(entries.below_level)
        table = IntegerTable.of(axis, values)
        if table is None:
            levels = self.cost.level(column, values)
            find_reach(cells, levels, above, below, budget, lowest, highest)
            return
        own = np.searchsorted(self.grid.thresholds[a], table.values).astype(cells.dtype)
        low, high = own.copy(), own.copy()
        find_reach(own, self.cost.level(column, table.values), above, below, budget, low, high)
        lowest[:], highest[:] = low[table.at], high[table.at]

    def of_person(self, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cost and cheapest value of every cell for one person.

        Parameters
        ----------
        person : float array, one value per encoded column

        Returns
        -------
        costs, values : float arrays (axes x most cells)
            Cost inf and value NaN where the person cannot go. The value of a categorical cell
            is its position. A person's own cell costs nothing and keeps their own value, NaN
            included.
        """
        n_axes, most = len(self.grid.axes), int(self.grid.n_cells.max())
        costs = np.full((n_axes, most), np.inf)
        values = np.full((n_axes, most), np.nan)
        own = self.grid.cells([np.array([value]) for value in person])[:, 0].astype(np.int64)
        for a, (axis, entries, switch) in enumerate(
            zip(self.grid.axes, self.entries, self.switches, strict=True)
        ):
            n, handed = self.grid.n_cells[a] - axis.has_missing, self.handed_in[a]
            if switch is not None:
                n = len(switch)
                costs[a, :n] = switch[own[a]]
                values[a, :n] = np.where(np.isfinite(costs[a, :n]), np.arange(n), np.nan)
            elif own[a] == self.grid.missing_cell[a]:
                costs[a, own[a]] = 0.0
                if handed is not None:
                    costs[a, :n], values[a, :n] = handed.costs, handed.values
            elif entries is not None:
                column = axis.columns[0]
                level = float(self.cost.level(column, np.array([person[column]]))[0])
                cell_costs(own[a], level, entries.above_level, entries.below_level, costs[a, :n])
                values[a, :n] = np.where(np.arange(n) < own[a], entries.below, entries.above)
                values[a, own[a]] = person[column]
        return costs, values


def _levels(cost: FittedCost, column: int, values: np.ndarray, nowhere: float) -> np.ndarray:
    levels = np.full(len(values), nowhere)
    some = ~np.isnan(values)
    levels[some] = cost.level(column, values[some])
    return levels


def _switch_costs(axis: Axis, cost: FittedCost) -> np.ndarray:
    """Cost of leaving one category (row) for another (column)."""
    switch = switch_costs(cost, axis.columns)
    if axis.feature.may_supply:
        switch[-1] = supply_of(axis, cost).cost
    switch[~axis.may_switch()] = np.inf
    np.fill_diagonal(switch, 0.0)
    return switch


def supply_of(axis: Axis, cost: FittedCost) -> Supply:
    """What handing in a missing value costs on an axis that allows it."""
    for supply in getattr(cost, "supply", ()):
        if supply.columns == axis.columns:
            return supply
    raise InvalidSpec(
        f"Feature {axis.feature.name!r} may be supplied, but this cost was learned from a table "
        "in which it may not; learn the cost anew."
    )
