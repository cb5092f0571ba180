"""What a cost that adds up makes of the efforts of features: a price for each cell, and a size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.costs import FittedCombined, FittedCost


class CellPrices(NamedTuple):
    """A point costs the sum of its cells' prices and the largest of their sizes.

    price, size, alone : float64 (axes, cells)
        alone: what a cell costs if nothing else changes.
    """

    price: np.ndarray
    size: np.ndarray
    alone: np.ndarray

    def of(self, own: np.ndarray, point: np.ndarray) -> float:
        """What a point costs, added up in the order of axes."""
        moved = np.flatnonzero(point != own)
        price, size = self.price[moved, point[moved]], self.size[moved, point[moved]]
        return float(sum(price.tolist()) + size.max(initial=0.0))


@dataclass(frozen=True)
class Objective:
    """How the efforts of features are put together.

    Parameters
    ----------
    per_change : float
        What every changed feature costs in addition to its effort.
    largest : float
        The part of the largest effort; the rest is that of their sum.

    Examples
    --------
    >>> efforts = np.array([[0.0, 1.0, 2.0]])
    >>> Objective(per_change=0.5, largest=0.25).prices(np.array([0]), efforts).price
    array([[0.  , 1.25, 2.  ]])
    """

    per_change: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, cost: FittedCost) -> Objective:
        """That of a cost; one that does not add up over features is refused."""
        if isinstance(cost, FittedCombined):
            return cls(cost.per_change, cost.largest)
        if cost.norm != "l1":
            raise InvalidSpec(
                f"This search needs a cost that adds up over features (norm 'l1', or a "
                f"CombinedCost); got norm {cost.norm!r}."
            )
        return cls()

    def prices(self, own: np.ndarray, efforts: np.ndarray) -> CellPrices:
        """Prices of cells.

        Parameters
        ----------
        own : int64 (axes,)
            The person's cells.
        efforts : float64 (axes, cells)
            inf where they cannot go.
        """
        if self.per_change == 0 and self.largest == 0:
            return CellPrices(efforts, np.zeros_like(efforts), efforts)
        size = np.zeros_like(efforts)
        if self.largest > 0:
            size = self.largest * efforts
        price = (1 - self.largest) * efforts + self.per_change
        own_cells = np.arange(len(own)), own
        price[own_cells], size[own_cells] = 0.0, 0.0
        return CellPrices(price, size, price + size)
