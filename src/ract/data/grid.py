"""The grid: every question of recourse is asked of axis-aligned cells.

A grid cuts each feature into cells: intervals between thresholds, or categories. A feature with
missing values has one cell more, the last one, for people without a value. With a cost it
becomes a price list (``ract.data.prices``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ract._kernels.cells import add_category, find_cells
from ract._utils.validation import check_value, whole
from ract.data.actions.steps import first_above, last_below
from ract.data.costs import FittedCost
from ract.data.costs.distribution import Distribution
from ract.data.costs.supply import known_values
from ract.data.encoder import Axis
from ract.data.prices import IntegerTable, Prices

Columns = Sequence[np.ndarray]

BINS = whole(2, 65_536)
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
    >>> from ract.data.encoder import Encoder
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
        check_value("max_cells", max_cells, BINS)
        thresholds = []
        for axis in axes:
            if axis.is_categorical:
                thresholds.append(np.empty(0))
                continue
            column, weights = columns[axis.columns[0]], sample_weight
            if axis.has_missing:
                column, weights = known_values(column, sample_weight)
            known = Distribution.of(column, weights)
            thresholds.append(quantile_thresholds(known, max_cells - axis.has_missing))
        return cls(tuple(axes), tuple(thresholds))

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
        thresholds = (
            np.empty(0)
            if axis.is_categorical
            else np.unique(sharp(axis, threshold[column == axis.columns[0]]))
            for axis in axes
        )
        return cls(tuple(axes), tuple(thresholds))

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

    def span(self, a: int, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value in each cell that a person may take on an ordinal axis.

        Parameters
        ----------
        a : int
        value : float
            The person's value; NaN if they have none.

        Returns
        -------
        lowest, highest : float (cells that have values,)
            NaN in cells that the person cannot enter. Of the two, the one nearer to the person's
            own value is round where the feature has steps.

        Examples
        --------
        >>> from ract.data.encoder import Encoder
        >>> axes = Encoder(np.array([[1], [2], [9]])).axes
        >>> Grid.from_splits(axes, np.array([0]), np.array([4.5])).span(0, value=2.0)
        (array([1., 5.]), array([4., 9.]))
        """
        feature = self.axes[a].feature
        lower, upper = feature.limits(value)
        if np.isnan(value):
            lower, upper = feature.bounds if feature.may_supply else (np.inf, -np.inf)
        first, last = self.ends(a)
        lowest, highest = np.maximum(first, lower), np.minimum(last, upper)
        if feature.is_stepped and not np.isnan(value):
            above, below = lowest > value, highest < value
            here, step = np.array([value]), feature.step or 0.0
            lowest[above] = first_above(here, lowest[above], step)
            highest[below] = last_below(here, highest[below], step)
        empty = ~(lowest <= highest)
        lowest[empty] = highest[empty] = np.nan
        return lowest, highest

    def price(self, cost: FittedCost) -> Prices:
        """What each cell costs, for any person, under a cost."""
        return Prices.of(self, cost)


def quantile_thresholds(known: Distribution, max_cells: int) -> np.ndarray:
    """Thresholds midway between distinct values, at quantiles if there are too many."""
    values, reached = known.values, known.reached
    below = np.arange(len(values) - 1)  # every value but the top
    if len(below) >= max_cells:
        ranks = np.arange(1, max_cells) * reached[-1] / max_cells
        below = np.unique(np.minimum(np.searchsorted(reached[:-1], ranks), len(below) - 1))
    low, high = values[below], values[below + 1]
    middle = low / 2 + high / 2
    # Neighbouring floats have no number between them; the lower one separates them too.
    return np.where((middle < high) & (middle >= low), middle, low)


def sharp(axis: Axis, threshold: np.ndarray) -> np.ndarray:
    """Thresholds that say the same: whole numbers where the feature has no others.

    So no cell between two thresholds is without a value.
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    return threshold if axis.feature.kind == "continuous" else np.floor(threshold)
