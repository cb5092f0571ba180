"""Effort as distance: each column on a scale of its own, or all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ract.costs.distribution import Distribution, in_order
from ract.costs.fitted import FittedMahalanobis, LinearCost
from ract.costs.protocols import Columns
from ract.costs.supply import known_values
from ract.errors import InvalidSpec, listing


def _range(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    return float(np.ptp(column)) or 1.0


def _std(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    mean = np.average(column, weights=sample_weight)
    return float(np.sqrt(np.average((column - mean) ** 2, weights=sample_weight))) or 1.0


def _mad(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    distance = np.abs(column - _median(column, sample_weight))
    return _median(distance, sample_weight) or _std(column, sample_weight)


def _median(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """The middle value; halfway between two when they share the middle."""
    if sample_weight is None:
        return float(np.median(column))
    ordered, reached = in_order(column, sample_weight)
    share = reached / sample_weight.sum()
    low = int(np.searchsorted(share, 0.5))
    high = min(int(np.searchsorted(share, 0.5, side="right")), len(ordered) - 1)
    return float((ordered[low] + ordered[high]) / 2)


def _weighted(
    column: Any, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Values with their weights; of a distribution, each different one once."""
    if isinstance(column, Distribution):
        return column.values, column.mass
    return column, sample_weight


_SPREADS: dict[str, Any] = {"range": _range, "std": _std, "mad": _mad}


@dataclass(frozen=True)
class ScaledCost:
    """Weighted l-infinity, l1 or l2 norm of the change, each column on a scale of its own.

    Parameters
    ----------
    scale : {"range", "std", "mad"} or sequence of float
        What counts as one unit of effort in a column: its observed range, standard deviation
        or median absolute deviation (the standard deviation where that is 0), or given
        numbers, one per encoded column.
    norm : {"max", "l1", "l2"}
        "max" for training and search; "l1" and "l2" for search only.

    Examples
    --------
    >>> cost = ScaledCost("range", norm="l1").fit(np.array([[0.0, 10.0], [0.0, 2.0]]), np.ones(2))
    >>> cost.between([[0.0, 0.0]], [[5.0, 1.0]])
    array([1.])
    """

    scale: Literal["range", "std", "mad"] | Sequence[float] = "range"
    norm: Literal["max", "l1", "l2"] = "max"

    def __post_init__(self) -> None:
        if self.norm not in ("max", "l1", "l2"):
            raise InvalidSpec(f"norm must be 'max', 'l1' or 'l2', got {self.norm!r}.")
        if isinstance(self.scale, str):
            if self.scale not in _SPREADS:
                raise InvalidSpec(
                    f"scale must be one of {listing(_SPREADS)} or numbers, got {self.scale!r}."
                )
        elif not all(np.isfinite(s) and s > 0 for s in self.scale):
            raise InvalidSpec(f"scale must be positive numbers, got {self.scale!r}.")

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> LinearCost:
        """Learn each column's scale."""
        if isinstance(self.scale, str):
            spread = _SPREADS[self.scale]
            each = range(len(columns))
            known = (_weighted(*known_values(columns[j], sample_weight)) for j in each)
            scales = np.array([spread(*values) for values in known])
        else:
            scales = np.asarray(self.scale, dtype=np.float64)
            if scales.shape != (len(columns),):
                raise InvalidSpec(
                    f"scale has {scales.size} numbers for {len(columns)} encoded columns."
                )
        return LinearCost(self.norm, np.asarray(weights, dtype=np.float64) / scales)


@dataclass(frozen=True)
class MahalanobisCost:
    """Distance that allows for how features vary together (search only)."""

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> FittedMahalanobis:
        """Learn the covariance of the columns."""
        matrix = np.stack([np.asarray(columns[j]) for j in range(len(columns))])
        covariance = np.atleast_2d(np.cov(matrix, aweights=sample_weight))
        return FittedMahalanobis(np.linalg.pinv(covariance, hermitian=True), np.array(weights))
