import itertools

import numpy as np
import pytest

from ract._kernels.search import cell_forest
from ract._kernels.search.cell_forest import Box, Forest, PointRules
from tests._kernels.plain import plain
from tests._kernels.search.builders import Case, label_at
from tests.builders import each_seed


def rules_of(case):
    """One model that wants what adds up to its cutoff."""
    one, no = np.ones(1), np.zeros(1, bool)
    return PointRules(
        case.first, case.weight, 0 * case.weight, no, 0 * one, 0 * one, no, one, case.cutoff, ~no
    )


def random_case(seed):
    return Case(np.random.default_rng(seed), "sum", holes=seed % 2 == 0)


def everything(case):
    return np.array(list(itertools.product(*(range(n) for n in case.n_cells))))


@each_seed(range(30))
def test_what_is_left_weighs_as_much_as_the_forest(seed):
    case = random_case(seed)
    forest, weight, alone = case.parts[0], case.weights[0], case.price + case.size
    limit = np.random.default_rng(seed).choice(alone[np.isfinite(alone)])
    numbers, root = np.empty((3, len(case.own)), np.int64), np.empty_like(forest.root)
    room = np.empty((11, len(forest.axis)), np.int32)
    constant, most, n_nodes, n_trees = plain(cell_forest.prune)(
        forest, weight, case.own, alone, case.n_cells, case.categorical, limit, case.changes,
        numbers, root, room,
    )  # fmt: skip
    left = Forest(*room[:7, :n_nodes], root[:n_trees], case.missing)
    seen = []
    for point in everything(case):
        inside = (alone[np.arange(len(point)), point] <= limit) | (point == case.own)
        if not inside.all() or (point != case.own).sum() > case.changes:
            continue
        weights = [
            sum(weight[label_at(trees, r, point, case.categorical)] for r in trees.root)
            for trees in (forest, left)
        ]
        assert weights[0] == pytest.approx(constant + weights[1])
        seen.append(weights[1])
    assert max(seen) <= most + 1e-9


@each_seed(range(30))
def test_points_are_wanted_as_the_models_add_up(seed):
    case = random_case(seed)
    rules = rules_of(case)
    for point in everything(case):
        wanted = plain(cell_forest.is_wanted)(case.forest, rules, point, case.categorical)
        assert wanted == case.accepts(point)


@each_seed(range(30))
def test_points_are_brought_back_and_stay_wanted(seed):
    case = random_case(seed)
    rules, alone = rules_of(case), case.price + case.size
    wanted = [point for point in everything(case) if case.accepts(point)]
    for point in wanted[:20]:
        tidied, moved = point.copy(), point.copy()
        plain(cell_forest.tidy)(case.forest, rules, case.own, case.categorical, tidied)
        assert case.accepts(tidied) and set(tidied - point).issubset(set(case.own - point) | {0})
        stop = np.zeros(1, np.uint8)
        cost = plain(cell_forest.polish)(
            case.forest, rules, case.own, alone, case.categorical, stop, moved
        )
        at = np.where(moved != case.own, alone[np.arange(len(moved)), moved], 0.0)
        before = np.where(point != case.own, alone[np.arange(len(point)), point], 0.0)
        assert case.accepts(moved) and cost == at.max(initial=0.0) <= before.max(initial=0.0)


def test_the_cheapest_box_that_can_be_enough_is_found():
    for seed in range(20):
        case = random_case(seed)
        forest, weight, alone = case.parts[0], case.weights[0], case.price + case.size
        prices = np.unique(alone[np.isfinite(alone)])
        numbers, stack = np.empty((3, len(case.own)), np.int64), np.empty(99, np.int32)
        most = []
        for limit in prices:
            box = Box(*numbers)
            plain(cell_forest.fill_affordable_box)(
                case.own, alone, case.n_cells, case.categorical, case.missing, limit, box
            )
            best = plain(cell_forest.best_label)
            labels = [best(forest, r, box, case.categorical, stack) for r in forest.root]
            most.append(weight[labels].sum())
        assert (np.diff(most) >= -1e-9).all()
        for needed in np.unique(most):
            found = plain(cell_forest.first_price)(
                forest, weight, case.own, alone, case.n_cells, case.categorical, prices,
                needed - 1e-9, numbers, stack,
            )  # fmt: skip
            assert found == np.flatnonzero(np.array(most) >= needed - 1e-9)[0]
