import dataclasses

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.recourse.exact.search import ExactSearch
from ract.recourse.leaves import LeafSearch
from tests import naive
from tests.builders import (
    check_values,
    quick_of,
    random_ensemble,
    random_problem,
    random_table,
    voting_trees,
)

BUDGETS = [0.0, 0.213, 0.517, np.inf]


def any_problem(rng, n_trees=None):
    """A small problem that combines and measures in any way."""
    encoder, matrix, ensemble, cost = random_problem(rng)
    ensemble = random_ensemble(rng, matrix, n_trees or int(rng.integers(1, 12)))
    combine = str(rng.choice(["votes", "mean", "sum"]))
    if combine != "votes":
        value = np.round(rng.normal(0.5, 0.4, len(ensemble.value)), 1)
        ensemble = dataclasses.replace(ensemble, value=value, combine=combine, cutoff=0.0)
        cutoff = float(np.quantile(ensemble.score(matrix), rng.uniform(0.5, 1)))
        cutoff += float(rng.choice([0.0, 0.05, 0.2]))
        ensemble = dataclasses.replace(ensemble, cutoff=cutoff)
    cost = dataclasses.replace(cost, norm=str(rng.choice(["max", "l1"])))
    return encoder, matrix, ensemble, cost


def some_people(rng, ensemble, matrix, n=3):
    """A few people, mostly ones whom the ensemble refuses."""
    shuffled = rng.permutation(matrix)
    accepted = naive.naive_decision(ensemble, shuffled)
    accepted[0] = False  # whatever the first is, they are among the few
    return shuffled[np.argsort(accepted, kind="stable")][:n]


@pytest.mark.parametrize("block", range(4))
def test_leaves_equal_enumeration(block):
    """300 problems: the cheapest accepted nearest point of any candidate leaf."""
    seen = set()
    for seed in range(75):
        rng = np.random.default_rng([7, block, seed])
        encoder, matrix, ensemble, cost = any_problem(rng)
        people = some_people(rng, ensemble, matrix)
        budget, most = (
            float(rng.choice(BUDGETS)),
            rng.choice([None, 0, 1, 2], p=[0.6, 0.1, 0.2, 0.1]),
        )
        solutions = LeafSearch(ensemble, encoder.axes, cost).solve(people, budget, max_changes=most)
        check_values(encoder, ensemble, cost, people, solutions, budget=budget, max_changes=most)
        most = 99 if most is None else most
        for i, own in enumerate(people):
            expected = naive.cheapest_of_regions(
                naive.candidate_leaves(ensemble, own), ensemble, encoder.axes, own, matrix, rng,
                norm=cost.norm, budget=budget, max_changes=most,
            )  # fmt: skip
            assert solutions.cost[i] == pytest.approx(expected, abs=1e-12)
            seen.add((ensemble.combine, cost.norm, int(solutions.status[i])))
    assert {status for _, _, status in seen} == {
        Status.OPTIMAL,
        Status.NONE,
        Status.FOUND,
        Status.UNKNOWN,
    }
    assert len({case[:2] for case in seen}) == 6


@pytest.mark.parametrize("block", quick_of(1, range(3)))
def test_what_leaves_prove_holds_by_brute_force(block):
    """150 problems: bounds hold, proofs are right, and nothing is cheaper than the cheapest."""
    seen = set()
    for seed in range(50):
        rng = np.random.default_rng([8, block, seed])
        encoder, matrix, ensemble, cost = any_problem(rng)
        people = some_people(rng, ensemble, matrix)
        budget = float(rng.choice(BUDGETS))
        solutions = LeafSearch(ensemble, encoder.axes, cost).solve(people, budget)
        for i, own in enumerate(people):
            best = naive.cheapest_action(ensemble, encoder.axes, own, matrix, rng, norm=cost.norm)
            status = solutions.status[i]
            seen.add(int(status))
            assert solutions.cost[i] >= best - 1e-12
            assert solutions.bound[i] <= best + 1e-12 or best > budget
            if status == Status.OPTIMAL:
                assert solutions.cost[i] == pytest.approx(best, abs=1e-12)
            if status == Status.NONE:
                assert best > budget or np.isinf(best)
    assert seen >= {Status.OPTIMAL, Status.NONE, Status.UNKNOWN}


