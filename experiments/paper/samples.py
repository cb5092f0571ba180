"""The people whom a tree is grown on, in the cells between their own values.

What depends on a value only (its cell, what can be reached from it) is worked out once for each
distinct value; what depends on the sample only is shared by all trees that are grown on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import CellTree, People


@dataclass(frozen=True)
class Column:
    """A column as its distinct values, ascending, and which of them everyone has."""

    values: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, column: np.ndarray) -> Column:
        """Take a column apart."""
        values, codes = np.unique(column, return_inverse=True)
        return cls(values, codes)

    def among(self, drawn: np.ndarray) -> Column:
        """The same of some people only."""
        codes = self.codes[drawn]
        taken = np.zeros(len(self.values), np.bool_)
        taken[codes] = True
        return Column(self.values[taken], (np.cumsum(taken) - 1)[codes])

    @property
    def thresholds(self) -> np.ndarray:
        """Midpoints between consecutive values."""
        return self.values[:-1] + (self.values[1:] - self.values[:-1]) / 2


class Sample:
    """Some of the training people, each distinct value in a cell of its own.

    Parameters
    ----------
    columns : sequence of Column
        Of all training people.
    axes : sequence of Axis
        Ordinal ones, one for each column.
    desired : uint8 (people,)
    cost : FittedCost
    drawn : int
        Positions of the sample.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        axes: Sequence[Axis],
        desired: np.ndarray,
        cost: FittedCost,
        drawn: np.ndarray,
    ) -> None:
        self.axes, self._cost, self._desired = tuple(axes), cost, desired[drawn]
        self._columns = [column.among(drawn) for column in columns]
        self._n_cells = np.array([len(column.values) for column in self._columns])
        self._cells = np.empty(
            (len(axes), len(drawn)), np.min_scalar_type(int(self._n_cells.max()) - 1)
        )  # fmt: skip
        for a, column in enumerate(self._columns):
            self._cells[a] = column.codes
        self._reach: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def people(self, rows: np.ndarray, budget: float | None) -> People:
        """These people on some of the axes, with what they reach if there is a budget."""
        lowest = highest = self._cells
        if budget is not None:
            lowest, highest = self.reach(budget)
        nothing = (None,) * len(rows)
        return People(
            self._cells[rows], lowest[rows], highest[rows], self._n_cells[rows], nothing,
            self._desired,
        )  # fmt: skip

    def reach(self, budget: float) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest cell that everyone attains on every axis (axes, people)."""
        if budget not in self._reach:
            lowest, highest = self._cells.copy(), self._cells.copy()
            for a, (axis, column) in enumerate(zip(self.axes, self._columns, strict=True)):
                if axis.feature.actionable:
                    low, high = _reach(axis, column, self._cost, budget)
                    lowest[a], highest[a] = low[column.codes], high[column.codes]
            self._reach[budget] = lowest, highest
        return self._reach[budget]

    def ensemble(self, tree: CellTree, rows: np.ndarray) -> TreeEnsemble:
        """A tree that was grown on some of the axes, as a model of the columns."""
        cuts = [self._columns[a].thresholds for a in rows]
        first = np.cumsum([0, *map(len, cuts)])
        inside = tree.axis >= 0
        feature, threshold = np.full(len(tree.axis), -1, np.int32), np.zeros(len(tree.axis))
        feature[inside] = np.array([self.axes[a].columns[0] for a in rows])[tree.axis[inside]]
        threshold[inside] = np.concatenate(cuts)[first[tree.axis[inside]] + tree.cell[inside]]
        return TreeEnsemble(
            feature, threshold, tree.left, tree.right, tree.label, tree.share,
            np.zeros(1, np.int32), "votes", 1,
        )  # fmt: skip


def _reach(
    axis: Axis, column: Column, cost: FittedCost, budget: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest cell that someone with each value attains within a budget."""
    grid = Grid((axis,), (column.thresholds,))
    own = np.arange(len(column.values)).astype(grid.dtype)[None]
    reach = grid.price(cost).reach(_Only(axis.columns[0], column.values), own, budget)
    return reach.lowest[0], reach.highest[0]


@dataclass(frozen=True)
class _Only(Sequence[np.ndarray]):
    """Columns of which only one is ever asked for."""

    column: int
    values: np.ndarray

    def __len__(self) -> int:
        return self.column + 1

    def __getitem__(self, index: Any) -> Any:
        return self.values
