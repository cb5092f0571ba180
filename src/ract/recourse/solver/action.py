"""One person's actions in values: what they cost, what is wrong with them, how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ract.data.actions.rules import LinearRelation
from ract.data.costs import FittedCost
from ract.data.grid import Grid
from ract.data.prices import Prices
from ract.recourse.solver.branches import Branches
from ract.recourse.solver.choices import Choice
from ract.recourse.solver.distance import Distance
from ract.trees.ensemble import TreeEnsemble

Flaw = Literal["refused", "dear", "unrelated"]
Point = tuple[list[int], list[int]]  # choice and steps of each axis


@dataclass(frozen=True)
class Setting:
    """What is the same for everyone."""

    ensemble: TreeEnsemble
    cost: FittedCost
    grid: Grid
    prices: Prices | None
    branches: Branches
    relations: list[LinearRelation]
    columns: dict[str, int]
    distance: Distance | None

    @cached_property
    def by_value(self) -> frozenset[int]:
        """Axes whose values matter by themselves, not only the cells that they are in."""
        named = {name for relation in self.relations for name in relation.coefficients}
        return frozenset(
            a
            for a, axis in enumerate(self.grid.axes)
            if self.prices is None or axis.feature.name in named
        )


@dataclass(frozen=True)
class Actions:
    """What one person may do, checked in floating point.

    Parameters
    ----------
    setting : Setting
    person : float (columns,)
    budget : float
    max_changes : int, optional
    """

    setting: Setting
    person: np.ndarray
    budget: float
    max_changes: int | None

    def price(self, values: np.ndarray) -> float:
        """What an action costs."""
        return float(self.setting.cost.between(self.person[None, :], values[None, :])[0])

    def flaw(self, values: np.ndarray) -> Flaw | None:
        """What is wrong with an action, if anything."""
        setting = self.setting
        if not setting.ensemble.decide(values[None, :])[0]:
            return "refused"
        named = {name: values[j] for name, j in setting.columns.items()}
        if not all(relation.holds(named) for relation in setting.relations):
            return "unrelated"
        return "dear" if self.price(values) > self.budget else None

    def decoded(self, choices: list[Choice], point: Point) -> np.ndarray:
        """Encoded values of a point."""
        values = self.person.copy()
        for axis, choice, k, n in zip(self.setting.grid.axes, choices, *point, strict=True):
            if choice.ordered:
                values[axis.columns[0]] = choice.value(k, n)
            else:
                values[list(axis.columns)] = np.eye(len(axis.columns))[choice.cell[k]]
        return values

    def slid(self, choices: list[Choice], point: Point) -> np.ndarray:
        """The same with values at the near end of their segment where that is no worse."""
        values = self.decoded(choices, point)
        for axis, choice, k in zip(self.setting.grid.axes, choices, point[0], strict=True):
            if choice.ordered and choice.low[k] < choice.high[k]:
                nearer = values.copy()
                nearer[axis.columns[0]] = (choice.high if k < choice.own else choice.low)[k]
                if self.flaw(nearer) is None and self.price(nearer) <= self.price(values):
                    values = nearer
        return values

    def placed(self, choices: list[Choice], start: np.ndarray) -> tuple[Point, np.ndarray] | None:
        """Where an action stands among the choices, and its values; None if it is not allowed.

        Where only cells matter the value becomes the cheapest of its cell.
        """
        if np.isnan(start).any():
            return None
        axes, by_value = self.setting.grid.axes, self.setting.by_value
        cells = self.setting.grid.cells([np.array([value]) for value in start])[:, 0]
        point: Point = ([], [])
        for a, (axis, choice) in enumerate(zip(axes, choices, strict=True)):
            value, free = float(start[axis.columns[0]]), choice.ordered and a in by_value
            here = choice.containing(value) if free else choice.at_cell(int(cells[a]))
            if here is None:
                return None
            steps = round((value - choice.low[choice.own]) / choice.step) if free else 0
            point[0].append(here)
            point[1].append(int(np.clip(steps, choice.first[here], choice.last[here])))
        changes = sum(k != choice.own for k, choice in zip(point[0], choices, strict=True))
        if self.max_changes is not None and changes > self.max_changes:
            return None
        values = self.decoded(choices, point)
        kept = [axes[a].columns[0] for a in by_value if choices[a].ordered]
        values[kept] = start[kept]
        return point, values
