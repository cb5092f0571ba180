"""Strength, ranges and at-least plans of people with missing values, against every point there is.

Tables are small, so that all that a person may do, all of a range and all that goes further than a
plan is enumerated: a value in each cell of the trees, on each feature.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ract import RecourseForestClassifier
from tests import naive
from tests.builders import box_points, quick_of, random_table, with_holes

OPTIONS = [{}, {"ranges": True}, {"at_least": True}]


def forest_with_holes(rng):
    """A small forest on a small table with missing values, and that table."""
    frame, actions = with_holes(rng, *random_table(rng, 30, n_features=(2, 3)))
    target = rng.permutation(np.arange(30) % 2)
    forest = RecourseForestClassifier(
        actions, desired=1, n_estimators=int(rng.integers(2, 8)), max_depth=3, min_samples_leaf=1,
        recourse_weight=0.0, max_features=None, random_state=int(rng.integers(1000)),
    )  # fmt: skip
    return forest.fit(frame, target), frame


def wins(trees, rows, strength):
    """Whether rows are accepted, by a share of votes."""
    leaves = naive.naive_leaves(trees, rows)
    return trees.label[leaves].sum(axis=1) >= max(strength * trees.n_trees - 1e-9, trees.cutoff)


def supplied(axis, own):
    """Whether someone has no value of a number, so that a plan that has one hands it in."""
    return not axis.is_categorical and np.isnan(own[axis.columns[0]])


def some_plans(block, options):
    """Plans of some people of small forests: (rng, forest, matrix, recourse, strength, person)."""
    for seed in range(25):
        rng = np.random.default_rng([23, block, seed])
        forest, frame = forest_with_holes(rng)
        strength = float(rng.choice([0.0, 0.6, 0.8, 1.0]))
        found = forest.recourse(
            frame, budget=float(rng.choice([0.3, 0.6, np.inf])), explain=False,
            strength=strength or None, **options,
        )  # fmt: skip
        matrix = forest.encoder_.matrix(frame)
        refused = np.flatnonzero(~naive.naive_decision(forest.ensemble_, matrix))
        lacking = np.isnan(matrix[refused]).any(axis=1)
        for i in refused[np.argsort(~lacking, kind="stable")][:6].tolist():
            yield rng, forest, matrix, found, strength, i


@pytest.mark.parametrize("block", quick_of(1, range(5)))
def test_the_cheapest_plan_of_a_strength_equals_brute_force(block):
    n_found = n_none = n_handed = 0
    for rng, forest, matrix, found, strength, i in some_plans(block, {}):
        rows, costs = naive.every_action(
            [forest.ensemble_], forest.encoder_.axes, matrix[i], matrix, rng
        )
        good = wins(forest.ensemble_, rows, strength) & (costs <= found.budget)
        best = min(costs[good], default=np.inf)
        assert found.cost[i] == pytest.approx(best, abs=1e-12)
        assert found.found[i] == np.isfinite(best)
        if found.found[i]:
            assert wins(forest.ensemble_, found.after[i : i + 1], strength).all()
        n_found += found.found[i]
        n_none += not found.found[i]
        n_handed += found.supplied[i].any()
    assert n_found > 20 and n_none > 5 and n_handed > 5


def room_beyond(forest, axis, own, value):
    """Whether a person may have a value, and it lies in another cell than their own."""
    feature, j = axis.feature, axis.columns[0]
    if np.isnan(own[j]):
        return feature.lower <= value <= feature.upper
    up = value > own[j]
    if feature.change in ("fixed", "decrease" if up else "increase"):
        return False
    cuts = np.sort(forest.ensemble_.threshold[forest.ensemble_.feature == j])
    within = value <= feature.upper if up else value >= feature.lower
    return within and np.searchsorted(cuts, own[j]) != np.searchsorted(cuts, value)


def one_step_further(feature, end, step):
    if feature.kind != "continuous":
        return end + step
    return np.nextafter(end, step * np.inf)


@pytest.mark.parametrize("options", OPTIONS[:2])
@pytest.mark.parametrize("block", quick_of(1, range(5)))
def test_all_of_a_range_serves_and_no_side_of_it_can_move(block, options):
    """Without an option, that is said of what is supplied; with ranges, of every change."""
    n_wide = n_handed = n_at_an_end = 0
    for _, forest, matrix, found, strength, i in some_plans(10 + block, options):
        if not found.found[i]:
            continue
        after, low, high = found.after[i], found.low[i], found.high[i]
        box = box_points(forest, after, low, high)
        assert wins(forest.ensemble_, box, strength).all()
        for a, axis in enumerate(forest.encoder_.axes):
            if np.isnan(low[a]) or not (options or supplied(axis, matrix[i])):
                continue
            assert low[a] <= after[axis.columns[0]] <= high[a]
            n_wide += low[a] < high[a]
            n_handed += supplied(axis, matrix[i])
            for k, step in ((0, -1), (1, 1)):
                ends = [low.copy(), high.copy()]
                ends[k][a] = one_step_further(axis.feature, ends[k][a], step)
                if np.isinf(ends[k][a]) or not room_beyond(forest, axis, matrix[i], ends[k][a]):
                    continue
                n_at_an_end += 1
                assert not wins(forest.ensemble_, box_points(forest, after, *ends), strength).all()
    assert n_wide > 5 and n_handed > 5 and n_at_an_end > 5


def further(forest, own, plan, matrix, rng):
    """Every row that does more than a plan; nobody goes further than a value that they supply."""
    choices = []
    for axis in forest.encoder_.axes:
        columns = list(axis.columns)
        now = plan[columns]
        if axis.is_categorical or now[0] == own[columns[0]] or np.isnan(own[columns[0]]):
            choices.append([tuple(now)])
            continue
        trees = forest.ensemble_
        cuts = trees.threshold[(trees.feature == columns[0]) & np.isfinite(trees.threshold)]
        each = naive.options_of_feature(axis.feature, columns, own, matrix, cuts, rng)
        up = now[0] > own[columns[0]]
        beyond = {v for v, _ in each if (v[0] >= now[0] if up else v[0] <= now[0])}
        choices.append(sorted({tuple(now), *beyond}))
    order = [j for axis in forest.encoder_.axes for j in axis.columns]
    rows = [[v for part in choice for v in part] for choice in itertools.product(*choices)]
    matrix = np.empty((len(rows), len(order)))
    matrix[:, order] = rows
    return matrix


@pytest.mark.parametrize("block", quick_of(1, range(5)))
def test_whoever_does_more_than_an_at_least_plan_is_accepted(block):
    """The cheapest plan is kept where it has that property; ranges always hold as a whole."""
    n_held = n_limited = n_handed = 0
    options = OPTIONS[2]
    for rng, forest, matrix, found, strength, i in some_plans(20 + block, options):
        own, trees = matrix[i], forest.ensemble_
        rows, costs = naive.every_action([trees], forest.encoder_.axes, own, matrix, rng)
        good = wins(trees, rows, strength) & (costs <= found.budget)
        assert found.found[i] == good.any()
        if not good.any():
            continue
        assert found.cost[i] >= costs[good].min() - 1e-12
        beyond = further(forest, own, found.after[i], matrix, rng)
        box = box_points(forest, found.after[i], found.low[i], found.high[i])
        assert naive.naive_decision(trees, box).all()
        if naive.naive_decision(trees, beyond).all():
            n_held += 1
            for a, axis in enumerate(forest.encoder_.axes):  # then the ranges say so
                if not np.isnan(found.low[i, a]) and not supplied(axis, own):
                    column = beyond[:, axis.columns[0]]
                    assert found.low[i, a] <= column.min() and column.max() <= found.high[i, a]
        else:
            n_limited += 1
            assert found.cost[i] == pytest.approx(costs[good].min(), abs=1e-12)
        n_handed += found.supplied[i].any()
    assert n_held > 10 and n_limited > 0 and n_handed > 5
