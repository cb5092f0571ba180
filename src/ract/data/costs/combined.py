"""Costs put together from efforts: their sum, the largest, a price per changed feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.costs.fitted import FittedCombined, LevelCost, LinearCost
from ract.data.costs.named import fit_cost
from ract.data.costs.protocols import Columns, Cost


@dataclass(frozen=True)
class CombinedCost:
    """A sum of efforts, a price for every changed feature, and part of the largest (search only).

    Parameters
    ----------
    effort : str or Cost
        How the effort of a feature is measured: one of ract's costs that split by feature, whatever
        its norm.
    per_change : float
        What every changed feature costs in addition to its effort.
    largest : float
        The weight of the largest effort, from 0 to below 1; the sum of efforts has the rest.

    Examples
    --------
    >>> columns = np.array([[0.0, 2.0], [0.0, 4.0]])
    >>> cost = CombinedCost("std", per_change=0.2).fit(columns, np.ones(2))
    >>> cost.between([[0.0, 0.0]], [[1.0, 2.0]])
    array([2.4])
    """

    effort: str | Cost = "l1"
    per_change: float = 0.0
    largest: float = 0.0

    def __post_init__(self) -> None:
        price, part = self.per_change, self.largest
        if not (np.isfinite(price) and price >= 0):
            raise InvalidSpec(f"per_change must be a number of 0 or more, got {price!r}.")
        if not 0 <= part < 1:
            raise InvalidSpec(f"largest must be 0 or more and below 1, got {part!r}.")

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> FittedCombined:
        """Learn the effort of each column; every column is a feature."""
        return self.fit_features(columns, weights, sample_weight, exact=True)

    def fit_features(
        self,
        columns: Columns,
        weights: np.ndarray,
        sample_weight: np.ndarray | None = None,
        *,
        features: Sequence[tuple[int, ...]] = (),
        **how: Any,
    ) -> FittedCombined:
        """As ``fit``, for features of several columns each; ``how`` as in ``fit_cost``."""
        base = fit_cost(self.effort, columns, weights, sample_weight, **how)
        if not isinstance(base, LevelCost | LinearCost):
            raise InvalidSpec(
                f"effort must be a cost of ract's that splits by feature, got {self.effort!r}."
            )
        several = tuple(group for group in features if len(group) > 1)
        return FittedCombined(replace(base, norm="l1"), self.per_change, self.largest, several)
