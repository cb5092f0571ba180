import numpy as np
import pandas as pd
import polars as pl
import pytest

from ract import ActionSpace, Feature
from ract._kernels.cells import find_cells, interpolate
from ract._utils.errors import InvalidSpec
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from tests import naive
from tests.builders import each_seed

KINDS = ["continuous", "integer", "binary"]
CHANGES = ["any", "increase", "decrease", "fixed"]


def random_column(rng, kind, n):
    if kind == "continuous":
        return np.round(rng.normal(size=n), rng.integers(0, 3)) * 3
    if kind == "integer":
        return rng.integers(-4, 12, n).astype(float)
    return rng.permutation(np.append(rng.integers(0, 2, n - 2), [0, 1])).astype(float)


def random_problem(rng):
    """A one-column table, a space for it and a grid that need not come from the same table."""
    kind, change = rng.choice(KINDS), rng.choice(CHANGES)
    column = random_column(rng, kind, int(rng.integers(5, 30)))
    lower, upper = None, None
    if kind != "binary" and rng.random() < 0.6:
        inside = np.sort(rng.choice(column, 2))
        lower, upper = inside if kind == "continuous" else np.floor(inside)
    weight = float(rng.choice([1.0, 0.5, 2.0, 0.0], p=[0.7, 0.1, 0.1, 0.1]))
    feature = Feature("x0", kind, change, lower, upper, weight)
    encoder = Encoder(column[:, None], ActionSpace([feature], limits=None))
    if rng.random() < 0.5:
        grid = Grid.from_columns(encoder.axes, [column], int(rng.integers(2, 12)))
    else:
        cuts = rng.uniform(column.min() - 1, column.max() + 1, int(rng.integers(0, 12)))
        # Thresholds on observed values and close together make empty integer cells.
        cuts = np.concatenate([cuts, rng.choice(column, 2), cuts[:2] + 0.1])
        grid = Grid.from_splits(encoder.axes, np.zeros(len(cuts), int), cuts)
    return encoder, column, grid


@each_seed(range(300))
def test_reach_and_prices_equal_brute_force_over_every_value(seed):
    rng = np.random.default_rng(seed)
    encoder, column, grid = random_problem(rng)
    feature = encoder.space["x0"]
    cost = make_cost("percentile").fit([column], encoder.weights)
    prices = grid.price(cost)
    thresholds = grid.thresholds[0]
    people = np.concatenate([column[:5], random_column(rng, feature.kind, 5)])
    budget = float(rng.choice([0.0, 0.137, 0.4219, 5.0]))
    cells = grid.cells([people])
    reach = prices.reach([people], cells, budget)
    for i, own in enumerate(people):
        values = naive.attainable_values(
            feature.kind, feature.change, feature.lower, feature.upper, own, thresholds, rng
        )
        best = naive.cheapest_per_cell(list(column), feature.weight, own, thresholds, values)
        assert cells[0, i] == naive.cell_of(thresholds, own)
        costs, cheapest = prices.of_person(np.array([own]))
        for cell in range(len(thresholds) + 1):
            if cell in best:
                assert costs[0, cell] == pytest.approx(best[cell][0], abs=1e-12)
                value = cheapest[0, cell]
                assert naive.cell_of(thresholds, value) == cell
                moved = cost.between([[own]], [[value]])[0]
                assert moved == costs[0, cell] or cell == cells[0, i]
                if feature.kind != "continuous":
                    assert value == np.floor(value)
                assert value == own or feature.lower <= value or value > own
                assert value == own or value <= feature.upper or value < own
            else:
                assert np.isinf(costs[0, cell]) and np.isnan(cheapest[0, cell])
        near = {cell for cell, (c, _) in best.items() if c <= budget}
        assert reach.lowest[0, i] == min(near)
        assert reach.highest[0, i] == max(near)


@each_seed(range(100))
def test_spans_are_the_ends_of_what_is_attainable_in_each_cell(seed):
    rng = np.random.default_rng(seed)
    encoder, column, grid = random_problem(rng)
    feature, thresholds = encoder.space["x0"], grid.thresholds[0]
    for own in column[:5]:
        values = naive.attainable_values(
            feature.kind, feature.change, feature.lower, feature.upper, own, thresholds, rng
        )
        cells = [naive.cell_of(thresholds, v) for v in values]
        lowest, highest = grid.span(0, float(own))
        for cell in range(len(thresholds) + 1):
            inside = [v for v, c in zip(values, cells, strict=True) if c == cell]
            if inside:
                assert (lowest[cell], highest[cell]) == (min(inside), max(inside))
            else:
                assert np.isnan(lowest[cell]) and np.isnan(highest[cell])


