"""A model in the cells of its own thresholds, and what each cell costs each person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from ract._kernels.search.cell_forest import Forest, PointRule
from ract._utils.errors import InvalidSpec
from ract.data.actions import Feature
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.data.prices import supply_of
from ract.recourse.common.search import Limits, Watch, in_parts
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import to_cell_trees

MOST_CATEGORIES = 64
# Costs of cells that are worked out at once (64 MB).
MOST_COSTS = 1 << 23


class CellProblem:
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
        Of the axes, and of more at the end for fixed features with many categories.
    n_features : int
        How many axes were given.
    folded : bool (axes of the grid,)
        Axes of one category each that stand for such features.
    prices : Prices
    categorical : bool (axes,)
    kept : dict of int to int array
        Where cells are left out for one person (``exact.cheapest.Squeeze``): which are not.
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        if cost.norm not in ("max", "l1", "combined"):
            raise InvalidSpec(
                f"A search needs a cost that is the largest effort of its features or their sum "
                f"(norm 'max' or 'l1'); got norm {cost.norm!r}."
            )
        self.ensemble = ensemble
        self.cost = cost
        splits = ensemble.feature >= 0
        column, threshold = ensemble.feature[splits], ensemble.threshold[splits]
        check_categories(axes)
        self.n_features = len(axes)
        self.grid = Grid.from_splits(_narrow(axes, column), column, threshold)
        self.folded = np.array(
            [a >= len(axes) or axis is not axes[a] for a, axis in enumerate(self.grid.axes)]
        )
        self.prices = self.grid.price(cost)
        self.kept: dict[int, np.ndarray] = {}
        self.categorical = np.array([axis.is_categorical for axis in self.grid.axes])

    def with_axes(self, axes: Sequence[Axis]) -> CellProblem:
        """The same model and cost with other rules; those of folded features stay."""
        other, n = copy(self), self.n_features
        pairs = zip(self.grid.axes[:n], axes, self.folded[:n], strict=True)
        given = [old if folded else new for old, new, folded in pairs]
        other.grid = Grid((*given, *self.grid.axes[n:]), self.grid.thresholds)
        other.prices = other.grid.price(self.cost)
        return other

    @property
    def stepped(self) -> tuple[int, ...]:
        """The axes on which cells may hold no value that a person can take."""
        axes = enumerate(self.grid.axes)
        return tuple(a for a, axis in axes if axis.feature.is_stepped)

    def of_goal(self, ensemble: TreeEnsemble) -> CellProblem:
        """The same problem in the same trees, which must add up to something else."""
        other = copy(self)
        vars(other).pop("rule", None)
        other.ensemble = ensemble
        return other

    def of_values(self, ensemble: TreeEnsemble) -> CellProblem:
        """The same problem in trees of the same splits, whose leaves count something else."""
        other = self.of_goal(ensemble)
        for name in ("forest", "_labels"):
            vars(other).pop(name, None)
        return other

    def released(self) -> CellProblem:
        """The same problem with features free to change either way, within their bounds.

        A fixed feature with many categories stays as it is.
        """
        axes = self.grid.axes[: self.n_features]
        return self.with_axes([replace(a, feature=replace(a.feature, change="any")) for a in axes])

    def cells(self, people: np.ndarray) -> np.ndarray:
        """Cell of each person on each axis, int64 (people x axes)."""
        return np.ascontiguousarray(self.grid.cells(list(people.T)).T.astype(np.int64))

    def costs(self, people: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Cost of every cell for each person (people x axes x most cells); inf beyond the last."""
        return self.prices.costs(people, cells)

    def values(self, people: np.ndarray, cells: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Encoded values of points: the cheapest of each cell that differs from the own one."""
        values, moved = np.array(people, dtype=np.float64), points != cells
        for a in np.flatnonzero(moved.any(axis=0)).tolist():
            axis, rows = self.grid.axes[a], np.flatnonzero(moved[:, a])
            columns, to = list(axis.columns), points[rows, a]
            if axis.is_categorical:
                values[rows[:, None], columns] = to[:, None] == np.arange(len(columns))
            else:
                before = people[rows, columns[0]], cells[rows, a]
                values[rows, columns[0]] = self.prices.value_in(a, *before, to)
        return values

    def values_of(self, person: np.ndarray, start: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Encoded values of one person's point."""
        return self.values(person[None], start[None], point[None])[0]

    def supplied_axes(self, start: np.ndarray, point: np.ndarray) -> list[int]:
        """The ordinal axes on which a person without a value hands one in at a point."""
        missing = self.grid.missing_cell
        return [a for a in self.grid.with_missing if start[a] == missing[a] != point[a]]

    def sensible_cells(self, a: int) -> np.ndarray:
        """Cells that can be supplied on an ordinal axis, nearest to the median known value first.

        For those who ask what to supply, a usual value is easier to grasp than an extreme one.
        """
        supplied = self.prices.supplied[a]
        if supplied is None:  # a question about other rules
            return np.zeros(0, np.int64)
        far = np.abs(supplied.values - supply_of(self.grid.axes[a], self.cost).middle)
        cells = np.argsort(far, kind="stable")[: np.count_nonzero(~np.isnan(far))]
        if a not in self.kept:
            return cells
        return np.searchsorted(self.kept[a], cells[np.isin(cells, self.kept[a])])

    def for_each(
        self,
        search: Callable[[int, np.ndarray, np.ndarray], None],
        people: np.ndarray,
        cells: np.ndarray,
        limits: Limits,
    ) -> np.ndarray:
        """Call a search with every person's number, costs (axes x cells) and stop flag.

        Returns the seconds that each person took.
        """
        size = max(1, MOST_COSTS // int(self.grid.n_cells.max() * len(self.grid.axes)))

        def run(part: range, watch: Watch) -> None:
            for first in part[::size]:
                few = part[first - part.start :][:size]
                here = slice(few.start, few.stop)
                costs = self.costs(people[here], cells[here])
                for i in few:
                    with watch.timing(i) as stop:
                        search(i, costs[i - first], stop)

        return in_parts(run, len(people), limits)

    @cached_property
    def rule(self) -> PointRule:
        """When a point is desired; the weights are those of the forest's labels."""
        ensemble, nothing = self.ensemble, np.zeros(0)
        cutoff = float(ensemble.cutoff)
        if ensemble.combine == "votes":
            return PointRule(np.array([0.0, 1.0]), nothing, 0.0, 0.0, False, 1.0, cutoff, True)
        divisor = float(ensemble.n_trees) if ensemble.combine == "mean" else 1.0
        base = float(np.float32(ensemble.base) if ensemble.single else ensemble.base)
        _, weight, against = self._labels[0].T
        if ensemble.against is None:
            against = nothing
        weight, against = np.ascontiguousarray(weight), np.ascontiguousarray(against)
        ahead, single = ensemble.least_ahead, ensemble.single
        return PointRule(weight, against, ahead, base, single, divisor, cutoff, True)

    @property
    def bounding(self) -> PointRule:
        """The rule by which points are ruled out: by one class among several, the difference."""
        if not self.ensemble.among_several:
            return self.rule
        ahead = np.ascontiguousarray(self._labels[0][:, 0])
        return self.rule._replace(weight=ahead, against=np.zeros(0))

    @cached_property
    def _labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct values of leaves by what bounds them, ascending, and which each node has."""
        value, against = self.ensemble.value, self.ensemble.against
        against = np.zeros(len(value)) if against is None else against
        ahead = value - against if self.ensemble.among_several else value
        distinct, label = np.unique(
            np.stack([ahead, value, against], axis=1), axis=0, return_inverse=True
        )
        return distinct, label.ravel()

    @cached_property
    def forest(self) -> Forest:
        """The trees in cells, for kernels."""
        trees, ensemble = to_cell_trees(self.ensemble, self.grid), self.ensemble
        label = ensemble.label if ensemble.combine == "votes" else self._labels[1]
        goes = ensemble.missing_left
        return Forest(
            np.concatenate([tree.axis for tree in trees]),
            np.concatenate([tree.cell for tree in trees]),
            ensemble.left.astype(np.int32),
            ensemble.right.astype(np.int32),
            ensemble.parent,
            label.astype(np.int32),
            np.zeros(len(label), np.int32) if goes is None else goes.astype(np.int32),
            ensemble.root.astype(np.int32),
            np.where(self.categorical, -1, self.grid.missing_cell),
        )


def check_categories(axes: Sequence[Axis]) -> None:
    """Refuse features that may change and have more categories than a search can take."""
    for axis in axes:
        feature, n = axis.feature, len(axis.columns)
        may_change = feature.actionable or feature.may_supply
        if axis.is_categorical and may_change and n > MOST_CATEGORIES:
            raise InvalidSpec(
                f"Feature {feature.name!r} has {n} categories and may change; the search takes at "
                f"most {MOST_CATEGORIES}. Group the rare ones, or declare the feature fixed."
            )


def _narrow(axes: Sequence[Axis], split: np.ndarray) -> list[Axis]:
    """The axes, with a 0/1 axis for each category of those that have too many for a word.

    They are fixed, so that a person's categories are known. The axis of the first category takes
    the place of the feature, those of others that are split on come at the end.
    """
    narrow, more = list(axes), []
    for a, axis in enumerate(axes):
        if axis.is_categorical and len(axis.columns) > MOST_CATEGORIES:
            feature = Feature(axis.feature.name, "binary", "fixed", weight=axis.feature.weight)
            narrow[a] = Axis(feature, axis.columns[:1])
            more += [Axis(feature, (j,)) for j in axis.columns[1:] if j in split]
    return narrow + more
