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

from ract._utils.status import Status
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.recourse.common.outcomes import ActionBox, PersonOutcomes, Reached
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.decide import Model, ModelDescent
from ract.trees.ensemble import TreeEnsemble

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
        self._problem = problem = CellProblem(
            ensemble, [_loosened(a, receives) for a in axes], cost
        )
        self._model = Model.of(problem)
        self._model.simplified  # noqa: B018  worked out once, before threads ask for it

    def solve(
        self, outcomes: PersonOutcomes, box: ActionBox, cap: float, stop: np.ndarray
    ) -> tuple[float, np.ndarray | None]:
        """What an action within a box costs at least, and a point that suggests one.

        Parameters
        ----------
        outcomes : PersonOutcomes
            Of the person.
        box : ActionBox
            Actions to consider.
        cap : float
            Largest cost that is of interest, finite.
        stop : uint8 (1,)
            Set when the time is up.

        Returns
        -------
        bound : float
            Infinite if no action within the box costs at most ``cap``.
        point : float (columns,), or None
            Desired, but not necessarily an outcome.
        """
        reached = outcomes.reached(box, cap, STEPS)
        if not len(reached.costs):
            return np.inf, None
        priced = np.append(np.maximum(reached.costs - cap / STEPS, 0.0), np.inf)
        start, costs = self._prices(outcomes, box, reached, priced)
        person = ModelDescent(self._model, start, costs, len(start), stop)
        found = person.cheapest(cap, MOST_NODES)
        if found.status == Status.NONE:
            return np.inf, None
        bound = max(found.bound, float(priced[0]))
        return bound, None if found.point is None else self._values(outcomes, found.point)

    def _prices(
        self, outcomes: PersonOutcomes, box: ActionBox, reached: Reached, priced: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A cell of each axis that costs nothing, and what every cell costs from there."""
        grid = self._problem.grid
        start = np.zeros(len(grid.axes), np.int64)
        costs = np.full((len(start), int(grid.n_cells.max())), np.inf)
        choices = zip(outcomes.choices, box.categories, strict=True)
        for a, axis in enumerate(grid.axes):
            n = int(grid.n_cells[a])
            cell = np.arange(n)
            if axis.is_categorical:
                choice, allowed = next(choices)
                costs[a, :n] = np.where(allowed, choice.price, np.inf)
                start[a] = int(np.argmin(costs[a, :n]))
                continue
            column, cuts = axis.columns[0], grid.thresholds[a]
            top = np.searchsorted(cuts, reached.high[:, column])
            bottom = np.searchsorted(cuts, reached.low[:, column])
            here = int(np.searchsorted(cuts, outcomes.person[column]))
            start[a] = min(max(here, int(bottom[0])), int(top[0]))
            above, below = np.searchsorted(top, cell), np.searchsorted(-bottom, -cell)
            costs[a, :n] = priced[np.where(cell > start[a], above, below)]
            costs[a, start[a]] = 0.0
        return start, costs

    def _values(self, outcomes: PersonOutcomes, point: np.ndarray) -> np.ndarray:
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
