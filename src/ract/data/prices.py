"""A grid under a cost: what people can do, read by learner and searches alike.

For any person the price list knows the cheapest value that they attain in each cell and what it
costs. The rules themselves are those of ``ract.Feature``: a box per person and
feature (``Feature.box``), the intersection of bounds, direction and limits, of which the budget
leaves a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ract._kernels.cells import find_reach
from ract._kernels.steps import find_landings
from ract._utils.errors import InvalidSpec
from ract._utils.validation import AMOUNT, check_value
from ract.data.actions.steps import decade_table, first_multiple
from ract.data.costs import FittedCost, Supply, ceiling, require_max_norm
from ract.data.costs.supply import switch_costs
from ract.data.encoder import Axis

if TYPE_CHECKING:
    from ract.data.grid import Grid

Columns = Sequence[np.ndarray]


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
class SuppliedValues:
    """What people without a value may supply on an ordinal axis.

    ``values`` has the value of each ordered cell that is nearest to the median known value, NaN
    where no value is allowed.
    """

    cost: float
    values: np.ndarray

    @property
    def costs(self) -> np.ndarray:
        """What supplying a value of each ordered cell costs; inf where none is allowed."""
        return np.where(np.isnan(self.values), np.inf, self.cost)


@dataclass(frozen=True)
class Reach:
    """What people attain within a budget.

    Parameters
    ----------
    lowest, highest : integer arrays (axes x people)
        Lowest and highest attainable cell, the person's own included. Of someone without a value
        on an ordinal axis: those that they may supply, beside their own cell; both are their own
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
    supplied: tuple[SuppliedValues | None, ...]

    @classmethod
    def of(cls, grid: Grid, cost: FittedCost) -> Prices:
        """What each cell costs, for any person, under a cost."""
        axes = list(enumerate(grid.axes))
        return cls(
            grid,
            cost,
            tuple(None if axis.is_categorical else _entries(grid, a, cost) for a, axis in axes),
            tuple(_switch_costs(axis, cost) if axis.is_categorical else None for _, axis in axes),
            tuple(_supplied_values(grid, a, cost) for a, _ in axes),
        )

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

    @cached_property
    def _ends(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """First and last value of each cell of every ordinal axis; nothing of others."""
        nothing = np.zeros(0), np.zeros(0)
        axes = enumerate(self.entries)
        return tuple(nothing if entries is None else self.grid.ends(a) for a, entries in axes)

    def reach(self, columns: Columns, cells: np.ndarray, budget: float) -> Reach:
        """What every person attains at a cost of at most ``budget`` in each feature.

        Parameters
        ----------
        columns : sequence of float arrays, one per encoded column
        cells : integer array (axes x people), from ``Grid.cells``
        budget : float
        """
        require_max_norm(self.cost)
        check_value("budget", budget, AMOUNT)
        most = ceiling(budget)
        lowest, highest = cells.copy(), cells.copy()
        categories: list[np.ndarray | None] = []
        for a, (axis, entries, switch) in enumerate(
            zip(self.grid.axes, self.entries, self.switches, strict=True)
        ):
            categories.append(None if switch is None else switch <= most)
            if entries is None:
                continue
            if axis.feature.actionable:
                lowest[a], highest[a] = self._reach(a, columns, cells[a], most)
            if axis.has_missing:
                missing = cells[a] == self.grid.missing_cell[a]
                lowest[a, missing], highest[a, missing] = self._supplied_ends(a, most)
        return Reach(lowest, highest, tuple(categories))

    def _supplied_ends(self, a: int, most: float) -> tuple[int, int]:
        """Lowest and highest cell that people without a value may supply on an ordinal axis."""
        supplied, missing_cell = self.supplied[a], int(self.grid.missing_cell[a])
        inside = np.flatnonzero(supplied.costs <= most) if supplied is not None else np.zeros(0)
        return (int(inside[0]), int(inside[-1])) if len(inside) else (missing_cell, missing_cell)

    def _reach(
        self, a: int, columns: Columns, cells: np.ndarray, most: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest cell that everyone attains on an ordinal axis."""
        axis = self.grid.axes[a]
        values = np.asarray(columns[axis.columns[0]])
        if axis.has_missing:
            values = np.where(np.isnan(values), axis.feature.lower or 0.0, values)
        table = IntegerTable.of(axis, values)
        if table is None:
            return self._reach_on(a, values, cells, most)
        own = np.searchsorted(self.grid.thresholds[a], table.values).astype(cells.dtype)
        lowest, highest = self._reach_on(a, table.values, own, most)
        return lowest[table.at], highest[table.at]

    def _reach_on(
        self, a: int, values: np.ndarray, cells: np.ndarray, most: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest cell that people with some values attain on an ordinal axis."""
        axis, entries = self.grid.axes[a], self.entries[a]
        assert entries is not None
        lowest, highest = cells.copy(), cells.copy()
        above = np.minimum.accumulate(entries.above_level[::-1])[::-1]
        below = np.maximum.accumulate(entries.below_level)
        levels = self.cost.level(axis.columns[0], values)
        find_reach(cells, levels, above, below, most, lowest, highest)
        if axis.feature.is_limited:
            low, high = axis.feature.box(values)
            above = np.fmin.accumulate(np.append(entries.above, np.inf)[::-1])[:0:-1]
            below = np.fmax.accumulate(np.insert(entries.below, 0, -np.inf))[1:]
            last = np.searchsorted(above, high, side="right") - 1
            first = np.searchsorted(below, low)
            highest = np.maximum(np.minimum(highest, last), cells).astype(cells.dtype)
            lowest = np.minimum(np.maximum(lowest, first), cells).astype(cells.dtype)
        if axis.feature.is_stepped:
            highest = self._back_to_step(a, values, cells, highest, most)
            lowest = self._back_to_step(a, values, cells, lowest, most)
        return lowest, highest

    def _back_to_step(
        self, a: int, values: np.ndarray, cells: np.ndarray, ends: np.ndarray, most: float
    ) -> np.ndarray:
        """From ends of what is in reach back home to the first cell with a round target.

        Cells between without one count as reached: training takes reach as an interval.
        """
        ends, column = ends.astype(np.int64), self.grid.axes[a].columns[0]
        level, away = self.cost.level(column, values), np.flatnonzero(ends != cells)
        while len(away):
            landed = self._landed(a, values[away], cells[away], ends[away])
            known = ~np.isnan(landed)
            near = np.zeros(len(away), bool)
            cost = np.abs(self.cost.level(column, landed[known]) - level[away[known]])
            near[known] = cost <= most
            away = away[~near]
            ends[away] -= np.sign(ends[away] - cells[away])
            away = away[ends[away] != cells[away]]
        return ends.astype(cells.dtype)

    def _landed(self, a: int, values: np.ndarray, cells: np.ndarray, to: np.ndarray) -> np.ndarray:
        """The cheapest round target of people in another cell each; NaN without one."""
        feature, (first, last) = self.grid.axes[a].feature, self._ends[a]
        low, high = feature.box(values)
        first, last = np.maximum(low, first[to]), np.minimum(high, last[to])
        landed, table = np.empty(len(to)), decade_table(feature.step or 0.0)
        find_landings(np.ascontiguousarray(values), first, last, to > cells, table, landed)
        return landed

    def costs(self, people: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Cost of every cell for each person (people x axes x most cells).

        inf where the person cannot go, and beyond the last cell.

        Parameters
        ----------
        people : float (people, columns)
        cells : int (people, axes)
        """
        grid, own = self.grid, cells[:, :, None]
        above, below = self.levels
        level = np.zeros((len(people), len(grid.axes), 1))
        for a, axis in enumerate(grid.axes):
            if not axis.is_categorical:
                column = axis.columns[0]
                level[:, a, 0] = self.cost.level(column, people[:, column])
        costs = level - below
        np.subtract(above, level, out=costs, where=np.arange(above.shape[1]) > own)
        np.put_along_axis(costs, own, 0.0, axis=2)
        for a, entries in enumerate(self.entries):
            feature = grid.axes[a].feature
            if entries is None or not (feature.is_limited or feature.is_stepped):
                continue
            if not feature.actionable:  # what nobody enters has no price already
                continue
            n, column = len(entries.above), grid.axes[a].columns[0]
            entered = self.entered(a, people[:, column], cells[:, a])
            if feature.is_stepped:
                costs[:, a, :n] = np.abs(_levels(self.cost, column, entered) - level[:, a])
            costs[:, a, :n][np.isnan(entered)] = np.inf
        for a, switch in enumerate(self.switches):
            if switch is not None:
                costs[:, a, : grid.n_cells[a]] = switch[cells[:, a]]
        for a in grid.with_missing:
            n, supplied = grid.missing_cell[a], self.supplied[a]
            costs[cells[:, a] == n, a, :n] = np.inf if supplied is None else supplied.costs
        return costs

    def entered(self, a: int, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The cheapest value of each ordered cell of an ordinal axis, for each of some people.

        NaN where the person cannot go, whatever it costs; in their own cell their own value.

        Parameters
        ----------
        a : int
        values : float (people,)
            Their own values; of those without one, what they may supply.
        cells : int (people,)
            Their own cells.
        """
        entries, feature, supplied = self.entries[a], self.grid.axes[a].feature, self.supplied[a]
        assert entries is not None
        cell, here = np.arange(len(entries.above)), cells[:, None]
        if feature.is_stepped:
            entered = np.full((len(values), len(cell)), np.nan)
            ways = ((cell > here) & feature.may_rise) | ((cell < here) & feature.may_fall)
            who, to = np.nonzero(ways & ~np.isnan(values)[:, None])
            entered[who, to] = self._landed(a, values[who], cells[who], to)  # within limits
        else:
            entered = np.where(cell > here, entries.above, entries.below)
        if feature.is_limited and not feature.is_stepped:
            low, high = (end[:, None] for end in feature.box(values))
            entered[(entered < low) | (entered > high)] = np.nan
        if self.grid.axes[a].has_missing:
            lacking = cells == self.grid.missing_cell[a]
            entered[lacking] = np.nan if supplied is None else supplied.values
        return np.where(cell == here, values[:, None], entered)

    def value_in(self, a: int, values: np.ndarray, cells: np.ndarray, to: np.ndarray) -> np.ndarray:
        """What ``entered`` holds of one cell for each person, which they can enter.

        to : int (people,)
            Cells other than their own.
        """
        entries, supplied = self.entries[a], self.supplied[a]
        assert entries is not None
        lacking = cells == self.grid.missing_cell[a]
        if self.grid.axes[a].feature.is_stepped:
            entered = self._landed(a, values, cells, to)
        else:
            entered = np.where(to > cells, entries.above[to], entries.below[to])
        if lacking.any():
            entered[lacking] = np.nan if supplied is None else supplied.values[to[lacking]]
        return entered

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
        cells = self.grid.cells([np.array([value]) for value in person])[:, 0].astype(np.int64)
        costs = self.costs(person[None], cells[None])[0]
        values = np.full(costs.shape, np.nan)
        for a, axis in enumerate(self.grid.axes):
            n = int(self.grid.n_cells[a]) - axis.has_missing
            if axis.is_categorical:
                n = len(axis.columns)
                values[a, :n] = np.where(np.isfinite(costs[a, :n]), np.arange(n), np.nan)
            else:
                values[a, :n] = self.entered(a, person[[axis.columns[0]]], cells[[a]])[0]
        return costs, values


def _entries(grid: Grid, a: int, cost: FittedCost) -> Entries:
    """The value at which each cell of an ordinal axis is entered from below and from above."""
    feature, column = grid.axes[a].feature, grid.axes[a].columns[0]
    (above, below), (lower, upper) = grid.ends(a), feature.bounds
    empty = above > below
    # Nobody comes from below into the first cell, nor from above into the last.
    above[empty | np.isinf(above) | (above > upper) | (not feature.may_rise)] = np.nan
    below[empty | np.isinf(below) | (below < lower) | (not feature.may_fall)] = np.nan
    above_level, below_level = (_levels(cost, column, end) for end in (above, below))
    above_level[np.isnan(above)], below_level[np.isnan(below)] = np.inf, -np.inf
    return Entries(above, above_level, below, below_level)


def _supplied_values(grid: Grid, a: int, cost: FittedCost) -> SuppliedValues | None:
    """What people without a value may supply on an axis; None for nothing, or on categories."""
    axis = grid.axes[a]
    if axis.is_categorical or not axis.feature.may_supply:
        return None
    supply = supply_of(axis, cost)
    middle = supply.middle
    if axis.feature.kind != "continuous":
        middle = np.floor(middle + 0.5)
    lowest, highest = grid.span(a, np.nan)
    values = np.clip(middle, lowest, highest)  # NaN where none is allowed
    if axis.feature.is_stepped:
        values = _nearest_multiple(values, lowest, highest, axis.feature.step or 0.0)
    return SuppliedValues(supply.cost, values)


def _nearest_multiple(
    values: np.ndarray, lowest: np.ndarray, highest: np.ndarray, step: float
) -> np.ndarray:
    """The multiples of a step within some ends that are nearest to values; NaN without one."""
    unit = Fraction(repr(step))
    above, below = first_multiple(values, unit), -first_multiple(-values, unit)
    up, down = above <= highest, below >= lowest
    nearer = np.where(up & (~down | (above - values <= values - below)), above, below)
    return np.where(up | down, nearer, np.nan)


def _levels(cost: FittedCost, column: int, values: np.ndarray) -> np.ndarray:
    """Levels of values; NaN where there is none."""
    levels = np.full(values.shape, np.nan)
    known = ~np.isnan(values)
    levels[known] = cost.level(column, values[known])
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
    """What supplying a missing value costs on an axis that allows it."""
    for supply in getattr(cost, "supply", ()):
        if supply.columns == axis.columns:
            return supply
    raise InvalidSpec(
        f"Feature {axis.feature.name!r} may be supplied, but this cost was learned from a table "
        "in which it may not; learn the cost anew."
    )
