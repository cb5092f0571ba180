"""The grid: every question of recourse is asked of axis-aligned cells.

A grid cuts each feature into cells: intervals between thresholds, or categories. With a cost it
becomes a price list, which knows the cheapest value that a person attains in each cell and
what it costs. Learner and searches read from it what a person can do, and so agree; the rules
themselves (directions and bounds) are those of ``ract.actions.Feature``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ract._kernels.cells import add_category, cell_costs, find_cells, find_reach
from ract.costs import FittedCost, in_order, require_max_norm
from ract.encoding import Axis
from ract.errors import InvalidSpec

Columns = Sequence[np.ndarray]

MOST_CELLS = 65_536
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
            A column with more distinct values than this is cut at quantiles instead.
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
                else _cut(np.asarray(columns[axis.columns[0]]), max_cells, sample_weight)
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
            Encoded column and threshold of every split.
        """
        return cls(
            tuple(axes),
            tuple(
                np.empty(0)
                if axis.is_categorical
                else np.unique(_sharp(axis, threshold[column == axis.columns[0]]))
                for axis in axes
            ),
        )

    def cells_of_splits(self, a: int, threshold: np.ndarray) -> np.ndarray:
        """Cell b of each threshold of an ordinal axis: x <= threshold is cell <= b."""
        return np.searchsorted(self.thresholds[a], _sharp(self.axes[a], threshold))

    @cached_property
    def n_cells(self) -> np.ndarray:
        """Number of cells of each axis."""
        return np.array(
            [
                len(axis.columns) if axis.is_categorical else len(thresholds) + 1
                for axis, thresholds in zip(self.axes, self.thresholds, strict=True)
            ],
            dtype=np.int64,
        )

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
        table = IntegerTable.of(axis, values)
        if table is not None:
            out[:] = np.searchsorted(self.thresholds[a], table.values).astype(out.dtype)[table.at]
        elif len(values) < MANY_PEOPLE:
            out[:] = np.searchsorted(self.thresholds[a], values)
        else:
            find_cells(values, self.thresholds[a], out)

    def ends(self, a: int) -> tuple[np.ndarray, np.ndarray]:
        """First and last value of each cell of an ordinal axis; infinite where there is none."""
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
            The person's value.

        Returns
        -------
        lowest, highest : float (cells,)
            NaN in cells that the person cannot enter.

        Examples
        --------
        >>> from ract.encoding import Encoder
        >>> axes = Encoder(np.array([[1], [2], [9]])).axes
        >>> Grid.from_splits(axes, np.array([0]), np.array([4.5])).span(0, own=2.0)
        (array([1., 5.]), array([4., 9.]))
        """
        lower, upper = self.axes[a].feature.limits(own)
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
        return Prices(self, cost, tuple(ordinal), tuple(switches))

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
class Reach:
    """What people attain within a budget.

    Parameters
    ----------
    lowest, highest : integer arrays (axes x people)
        Lowest and highest attainable cell, the person's own included.
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
            if entries is not None and axis.feature.actionable:
                self._fill_reach(a, axis, entries, columns, cells[a], budget, lowest[a], highest[a])
        return Reach(lowest, highest, tuple(categories))

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
            is its position. A person's own cell costs nothing and keeps their own value.
        """
        n_axes, most = len(self.grid.axes), int(self.grid.n_cells.max())
        costs = np.full((n_axes, most), np.inf)
        values = np.full((n_axes, most), np.nan)
        own = self.grid.cells([np.array([value]) for value in person])[:, 0].astype(np.int64)
        for a, (axis, entries, switch) in enumerate(
            zip(self.grid.axes, self.entries, self.switches, strict=True)
        ):
            n = self.grid.n_cells[a]
            if switch is not None:
                costs[a, :n] = switch[own[a]]
                values[a, :n] = np.where(np.isfinite(costs[a, :n]), np.arange(n), np.nan)
            elif entries is not None:
                column = axis.columns[0]
                level = float(self.cost.level(column, np.array([person[column]]))[0])
                cell_costs(own[a], level, entries.above_level, entries.below_level, costs[a, :n])
                values[a, :n] = np.where(np.arange(n) < own[a], entries.below, entries.above)
                values[a, own[a]] = person[column]
        return costs, values


@dataclass(frozen=True)
class IntegerTable:
    """The few whole numbers of a column, so that something is worked out once for each.

    values : float (m,), ascending; at : int (people,), where each person's value is.
    """

    values: np.ndarray
    at: np.ndarray

    @classmethod
    def of(cls, axis: Axis, column: np.ndarray) -> IntegerTable | None:
        """None if the column is continuous, or spans more numbers than there are people."""
        if axis.feature.kind == "continuous" or len(column) == 0:
            return None
        low, high = float(column.min()), float(column.max())
        if high - low > len(column):
            return None
        return cls(np.arange(low, high + 1), (column - low).astype(np.intp))


def _cut(column: np.ndarray, max_cells: int, sample_weight: np.ndarray | None) -> np.ndarray:
    """Thresholds midway between distinct values, at quantiles if there are too many."""
    ordered, reached = in_order(column, sample_weight)
    last = np.flatnonzero(ordered[1:] != ordered[:-1])  # last person of each value but the top
    if len(last) >= max_cells:
        ranks = np.arange(1, max_cells) * reached[-1] / max_cells
        last = np.unique(last[np.minimum(np.searchsorted(reached[last], ranks), len(last) - 1)])
    low, high = ordered[last], ordered[last + 1]
    middle = low / 2 + high / 2
    # Neighbouring floats have no number between them; the lower one separates them too.
    return np.where((middle < high) & (middle >= low), middle, low)


def _sharp(axis: Axis, threshold: np.ndarray) -> np.ndarray:
    """Thresholds that say the same: whole numbers where the feature has no others.

    So no cell between two thresholds is without a value.
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    return threshold if axis.feature.kind == "continuous" else np.floor(threshold)


def may_switch(axis: Axis) -> np.ndarray:
    """Whether a person may leave one category (row) for another (column), or stay."""
    source, target = np.indices((len(axis.columns), len(axis.columns)))
    up, down = axis.feature.may_rise, axis.feature.may_fall
    moves = (up & (target > source)) | (down & (target < source))
    if axis.entered is not None:
        moves &= np.isin(target, axis.entered)
    return (source == target) | moves


def _levels(cost: FittedCost, column: int, values: np.ndarray, nowhere: float) -> np.ndarray:
    levels = np.full(len(values), nowhere)
    some = ~np.isnan(values)
    levels[some] = cost.level(column, values[some])
    return levels


def _switch_costs(axis: Axis, cost: FittedCost) -> np.ndarray:
    """Cost of leaving one category (row) for another (column): both columns flip."""
    ends = np.array([0.0, 1.0])
    flip = np.array([float(np.ptp(cost.level(j, ends))) for j in axis.columns])
    if cost.norm == "max":
        switch = np.maximum(flip[:, None], flip[None, :])
    elif cost.norm == "l1":
        switch = flip[:, None] + flip[None, :]
    else:
        switch = np.sqrt(flip[:, None] ** 2 + flip[None, :] ** 2)
    switch[~may_switch(axis)] = np.inf
    np.fill_diagonal(switch, 0.0)
    return switch
