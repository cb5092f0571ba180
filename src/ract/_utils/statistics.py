"""Confidence intervals of shares, means and areas, and of their differences and ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, binomtest, norm, t

from ract._utils.errors import InvalidSpec
from ract._utils.validation import INNER_SHARE, check_value


@dataclass(frozen=True)
class Estimate:
    """A value with an interval; NaN where there is nobody to estimate it from."""

    value: float
    low: float
    high: float


NOTHING = Estimate(math.nan, math.nan, math.nan)


def proportion(hits: int, n: int, confidence: float) -> Estimate:
    """A share with Wilson's interval.

    Examples
    --------
    >>> estimate = proportion(9, 10, 0.95)
    >>> round(estimate.low, 3), round(estimate.high, 3)
    (0.596, 0.982)
    """
    return _with_interval(hits, n, confidence, "wilson")


def exact_share(hits: int, n: int, confidence: float) -> Estimate:
    """A share with the interval of Clopper and Pearson.

    >>> estimate = exact_share(95, 100, 0.9)
    >>> round(estimate.low, 3), round(estimate.high, 3)
    (0.898, 0.98)
    """
    return _with_interval(hits, n, confidence, "exact")


def _with_interval(hits: int, n: int, confidence: float, method: str) -> Estimate:
    if n == 0:
        return NOTHING
    interval = binomtest(hits, n).proportion_ci(confidence, method=method)
    return Estimate(hits / n, float(interval.low), float(interval.high))


def clopper_pearson_upper(failures: int, n: int, confidence: float) -> float:
    """Upper confidence bound of a probability, exact for any number of trials.

    Parameters
    ----------
    failures, n : int
        Times that it happened, out of how many.
    confidence : float

    Examples
    --------
    >>> round(clopper_pearson_upper(0, 30, 0.95), 3)
    0.095
    """
    check_value("confidence", confidence, INNER_SHARE)
    if not 0 <= failures <= n or n < 1:
        raise InvalidSpec(f"failures must lie between 0 and n >= 1, got {failures} of {n}.")
    if failures == n:
        return 1.0
    return float(beta.ppf(confidence, failures + 1, n - failures))


def clopper_pearson_lower(hits: int, n: int, confidence: float) -> float:
    """Lower confidence bound of a probability, exact for any number of trials."""
    return float(beta.ppf(1 - confidence, hits, n - hits + 1)) if hits else 0.0


def mean(values: np.ndarray, confidence: float) -> Estimate:
    """A mean with Student's interval; no interval for fewer than two values."""
    n = len(values)
    if n == 0:
        return NOTHING
    spread = float(np.std(values, ddof=1)) if n > 1 else math.inf
    return mean_of(n, float(np.mean(values)), spread, confidence)


def mean_of(n: int, value: float, spread: float, confidence: float) -> Estimate:
    """The same from a number of values, their mean and their standard deviation."""
    if n == 0:
        return NOTHING
    if n == 1:
        return Estimate(value, -math.inf, math.inf)
    half = float(t.ppf((1 + confidence) / 2, n - 1) * spread / math.sqrt(n))
    return Estimate(value, value - half, value + half)


def area(auc: float, n_desired: int, n_other: int, confidence: float) -> Estimate:
    """An area under the ROC curve with the interval of Hanley and McNeil."""
    if n_desired == 0 or n_other == 0:
        return NOTHING
    q1, q2 = auc / (2 - auc), 2 * auc * auc / (1 + auc)
    variance = auc * (1 - auc) + (n_desired - 1) * (q1 - auc**2) + (n_other - 1) * (q2 - auc**2)
    half = float(norm.ppf((1 + confidence) / 2)) * math.sqrt(variance / (n_desired * n_other))
    return Estimate(auc, max(auc - half, 0.0), min(auc + half, 1.0))


def difference(a: Estimate, b: Estimate) -> Estimate:
    """A - b, with an interval made of both intervals (the method of variance estimates).

    Examples
    --------
    >>> one, other = proportion(56, 70, 0.95), proportion(48, 80, 0.95)  # Newcombe's example
    >>> between = difference(one, other)
    >>> round(between.low, 4), round(between.high, 4)
    (0.0524, 0.3339)
    """
    value = a.value - b.value
    return Estimate(
        value,
        value - math.hypot(a.value - a.low, b.high - b.value),
        value + math.hypot(a.high - a.value, b.value - b.low),
    )


def ratio(a: Estimate, b: Estimate) -> Estimate:
    """A / b of two values that are not negative, with an interval made of both intervals."""
    if not b.value > 0 or not a.value >= 0:
        return NOTHING
    product = a.value * b.value

    def limit(of_a: float, of_b: float, sign: int) -> float:
        below = of_b * (2 * b.value - of_b)
        inside = product**2 - of_a * (2 * a.value - of_a) * below
        if below <= 0 or not math.isfinite(inside):
            return math.inf if sign > 0 else 0.0
        return (product + sign * math.sqrt(max(inside, 0.0))) / below

    return Estimate(a.value / b.value, max(limit(a.low, b.high, -1), 0.0), limit(a.high, b.low, 1))
