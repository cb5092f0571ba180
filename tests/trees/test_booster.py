import math
from dataclasses import replace

import numpy as np
import pytest

from ract._kernels.boost.histogram import sum_slopes
from ract.trees import booster
from ract.trees.booster import (
    Boosted,
    BoostRules,
    Lift,
    Patience,
    boost,
    log_loss,
    log_odds,
    slope_scale,
)
from tests.builders import (
    CELL_KINDS,
    CELLS,
    MISSING_CELLS,
    people_in_cells,
    rows_with_points,
)
from tests.naive import newton_tree


@pytest.mark.parametrize("seed", range(12))
def test_a_tree_is_that_of_the_naive_grower(seed):
    rng = np.random.default_rng(seed)
    people = people_in_cells(rng)
    rows = rows_with_points(people, rng, n_points=20 * (seed % 2))
    directions = (0, 0, 0, 0) if seed % 3 else (1, 0, -1, 1)
    leaves, min_leaf = ((None, 25), (6, 5), (8, 1), (6, 5))[seed % 4]
    l2, given = (0.0, 1.0)[seed % 2], directions if any(directions) else ()
    rules = BoostRules(1, 1.0, leaves, min_leaf, l2, directions=given)
    lift = Lift(np.inf, 0.5, 0.0, 0.5) if seed % 2 else None
    model = boost(people, rows, rules, [seed], lift=lift)
    share = 1 / (1 + np.exp(-model.base))
    weight = np.where(np.arange(len(rows.target)) < rows.n_people, 1, 0.5) * rows.weight
    expected = newton_tree(
        rows.codes, weight * (share - rows.target), weight * share * (1 - share),
        np.arange(len(rows.target)) < rows.n_people, (CELL_KINDS, CELLS, MISSING_CELLS, directions),
        (leaves or 10**6, min_leaf, l2),
    )  # fmt: skip
    np.testing.assert_allclose(model.scores(rows.codes) - model.base, expected, atol=1e-9)


