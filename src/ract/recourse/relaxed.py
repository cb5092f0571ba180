"""A lower bound on causal recourse: the exact search over a box around the outcomes.

If every feature could be anywhere in the range that actions and effects of a given cost leave to
it, regardless of the other features, the problem would be one of cells and prices, which the
exact search solves. Its answer costs at most what the real one does; and where it says that there
is none, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ract._kernels import solve as kernel
from ract._kernels.cell_forest import DESIRED, MIXED
from ract._kernels.solve import NONE, PriceList
from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.recourse.outcomes import Limits, Outcomes, Reached
from ract.recourse.problem import Problem

# Costs at which boxes are looked at; a cell counts at the last cost that does not reach it.
STEPS = 64
# Of the exact search, each time: what takes longer is better spent on splitting.
MOST_NODES = 100


class Relaxation:
    """The bound for an ensemble that decides by votes.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
    receives : bool (columns,)
        Columns that effects may change: whole numbers need not stay whole in them.
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        axes: Sequence[Axis],
        cost: FittedCost,
        receives: np.ndarray,
    ) -> None:
        self._problem = problem = Problem(ensemble, [_loosened(a, receives) for a in axes], cost)
        verdicts, self._forest = kernel.simplify(
            problem.forest, problem.grid.n_cells, problem.categorical
        )
        self._members = np.ones(int((verdicts == MIXED).sum()), np.bool_)
        self._needed = int(ensemble.cutoff) - int((verdicts == DESIRED).sum())

    def solve(
        self, outcomes: Outcomes, limits: Limits, cap: float
    ) -> tuple[float, np.ndarray | None]:
        """What an action within the limits costs at least, and a point that suggests one.

        Parameters
        ----------
        outcomes : Outcomes
            Of the person.
        limits : Limits
            Actions to consider.
        cap : float
            Largest cost that is of interest, finite.

        Returns
        -------
        bound : float
            Infinite if no action within the limits costs at most ``cap``.
        point : float (columns,), or None
            Desired, but not necessarily an outcome.
        """
        reached = outcomes.reached(limits, cap, STEPS)
        if not len(reached.costs):
            return np.inf, None
        priced = np.append(np.maximum(reached.costs - cap / STEPS, 0.0), np.inf)
        own, prices = self._prices(outcomes, limits, reached, priced)
        point, numbers = own.copy(), np.empty(4)
        grid = self._problem.grid
        kernel.solve(
            self._forest, self._members, self._needed, own, np.zeros(len(own)), prices,
            grid.n_cells, self._problem.categorical, cap, MOST_NODES, point, numbers,
        )  # fmt: skip
        if numbers[0] == NONE:
            return np.inf, None
        bound = max(float(numbers[2]), float(priced[0]))
        return bound, self._values(outcomes, point) if np.isfinite(numbers[1]) else None

    def _prices(
        self, outcomes: Outcomes, limits: Limits, reached: Reached, priced: np.ndarray
    ) -> tuple[np.ndarray, PriceList]:
        """A cell of each axis that costs nothing, and the prices of all others from there."""
        grid = self._problem.grid
        own, start = np.zeros(len(grid.axes), np.int64), np.zeros(len(grid.axes), np.int64)
        above, below, switch = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        n_ordinal = n_switch = group = 0
        for a, axis in enumerate(grid.axes):
            n = int(grid.n_cells[a])
            if axis.is_categorical:
                here, table = outcomes.own[group], outcomes.moves.switches[group]
                row = np.where(limits.categories[group], table[here], np.inf)
                own[a], start[a] = int(np.argmin(row)), n_switch
                switch.append(np.tile(row, n))
                n_switch, group = n_switch + n * n, group + 1
                continue
            column, start[a] = axis.columns[0], n_ordinal
            cuts = grid.thresholds[a]
            top = np.searchsorted(cuts, reached.high[:, column])
            bottom = np.searchsorted(cuts, reached.low[:, column])
            cell = int(np.searchsorted(cuts, outcomes.person[column]))
            own[a] = min(max(cell, int(bottom[0])), int(top[0]))
            above.append(priced[np.searchsorted(top, np.arange(n))])
            below.append(-priced[np.searchsorted(-bottom, -np.arange(n))])
            n_ordinal += n
        parts = (np.concatenate(part) for part in (above, below, switch))
        return own, PriceList(start, *parts)

    def _values(self, outcomes: Outcomes, point: np.ndarray) -> np.ndarray:
        """A value in each cell of a point; the person's own where it is in the cell."""
        values = outcomes.person.copy()
        grid = self._problem.grid
        for a, (axis, cuts) in enumerate(zip(grid.axes, grid.thresholds, strict=True)):
            column = axis.columns[0]
            if axis.is_categorical:
                values[list(axis.columns)] = np.arange(len(axis.columns)) == point[a]
            elif point[a] == np.searchsorted(cuts, values[column]):
                continue
            elif point[a] < len(cuts):
                values[column] = cuts[point[a]]
            else:
                whole = axis.feature.kind != "continuous"
                values[column] = cuts[-1] + 1 if whole else np.nextafter(cuts[-1], np.inf)
        return values


def _loosened(axis: Axis, receives: np.ndarray) -> Axis:
    """The axis in a grid that takes any real value of a feature that effects may change."""
    if axis.is_categorical or not receives[axis.columns[0]]:
        return axis
    return Axis(replace(axis.feature, kind="continuous"), axis.columns)
