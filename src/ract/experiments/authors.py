"""Trees and forests grown by the rules of the paper's authors.

Beyond the tie rules that ``criterion="error"`` has: thresholds lie between the values of each
tree's own bootstrap sample; one-hot columns are features of their own; an even vote goes to the
desired class; and who attains a node follows ``authors_reach``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ract._core.grower import CellTree, People, Rules, grow_tree
from ract._training import people_on
from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.grid import MOST_CELLS, Grid


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
        self._columns = [np.ascontiguousarray(column) for column in matrix.T]
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
        columns = [column[drawn] for column in self._columns]
        grid = Grid.from_columns(self._axes_for(wanted), columns, MOST_CELLS)
        people = people_on(
            grid, self._cost, columns, self._desired[drawn], wanted.budget,
            with_reach=with_reach or wanted.recourse_weight > 0,
        )  # fmt: skip
        rules = Rules(
            recourse_weight=wanted.recourse_weight,
            criterion="error",
            max_depth=wanted.max_depth,
            max_features=n_features,
            authors_reach=True,
        )
        return Grown(grow_tree(people, weights, rules, seed), grid, people)