def test_a_single_tree_is_solved_with_proof():
    for seed in range(150):
        rng = np.random.default_rng([9, seed])
        encoder, matrix, ensemble, cost = any_problem(rng, n_trees=1)
        people = some_people(rng, ensemble, matrix)
        solutions = LeafSearch(ensemble, encoder.axes, cost).solve(people)
        for i, own in enumerate(people):
            best = naive.cheapest_action(ensemble, encoder.axes, own, matrix, rng, norm=cost.norm)
            assert solutions.cost[i] == pytest.approx(best, abs=1e-12)
            assert solutions.status[i] == (Status.OPTIMAL if np.isfinite(best) else Status.NONE)


@pytest.mark.parametrize("seeds", quick_of(1, [range(100), range(100, 400)]))
def test_leaves_against_the_exact_search(seeds):
    """Vote problems: never cheaper, proofs agree, bounds hold, and some actions are missed."""
    missed, dearer, seen = 0, 0, set()
    for seed in seeds:
        rng = np.random.default_rng([10, seed])
        encoder, matrix, _, cost = random_problem(rng)
        ensemble = random_ensemble(rng, matrix, int(rng.integers(1, 12)))
        budget = float(rng.choice(BUDGETS))
        exact = ExactSearch(ensemble, encoder.axes, cost).solve(matrix, budget)
        leaves = LeafSearch(ensemble, encoder.axes, cost).solve(matrix, budget)
        check_values(encoder, ensemble, cost, matrix, leaves)
        assert (leaves.cost >= exact.cost - 1e-12).all()
        assert (leaves.bound <= exact.cost).all()
        optimal = leaves.status == Status.OPTIMAL
        assert (leaves.cost[optimal] <= exact.cost[optimal] + 1e-12).all()
        assert (exact.status[leaves.status == Status.NONE] == Status.NONE).all()
        seen |= set(leaves.status.tolist())
        missed += int((exact.found & ~leaves.found).sum())
        dearer += int((leaves.cost > exact.cost + 1e-9)[leaves.found].sum())
    assert (
        missed > 0
        and dearer > 0
        and seen == {Status.OPTIMAL, Status.NONE, Status.FOUND, Status.UNKNOWN}
    )


def test_threads_and_order_do_not_change_the_result():
    rng = np.random.default_rng(5)
    encoder, matrix, ensemble, cost = random_problem(rng)
    people = np.repeat(matrix, 30, axis=0)
    search = LeafSearch(ensemble, encoder.axes, cost)
    one, two = search.solve(people, n_jobs=1), search.solve(people, n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values)
    backwards = search.solve(people[::-1])
    np.testing.assert_array_equal(one.values, backwards.values[::-1])


def test_nobody_to_search_for_gives_no_solutions():
    encoder, matrix, ensemble, cost = random_problem(np.random.default_rng(5))
    for search in (
        ExactSearch(ensemble, encoder.axes, cost),
        LeafSearch(ensemble, encoder.axes, cost),
    ):
        assert search.solve(matrix[:0]).values.shape == (0, matrix.shape[1])


def test_a_split_that_leaves_nobody_on_one_side_is_no_way():
    """Nobody has x > 3 within x <= 2, however desired the leaf."""
    tree = voting_trees(
        [0, 0, -1, -1, -1], [2, 3, 0, 0, 0], [1, 2, -1, -1, -1], [4, 3, -1, -1, -1], [0, 0, 0, 1, 0]
    )
    matrix = np.arange(6.0)[:, None]
    encoder = Encoder(matrix, ActionSpace([Feature("x0", "integer")], limits=None))
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    solutions = LeafSearch(tree, encoder.axes, cost).solve(matrix)
    assert (solutions.status == Status.NONE).all() and np.isinf(solutions.cost).all()


def test_wrong_input_is_refused():
    rng = np.random.default_rng(1)
    frame, actions = random_table(rng, 12)
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = random_ensemble(rng, matrix, 3)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    search = LeafSearch(ensemble, encoder.axes, cost)
    with pytest.raises(InvalidSpec, match="max_changes must be a whole number of 0 or more"):
        search.solve(matrix, max_changes=-1)
    with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
        search.solve(matrix, -0.1)
