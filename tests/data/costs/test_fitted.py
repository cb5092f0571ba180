import numpy as np
import pytest
from scipy.stats import gaussian_kde

from ract._utils.errors import InvalidSpec
from ract.data.costs import (
    LogPercentileCost,
    MahalanobisCost,
    PercentileCost,
    ScaledCost,
    fit_cost,
    make_cost,
    require_max_norm,
)
from ract.data.costs.distribution import EMPIRICAL_KNOTS, FEWEST_IN_GROUP, Distribution
from tests import naive

TRAINING_COSTS = ["percentile", "kernel-percentile", "relative", "range", "std", "mad"]
SEARCH_COSTS = ["l1", "l2", "log-percentile", "mahalanobis"]


def table(rng, n=60):
    return np.column_stack(
        [rng.normal(size=n), rng.integers(0, 5, n), rng.integers(0, 2, n), rng.exponential(size=n)]
    ).astype(float)


@pytest.mark.parametrize("name", TRAINING_COSTS + SEARCH_COSTS)
@pytest.mark.parametrize("seed", range(5))
def test_paper_assumptions(name, seed):
    """(i) standing still is free, (iii) going further in a direction is never cheaper."""
    rng = np.random.default_rng(seed)
    X = table(rng)
    cost = make_cost(name).fit(X.T, rng.uniform(0, 3, 4))
    start = table(rng)
    assert (cost.between(start, start) == 0).all()
    step = rng.normal(size=start.shape) * 2
    before = cost.between(start, start + step)
    assert (before >= 0).all()
    for beta in (0.01, 0.5, 3.0):
        further = cost.between(start, start + step * (1 + beta))
        assert (further >= before * (1 - 1e-12)).all()


@pytest.mark.parametrize("name", TRAINING_COSTS)
def test_training_costs_are_the_largest_effort_of_one_feature(name, rng):
    """(ii) of the paper."""
    X = table(rng)
    cost = make_cost(name).fit(X.T, np.array([1.0, 2.0, 0.5, 1.0]))
    require_max_norm(cost)
    start, stop = table(rng), table(rng)
    alone = []
    for j in range(4):
        only = start.copy()
        only[:, j] = stop[:, j]
        alone.append(cost.between(start, only))
    np.testing.assert_array_equal(cost.between(start, stop), np.max(alone, axis=0))


@pytest.mark.parametrize("name", SEARCH_COSTS)
def test_search_costs_are_refused_for_training(name, rng):
    cost = make_cost(name).fit(table(rng).T, np.ones(4))
    with pytest.raises(InvalidSpec, match="Training needs a cost"):
        require_max_norm(cost)


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


def test_constant_and_nearly_constant_columns_have_a_cost():
    for column in (np.zeros(50), np.append(np.zeros(5_000), 7.0)):
        for name in [*TRAINING_COSTS, "l1", "l2", "log-percentile"]:
            level = make_cost(name).fit([column], np.ones(1)).level(0, np.array([-1.0, 0, 7, 9]))
            assert np.isfinite(level).all() and (np.diff(level) >= 0).all()


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


def test_scaled_costs_by_hand():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [10.0, 1.0]])
    start, stop = [[0.0, 0.0]], [[5.0, 1.0]]
    weights = np.array([2.0, 1.0])
    range_max = ScaledCost("range").fit(X.T, weights).between(start, stop)
    assert range_max == [1.0]  # max(2 * 5 / 10, 1)
    assert ScaledCost("range", norm="l1").fit(X.T, weights).between(start, stop) == [2.0]
    euclid = ScaledCost([1.0, 0.5], norm="l2").fit(X.T, weights).between(start, stop)
    np.testing.assert_allclose(euclid, [np.hypot(10.0, 2.0)])
    mad = ScaledCost("mad").fit(X.T, np.ones(2))
    np.testing.assert_allclose(mad.factors, [1 / 2.0, 1 / X[:, 1].std()])


def test_mahalanobis_by_hand(rng):
    X = rng.normal(size=(500, 2)) @ np.array([[1.0, 0.5], [0.0, 2.0]])
    cost = MahalanobisCost().fit(X.T, np.ones(2))
    step = np.array([1.0, -1.0])
    expected = np.sqrt(step @ np.linalg.inv(np.cov(X.T)) @ step)
    np.testing.assert_allclose(cost.between([[0.0, 0.0]], [step]), [expected])
    with pytest.raises(InvalidSpec, match="does not split by feature"):
        cost.level(0, np.zeros(1))


def test_wrong_costs_are_refused():
    with pytest.raises(InvalidSpec, match="Unknown cost 'euclid'; known are 'percentile'"):
        make_cost("euclid")
    with pytest.raises(InvalidSpec, match="must be a name or have a fit method, got 3"):
        make_cost(3)
    with pytest.raises(InvalidSpec, match="estimate must be"):
        PercentileCost("guess")
    with pytest.raises(InvalidSpec, match="scale must be one of"):
        ScaledCost("width")
    with pytest.raises(InvalidSpec, match="scale must be positive"):
        ScaledCost([1.0, 0.0])
    with pytest.raises(InvalidSpec, match="norm must be"):
        ScaledCost(norm="l3")
    with pytest.raises(InvalidSpec, match="scale has 1 numbers for 2 encoded columns"):
        ScaledCost([1.0]).fit(np.zeros((2, 3)), np.ones(2))


