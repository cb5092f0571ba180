"""Effort as change relative to the person: half of a large income is as far as half of a small one.

    level    |              . -- '       logarithm: equal shares of the own value
             |         . '
           1 |      /                    straight up to the median: shares of that
             |    /
           0 |  /________________ value
                0   median

A share d of the own value, or of the median where that is larger, costs about d for small d: half
more costs .41 beyond the median and half less .69, as they are equally many steps of one percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ract.data.costs.fitted import RelativeLevels
from ract.data.costs.protocols import Columns
from ract.data.costs.scaled import median_of, values_and_weights
from ract.data.costs.supply import known_values


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
