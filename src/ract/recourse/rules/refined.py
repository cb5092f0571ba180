"""A person before a model in which the features that rules name are cut into pieces.

Kernels take the person's own cell to cost nothing. Where rules make them leave a value, the
cheapest piece that is open takes its place, and all else costs what it costs beyond that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ract._utils.status import Status
from ract.data.grid import Grid
from ract.recourse.additive.objective import CellPrices, Objective
from ract.recourse.additive.person import SumDescent
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.cheapest import Descent, Squeeze
from ract.recourse.rules.choices import Choices
from ract.recourse.rules.ruling import Masks


@dataclass(frozen=True)
class Refinement(Squeeze):
    """Cells numbered anew, some of which stand for parts of the same cell."""

    def problem(self, problem: CellProblem) -> CellProblem:
        """The same problem with as many cells as there are now."""
        other, grid = copy(problem), problem.grid
        other.kept = self.kept
        thresholds = tuple(
            np.arange(len(self.kept[a]) - 1.0) if a in self.kept and self._all(a, grid) else known
            for a, known in enumerate(grid.thresholds)
        )
        other.grid = Grid(grid.axes, thresholds)
        return other

    def _all(self, a: int, grid: Grid) -> bool:
        return bool(self.missing[a] < 0) and not grid.axes[a].is_categorical


@dataclass(frozen=True)
class Refined:
    """One person, with some of the pieces open.

    Parameters
    ----------
    person : Descent
        In the new cells, without those that are closed.
    open : dict of int to int array
        By axis that rules name: the pieces that the new cells are.
    moved : list of int
        Axes that have to leave the person's own value.
    price, size : float
        What these moves cost at least: what adds up, and the largest; of a maximum the largest.
    """

    person: Descent
    open: dict[int, np.ndarray]
    moved: list[int]
    price: float
    size: float

    @classmethod
    def of(
        cls,
        person: Descent,
        choices: Mapping[int, Choices],
        masks: Masks,
        still: frozenset[int],
        changes: int,
    ) -> Refined:
        """A person with some pieces open, who may change so many features."""
        grid, problem = person.model.problem.grid, person.model.problem
        own, costs = person.own.copy(), person.costs.copy()
        for a in still:
            costs[a], costs[a, own[a]] = np.inf, 0.0
        opened: dict[int, np.ndarray] = {}
        kept: dict[int, np.ndarray] = {}
        squeeze = Squeeze.of(problem, own, costs)
        if squeeze is not None:
            kept = {a: cells for a, cells in squeeze.kept.items() if a not in choices}
            squeeze = replace(squeeze, kept=dict(kept))
            own, costs = squeeze.point(own), squeeze.rows(costs, np.inf)
        for a in choices:
            opened[a] = np.flatnonzero(masks[a])
            if not problem.categorical[a]:
                kept[a] = choices[a].cell[opened[a]]
        widths = [len(kept[a]) for a in opened if a in kept]
        n_cells = max([costs.shape[1], *widths])
        efforts = np.full((len(own), n_cells), np.inf)
        efforts[:, : costs.shape[1]] = costs
        moved, single = [], 0
        changed = np.arange(n_cells) != own[:, None]
        for a, pieces in choices.items():
            at = opened[a]
            where = at if problem.categorical[a] else np.arange(len(at))
            efforts[a] = np.inf
            efforts[a, where] = pieces.effort[at]
            changed[a] = True
            changed[a, where] = at != pieces.own
            if masks[a][pieces.own]:
                own[a] = int(where[np.flatnonzero(at == pieces.own)[0]])
            else:
                own[a] = int(where[np.argmin(pieces.effort[at])])
                moved.append(a)
                single += len(at) == 1
        model = person.model.squeezed(Refinement(kept, grid.n_cells, grid.missing_cell))
        return cls._priced(person, model, own, efforts, changed, changes - single, opened, moved)

    @classmethod
    def _priced(
        cls,
        person: Descent,
        model: Any,
        own: np.ndarray,
        efforts: np.ndarray,
        changed: np.ndarray,
        changes: int,
        opened: dict[int, np.ndarray],
        moved: list[int],
    ) -> Refined:
        """With what cells cost beyond the moves that have to be made."""
        cheapest = np.arange(len(own)), own
        if not isinstance(person, SumDescent):
            least = float(efforts[cheapest][moved].max(initial=0.0))
            costs = efforts.copy()
            costs[cheapest] = 0.0
            refined = replace(person, model=model, own=own, costs=costs, changes=changes)
            vars(refined)["squeezed"] = None
            return cls(refined, opened, moved, 0.0, least)
        objective: Objective = person.objective
        price = (1 - objective.largest) * efforts + objective.per_change * changed
        size = objective.largest * efforts if objective.largest > 0 else np.zeros_like(efforts)
        size[~np.isfinite(price)] = np.inf
        paid, largest = float(price[cheapest].sum()), float(size[cheapest][moved].max(initial=0.0))
        price = np.maximum(price - price[cheapest][:, None], 0.0)
        size = np.where(np.isfinite(price), np.maximum(size - largest, 0.0), 0.0)
        price[cheapest], size[cheapest] = 0.0, 0.0
        refined = replace(person, model=model, own=own, costs=price, changes=changes)
        vars(refined)["squeezed"] = None
        vars(refined)["prices"] = CellPrices(price, size, price + size)
        return cls(refined, opened, moved, paid, largest)

    def cheapest(self, limit: float, max_nodes: int) -> Answer:
        """The cheapest point within a limit, in whatever it costs all in all."""
        adds = isinstance(self.person, SumDescent)
        paid = self.price + self.size
        if paid > limit or self.person.changes < 0:
            return Answer(Status.NONE)
        found = self.person.cheapest(limit - paid if adds else limit, max_nodes)
        cost, bound = (
            (each + paid if adds else max(each, paid)) for each in (found.cost, found.bound)
        )
        return found._replace(cost=cost, bound=bound)

    def piece(self, a: int, point: np.ndarray) -> int:
        """The piece of an axis that rules name."""
        categorical = self.person.model.problem.categorical[a]
        return int(point[a] if categorical else self.open[a][point[a]])

    def cell(self, a: int, point: np.ndarray) -> int:
        """The cell of another axis."""
        kept, grid = self.person.model.problem.kept, self.person.model.problem.grid
        whole = a not in kept or point[a] == grid.missing_cell[a]
        return int(point[a] if whole else kept[a][point[a]])
