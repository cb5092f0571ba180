"""Trees and forests grown by the rules of the paper's authors.

Beyond the tie rules that ``criterion="error"`` has: thresholds lie between the values of each
tree's own bootstrap sample; one-hot columns are features of their own; an even vote goes to the
desired class; and who attains a node follows ``authors_reach``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ract._core.grower import CellTree, People, Rules, grow_tree
from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.grid import Grid


@dataclass(frozen=True)
class Growth:
    """What is wanted of a tree or a forest."""

    recourse_weight: float
    budget: float
    max_depth: int
    only_actionable: bool = False


@dataclass(frozen=True)
class Grown:
    """A tree with the grid and the people that it was grown on."""

    tree: CellTree
    grid: Grid
    people: People

    def ensemble(self, label: np.ndarray | None = None) -> TreeEnsemble:
        """The tree as a model, perhaps with other labels."""
        model = TreeEnsemble.from_cell_trees([self.tree], self.grid, votes_needed=1)
        return model if label is None else replace(model, label=label)


class Nursery:
    """Training people, ready to be grown on.

    Parameters
    ----------
    matrix : float (people, columns)
    desired : bool (people,)
    axes : sequence of Axis
        One for each column.
    cost : FittedCost
    """

    def __init__(
        self, matrix: np.ndarray, desired: np.ndarray, axes: Sequence[Axis], cost: FittedCost
    ) -> None:
        self._columns = [_Column.of(column) for column in matrix.T]
        self._desired = desired.astype(np.uint8)
        self._axes, self._cost = tuple(axes), cost

    def tree(self, wanted: Growth, *, with_reach: bool = False) -> Grown:
        """One tree on everyone, with all features at every split."""
        n_people = len(self._desired)
        return self._grow(wanted, np.arange(n_people), np.ones(n_people), None, 0, with_reach)

    def forest(self, wanted: Growth, n_trees: int, seed: int) -> TreeEnsemble:
        """A forest of trees on bootstrap samples, with a few features at every split."""
        rng, n_people = np.random.default_rng(seed), len(self._desired)
        n_features = int(np.sqrt(len(self._axes_for(wanted))))
        parts = []
        for _ in range(n_trees):
            times = np.bincount(rng.integers(n_people, size=n_people), minlength=n_people)
            drawn = np.flatnonzero(times)
            grown = self._grow(
                wanted, drawn, times[drawn].astype(np.float64), n_features,
                int(rng.integers(2**31)), with_reach=False,
            )  # fmt: skip
            parts.append(grown.ensemble())
        return TreeEnsemble.joined(parts, votes_needed=n_trees // 2)

    def _axes_for(self, wanted: Growth) -> tuple[Axis, ...]:
        if not wanted.only_actionable:
            return self._axes
        return tuple(axis for axis in self._axes if axis.feature.actionable)

    def _grow(
        self,
        wanted: Growth,
        drawn: np.ndarray,
        weights: np.ndarray,
        n_features: int | None,
        seed: int,
        with_reach: bool,
    ) -> Grown:
        axes = self._axes_for(wanted)
        samples = [self._columns[axis.columns[0]].among(drawn) for axis in axes]
        grid = Grid(axes, tuple(sample.thresholds for sample in samples))
        cells = _stacked(grid, [sample.cells for sample in samples], samples)
        lowest = highest = cells
        if with_reach or wanted.recourse_weight > 0:
            ends = [
                _reach(axis, sample, self._cost, wanted.budget)
                for axis, sample in zip(axes, samples, strict=True)
            ]
            lowest = _stacked(grid, [low for low, _ in ends], samples)
            highest = _stacked(grid, [high for _, high in ends], samples)
        nothing = (None,) * len(axes)
        people = People(cells, lowest, highest, grid.n_cells, nothing, self._desired[drawn])
        rules = Rules(
            recourse_weight=wanted.recourse_weight,
            criterion="error",
            max_depth=wanted.max_depth,
            max_features=n_features,
            authors_reach=True,
        )
        return Grown(grow_tree(people, weights, rules, seed), grid, people)


@dataclass(frozen=True)
class _Column:
    """A column as its distinct values, ascending, and which of them everyone has."""

    values: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, column: np.ndarray) -> _Column:
        values, codes = np.unique(column, return_inverse=True)
        return cls(values, codes.astype(np.int32))

    def among(self, drawn: np.ndarray) -> _Sample:
        """The same of some people only."""
        codes = self.codes[drawn]
        taken = np.zeros(len(self.values), np.bool_)
        taken[codes] = True
        cells = np.cumsum(taken) - 1
        return _Sample(self.values[taken], cells[codes])


@dataclass(frozen=True)
class _Sample:
    """Distinct values of a sample, which are its cells, and the cell of everyone in it."""

    values: np.ndarray
    at: np.ndarray

    @property
    def thresholds(self) -> np.ndarray:
        """Midpoints between consecutive values."""
        return self.values[:-1] + (self.values[1:] - self.values[:-1]) / 2

    @property
    def cells(self) -> np.ndarray:
        """The cell of each value."""
        return np.arange(len(self.values))


def _stacked(grid: Grid, by_value: list[np.ndarray], samples: list[_Sample]) -> np.ndarray:
    """Cells of everyone (axes, people), from the cell that goes with each value."""
    out = np.empty((len(samples), len(samples[0].at)), grid.dtype)
    for a, (of_value, sample) in enumerate(zip(by_value, samples, strict=True)):
        np.take(of_value.astype(grid.dtype), sample.at, out=out[a])
    return out


def _reach(
    axis: Axis, sample: _Sample, cost: FittedCost, budget: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest cell that someone with each value attains within a budget."""
    grid = Grid((axis,), (sample.thresholds,))
    columns = _Only(axis.columns[0], sample.values)
    reach = grid.price(cost).reach(columns, sample.cells.astype(grid.dtype)[None], budget)
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
