"""What a search says about a batch of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ract.recourse.exact.cheapest import FOUND, NONE, OPEN, OPTIMAL

__all__ = ["FOUND", "NONE", "OPEN", "OPTIMAL", "Solutions"]


@dataclass(frozen=True)
class Solutions:
    """Results of a batch of people, in their order.

    Parameters
    ----------
    status : int (people,)
        ``OPTIMAL``; ``NONE`` within the budget, proved (without a budget: none at all);
        ``FOUND`` but not proved cheapest; or ``OPEN``: the search ended without an answer.
    cost, bound : float (people,)
        Cost of the action found (inf if none) and what it cannot be below.
    values : float (people, columns)
        Encoded values after the action; the person's own where none was found.
    nodes : int (people,)
        Nodes of the search: partial choices that were looked at.
    seconds : float (people,)
        Time that each person's search took.
    """

    status: np.ndarray
    cost: np.ndarray
    bound: np.ndarray
    values: np.ndarray
    nodes: np.ndarray
    seconds: np.ndarray

    @property
    def found(self) -> np.ndarray:
        """Who has an action."""
        return np.isfinite(self.cost)

    @property
    def gap(self) -> np.ndarray:
        """How far the cost may lie above the cheapest; 0 where it is proved."""
        gap = np.zeros(len(self.cost))
        open_ = np.isin(self.status, (FOUND, OPEN))
        gap[open_] = self.cost[open_] - self.bound[open_]
        return gap
