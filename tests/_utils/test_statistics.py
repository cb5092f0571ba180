"""Intervals against their formulas and against simulation."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from ract._utils.errors import InvalidSpec
from ract._utils.statistics import (
    NOTHING,
    area,
    clopper_pearson_lower,
    clopper_pearson_upper,
    difference,
    exact_share,
    mean,
    proportion,
    ratio,
)


def test_wilsons_interval_by_its_formula():
    n, p, z = 40, 0.25, stats.norm.ppf(0.975)
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    found = proportion(10, n, 0.95)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))
    assert proportion(0, 0, 0.95) is NOTHING


def test_students_interval_is_that_of_scipy():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    known = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    found = mean(values, 0.9)
    assert (found.value, found.low, found.high) == pytest.approx((4.0, known.low, known.high))
    assert mean(values[:1], 0.9).high == math.inf


def test_areas_stay_between_0_and_1():
    assert area(1.0, 5, 5, 0.95).high == 1.0 and area(0.5, 2, 2, 0.95).low >= 0.0
    assert area(0.7, 0, 5, 0.95) is NOTHING


def test_ratios_and_differences_contain_their_values():
    a, b = proportion(30, 50, 0.95), proportion(10, 50, 0.95)
    gap, times = difference(a, b), ratio(a, b)
    assert (gap.value, times.value) == pytest.approx((0.4, 3.0))
    assert gap.low < gap.value < gap.high and times.low < times.value < times.high
    assert ratio(a, proportion(0, 50, 0.95)) is NOTHING


@pytest.mark.parametrize("hits", [0, 1, 7, 10])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(hits):
    """At each end, counts as far off as this one have half of what the confidence leaves."""
    estimate = exact_share(hits, 10, 0.9)
    assert estimate.value == hits / 10
    if hits > 0:
        assert binom.sf(hits - 1, 10, estimate.low) == pytest.approx(0.05)
    if hits < 10:
        assert binom.cdf(hits, 10, estimate.high) == pytest.approx(0.05)
    assert (hits > 0 or estimate.low == 0) and (hits < 10 or estimate.high == 1)
    assert np.isnan(exact_share(0, 0, 0.9).value)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 2, 10, 137, 5_000])
def test_clopper_pearson_is_where_so_few_failures_become_unlikely(n, confidence):
    bounds = []
    for failures in sorted({0, 1, n // 3, n - 1} & set(range(n))):
        bound = clopper_pearson_upper(failures, n, confidence)
        assert binom.cdf(failures, n, bound) == pytest.approx(1 - confidence, rel=1e-6)
        assert failures / n < bound < 1 or confidence == 0.5
        bounds.append(bound)
    assert bounds == sorted(bounds)
    assert clopper_pearson_upper(n, n, confidence) == 1.0
    assert clopper_pearson_upper(0, n, confidence) == pytest.approx(1 - (1 - confidence) ** (1 / n))
    for hits in (0, n // 2, n):  # the lower bound of one is the upper bound of the other
        upper = clopper_pearson_upper(n - hits, n, confidence)
        assert clopper_pearson_lower(hits, n, confidence) == pytest.approx(1 - upper)


def test_bounds_need_trials():
    with pytest.raises(InvalidSpec, match="failures must lie between 0 and n >= 1, got 5 of 4"):
        clopper_pearson_upper(5, 4, 0.9)
    with pytest.raises(InvalidSpec, match="got 0 of 0"):
        clopper_pearson_upper(0, 0, 0.9)