@each_seed(range(60))
def test_categories_equal_their_definition(seed):
    rng = np.random.default_rng(seed)
    n, k = 30, int(rng.integers(2, 6))
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    names = np.array(list("abcdef"))[codes]
    change, weight = str(rng.choice(CHANGES)), float(rng.choice([1.0, 3.0]))
    order = tuple("abcdef"[:k])
    space = ActionSpace(
        [Feature("c", "categorical", change, weight=weight, categories=order)], limits=None
    )
    declared = bool(rng.random() < 0.5)
    if declared:
        frame = pd.DataFrame(np.eye(k)[codes], columns=list("abcdef")[:k])
        group = Feature("c", change=change, weight=weight, columns=order)
        space = ActionSpace([group], limits=None)
    else:
        frame = pd.DataFrame({"c": names})
    encoder = Encoder(frame, space)
    columns = encoder.encode(frame)
    grid = Grid.from_columns(encoder.axes, columns)
    prices = grid.price(make_cost("percentile").fit(columns, encoder.weights))
    cells = grid.cells(columns)
    np.testing.assert_array_equal(cells[0], codes)
    budget = float(rng.uniform(0, 1.5))
    reach = prices.reach(columns, cells, budget).categories[0]
    flips = [weight * naive.flip_cost(codes == a) for a in range(k)]
    for a in range(k):
        person = encoder.matrix(frame)[codes == a][0]
        costs, _ = prices.of_person(person)
        for b in range(k):
            allowed = {"any": True, "increase": b > a, "decrease": b < a, "fixed": False}[change]
            expected = 0.0 if a == b else max(flips[a], flips[b]) if allowed else np.inf
            assert costs[0, b] == pytest.approx(expected)
            assert reach[a, b] == (expected <= budget)


@pytest.mark.parametrize("name", ["kernel-percentile", "range", "std", "mad"])
def test_reach_agrees_with_the_price_of_every_cell(name, rng):
    """For each cost of training: the reach is the cells that cost no more than the budget."""
    X = np.column_stack([rng.normal(size=80), rng.integers(0, 30, 80), rng.exponential(size=80)])
    encoder = Encoder(
        X, ActionSpace([Feature("x0"), Feature("x1", change="decrease")], limits=None)
    )
    columns = encoder.encode(X)
    grid = Grid.from_columns(encoder.axes, columns, 12)
    prices = grid.price(make_cost(name).fit(columns, encoder.weights))
    cells = grid.cells(columns)
    reach = prices.reach(columns, cells, 0.3)
    for i in range(len(X)):
        costs, _ = prices.of_person(X[i])
        for a in range(3):
            near = np.flatnonzero(costs[a] <= 0.3)
            assert (reach.lowest[a, i], reach.highest[a, i]) == (near[0], near[-1])
    assert (reach.highest[1] == cells[1]).all() and (reach.lowest[2] == cells[2]).all()


@pytest.mark.parametrize("norm", ["l1", "range"])
def test_switching_category_flips_two_columns_in_every_norm(norm):
    frame = pd.DataFrame({"c": ["a", "b", "b", "c"]})
    encoder = Encoder(frame)
    columns = encoder.encode(frame)
    cost = make_cost(norm).fit(columns, encoder.weights)
    prices = Grid.from_columns(encoder.axes, columns).price(cost)
    people = encoder.matrix(frame)
    costs, _ = prices.of_person(people[0])
    expected = cost.between(people[:1], people[1:2])[0]
    assert costs[0, 1] == pytest.approx(expected)


def test_a_person_beyond_a_bound_may_stay_or_come_back():
    column = np.arange(10.0)
    encoder = Encoder(
        column[:, None], ActionSpace([Feature("x0", "integer", lower=2, upper=6)], limits=None)
    )
    grid = Grid.from_columns(encoder.axes, [column])
    prices = grid.price(make_cost("percentile").fit([column], encoder.weights))
    cells = grid.cells([column])
    reach = prices.reach([column], cells, 1.0)
    assert (reach.lowest[0, 9], reach.highest[0, 9]) == (2, 9)
    assert (reach.lowest[0, 0], reach.highest[0, 0]) == (0, 6)


