"""Effort as people to overtake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ract._utils.validation import check_value, one_of
from ract.data.costs.distribution import Levels, empirical_levels, grouped_levels, kernel_levels
from ract.data.costs.fitted import LevelCost
from ract.data.costs.protocols import Columns, Norm
from ract.data.costs.supply import known_values


class _Percentiles:
    """Costs that are learned from the distribution of each column by itself."""

    _norm: ClassVar[Norm]

    def fit_grouped(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> LevelCost:
        """Learn each column's distribution without the values of single people (`fit_cost`)."""
        return self.fit(columns, weights, sample_weight, grouped=True)

    def fit(
        self,
        columns: Columns,
        weights: np.ndarray,
        sample_weight: np.ndarray | None = None,
        *,
        grouped: bool = False,
    ) -> LevelCost:
        """Learn each column's distribution; grouped: as ``fit_grouped``."""
        each = range(len(columns))
        learned = [self._levels(*known_values(columns[j], sample_weight), grouped) for j in each]
        knots = tuple(pair[0] for pair in learned)
        levels = tuple(pair[1] * weight for pair, weight in zip(learned, weights, strict=True))
        return LevelCost(self._norm, knots, levels)

    def _levels(
        self, column: np.ndarray, sample_weight: np.ndarray | None, grouped: bool
    ) -> Levels:
        learn = grouped_levels if grouped else empirical_levels
        return learn(column, sample_weight)


@dataclass(frozen=True)
class PercentileCost(_Percentiles):
    """Maximum percentile shift: how many people one has to overtake, at most, in any feature.

    Parameters
    ----------
    estimate : {"empirical", "kernel"}
        The share of training people at or below a value, linear between observed values; or
        the Gaussian kernel estimate that the paper's experiments used.
    exact : bool
        Whether a model that is fitted with this cost, and its file, contain every training value.
        By default costs are learned from groups of at least five people and show nobody's values.

    Examples
    --------
    >>> ages = np.array([20.0, 30.0, 40.0, 50.0])
    >>> cost = PercentileCost().fit([ages], np.ones(1))
    >>> cost.between([[20.0]], [[40.0]])
    array([0.5])
    """

    estimate: Literal["empirical", "kernel"] = "empirical"
    exact: bool = False
    _norm = "max"

    def __post_init__(self) -> None:
        check_value("estimate", self.estimate, one_of("empirical", "kernel"))

    def _levels(
        self, column: np.ndarray, sample_weight: np.ndarray | None, grouped: bool
    ) -> Levels:
        if self.estimate == "kernel":
            return kernel_levels(column, sample_weight)
        return super()._levels(column, sample_weight, grouped)


@dataclass(frozen=True)
class LogPercentileCost(_Percentiles):
    """Total log percentile shift: moving among the few at the top costs more (search only).

    The sum over features of ``|log((1 - Q(v)) / (1 - Q(x)))|`` with Q the share of people at
    or below a value, among the training people and one more, so that it stays below one.

    Parameters
    ----------
    exact : bool
        As in ``PercentileCost``.
    """

    exact: bool = False
    _norm = "l1"

    def _levels(
        self, column: np.ndarray, sample_weight: np.ndarray | None, grouped: bool
    ) -> Levels:
        """What is left of the log of the share of people above each value, and one more person."""
        knots, share = super()._levels(column, sample_weight, grouped)
        n = len(column) if sample_weight is None else float(sample_weight.sum())
        return knots, -np.log1p(-share * n / (n + 1))
