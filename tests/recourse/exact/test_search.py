import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import make_cost
from ract.data.edge import within
from ract.data.encoder import Encoder
from ract.recourse.exact.decide import ModelDescent
from ract.recourse.exact.search import ExactSearch
from tests import naive
from tests.builders import (
    check_values,
    quick_of,
    random_ensemble,
    random_problem,
    random_table,
    some_trees,
    stump_on,
    voting_trees,
    with_random_values,
)


def check_against_brute_force(combine, block):
    """200 problems."""
    statuses = set()
    for seed in range(50):
        rng = np.random.default_rng([block, seed])
        encoder, matrix, ensemble, cost = random_problem(rng, combine)
        people = matrix[rng.choice(len(matrix), 4, replace=False)]
        search = ExactSearch(ensemble, encoder.axes, cost)
        budget = float(rng.choice([0.0, 0.213, 0.517, np.inf]))
        most = None if rng.random() < 0.6 else int(rng.integers(0, 3))
        solutions = search.solve(people, budget, max_changes=most)
        check_values(encoder, ensemble, cost, people, solutions, budget=budget, max_changes=most)
        for i in range(len(people)):
            best = naive.cheapest_action(ensemble, encoder.axes, people[i], matrix, rng, most)
            if np.isfinite(best) and best <= budget:
                assert solutions.status[i] == Status.OPTIMAL
                assert solutions.cost[i] == pytest.approx(best, abs=1e-12)
            else:
                assert solutions.status[i] == Status.NONE and np.isinf(solutions.cost[i])
            statuses.add(int(solutions.status[i]))
    assert statuses == {Status.OPTIMAL, Status.NONE}


@pytest.mark.parametrize("block", quick_of(2, range(15)))
def test_votes_equal_brute_force_in_values(block):
    check_against_brute_force("votes", block)


@pytest.mark.parametrize("combine", ["mean", "sum"])
@pytest.mark.parametrize("block", quick_of(2, range(6)))
def test_sums_equal_brute_force_in_values(combine, block):
    check_against_brute_force(combine, 100 + block)


@pytest.mark.parametrize("seed", range(30))
def test_the_highest_sum_is_found_and_nothing_above_it(seed):
    """Many trees that pull in different directions, at the sum that the best of all cells has.

    No bound may cut off the best point, and every bound must in the end refute a little more.
    """
    rng = np.random.default_rng(seed)
    frame, actions = random_table(rng, 12, n_features=(3, 3))
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = with_random_values(rng, random_ensemble(rng, matrix, 15), "sum")
    ensemble = dataclasses.replace(ensemble, single=False)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    search = ExactSearch(ensemble, encoder.axes, cost)
    problem, own = search.problem, search.problem.cells(matrix[:1])[0]
    costs = problem.costs(matrix[:1], own[None])[0]
    attained = [np.flatnonzero(np.isfinite(row)) for row in costs]
    points = np.array(list(itertools.product(*attained)))
    values = problem.values(np.repeat(matrix[:1], len(points), 0), np.tile(own, (len(points), 1)),
                            points)  # fmt: skip
    sums = naive.naive_score(ensemble, values)
    for changes in (len(own), 1):
        few = (points != own).sum(axis=1) <= changes
        highest = sums[few].max()
        for wanted, answer in ((highest - 1e-9, Status.FOUND), (highest + 1e-6, Status.NONE)):
            model = search.model.needing(wanted)
            person = ModelDescent(model, own, costs, changes, np.zeros(1, np.uint8))
            left, point = model.within(model.simplified, own, costs, 1e300, changes), own.copy()
            assert person.look(left, 10**6, point)[0] == answer
            if answer == Status.FOUND:
                assert sums[(points == point).all(axis=1)].item() == pytest.approx(highest)
                assert (point != own).sum() <= changes


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("combine", ["votes", "sum"])
def test_the_first_price_at_which_trees_can_have_enough(combine, seed):
    """Never above that of each tree at the best of all cells that are paid for, by enumeration.

    Below where a path through a random tree contradicts itself, as for what is left in each box.
    """
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = random_problem(rng, combine)
    search = ExactSearch(ensemble, encoder.axes, cost)
    model, problem = search.model, search.problem
    own = problem.cells(matrix[:1])[0]
    costs = problem.costs(matrix[:1], own[None])[0]
    attained = [np.flatnonzero(np.isfinite(row)) for row in costs]
    points = np.array(list(itertools.product(*attained)))
    values = problem.values(np.repeat(matrix[:1], len(points), 0), np.tile(own, (len(points), 1)),
                            points)  # fmt: skip
    leaf = ensemble.label if combine == "votes" else ensemble.value
    each = leaf[naive.naive_leaves(ensemble, values)]  # points x trees
    price = costs[np.arange(len(own)), points].max(axis=1)
    prices = np.unique(price)
    most = np.array([each[price <= limit].max(axis=0).sum() for limit in prices])
    left = model.within(model.simplified, own, costs, prices[-1], len(own))
    for wanted in np.unique(most):
        asked = model.needing(wanted + (model.rule.base if combine == "sum" else 0.0))
        first = asked.first_price(left, own, costs, prices)
        assert first <= np.flatnonzero(most >= wanted - 1e-9)[0]
        boxes = (asked.within(left, own, costs, limit, len(own)) for limit in prices)
        assert first == next(k for k, there in enumerate(boxes) if asked.may_do(there))