@each_seed(range(20))
def test_thresholds_separate_observed_values(seed):
    rng = np.random.default_rng(seed)
    column = random_column(rng, "continuous", 200)
    encoder = Encoder(column[:, None])
    exact = Grid.from_columns(encoder.axes, [column]).thresholds[0]
    observed = np.unique(column)
    assert len(exact) == len(observed) - 1
    assert (observed[:-1] <= exact).all() and (exact < observed[1:]).all()
    few = Grid.from_columns(encoder.axes, [column], 8).thresholds[0]
    assert len(few) <= 7 and np.isin(few, exact).all()


def test_quantile_cells_hold_about_equally_many_people(rng):
    column = rng.normal(size=10_000)
    encoder = Encoder(column[:, None])
    grid = Grid.from_columns(encoder.axes, [column], 20)
    counts = np.bincount(grid.cells([column])[0])
    assert len(counts) == 20 and counts.min() >= 499 and counts.max() <= 501


def test_neighbouring_floats_are_told_apart():
    column = np.array([1.0, np.nextafter(1.0, 2.0), -np.finfo(float).max, np.finfo(float).max])
    encoder = Encoder(column[:, None])
    grid = Grid.from_columns(encoder.axes, [column])
    assert sorted(grid.cells([column])[0]) == [0, 1, 2, 3]


def test_pandas_and_polars_give_the_same_grid_and_reach(rng):
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=50),
            "b": rng.integers(0, 9, 50),
            "c": rng.choice(["x", "y", "z"], 50),
            "d": rng.random(50) < 0.5,
        }
    )
    results = []
    for table in (frame, pl.from_pandas(frame)):
        encoder = Encoder(table, ActionSpace.infer(table, increase=["b"], limits=None))
        columns = encoder.encode(table)
        grid = Grid.from_columns(encoder.axes, columns, 16)
        prices = grid.price(make_cost("percentile").fit(columns, encoder.weights))
        cells = grid.cells(columns)
        results.append((grid, cells, prices.reach(columns, cells, 0.2)))
    (grid, cells, reach), (other_grid, other_cells, other_reach) = results
    assert grid.axes == other_grid.axes
    for mine, other in zip(grid.thresholds, other_grid.thresholds, strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(cells, other_cells)
    np.testing.assert_array_equal(reach.lowest, other_reach.lowest)
    np.testing.assert_array_equal(reach.highest, other_reach.highest)
    np.testing.assert_array_equal(reach.categories[2], other_reach.categories[2])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 255, 1000])
def test_find_cells_equals_counting(n, rng):
    thresholds = np.unique(np.round(rng.normal(size=n), 2))
    values = np.concatenate([rng.normal(size=200), thresholds])
    out = np.zeros(len(values), np.uint16)
    find_cells(values, thresholds, out)
    assert list(out) == [naive.cell_of(thresholds, v) for v in values]


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_interpolate_equals_numpy(n, rng):
    knots = np.unique(rng.normal(size=n))
    heights = np.sort(rng.normal(size=len(knots)))
    values = np.concatenate([rng.normal(size=200) * 2, knots])
    out = np.empty(len(values))
    interpolate(values, knots, heights, out)
    np.testing.assert_allclose(out, np.interp(values, knots, heights), atol=1e-14)


def test_wide_grids_use_wider_integers(rng):
    column = rng.normal(size=1_000)
    encoder = Encoder(column[:, None])
    grid = Grid.from_columns(encoder.axes, [column], 1_000)
    cells = grid.cells([column])
    assert cells.dtype == np.uint16 and cells.max() == 999
    assert Grid.from_columns(encoder.axes, [column], 256).cells([column]).dtype == np.uint8


def test_wrong_input_is_refused(rng):
    column = rng.normal(size=10)
    encoder = Encoder(column[:, None])
    with pytest.raises(InvalidSpec, match="must be a whole number from 2 to 65536, got 1"):
        Grid.from_columns(encoder.axes, [column], 1)
    grid = Grid.from_columns(encoder.axes, [column])
    prices = grid.price(make_cost("percentile").fit([column], np.ones(1)))
    for budget in (-0.1, float("nan")):
        with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
            prices.reach([column], grid.cells([column]), budget)
    search_only = grid.price(make_cost("l1").fit([column], np.ones(1)))
    with pytest.raises(InvalidSpec, match="Training needs a cost"):
        search_only.reach([column], grid.cells([column]), 0.1)
