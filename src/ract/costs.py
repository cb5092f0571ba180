"""How much effort an action takes.

Every cost but one is built from *levels*: a non-decreasing scale per encoded column (a
percentile, a multiple of the standard deviation, ...), on which the effort of moving from
``x`` to ``v`` is ``|level(v) - level(x)|``. The efforts of all columns are then combined by
their maximum (what training needs, the paper's assumption ii), their sum or their Euclidean
norm. The exception is the Mahalanobis distance, which does not split by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from ract._kernels.cells import interpolate
from ract.errors import InvalidSpec, listing

Norm = Literal["max", "l1", "l2", "mahalanobis"]
Columns = Sequence[np.ndarray]

# The empirical distribution keeps every jump larger than 1 / EMPIRICAL_KNOTS exactly.
EMPIRICAL_KNOTS = 1024
# Grouped distributions are made of groups of at least so many people, and only in tables of at
# least so many: in a smaller one a percentile of groups would mean little.
FEWEST_IN_GROUP, FEWEST_GROUPED = 5, 50
# How near the ends of neighbouring groups come to each other, as a share of the distance of their
# means; and the least distance of a point "just below" a value.
SHORT_OF, TINY = 0.9, 1e-300
KERNEL_POINTS = 100
KERNEL_TAIL = 1e-6


@runtime_checkable
class FittedCost(Protocol):
    """A cost that has seen the training table.

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
    """What a user implements to bring a cost of their own: one method."""

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> FittedCost:
        """Learn the scales from the training table.

        Parameters
        ----------
        columns : sequence of float arrays, one per encoded column (``X.T`` of a matrix)
        weights : array, one per encoded column
            The weight that the action space gives to the column's feature.
        sample_weight : array, one per person, optional
            How much each person counts; all alike by default.
        """


@dataclass(frozen=True)
class LevelCost:
    """A fitted cost whose levels are linear between knots and flat beyond them.

    Parameters
    ----------
    norm : {"max", "l1", "l2"}
    knots, levels : tuple of arrays, one pair per encoded column
        Increasing values and the non-decreasing level at each.
    """

    norm: Norm
    knots: tuple[np.ndarray, ...]
    levels: tuple[np.ndarray, ...]

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        out = np.empty(len(values))
        interpolate(values, self.knots[column], self.levels[column], out)
        return out

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        return combine(self, start, stop)


@dataclass(frozen=True)
class LinearCost:
    """A fitted cost whose levels are the values times a factor per encoded column."""

    norm: Norm
    factors: np.ndarray

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Position of values on the effort scale of an encoded column."""
        return np.asarray(values, dtype=np.float64) * self.factors[column]

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        return combine(self, start, stop)


def combine(cost: FittedCost, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Cost of actions from a cost's levels and its norm."""
    start, stop = np.atleast_2d(start), np.atleast_2d(stop)
    moved = np.flatnonzero((start != stop).any(axis=0)).tolist()
    if not moved:
        return np.zeros(len(start))
    shifts = np.abs([cost.level(j, stop[:, j]) - cost.level(j, start[:, j]) for j in moved])
    if cost.norm == "max":
        return shifts.max(axis=0)
    if cost.norm == "l1":
        return shifts.sum(axis=0)
    return np.sqrt((shifts**2).sum(axis=0))