@pytest.mark.parametrize("name", TRAINING_COSTS + SEARCH_COSTS)
def test_counting_people_twice_equals_repeating_them(name, rng):
    X = table(rng, 41)
    times = rng.integers(1, 4, len(X))
    repeated = np.repeat(X, times, axis=0)
    weighted = make_cost(name).fit(X.T, np.ones(4), times.astype(float))
    plain = make_cost(name).fit(repeated.T, np.ones(4))
    start, stop = table(rng), table(rng)
    # The kernel's bandwidth and the covariance count people a little differently.
    loose = name in ("kernel-percentile", "mahalanobis")
    np.testing.assert_allclose(
        weighted.between(start, stop), plain.between(start, stop), rtol=0.1 if loose else 1e-9
    )


def both(column, name="percentile", sample_weight=None):
    """The exact cost of a column, and the one that shows nobody's values."""
    return (
        fit_cost(name, [column], np.ones(1), sample_weight, exact=exact) for exact in (True, False)
    )


def awkward_columns():
    """Columns with ties, gaps and values that many people share."""
    rng = np.random.default_rng(1)
    yield rng.lognormal(10, 1, 400)
    yield np.round(rng.lognormal(10, 1, 2000), -2)
    yield rng.poisson(20, 700).astype(float)
    yield np.concatenate([np.zeros(90), -rng.exponential(10, 30), rng.exponential(1e3, 80)])
    yield np.concatenate([np.zeros(300), -rng.random(3), rng.random(3)])
    yield np.concatenate([[5.0] * 40, [6.0, 6.5], [7.0] * 40, rng.normal(9, 1e-9, 20)])
    yield np.concatenate([-1e12 * rng.random(60), 1e-12 * rng.random(60)])
    yield np.full(80, 3.0)
    yield rng.permutation(np.repeat(rng.normal(size=90), rng.integers(1, 9, 90)))


@pytest.mark.parametrize("name", ["percentile", "log-percentile"])
@pytest.mark.parametrize("n_people", [50, 51, 400, 20_000])
def test_a_kept_cost_has_no_knot_at_the_value_of_a_few_people(name, n_people, rng):
    """A model file held every income of the training table."""
    incomes = rng.lognormal(10, 1, n_people)
    incomes[: n_people // 3] = 30_000.0
    exact, grouped = both(incomes, name)
    values, counts = np.unique(incomes, return_counts=True)
    few = values[counts < FEWEST_IN_GROUP]
    assert np.isin(exact.knots[0], few).any() and not np.isin(grouped.knots[0], few).any()
    assert 30_000.0 in grouped.knots[0]
    assert len(grouped.knots[0]) <= 2 * min(n_people / FEWEST_IN_GROUP, EMPIRICAL_KNOTS)


@pytest.mark.parametrize("k", range(9))
def test_a_kept_cost_is_near_the_exact_one(k):
    column = list(awkward_columns())[k]
    exact, grouped = both(column)
    knots, levels = grouped.knots[0], grouped.levels[0]
    assert (np.diff(knots) > 0).all() and (np.diff(levels) >= 0).all()
    assert len(knots) and np.isfinite(knots).all() and 0 < levels[0] <= levels[-1] <= 1
    off = np.abs(exact.level(0, column) - grouped.level(0, column))
    # Less than a group; but for one of the few who come right before a value of many.
    assert np.sort(off)[-2] < FEWEST_IN_GROUP / len(column)
    assert off.mean() < 0.5 * FEWEST_IN_GROUP / len(column)
    values, counts = np.unique(column, return_counts=True)
    shared = values[counts >= FEWEST_IN_GROUP]
    np.testing.assert_array_equal(exact.level(0, shared), grouped.level(0, shared))


def test_a_kept_cost_groups_rows_whatever_they_count(rng):
    column, weight = rng.normal(size=200), rng.uniform(0.5, 30, 200)
    exact, grouped = both(column, sample_weight=weight)
    assert not np.isin(grouped.knots[0], column).any()
    most = np.sort(weight)[-FEWEST_IN_GROUP:].sum() / weight.sum()
    assert np.abs(exact.level(0, column) - grouped.level(0, column)).max() < most


def test_some_kept_costs_are_exact(rng):
    for column in ((rng.random(500) < 0.004).astype(float), np.ones(60), rng.normal(size=49)):
        exact, grouped = both(column)
        np.testing.assert_array_equal(exact.knots[0], grouped.knots[0])
        np.testing.assert_array_equal(exact.levels[0], grouped.levels[0])
    for name in ("kernel-percentile", "range"):
        exact, grouped = both(rng.normal(size=300), name)
        values = rng.normal(size=50)
        np.testing.assert_array_equal(exact.level(0, values), grouped.level(0, values))


@pytest.mark.parametrize("name", ["range", "std", "mad", "l1", "l2"])
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


@pytest.mark.parametrize("seed", range(60))
def test_grouped_costs_are_near_the_exact_ones(seed):
    """What the FAQ says: by 25 people's share at most, smooth columns by 10."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 1500))
    smooth = [rng.normal(size=n), rng.lognormal(0, 2, n), rng.random(n) * 1e6]
    rough = [
        np.cumsum(rng.choice([0, 1e-6, 1, 1000.0], n)),
        rng.zipf(1.5, n).astype(float),
        np.round(rng.lognormal(8, 1, n), -int(rng.integers(4))),
        rng.choice(rng.lognormal(0, 2, max(3, n // 4)), n),
    ]
    for most, columns in ((10, smooth), (25, rough)):
        for column in columns:
            exact = fit_cost("percentile", [column], np.ones(1), exact=True)
            grouped = fit_cost("percentile", [column], np.ones(1), exact=False)
            values = np.unique(column)
            differ = grouped.level(0, values) - exact.level(0, values)
            assert np.ptp(differ) * n <= most  # the largest difference of any cost


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
