"""Few changes of many features, beside every point of cells."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._kernels.search.boxes import Boxes
from ract._kernels.search.decide_votes import decide_votes
from ract._kernels.search.few_axes import MOST_AXES, most_with_few
from ract._utils.status import Status
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.recourse.exact.search import ExactSearch
from tests import naive
from tests.builders import random_ensemble, with_random_values


def small_problem(rng, combine):
    """Six features with few values each, some of which move one way only, and many trees."""
    data, features = {}, []
    for k in range(6):
        name, change = f"f{k}", str(rng.choice(["any", "any", "any", "increase", "fixed"]))
        if k < 2:
            column = np.array(["u", "v", "w"])[rng.permutation(np.arange(9) % 3)]
            features.append(Feature(name, "categorical", change, categories=["u", "v", "w"]))
        else:
            column = rng.permutation(np.arange(9) % 4)
            features.append(Feature(name, "integer", change))
        data[name] = column
    frame, actions = pd.DataFrame(data), ActionSpace(features, limits=None)
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = random_ensemble(rng, matrix, 12)
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    return encoder, matrix, ensemble, cost


def every_point(problem, person):
    """Encoded values, cost and number of changes of every point that a person can come to."""
    own = problem.cells(person[None])[0]
    costs = problem.costs(person[None], own[None])[0]
    attained = [np.flatnonzero(np.isfinite(row)) for row in costs]
    points = np.array(list(itertools.product(*attained)))
    n = len(points)
    values = problem.values(np.repeat(person[None], n, 0), np.tile(own, (n, 1)), points)
    return values, costs[np.arange(len(own)), points].max(axis=1), (points != own).sum(axis=1)


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_of_few_changes_equals_that_of_every_point(combine, seed):
    rng, seen = np.random.default_rng([seed, 27]), set()
    encoder, matrix, ensemble, cost = small_problem(rng, combine)
    search = ExactSearch(ensemble, encoder.axes, cost)
    refused = matrix[~ensemble.decide(matrix)][:3]
    for person in refused:
        values, price, changes = every_point(search.problem, person)
        desired = ensemble.decide(values)
        for most in (0, 1, 2, 3, 4):
            known = price[desired & (changes <= most)].min(initial=np.inf)
            for budget in {np.inf, float(known)}:  # met exactly
                found = search.solve(person[None], budget, max_changes=most)
                assert found.cost[0] == pytest.approx(known)
                assert search.attains(person[None], budget, max_changes=most)[0] == (
                    Status.FOUND if np.isfinite(known) else Status.NONE
                )
                seen.add((most, bool(found.found[0])))
    assert not len(refused) or len(seen) > 4


def random_boxes(rng, n_trees):
    """Boxes of trees on six axes of both kinds; each tree has one that holds home everywhere."""
    categorical, n_axes = np.arange(6) >= 4, 6
    n_cells = np.where(categorical, 3, rng.integers(1, 5, n_axes))
    home = np.array([rng.integers(n) for n in n_cells])
    tree = np.repeat(np.arange(n_trees), rng.integers(1, 6, n_trees))
    shape = len(tree), n_axes
    first = np.where(categorical, 7, np.zeros(shape, np.int64))
    last = np.tile(n_cells - 1, (len(tree), 1))
    is_home = np.append(True, tree[1:] != tree[:-1])
    for r in range(len(tree)):
        for a in rng.choice(n_axes, rng.integers(0, 5), replace=False):
            ends = np.sort(rng.integers(0, n_cells[a], 2))
            if categorical[a]:
                first[r, a] = rng.integers(1, 8) | (1 << home[a] if is_home[r] else 0)
            else:
                first[r, a] = min(ends[0], home[a]) if is_home[r] else ends[0]
                last[r, a] = max(ends[1], home[a]) if is_home[r] else ends[1]
    start = np.tile(np.arange(8), (n_axes, 1))
    boxes = Boxes(tree, np.ones_like(tree), first, last, n_cells, start, home, home * 0 - 1)
    return boxes, categorical


@pytest.mark.parametrize("seed", range(40))
def test_the_most_of_few_axes_equals_that_of_every_set(seed):
    rng = np.random.default_rng(seed)
    boxes, categorical = random_boxes(rng, int(rng.integers(1, 20)))
    value = rng.integers(-9, 10, len(boxes.tree)).astype(float)
    away = [
        {
            a
            for a in range(6)
            if not naive.trees_at(
                [boxes.home[a]], boxes.tree[[r]], boxes.first[[r]][:, [a]], boxes.last[[r]][:, [a]],
                categorical[[a]],
            )
        }
        for r in range(len(value))
    ]  # fmt: skip
    for changes in (1, 2, 3):
        known = max(
            sum(
                max(v for v, t, d in zip(value, boxes.tree, away, strict=True) if t == k and d <= s)
                for k in range(boxes.tree[-1] + 1)
            )
            for s in map(set, itertools.combinations(range(6), changes))
        )
        assert most_with_few(boxes, value, changes, categorical) == pytest.approx(known)
    assert most_with_few(boxes, value, 4, categorical) == np.inf


def test_too_many_axes_have_no_bound():
    n = MOST_AXES + 1
    ends = np.zeros((1, n), np.int64), np.ones((1, n), np.int64)
    one, none = np.zeros(1, np.int64), np.zeros(n, np.int64)
    boxes = Boxes(one, one, *ends, none + 2, np.zeros((n, 3), np.int64), none, none - 1)
    assert most_with_few(boxes, np.ones(1), 3, np.zeros(n, bool)) == np.inf


@pytest.mark.parametrize("seed", range(60))
def test_boxes_far_from_home_are_searched_exactly(seed):
    rng = np.random.default_rng(seed)
    boxes, categorical = random_boxes(rng, int(rng.integers(2, 30)))
    n_trees = int(boxes.tree[-1]) + 1
    kept = rng.random(len(boxes.tree)) < 0.6  # some trees keep nothing near home, or nothing
    parts = {name: getattr(boxes, name)[kept] for name in ("tree", "label", "first", "last")}
    boxes = boxes._replace(**parts)
    points = np.array(list(itertools.product(*(range(n) for n in boxes.n_cells))))
    moves = (points != boxes.home).sum(axis=1)
    ends = boxes.tree, boxes.first, boxes.last
    votes = np.array([len(naive.trees_at(point, *ends, categorical)) for point in points])
    for changes in range(6):
        most = votes[moves <= changes].max()
        for needed in {max(most, 1), most + 1}:
            point = boxes.home.copy()
            answer, _ = decide_votes(
                boxes, n_trees, int(needed), changes, boxes.home, categorical, 10**6,
                np.zeros(1, np.uint8), point,
            )  # fmt: skip
            assert answer == (Status.FOUND if needed <= most else Status.NONE)
            if answer == Status.FOUND:
                assert (point != boxes.home).sum() <= changes
                assert len(naive.trees_at(point, *ends, categorical)) >= needed
