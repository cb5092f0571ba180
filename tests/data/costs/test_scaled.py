"""Effort as distance on the scale of each column."""

import numpy as np
import pytest

from ract.data.costs import make_cost
from ract.data.costs.distribution import Distribution
from ract.data.costs.scaled import ScaledCost, median_of


@pytest.mark.parametrize("seed", range(20))
def test_the_weighted_median_is_that_of_repeated_people(seed):
    rng = np.random.default_rng(seed)
    column, times = rng.normal(size=9), rng.integers(1, 4, 9)
    expected = np.median(np.repeat(column, times))
    assert median_of(column, times.astype(float)) == pytest.approx(expected)


def test_the_deviation_takes_the_place_of_a_median_deviation_of_nothing():
    column = np.array([0.0, 0.0, 0.0, 8.0])
    factor = ScaledCost("mad").fit([column], np.ones(1)).factors[0]
    assert factor == pytest.approx(1 / column.std())


def test_scaled_costs_by_hand():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [10.0, 1.0]])
    start, stop = [[0.0, 0.0]], [[5.0, 1.0]]
    weights = np.array([2.0, 1.0])
    range_max = ScaledCost("range").fit(X.T, weights).between(start, stop)
    assert range_max == [1.0]  # max(2 * 5 / 10, 1)
    assert ScaledCost("range", norm="l1").fit(X.T, weights).between(start, stop) == [2.0]
    added = ScaledCost([1.0, 0.5], norm="l1").fit(X.T, weights).between(start, stop)
    np.testing.assert_allclose(added, [10.0 + 2.0])
    mad = ScaledCost("mad").fit(X.T, np.ones(2))
    np.testing.assert_allclose(mad.factors, [1 / 2.0, 1 / X[:, 1].std()])


@pytest.mark.parametrize("name", ["range", "std", "mad", "l1"])
@pytest.mark.parametrize("offset", [0.0, 2.0**52, -(2.0**52), 1e9])
def test_scaled_costs_do_not_depend_on_where_a_column_lies(name, offset):
    column = np.arange(16.0)
    near = make_cost(name).fit([column], np.ones(1))
    far = make_cost(name).fit([column + offset], np.ones(1))
    start, stop = np.meshgrid(column, column)
    start, stop = start.reshape(-1, 1), stop.reshape(-1, 1)
    moved = far.between(start + offset, stop + offset)
    np.testing.assert_allclose(moved, near.between(start, stop), rtol=1e-9)


def test_given_scales_do_not_depend_on_where_a_column_lies():
    column = 2.0**52 + np.arange(16.0)
    cost = ScaledCost([15.0]).fit([column], np.ones(1))
    assert cost.between(column[:1, None], column[1:2, None])[0] == pytest.approx(1 / 15)


@pytest.mark.parametrize("outlier", [-(2.0**52), -(2.0**53), 2.0**51, -(2.0**41)])
@pytest.mark.parametrize("size", [13, 14])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_outlier_does_not_round_what_a_column_far_from_zero_costs(outlier, size, weighted):
    near = np.append(np.arange(float(size)), outlier)
    unit = np.median(np.abs(near - np.median(near)))
    weight = np.ones(len(near)) if weighted else None
    cost = make_cost("mad").fit([near + 2.0**52], np.ones(1), weight)
    start, stop = near[:-2, None] + 2.0**52, near[1:-1, None] + 2.0**52
    np.testing.assert_allclose(cost.between(start, stop), 1 / unit, rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 2.0**29, 2.0**40, -1e9])
@pytest.mark.parametrize("outlier", [-(2.0**29), 1e8, 2.0**33])
@pytest.mark.parametrize("name", ["mad", "given"])
def test_an_outlier_leaves_costs_near_the_middle_exact_at_the_edge(name, offset, outlier):
    column = np.append(np.arange(12.0), outlier) + offset
    unit = np.median(np.abs(column - np.median(column)))  # 3: levels are rounded
    learner = make_cost("mad") if name == "mad" else ScaledCost([unit])
    cost = learner.fit([column], np.ones(1))
    start, stop = np.sort(column)[2:8, None], np.sort(column)[3:9, None]
    np.testing.assert_allclose(cost.between(start, stop), 1 / unit, rtol=1e-12)


def test_relative_costs_are_shares_of_the_own_value_or_the_median(rng):
    column = rng.lognormal(3, 1, 201)
    cost = make_cost("relative").fit([column], np.array([2.0]))
    for own in rng.choice(column, 20):
        step = own * 1e-6
        moved = cost.between([[own]], [[own + step]])[0]
        assert moved == pytest.approx(2 * step / max(own, np.median(column)), rel=1e-4)
    rich = column.max()
    assert cost.between([[rich]], [[1.5 * rich]])[0] == pytest.approx(2 * np.log(1.5))


def test_relative_costs_of_zeros_and_ones_are_shares_of_people():
    flags = np.array([0.0, 0, 0, 1])
    for name in ("relative", "percentile"):
        assert make_cost(name).fit([flags], np.ones(1)).between([[0.0]], [[1.0]]) == 0.25


def test_relative_costs_know_distributions_and_weights(rng):
    column, weight = rng.integers(0, 9, 60).astype(float), rng.integers(1, 4, 60).astype(float)
    repeated = np.repeat(column, weight.astype(int))
    expected = make_cost("relative").fit([repeated], np.ones(1))
    for given in ([column], [Distribution.of(column, weight)]):
        own = None if isinstance(given[0], Distribution) else weight
        learned = make_cost("relative").fit(given, np.ones(1), own)
        np.testing.assert_allclose(learned.scales, expected.scales)
