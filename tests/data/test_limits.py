"""How far a person may move a number: reach and prices against brute force, files and the rule."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.data.sketch import TableSketch
from tests import naive
from tests.builders import each_seed, with_limits
from tests.data.test_grid import random_column, random_problem


def limited_problem(rng):
    """A one-column table with a limit, and a grid."""
    while True:
        encoder, column, grid = random_problem(rng)
        space = with_limits(rng, pd.DataFrame({"x0": column}), encoder.space)
        if space["x0"].is_limited:
            axes = Encoder.of_space(space, ["x0"]).axes
            return space["x0"], column, dataclasses.replace(grid, axes=axes)


@each_seed(range(300))
def test_reach_and_prices_equal_brute_force_over_every_value(seed):
    rng = np.random.default_rng(seed)
    feature, column, grid = limited_problem(rng)
    cost = make_cost("percentile").fit([column], np.array([feature.weight]))
    prices, thresholds = grid.price(cost), grid.thresholds[0]
    people = np.concatenate([column[:5], random_column(rng, feature.kind, 5)])
    budget = float(rng.choice([0.0, 0.137, 0.4219, 5.0]))
    reach = prices.reach([people], grid.cells([people]), budget)
    for i, own in enumerate(people):
        values = naive.attainable_values(
            feature.kind, feature.change, feature.lower, feature.upper, own, thresholds, rng,
            naive.room_of(feature, own),
        )  # fmt: skip
        best = naive.cheapest_per_cell(list(column), feature.weight, own, thresholds, values)
        costs, cheapest = prices.of_person(np.array([own]))
        for cell in range(len(thresholds) + 1):
            if cell in best:
                assert costs[0, cell] == pytest.approx(best[cell][0], abs=1e-12)
                assert naive.cell_of(thresholds, cheapest[0, cell]) == cell
                assert abs(cheapest[0, cell] - own) <= naive.room_of(feature, own) * (1 + 1e-8)
            else:
                assert np.isinf(costs[0, cell]) and np.isnan(cheapest[0, cell])
        near = {cell for cell, (c, _) in best.items() if c <= budget * (1 + 1e-9)}
        assert (reach.lowest[0, i], reach.highest[0, i]) == (min(near), max(near))
        lowest, highest = grid.span(0, float(own))
        for cell in range(len(thresholds) + 1):
            inside = [v for v in values if naive.cell_of(thresholds, v) == cell]
            ends = (min(inside), max(inside)) if inside else (np.nan, np.nan)
            assert (lowest[cell], highest[cell]) == pytest.approx(ends, abs=1e-7, nan_ok=True)


@pytest.mark.parametrize("kind", ["integer", "continuous"])
def test_the_size_rule_is_that_of_the_finding(kind, rng):
    """Max(one step, min(half of max(own value, median), one interquartile range unless 0))."""
    for _ in range(50):
        column = rng.integers(0, int(rng.choice([2, 5, 1000])), 40) * float(rng.choice([1, 3]))
        if kind == "continuous":
            column = column + rng.random()
        feature = ActionSpace([Feature("x0", kind)], steps=None).complete(column[:, None])["x0"]
        quartile = np.quantile(column, [0.25, 0.75])
        for own in rng.choice(column, 5):
            most = max(own, np.median(column)) / 2
            if quartile[1] > quartile[0]:
                most = min(most, quartile[1] - quartile[0])
            expected = max(most, 1 if kind == "integer" else 0)
            assert feature.room(np.array([own]))[0] == pytest.approx(expected)


def test_the_rule_fills_only_numbers_that_say_nothing():
    people = pd.DataFrame(
        {"income": [10, 20, 30, 40, 90], "rent": [1.5, 2, 3, 4, 5], "flag": [0, 1, 0, 1, 1],
         "job": list("abcab"), "debt": [0, 0, 0, 0, 7]}
    )  # fmt: skip
    given = [Feature("income", max_change=5), Feature("rent", max_change=np.inf), Feature("debt")]
    space = ActionSpace([*given, Feature("flag"), Feature("job")], limits="size").complete(people)
    assert (space["income"].max_change, space["income"].max_relative) == (5, None)
    assert not space["rent"].is_limited
    debt = space["debt"]  # its interquartile range is 0
    assert (debt.max_change, debt.max_relative, debt.median) == (None, 0.5, 0)
    assert debt.room(np.array([0.0, 7.0])).tolist() == [1, 3.5]
    assert not space["flag"].is_limited and not space["job"].is_limited
    assert space.complete(people) == space
    lifted = ActionSpace(map(Feature, people), limits=None).complete(people)
    assert not any(feature.is_limited for feature in lifted)
    assert ActionSpace.infer(people, fixed=["job"], limits="size")["debt"].median == 0


def test_action_files_keep_limits():
    people = np.arange(40.0).reshape(-1, 2)
    for limits in ("size", None):
        space = ActionSpace([Feature("x0"), Feature("x1", max_change=np.inf)], limits=limits)
        for one in (space, space.complete(people)):
            assert ActionSpace.from_toml_text(one.to_toml_text()) == one
    assert ActionSpace.from_toml_text('limits = "none"\n[features.a]\n').limits is None
    with pytest.raises(InvalidSpec, match="limits must be 'size', or None, got 'half'"):
        ActionSpace.from_toml_text('limits = "half"\n[features.a]\n')


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_change": -1}, "max_change must be 0 or more, got -1"),
        ({"max_relative": -0.5}, "max_relative must be 0 or more"),
        ({"max_relative": np.inf}, "max_relative must be finite"),
        ({"max_change": "far"}, "max_change must be a number"),
        ({"kind": "binary", "max_change": 1}, "is binary; max_change is for numbers"),
        ({"kind": "categorical", "max_relative": 1}, "is categorical; max_relative is for"),
    ],
)
def test_limits_that_mean_nothing_are_refused(given, message):
    with pytest.raises(InvalidSpec, match=message):
        Feature("x", **given)


def test_quartiles_of_a_table_in_batches_are_those_of_the_whole(rng):
    whole = pd.DataFrame({"a": rng.integers(0, 30, 101), "b": rng.normal(size=101)})
    whole.loc[:9, "b"] = np.nan
    sketch = TableSketch.of(whole[:40], None, {}) + TableSketch.of(whole[40:], None, {})
    for name in whole:
        expected = whole[name].quantile([0.25, 0.5, 0.75])
        np.testing.assert_allclose(sketch.table().quartiles(name), expected, rtol=1e-12)