@pytest.mark.parametrize("n_problems", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_limits_give_bounds_that_hold(n_problems):
    seen = set()
    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng)
        search = ExactSearch(ensemble, encoder.axes, cost)
        exact = search.solve(matrix)
        for limit in (0, 1, 2):
            cut = search.solve(matrix, max_nodes=limit)
            check_values(encoder, ensemble, cost, matrix, cut)
            best = np.where(exact.found, exact.cost, np.inf)
            assert (cut.bound <= best + 1e-12).all()
            assert (cut.cost >= best - 1e-12).all()
            assert (
                cut.cost[cut.status == Status.OPTIMAL] == best[cut.status == Status.OPTIMAL]
            ).all()
            assert np.isinf(best[cut.status == Status.NONE]).all()
            assert (cut.gap >= 0).all()
            seen |= set(cut.status.tolist())
    assert Status.UNKNOWN in seen and (Status.FOUND in seen or Status.OPTIMAL in seen)


def test_nobody_moves_when_everything_is_fixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 30)})
    encoder = Encoder(frame, ActionSpace([Feature("a", change="fixed")], limits=None))
    matrix = encoder.matrix(frame)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    solutions = ExactSearch(stump_on(0, 2.5), encoder.axes, cost).solve(matrix)
    assert list(solutions.status == Status.NONE) == list(frame["a"] <= 2)
    assert (solutions.cost[frame["a"] > 2] == 0).all()


def test_one_leaf_is_decided_at_once():
    matrix = np.array([[0.0], [1.0]])
    encoder = Encoder(matrix)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    for label, status in ((1, Status.OPTIMAL), (0, Status.NONE)):
        leaf = voting_trees([-1], [0.0], [-1], [-1], [label])
        solutions = ExactSearch(leaf, encoder.axes, cost).solve(matrix)
        assert (solutions.status == status).all()


def test_threads_and_order_do_not_change_the_result():
    rng = np.random.default_rng(5)
    encoder, matrix, ensemble, cost = random_problem(rng)
    search = ExactSearch(ensemble, encoder.axes, cost)
    people = np.repeat(matrix, 30, axis=0)
    one, two = search.solve(people, n_jobs=1), search.solve(people, n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values)
    backwards = search.solve(people[::-1])
    np.testing.assert_array_equal(one.values, backwards.values[::-1])


def test_some_trees_are_searched_as_if_they_were_all():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng)
        kept = rng.random(ensemble.n_trees) < 0.6
        if not kept.any():
            continue
        needed = int(rng.integers(1, kept.sum() + 1))
        part = dataclasses.replace(ensemble, root=ensemble.root[kept], cutoff=needed)
        alone = some_trees(ensemble, kept, needed)
        expected = ExactSearch(alone, encoder.axes, cost).solve(matrix)
        trees, votes = np.tile(kept, (len(matrix), 1)), np.full(len(matrix), needed)
        assert (naive.naive_votes(part, expected.values[expected.found]) >= needed).all()
        search, costs = ExactSearch(ensemble, encoder.axes, cost), np.unique(expected.cost)
        for budget in (*costs, *(costs[costs > 0] * (1 - 1e-6))):
            served = expected.found & within(expected.cost, budget)
            found = search.attains(matrix, budget, trees=trees, needed=votes)
            np.testing.assert_array_equal(found, np.where(served, Status.FOUND, Status.NONE))


def test_wrong_input_is_refused():
    rng = np.random.default_rng(1)
    encoder, matrix, ensemble, cost = random_problem(rng)
    search = ExactSearch(ensemble, encoder.axes, cost)
    for budget in (-1.0, float("nan")):
        with pytest.raises(InvalidSpec, match="budget must be 0 or more"):
            search.solve(matrix, budget)
    with pytest.raises(InvalidSpec, match="max_nodes must be 0 or more"):
        search.solve(matrix, max_nodes=-1)
    with pytest.raises(InvalidSpec, match="Training needs a cost"):
        ExactSearch(ensemble, encoder.axes, make_cost("l1").fit(matrix.T, encoder.weights))
