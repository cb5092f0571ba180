"""Where a column of numbers is cut into cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract.data.costs.distribution import Distribution
from ract.data.costs.supply import known_values
from ract.data.encoder import Axis


@dataclass(frozen=True)
class IntegerTable:
    """The few whole numbers of a column, so that something is worked out once for each.

    values : float (m,), ascending; at : int (people,), where each person's value is.
    """

    values: np.ndarray
    at: np.ndarray

    @classmethod
    def of(cls, axis: Axis, column: np.ndarray) -> IntegerTable | None:
        """None if the column is continuous, or spans more numbers than there are people."""
        if axis.feature.kind == "continuous" or len(column) == 0:
            return None
        low, high = float(column.min()), float(column.max())
        if high - low > len(column):
            return None
        return cls(np.arange(low, high + 1), (column - low).astype(np.intp))


def known_of(
    axis: Axis, columns: Sequence[Any], sample_weight: np.ndarray | None
) -> tuple[Any, np.ndarray | None]:
    """The known values of an ordinal axis, and the weights of those who have them."""
    values = columns[axis.columns[0]]
    if isinstance(values, Distribution):
        return values, None
    values = np.asarray(values)
    return known_values(values, sample_weight) if axis.has_missing else (values, sample_weight)


def cut(column: Any, sample_weight: np.ndarray | None, max_cells: int) -> np.ndarray:
    """Thresholds midway between distinct values, at quantiles if there are too many."""
    known = Distribution.of(column, sample_weight)
    values, reached = known.values, known.reached
    below = np.arange(len(values) - 1)  # every value but the top
    if len(below) >= max_cells:
        ranks = np.arange(1, max_cells) * reached[-1] / max_cells
        below = np.unique(np.minimum(np.searchsorted(reached[:-1], ranks), len(below) - 1))
    low, high = values[below], values[below + 1]
    middle = low / 2 + high / 2
    # Neighbouring floats have no number between them; the lower one separates them too.
    return np.where((middle < high) & (middle >= low), middle, low)


def sharp(axis: Axis, threshold: np.ndarray) -> np.ndarray:
    """Thresholds that say the same: whole numbers where the feature has no others.

    So no cell between two thresholds is without a value.
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    return threshold if axis.feature.kind == "continuous" else np.floor(threshold)
