import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract.data.costs import (
    PercentileCost,
    ScaledCost,
    fit_cost,
    make_cost,
    require_max_norm,
)
from ract.data.costs.distribution import EMPIRICAL_KNOTS, FEWEST_IN_GROUP
from tests.builders import each_seed

TRAINING_COSTS = ["percentile", "kernel-percentile", "relative", "range", "std", "mad"]
SEARCH_COSTS = ["l1", "log-percentile"]


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


def test_constant_and_nearly_constant_columns_have_a_cost():
    for column in (np.zeros(50), np.append(np.zeros(5_000), 7.0)):
        for name in [*TRAINING_COSTS, "l1", "log-percentile"]:
            level = make_cost(name).fit([column], np.ones(1)).level(0, np.array([-1.0, 0, 7, 9]))
            assert np.isfinite(level).all() and (np.diff(level) >= 0).all()


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
    with pytest.raises(InvalidSpec, match="norm='l2' is gone; in its place: norm='l1' or 'max'"):
        ScaledCost(norm="l2")
    for name in ("l2", "mahalanobis"):
        with pytest.raises(InvalidSpec, match=f"cost='{name}' is gone; in its place: cost='l1'"):
            make_cost(name)
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
    loose = name == "kernel-percentile"  # its bandwidth counts people a little differently
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


@each_seed(range(60))
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
