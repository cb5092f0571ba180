"""What one person may choose on each feature: single values, or segments of values.

When the cheapest value of a cell is all that matters, a choice is a cell and its value is that
one. When values matter by themselves, a choice is a segment of values (see ``segments``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ract.data.prices import Prices


@dataclass(frozen=True)
class Choice:
    """What one person may choose on one axis, in the order of the values.

    Parameters
    ----------
    ordered : bool
        Whether the choices are values of an ordinal axis; else they are categories.
    own : int
        The choice to stay as they are.
    cell : int (choices,)
    low, high : float (choices,)
        First and last value; equal for single values.
    low_cost, high_cost : float (choices,)
        Effort at these values; between them it is at least what a straight line says.
    step : float
        What a whole number of steps counts from the person's own value.
    slope : float, optional
        Effort of one step, where it is the same everywhere.
    whole : bool
        Whether every value is a whole number of steps from the own one.
    inside : sequence of float arrays, one per choice
        Values at which a segment can be cut to bring the line nearer to the effort.
    """

    ordered: bool
    own: int
    cell: np.ndarray
    low: np.ndarray
    high: np.ndarray
    low_cost: np.ndarray
    high_cost: np.ndarray
    step: float = 1.0
    slope: float | None = None
    whole: bool = True
    inside: list[np.ndarray] = field(default_factory=list)

    @property
    def first(self) -> np.ndarray:
        """Fewest steps from the own value, rounded outward."""
        return np.floor((self.low - self.low[self.own]) / self.step).astype(np.int64)

    @property
    def last(self) -> np.ndarray:
        """Most steps from the own value, rounded outward."""
        return np.ceil((self.high - self.low[self.own]) / self.step).astype(np.int64)

    @property
    def farthest(self) -> int:
        """Most steps either way."""
        return int(max(-self.first.min(), self.last.max()))

    def value(self, choice: int, steps: int) -> float:
        """The value so many steps from the own one, held within a choice."""
        if choice == self.own:
            return float(self.low[self.own])
        value = self.low[self.own] + steps * self.step
        return float(min(max(value, self.low[choice]), self.high[choice]))

    def at_cell(self, cell: int) -> int | None:
        """The first choice in a cell, if the cell may be chosen."""
        here = np.flatnonzero(self.cell == cell)
        return int(here[0]) if len(here) else None

    def containing(self, value: float) -> int | None:
        """The choice that a value (or category) belongs to, if it may be chosen."""
        inside = np.flatnonzero((self.low <= value) & (value <= self.high))
        return int(inside[0]) if len(inside) else None


def cell_choices(prices: Prices, person: np.ndarray, most: float) -> list[Choice]:
    """One choice per cell that costs at most ``most``: its cheapest value."""
    costs, values = prices.of_person(person)
    own = prices.grid.cells([np.array([value]) for value in person])[:, 0].astype(np.int64)
    choices = []
    for a, axis in enumerate(prices.grid.axes):
        cells = np.flatnonzero(costs[a] <= most)
        price, value = costs[a, cells], values[a, cells]
        here = int(np.searchsorted(cells, own[a]))
        choices.append(Choice(not axis.is_categorical, here, cells, value, value, price, price))
    return choices
