"""What a cost is: it learns the effort of moving in each column, and adds it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np

Norm = Literal["max", "l1", "combined"]
Columns = Sequence[np.ndarray]


@dataclass(frozen=True)
class MissingCell:
    """A feature in which values may be missing.

    Parameters
    ----------
    columns : tuple of int
        Its encoded columns.
    categorical : bool
        Whether the last of them is 1 for people without a value; else theirs is NaN.
    supply : bool
        Whether they may hand one in.
    cost : float, optional
        What that takes, before the weight.
    weight : float
    """

    columns: tuple[int, ...]
    categorical: bool
    supply: bool
    cost: float | None
    weight: float


@dataclass(frozen=True)
class Supply:
    """What it takes to supply a missing value, as a fitted cost knows it.

    Parameters
    ----------
    columns : tuple of int
        Encoded columns of the feature.
    cost : float
        With the feature's weight.
    middle : float
        The median known value of a number; 0 for a category.
    """

    columns: tuple[int, ...]
    cost: float
    middle: float


@runtime_checkable
class FittedCost(Protocol):
    """A cost with the scales that it learned from the training table.

    ``level`` must not decrease in its values; costs that do not split by column raise
    InvalidSpec from it and are for search only.
    """

    @property
    def norm(self) -> Norm:
        """How the columns' efforts are combined; training needs "max"."""

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""


@runtime_checkable
class Cost(Protocol):
    """Interface of a custom cost: one method, ``fit``."""

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> FittedCost:
        """Learn the scales from the training table.

        Parameters
        ----------
        columns : sequence of float arrays, one per encoded column (``X.T`` of a matrix)
            Without missing values: a table that has some is refused (``fit_cost``).
        weights : array, one per encoded column
            The weight that the action space gives to the column's feature.
        sample_weight : array, one per person, optional
            How much each person counts; all alike by default.
        """