@dataclass(frozen=True)
class PercentileCost:
    """Maximum percentile shift: how many people one has to overtake, at most, in any feature.

    Parameters
    ----------
    estimate : {"empirical", "kernel"}
        The share of training people at or below a value, linear between observed values; or
        the Gaussian kernel estimate that the paper's experiments used.

    Examples
    --------
    >>> ages = np.array([20.0, 30.0, 40.0, 50.0])
    >>> cost = PercentileCost().fit([ages], np.ones(1))
    >>> cost.between([[20.0]], [[40.0]])
    array([0.5])
    """

    estimate: Literal["empirical", "kernel"] = "empirical"

    def __post_init__(self) -> None:
        if self.estimate not in ("empirical", "kernel"):
            raise InvalidSpec(f"estimate must be 'empirical' or 'kernel', got {self.estimate!r}.")

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> LevelCost:
        """Learn each column's distribution."""
        learn = _empirical_levels if self.estimate == "empirical" else _kernel_levels
        return _fitted("max", learn, columns, weights, sample_weight)

    def fit_grouped(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> LevelCost:
        """Learn each column's distribution without the values of single people (`fit_cost`)."""
        learn = _grouped_levels if self.estimate == "empirical" else _kernel_levels
        return _fitted("max", learn, columns, weights, sample_weight)


@dataclass(frozen=True)
class LogPercentileCost:
    """Total log percentile shift: moving among the few at the top costs more (search only).

    The sum over features of ``|log((1 - Q(v)) / (1 - Q(x)))|`` with Q the share of people at
    or below a value, among the training people and one more, so that it stays below one.
    """

    def fit(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> LevelCost:
        """Learn each column's distribution."""
        learn = partial(_log_levels, _empirical_levels)
        return _fitted("l1", learn, columns, weights, sample_weight)

    def fit_grouped(
        self, columns: Columns, weights: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> LevelCost:
        """Learn each column's distribution without the values of single people (`fit_cost`)."""
        learn = partial(_log_levels, _grouped_levels)
        return _fitted("l1", learn, columns, weights, sample_weight)


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
            scales = np.array([spread(np.asarray(columns[j]), sample_weight) for j in each])
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


@dataclass(frozen=True)
class FittedMahalanobis:
    """A fitted Mahalanobis distance."""

    precision: np.ndarray
    weights: np.ndarray
    norm: Norm = "mahalanobis"

    def level(self, column: int, values: np.ndarray) -> np.ndarray:
        """Does not exist: this cost does not split by column."""
        raise InvalidSpec("The Mahalanobis cost does not split by feature; it is for search only.")

    def form(self, columns: Sequence[int]) -> np.ndarray:
        """The matrix A with cost sqrt(d' A d) for moves d of some columns, the others at rest."""
        weights = self.weights[list(columns)]
        return weights[:, None] * self.precision[np.ix_(columns, columns)] * weights

    def between(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        """Cost of moving each row of ``start`` to the same row of ``stop``."""
        moved = (np.atleast_2d(stop) - np.atleast_2d(start)) * self.weights
        return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", moved, self.precision, moved), 0.0))


_NAMED: dict[str, Cost] = {
    "percentile": PercentileCost(),
    "kernel-percentile": PercentileCost("kernel"),
    "range": ScaledCost("range"),
    "std": ScaledCost("std"),
    "mad": ScaledCost("mad"),
    "l1": ScaledCost("range", norm="l1"),
    "l2": ScaledCost("range", norm="l2"),
    "log-percentile": LogPercentileCost(),
    "mahalanobis": MahalanobisCost(),
}


def make_cost(cost: str | Cost) -> Cost:
    """A cost by its name, or the object itself.

    >>> make_cost("percentile")
    PercentileCost(estimate='empirical')
    """
    if isinstance(cost, str):
        if cost not in _NAMED:
            raise InvalidSpec(f"Unknown cost {cost!r}; known are {listing(_NAMED, 20)}.")
        return _NAMED[cost]
    if not isinstance(cost, Cost):
        raise InvalidSpec(f"cost must be a name or have a fit method, got {cost!r}.")
    return cost


def reweighted(cost: FittedCost, factors: np.ndarray) -> FittedCost:
    """The same cost with the effort of each encoded column multiplied by a factor.

    >>> reweighted(LinearCost("max", np.array([1.0, 2.0])), np.array([3.0, 1.0])).factors
    array([3., 2.])
    """
    if isinstance(cost, LevelCost):
        levels = tuple(f * levels for f, levels in zip(factors, cost.levels, strict=True))
        return replace(cost, levels=levels)
    if isinstance(cost, LinearCost):
        return replace(cost, factors=cost.factors * factors)
    if isinstance(cost, FittedMahalanobis):
        return replace(cost, weights=cost.weights * factors)
    raise InvalidSpec(
        f"Weights of single people are not known to {type(cost).__name__}; only ract's own costs "
        "can be weighted after they were fitted."
    )


def fit_cost(
    cost: str | Cost,
    columns: Columns,
    weights: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    exact: bool,
) -> FittedCost:
    """Learn a cost that is kept with a model.

    Parameters
    ----------
    cost : str or Cost
    columns, weights, sample_weight
        As in ``Cost.fit``.
    exact : bool
        Whether percentiles may keep the values of single people. Otherwise they keep a value
        only if five rows of the table share it. The others are put together, in their order, in
        groups of at least five, of which the mean and the mean deviation are kept. Columns of 0
        and 1, tables of fewer than 50 people, and costs without a ``fit_grouped`` are learned
        as they are.

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
    fit = learner.fit if exact else getattr(learner, "fit_grouped", learner.fit)
    fitted: FittedCost = fit(columns, weights, sample_weight)
    return fitted


def require_max_norm(cost: FittedCost) -> None:
    """Refuse costs that training cannot use."""
    if cost.norm != "max":
        raise InvalidSpec(
            f"Training needs a cost that is the largest of its features' efforts "
            f"(norm 'max', such as 'percentile' or 'range'); this one has norm {cost.norm!r} "
            "and can be used to search for recourse."
        )


Levels = tuple[np.ndarray, np.ndarray]
Learn = Callable[[np.ndarray, np.ndarray | None], Levels]


def _fitted(
    norm: Norm,
    learn: Learn,
    columns: Columns,
    weights: np.ndarray,
    sample_weight: np.ndarray | None,
) -> LevelCost:
    pairs = [learn(np.asarray(columns[j]), sample_weight) for j in range(len(columns))]
    knots = tuple(pair[0] for pair in pairs)
    levels = tuple(pair[1] * weight for pair, weight in zip(pairs, weights, strict=True))
    return LevelCost(norm, knots, levels)


def in_order(column: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """A column in ascending order, and the weight of everyone up to each place in it."""
    if sample_weight is None:
        return np.sort(column), np.arange(1.0, len(column) + 1)
    order = np.argsort(column, kind="stable")
    return column[order], np.cumsum(sample_weight[order])


def _last_of_each(ordered: np.ndarray) -> np.ndarray:
    """Where the last of each run of equal values is."""
    return np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))


def _log_levels(learn: Learn, column: np.ndarray, sample_weight: np.ndarray | None) -> Levels:
    """What is left of the log of the share of people above each value, and one more person."""
    knots, share = learn(column, sample_weight)
    n = len(column) if sample_weight is None else float(sample_weight.sum())
    return knots, -np.log1p(-share * n / (n + 1))


def _empirical_levels(column: np.ndarray, sample_weight: np.ndarray | None) -> Levels:
    """Share of people at or below each value, thinned where no single value matters."""
    ordered, reached = in_order(column, sample_weight)
    last = _last_of_each(ordered)
    if len(last) > EMPIRICAL_KNOTS:
        ranks = np.linspace(0, reached[-1], EMPIRICAL_KNOTS)
        at = np.minimum(np.searchsorted(reached[last], ranks), len(last) - 1)
        # The value before a kept one is kept too, so that a jump is not smeared over a gap.
        last = last[np.unique(np.concatenate([[0], at, np.maximum(at - 1, 0)]))]
    return ordered[last], reached[last] / reached[-1]


def _grouped_levels(column: np.ndarray, sample_weight: np.ndarray | None) -> Levels:
    """Share of people at or below a value, without the value of any single person.

    A group is one value that enough people share, or neighbouring values of enough people. It is
    taken as a uniform distribution with its mean and mean deviation, and kept as two knots: both
    ends of that, with the shares of its first and last value. Ends stop short of the next group.
    People between two shared values, or below all, who are too few for a group are kept as a
    number only: their share is that of the point just below the next value.

    Numbers of people are rows, whatever their weight: someone who counts twice is one person.
    """
    ordered, reached = in_order(column, sample_weight)
    last = _last_of_each(ordered)
    values, share, counts = ordered[last], reached[last] / reached[-1], np.diff(last, prepend=-1)
    if len(column) < FEWEST_GROUPED or np.isin(values, (0.0, 1.0)).all():
        return _empirical_levels(column, sample_weight)
    fewest = max(FEWEST_IN_GROUP, -(-len(column) // EMPIRICAL_KNOTS))
    first = _first_of_each_group(counts, fewest)
    sizes = np.diff(first, append=len(values))
    people = np.add.reduceat(counts, first)
    part = counts / np.repeat(people, sizes)
    low, high = values[first], values[first + sizes - 1]
    middle = np.clip(np.add.reduceat(values * part, first), low, high)
    half = 2 * np.add.reduceat(np.abs(values - np.repeat(middle, sizes)) * part, first)
    few = np.flatnonzero(people < fewest)
    shown = slice(len(people) - (people[-1] < fewest))  # nothing is above the last to hold them
    following = middle[np.minimum(few + 1, len(middle) - 1)]
    middle[few] = np.minimum(np.nextafter(following, -np.inf), following - TINY)
    half[few] = 0.0
    middle, half = middle[shown], half[shown]
    with np.errstate(divide="ignore"):
        fits = np.minimum(1.0, SHORT_OF * np.diff(middle) / (half[1:] + half[:-1]))
    ends = middle - half * np.append(1.0, fits), middle + half * np.append(fits, 1.0)
    knots = np.maximum.accumulate(np.stack(ends, axis=1).ravel())
    levels = np.stack([share[first], share[first + sizes - 1]], axis=1)[shown].ravel()
    kept = np.append(knots[:-1] < knots[1:], True)
    return knots[kept], levels[kept]


def _first_of_each_group(counts: np.ndarray, fewest: int) -> np.ndarray:
    """Where groups of neighbouring values begin.

    counts (values,): the people of each. A value with enough people is a group. Each segment
    between such values is cut into groups with enough people, or is one that has too few.

    >>> _first_of_each_group(np.array([1, 1, 5, 2, 1, 1, 1, 1, 1, 2, 1]), fewest=3)
    array([0, 2, 3, 6])
    """
    shared, end = counts >= fewest, np.cumsum(counts)
    start, segment = end - counts, np.cumsum(shared)
    begin = np.append(0, end[shared])[segment]
    size = np.append(start[shared], end[-1])[segment] - begin
    # Wherever a step begins and ends between two values, enough people lie in it.
    step = fewest - 1 + int(counts[~shared].max(initial=1))
    place = np.minimum((start - begin) // step, np.maximum(size // step, 1) - 1)
    changes = shared[1:] | shared[:-1] | (place[1:] != place[:-1])
    return np.flatnonzero(np.append(True, changes))


def _kernel_levels(column: np.ndarray, sample_weight: np.ndarray | None) -> Levels:
    """The authors' percentile: a cumulated kernel density on 100 points, 1e-6 beyond each end."""
    from scipy.stats import gaussian_kde  # takes longer to import than most predictions take

    if column.min() == column.max():
        return column[:1].astype(np.float64), np.array([0.5])
    low, high = np.quantile(column, [0.001, 0.999])
    if low == high:
        low, high = float(column.min()), float(column.max())
    points = np.linspace(low, high, KERNEL_POINTS)
    cumulated = np.cumsum(gaussian_kde(column, weights=sample_weight)(points))
    share = (KERNEL_TAIL + cumulated) / (cumulated[-1] + 2 * KERNEL_TAIL)
    # Their curve jumps at both ends; a running maximum keeps it from stepping back there.
    knots = np.concatenate([[np.nextafter(low, -np.inf)], points, [np.nextafter(high, np.inf)]])
    levels = np.concatenate([[KERNEL_TAIL], share, [1 - KERNEL_TAIL]])
    return knots, np.maximum.accumulate(levels)
