"""Effort as people to overtake."""

import numpy as np
from scipy.stats import gaussian_kde

from ract.data.costs import LogPercentileCost, PercentileCost
from ract.data.costs.distribution import EMPIRICAL_KNOTS
from tests import naive


def table(rng, n=60):
    return np.column_stack(
        [rng.normal(size=n), rng.integers(0, 5, n), rng.integers(0, 2, n), rng.exponential(size=n)]
    ).astype(float)


def test_empirical_percentile_equals_its_definition(rng):
    X = table(rng, 25)
    cost = PercentileCost().fit(X.T, np.ones(4))
    for j in range(4):
        values = np.concatenate([X[:, j], rng.normal(size=20), [-99.0, 99.0]])
        expected = [naive.percentile_level(list(X[:, j]), v) for v in values]
        np.testing.assert_allclose(cost.level(j, values), expected, atol=1e-12)


def test_thinned_percentile_keeps_every_large_jump(rng):
    spike = np.full(3_000, 0.25)
    column = np.concatenate([rng.uniform(size=17_000), spike])
    cost = PercentileCost().fit([column], np.ones(1))
    assert len(cost.knots[0]) < 5_000
    observed, counts = np.unique(column, return_counts=True)
    values = np.concatenate([rng.uniform(size=500), [0.25, np.nextafter(0.25, 0)]])
    unthinned = np.interp(values, observed, np.cumsum(counts) / len(column))
    assert np.abs(cost.level(0, values) - unthinned).max() < 1 / EMPIRICAL_KNOTS
    before = column[column < 0.25].max()
    exact = [cost.level(0, np.array([v]))[0] for v in (before, 0.25)]
    np.testing.assert_allclose(exact, [(column <= before).mean(), (column <= 0.25).mean()])


def test_kernel_percentile_equals_the_authors_recipe(rng):
    column = rng.gamma(2.0, size=300)
    cost = PercentileCost("kernel").fit([column], np.ones(1))
    points = np.linspace(np.quantile(column, 0.001), np.quantile(column, 0.999), 100)
    density = np.cumsum(gaussian_kde(column)(points))
    curve = (1e-6 + density) / (density[-1] + 2e-6)
    values = np.concatenate([points, rng.uniform(points[0], points[-1], 50)])
    np.testing.assert_allclose(cost.level(0, values), np.interp(values, points, curve), atol=1e-9)
    assert cost.level(0, np.array([points[0] - 1.0]))[0] == 1e-6
    np.testing.assert_allclose(cost.level(0, np.array([points[-1] + 1.0]))[0], 1 - 1e-6, atol=1e-6)


def test_log_percentile_equals_its_definition(rng):
    X = table(rng, 30)
    cost = LogPercentileCost().fit(X.T, np.ones(4))
    start, stop = X[:5], X[5:10]
    n = len(X)

    def log_rest(j, v):
        return np.log(1 - naive.percentile_level(list(X[:, j]), v) * n / (n + 1))

    expected = [
        sum(abs(log_rest(j, b[j]) - log_rest(j, a[j])) for j in range(4))
        for a, b in zip(start, stop, strict=True)
    ]
    np.testing.assert_allclose(cost.between(start, stop), expected)
