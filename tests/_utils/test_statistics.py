"""Intervals against their formulas and against simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from ract._utils.statistics import NOTHING, area, difference, mean, proportion, ratio


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
