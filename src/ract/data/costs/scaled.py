"""Effort as distance, each column on a scale of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.renamed import refuse_removed
from ract._utils.validation import check_value, one_of
from ract.data.costs.distribution import Distribution, in_order, middle_value
from ract.data.costs.fitted import LinearCost, RelativeLevels
from ract.data.costs.protocols import Columns
from ract.data.costs.supply import known_values

# Where the middle of a column is so many units from 0, levels of neighbours would round: they count
# from the middle.
FAR = 1024.0


def _range(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    return float(np.ptp(column)) or 1.0


def _std(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    mean = np.average(column, weights=sample_weight)
    return float(np.sqrt(np.average((column - mean) ** 2, weights=sample_weight))) or 1.0


def _mad(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    distance = np.abs(column - median_of(column, sample_weight))
    return median_of(distance, sample_weight) or _std(column, sample_weight)


def median_of(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """The middle value; halfway between two when they share the middle."""
    if sample_weight is None:
        return float(np.median(column))
    ordered, reached = in_order(column, sample_weight)
    share = reached / sample_weight.sum()
    low = int(np.searchsorted(share, 0.5))
    high = min(int(np.searchsorted(share, 0.5, side="right")), len(ordered) - 1)
    return float((ordered[low] + ordered[high]) / 2)


def values_and_weights(
    column: np.ndarray | Distribution, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Values with their weights; of a distribution, each different one once."""
    if isinstance(column, Distribution):
        return column.values, column.mass
    return column, sample_weight


_SPREADS: dict[str, Callable[[np.ndarray, np.ndarray | None], float]] = {
    "range": _range,
    "std": _std,
    "mad": _mad,
}


@dataclass(frozen=True)
class ScaledCost:
    """Weighted l-infinity or l1 norm of the change, each column on a scale of its own.

    Parameters
    ----------
    scale : {"range", "std", "mad"} or sequence of float
        What counts as one unit of effort in a column: its observed range, standard deviation
        or median absolute deviation (the standard deviation where that is 0), or given
        numbers, one per encoded column.
    norm : {"max", "l1"}
        "max" for training and search; "l1" for search only.

    Examples
    --------
    >>> cost = ScaledCost("range", norm="l1").fit(np.array([[0.0, 10.0], [0.0, 2.0]]), np.ones(2))
    >>> cost.between([[0.0, 0.0]], [[5.0, 1.0]])
    array([1.])
    """

    scale: Literal["range", "std", "mad"] | Sequence[float] = "range"
    norm: Literal["max", "l1"] = "max"

    def __post_init__(self) -> None:
        refuse_removed(f"norm={self.norm!r}")
        check_value("norm", self.norm, one_of("max", "l1"))
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
        if not isinstance(self.scale, str) and len(self.scale) != len(columns):
            raise InvalidSpec(
                f"scale has {len(self.scale)} numbers for {len(columns)} encoded columns."
            )
        learned = [self._scale(j, columns[j], sample_weight) for j in range(len(columns))]
        scales, origins = np.array(learned, dtype=np.float64).reshape(-1, 2).T
        factors = np.asarray(weights, dtype=np.float64) / scales
        return LinearCost(self.norm, factors, origins=origins if origins.any() else None)

    def _scale(
        self, j: int, column: np.ndarray | Distribution, sample_weight: np.ndarray | None
    ) -> tuple[float, float]:
        """What counts as one unit in a column, and where its levels are 0."""
        values, weight = values_and_weights(*known_values(column, sample_weight))
        middle = middle_value(values, weight)
        if not isinstance(self.scale, str):
            return self.scale[j], middle if abs(middle) > FAR * self.scale[j] else 0.0
        spread = _SPREADS[self.scale]
        unit = spread(values, weight)
        if abs(middle) <= FAR * unit:
            return unit, 0.0
        return spread(values - middle, weight), middle


@dataclass(frozen=True)
class RelativeCost:
    """Largest change of a feature relative to the person's own value, or the column's median.

    Columns of 0 and 1, among them those of categories, have no size; changing them costs what it
    costs in percentiles, the share of people who have the value 1.

    Examples
    --------
    >>> incomes = np.array([10.0, 20.0, 30.0])
    >>> cost = RelativeCost().fit([incomes], np.ones(1))
    >>> cost.between([[5.0], [40.0]], [[6.0], [44.0]]).round(3)
    array([0.05 , 0.095])
    """

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> RelativeLevels:
        """Learn each column's median."""
        known = (known_values(columns[j], sample_weight) for j in range(len(columns)))
        learned = np.array([_scale(*values_and_weights(*one)) for one in known]).reshape(-1, 2)
        factors = np.asarray(weights, dtype=np.float64) * learned[:, 1]
        return RelativeLevels(np.ascontiguousarray(learned[:, 0]), factors)


def _scale(values: np.ndarray, sample_weight: np.ndarray | None) -> tuple[float, float]:
    """Where a column's levels turn from straight to logarithm, and what one unit of them costs."""
    if np.isin(values, (0.0, 1.0)).all():
        return 1.0, float(np.average(values, weights=sample_weight))
    size = np.abs(values)
    typical = median_of(size, sample_weight) or float(np.average(size, weights=sample_weight))
    return typical, 1.0