def test_loss_is_that_of_its_definition_and_slopes_are_its_derivatives(rng):
    n, h = 40, 1e-5
    target, weight = rng.integers(0, 2, n).astype(float), rng.uniform(0.1, 3, n)
    scores, slopes = rng.normal(0, 3, n), np.empty((n, 2), np.int64)
    by_hand = sum(
        w * -math.log(p if t else 1 - p)
        for t, w, p in zip(target, weight, 1 / (1 + np.exp(-scores)), strict=True)
    )
    assert log_loss(target, weight, scores) == pytest.approx(by_hand)
    codes, everyone = rng.integers(0, 3, (n, 2)).astype(np.uint8), np.arange(n, dtype=np.uint32)
    starts, scale, sums = (
        np.array([0, 3, 6], np.uint64),
        slope_scale(n, weight.sum()),
        slopes[:6] * 0,
    )
    sum_slopes(codes, starts, everyone, 0, n, scores, target, weight, 30, scale, slopes, sums)
    amounts, counts = (slopes >> scale.bits) * scale.step, slopes & ((1 << scale.bits) - 1)
    for k in range(n):
        step = np.eye(n)[k] * h
        up, here, down = (log_loss(target, weight, scores + s * step) for s in (1, 0, -1))
        assert amounts[k, 0] == pytest.approx((up - down) / (2 * h), abs=1e-6)
        assert amounts[k, 1] == pytest.approx((up - 2 * here + down) / h**2, abs=1e-3)
    np.testing.assert_array_equal(counts, np.column_stack([np.arange(n) < 30, np.ones(n)]))
    for cell in range(6):
        np.testing.assert_array_equal(sums[cell], slopes[codes[:, cell // 3] == cell % 3].sum(0))


@pytest.mark.parametrize("weight", [1e-9, 1.0, 3e12])
@pytest.mark.parametrize("n_rows", [1, 1000, 2**28])
def test_words_hold_every_sum(weight, n_rows):
    scale = slope_scale(n_rows, weight * n_rows)
    steps = weight * n_rows / scale.step
    assert (steps + n_rows / 2) * 2.0**scale.bits < 2.0**63 and n_rows < 2**scale.bits
    assert steps >= min(2.0**51, 2.0**60 / 2**scale.bits)


def test_trees_are_the_same_for_any_number_of_threads_and_slots(rng, monkeypatch):
    people = people_in_cells(rng, 3000)
    rows = rows_with_points(people, rng, n_points=900)
    rules = BoostRules(6, 0.3, 12, 5, 1.0, max_features=3, subsample=0.8)
    lift = Lift(1.5, 0.4, 0.1, 0.9)
    held = Patience(rows_with_points(people, rng), 3, 0.0)
    one = boost(people, rows, rules, range(6), lift=lift, patience=held)
    for fewest, n_threads, n_slots in ((4, 3, 8), (400, 2, 1), (40000, 2, 1)):
        monkeypatch.setattr(booster, "FEWEST_CELLS", fewest)
        monkeypatch.setattr(booster, "SLOTS", n_slots)
        other = boost(people, rows, rules, range(6), lift=lift, patience=held, n_threads=n_threads)
        assert one.losses == other.losses
        for k in range(6):
            splits = one.nodes[k][:, 0] >= 0
            np.testing.assert_array_equal(one.nodes[k][splits], other.nodes[k][splits])
            np.testing.assert_array_equal(one.values[k], other.values[k])


def test_every_tree_lowers_the_objective(rng):
    people = people_in_cells(rng, 300)
    rows = rows_with_points(people, rng, n_points=100)
    weight = np.concatenate([rows.weight[:300], 0.4 * rows.weight[300:]])
    losses = []
    for n in range(1, 15):
        rules = BoostRules(n, 0.3, 6, 5, 1.0)
        model = boost(people, rows, rules, range(n), lift=Lift(np.inf, 0.4, 0.0, 0.4))
        losses.append(log_loss(rows.target, weight, model.scores(rows.codes)))
    assert (np.diff(losses) < 0).all()


def test_points_pull_only_below_the_margin_and_ever_harder(rng):
    people = people_in_cells(rng, 300)
    rows = rows_with_points(people, rng, n_points=300)
    rules = BoostRules(30, 0.2, 6, 10, 1.0)
    plain, none, some = (
        boost(people, table, rules, range(30), lift=lift).scores(rows.codes[300:]).mean()
        for table, lift in (
            (rows_with_points(people, np.random.default_rng(0)), None),
            (rows, Lift(-np.inf, 1.0, 1.0, 9.0)),
            (rows, Lift(1.5, 0.1, 0.02, 0.5)),
        )
    )
    harder = boost(people, rows, rules, range(30), lift=Lift(1.5, 0.1, 0.2, 5.0))
    assert none == pytest.approx(plain, abs=0.2)
    assert some > none + 0.1
    assert harder.scores(rows.codes[300:]).mean() > some + 0.1


def from_cell_trees(trees, base, people):
    """A booster of trees as others know them, their shares as values."""
    categorical = np.array([table is not None for table in people.can_enter])
    last_cell, missing = people.n_cells - 1, people.missing_cells
    model = Boosted(base)
    for one in trees:
        a = one.axis
        first = one.cell + ~categorical[a]
        known = np.where((missing[a] >= 0) & one.missing_left, last_cell[a] - 1, last_cell[a])
        last = np.where(categorical[a], one.cell, known)
        columns = [a, first, last, one.left, one.right, one.missing_left]
        model.nodes.append(np.column_stack(columns).astype(np.int32))
        model.values.append(one.share)
    return model


def test_trees_survive_the_way_to_others_and_back(rng):
    people = people_in_cells(rng, 200)
    rows = rows_with_points(people, rng)
    model = boost(people, rows, BoostRules(8, 0.1, 7, 5, 0.0), range(8))
    again = from_cell_trees(model.cell_trees(people), model.base, people)
    np.testing.assert_array_equal(again.scores(rows.codes), model.scores(rows.codes))


def test_a_sample_is_a_share_of_the_people(rng):
    people = people_in_cells(rng, 400)
    rows = replace(rows_with_points(people, rng), weight=np.ones(400))
    rules = BoostRules(1, 1.0, 2, 1, 0.0, subsample=0.5)
    values = {boost(people, rows, rules, [s]).values[0].max() for s in range(5)}
    assert len(values) == 5  # other people, other values
    assert log_odds(rows.target, rows.weight) == pytest.approx(
        np.log(rows.target.mean() / (1 - rows.target.mean()))
    )
