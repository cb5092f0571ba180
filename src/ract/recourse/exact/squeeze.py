"""Cells without a value for one person, left out of their grid.

Features with steps have cells that hold no round target. Kernels take what a person can reach as
an interval of cells, so the cells that hold one are numbered anew, and the splits with them:

    cells     0 1 2 3 4 5 6         split after cell 3: x <= 3
    kept      0   1 2     3         becomes a split after the second of those kept: x <= 1
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from ract._kernels.search.cell_forest import Forest
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import Problem


@dataclass(frozen=True)
class Squeeze:
    """The cells that are kept, by axis; axes that keep all are left out.

    Parameters
    ----------
    kept : dict of int to int array
        Ordered cells, ascending. The cell of people without a value keeps its number.
    n_cells : int array (axes,)
    missing : int array (axes,)
    """

    kept: dict[int, np.ndarray]
    n_cells: np.ndarray
    missing: np.ndarray

    @classmethod
    def of(cls, problem: Problem, own: np.ndarray, costs: np.ndarray) -> Squeeze | None:
        """Of what a person can reach; None if there is nothing to leave out.

        Parameters
        ----------
        problem : Problem
        own : int (axes,)
        costs : float (axes, cells)
            inf where the person cannot go.
        """
        kept, grid = {}, problem.grid
        for a in problem.stepped:
            n = int(grid.n_cells[a]) - (grid.missing_cell[a] >= 0)
            open_ = np.isfinite(costs[a, :n])
            open_[own[a] : own[a] + 1] = True
            cells = np.flatnonzero(open_)
            if len(cells) and len(cells) <= cells[-1] - cells[0]:
                kept[a] = cells
        return cls(kept, grid.n_cells, grid.missing_cell) if kept else None

    def problem(self, problem: Problem) -> Problem:
        """The same problem, which knows how cells are numbered."""
        other = copy(problem)
        other.kept = self.kept
        return other

    def forest(self, forest: Forest) -> Forest:
        """The same trees in the cells that are kept."""
        cell = forest.cell.copy()
        for a, kept in self.kept.items():
            nodes = forest.axis == a
            cell[nodes] = np.searchsorted(kept, forest.cell[nodes], side="right") - 1
        return forest._replace(cell=cell)

    def point(self, cells: np.ndarray) -> np.ndarray:
        """The numbers of a point's cells, which are kept."""
        point = cells.copy()
        for a, kept in self.kept.items():
            if point[a] != self.missing[a]:
                point[a] = np.searchsorted(kept, point[a])
        return point

    def cells(self, point: np.ndarray) -> np.ndarray:
        """The cells of a point of numbers."""
        cells = point.copy()
        for a, kept in self.kept.items():
            if cells[a] != self.missing[a]:
                cells[a] = kept[cells[a]]
        return cells

    def rows(self, table: np.ndarray, otherwise: float) -> np.ndarray:
        """A table (axes, cells) of the cells that are kept."""
        rows = table.copy()
        for a, kept in self.kept.items():
            n = int(self.n_cells[a]) - (self.missing[a] >= 0)
            rows[a, :n] = otherwise
            rows[a, : len(kept)] = table[a, kept]
        return rows

    def answer(self, answer: Answer) -> Answer:
        """An answer in terms of the cells."""
        point = answer.point
        return answer if point is None else answer._replace(point=self.cells(point))
