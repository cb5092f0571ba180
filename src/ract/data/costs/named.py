"""Costs by their names or put together from efforts, and learning one that a model keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.renamed import refuse_removed
from ract._utils.validation import BELOW_ONE, FINITE_AMOUNT, check_value
from ract.data.costs.fitted import FittedCombined, LevelCost, LinearCost, RelativeLevels
from ract.data.costs.percentile import LogPercentileCost, PercentileCost
from ract.data.costs.protocols import Columns, Cost, FittedCost, MissingCell
from ract.data.costs.scaled import RelativeCost, ScaledCost
from ract.data.costs.supply import Known, supplies

_NAMED: dict[str, Cost] = {
    "percentile": PercentileCost(),
    "kernel-percentile": PercentileCost("kernel"),
    "relative": RelativeCost(),
    "range": ScaledCost("range"),
    "std": ScaledCost("std"),
    "mad": ScaledCost("mad"),
    "l1": ScaledCost("range", norm="l1"),
    "log-percentile": LogPercentileCost(),
}


_TAKE_MISSING = (PercentileCost, LogPercentileCost, RelativeCost, ScaledCost)


def make_cost(cost: str | Cost) -> Cost:
    """The cost of a name; an object that is a cost is returned as it is.

    >>> make_cost("percentile")
    PercentileCost(estimate='empirical', exact=False)
    """
    if isinstance(cost, str):
        if cost not in _NAMED:
            refuse_removed(f"cost={cost!r}")
            if cost == "time":
                raise InvalidSpec("cost='time' is for find_recourse and recourse of a model only.")
            raise InvalidSpec(f"Unknown cost {cost!r}; known are {listing(_NAMED, 20)}.")
        return _NAMED[cost]
    if not isinstance(cost, Cost):
        raise InvalidSpec(f"cost must be a name or have a fit method, got {cost!r}.")
    return cost


def fit_cost(
    cost: str | Cost,
    columns: Columns,
    weights: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    exact: bool | None = None,
    missing: Sequence[MissingCell] = (),
    features: Sequence[tuple[int, ...]] = (),
) -> FittedCost:
    """Learn a cost that is kept with a model.

    Where values are missing it is learned from the known ones. Handing one in costs what the
    feature says or, by default, the median effort of a change of that feature: over pairs of
    people whose known values differ, the effort of moving from one to the other.

    Parameters
    ----------
    cost : str or Cost
    columns, weights, sample_weight
        As in ``Cost.fit``.
    exact : bool, optional
        Whether percentiles may keep the values of single people; by default as the cost's own
        ``exact`` says, which is no. Otherwise they keep a value
        only if five rows of the table share it. The others are put together, in their order, in
        groups of at least five, of which the mean and the mean deviation are kept. Columns of 0
        and 1, tables of fewer than 50 people, and costs without a ``fit_grouped`` are learned
        as they are.
    missing : sequence of MissingCell
        Features in which values may be missing; ``Encoder.missing_cells``. Only costs of ract that
        split by feature take them.
    features : sequence of tuple of int
        Encoded columns of each feature; what costs that count changed features need to know.

    Examples
    --------
    >>> incomes = np.arange(1000.0, 1200.0) ** 2
    >>> exact, grouped = (
    ...     fit_cost("percentile", [incomes], np.ones(1), exact=exact) for exact in (True, False)
    ... )
    >>> len(exact.knots[0]), len(grouped.knots[0]), np.isin(grouped.knots[0], incomes).any()
    (200, 80, np.False_)
    """
    learner = make_cost(cost)
    if exact is None:
        exact = bool(getattr(learner, "exact", False))
    if hasattr(learner, "fit_features"):
        counting: FittedCost = learner.fit_features(
            columns, weights, sample_weight, exact=exact, missing=missing, features=features
        )
        return counting
    fit = learner.fit if exact else getattr(learner, "fit_grouped", learner.fit)
    if not missing:
        fitted: FittedCost = fit(columns, weights, sample_weight)
        return fitted
    known = Known(columns, missing)
    learned = fit(known, weights, sample_weight) if type(learner) in _TAKE_MISSING else None
    if not isinstance(learned, LevelCost | LinearCost | RelativeLevels):
        raise InvalidSpec(
            f"{type(learner).__name__} takes no missing values; 'percentile', 'relative', 'range', "
            "'std' and 'mad' do, and so do 'l1' and 'log-percentile' in a search."
        )
    supply = supplies(learned, known, missing, sample_weight, exact=exact)
    return replace(learned, supply=supply)


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
        check_value("per_change", self.per_change, FINITE_AMOUNT)
        check_value("largest", self.largest, BELOW_ONE)

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
