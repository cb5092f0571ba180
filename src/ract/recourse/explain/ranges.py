"""How far the values of a plan may differ: boxes of cells in which everyone is desired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ract._utils.status import Status
from ract.recourse.exact.decide import Model, ModelDescent


@dataclass(frozen=True)
class Certifier:
    """Proves that every point of a box of cells is desired.

    Parameters
    ----------
    refusing : Model
        The model turned around (``Model.refusing``): a box is certified when no point of it is
        refused, which the exact search decides.
    max_nodes : int
        Per question; one that needs more counts as not proved.
    also : mapping of int to int array
        Further cells of some axes, which belong to every box.
    stop : uint8 (1,)
        Set when the time is up; nothing counts as proved then.
    """

    refusing: Model
    max_nodes: int = 20_000
    also: Mapping[int, np.ndarray] = field(default_factory=dict)
    stop: np.ndarray = field(default_factory=lambda: np.zeros(1, np.uint8))

    def holds(self, lowest: np.ndarray, highest: np.ndarray) -> bool:
        """Whether every point is proved to be desired; parameters as in ``refused_within``."""
        return self.refused_within(lowest, highest) == Status.NONE

    def refused_within(self, lowest: np.ndarray, highest: np.ndarray) -> Status:
        """``NONE`` if every point is desired, ``FOUND`` if one is not, else ``UNKNOWN``.

        Parameters
        ----------
        lowest, highest : int64 (axes,)
            First and last cell of each axis; equal on a categorical one.
        """
        cell = np.arange(int(self.refusing.problem.grid.n_cells.max()))
        inside = (cell >= lowest[:, None]) & (cell <= highest[:, None])
        for a, cells in self.also.items():
            inside[a, cells] = True
        return self.refused_among(lowest, inside)

    def refused_among(self, point: np.ndarray, inside: np.ndarray) -> Status:
        """The same for any set of cells of each axis, also of categories.

        Parameters
        ----------
        point : int64 (axes,)
            Cells of one of the points.
        inside : bool (axes, most cells)
            Which cells of each axis there are.
        """
        costs = np.where(inside, 0.0, np.inf)
        person = ModelDescent(self.refusing, point, costs, len(point), self.stop)
        return Status(person.attains(0.0, self.max_nodes))

    def widen(
        self,
        start: np.ndarray,
        lowest: np.ndarray,
        highest: np.ndarray,
        costs: np.ndarray,
        axes: Sequence[int],
    ) -> tuple[np.ndarray, np.ndarray]:
        """A box around one of desired points, of which no side of some axes can move further.

        First away from home (upwards where someone supplies a value), and only to cells that the
        person can enter.

        Parameters
        ----------
        start, lowest, highest : int64 (axes,)
            Their cells, and a box; on each of the axes it has one cell, which is not their own.
        costs : float64 (axes, cells)
            inf where the person cannot go.
        axes : sequence of int
            Ordinal ones.
        """
        point, lowest, highest = lowest, lowest.copy(), highest.copy()
        grid = self.refusing.problem.grid
        missing, n_ordered = grid.missing_cell, grid.n_cells - (grid.missing_cell >= 0)
        for a in axes:
            up = point[a] > start[a] or start[a] == missing[a]
            for away in (True, False):
                side = highest if up == away else lowest
                step = 1 if up == away else -1
                # Only cells that hold no round value lie between others that they can enter.
                entered = np.flatnonzero(np.isfinite(costs[a, : n_ordered[a]]))
                room = int(entered[-1] - point[a] if step > 0 else point[a] - entered[0])
                if (start[a] - point[a]) * step > 0:  # their own cell lies that way
                    room = min(room, abs(int(start[a] - point[a])) - 1)
                self._push(side, a, step, room, lowest, highest)
        return lowest, highest

    def _push(
        self,
        side: np.ndarray,
        a: int,
        step: int,
        room: int,
        lowest: np.ndarray,
        highest: np.ndarray,
    ) -> None:
        """Move a side as far as it can be proved to go: double the step, then halve."""
        start, good, bad, reach = side[a], 0, room + 1, 1
        while good + 1 < bad:
            trial = min(good + reach, bad - 1)
            side[a] = start + step * trial
            if self.holds(lowest, highest):
                good, reach = trial, reach * 2
            else:
                bad, reach = trial, max(1, (trial - good) // 2)
        side[a] = start + step * good
