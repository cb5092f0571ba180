import dataclasses

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import FittedMahalanobis, make_cost, within
from ract.data.encoder import Encoder
from ract.recourse.common.point_cost import PointCost
from ract.recourse.exact.search import ExactSearch
from ract.recourse.leaves import LeafSearch
from ract.recourse.live import LiveRegionSearch
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
    cost = dataclasses.replace(cost, norm=str(rng.choice(["max", "l1", "l2"])))
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
    assert len({case[:2] for case in seen}) == 9


@pytest.mark.parametrize("block", range(3))
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
def test_leaves_and_live_regions_against_the_exact_search(seeds):
    """Vote problems: never cheaper, proofs agree, bounds hold, and some actions are missed."""
    missed, dearer, seen = 0, 0, set()
    for seed in seeds:
        rng = np.random.default_rng([10, seed])
        encoder, matrix, ensemble, cost = random_problem(rng)
        budget = float(rng.choice(BUDGETS))
        exact = ExactSearch(ensemble, encoder.axes, cost).solve(matrix, budget)
        leaves = LeafSearch(ensemble, encoder.axes, cost).solve(matrix, budget)
        live = LiveRegionSearch(ensemble, encoder.axes, cost, matrix).solve(matrix, budget)
        for solutions in (leaves, live):
            check_values(encoder, ensemble, cost, matrix, solutions)
            assert (solutions.cost >= exact.cost - 1e-12).all()
            assert (solutions.bound <= exact.cost).all()
            optimal = solutions.status == Status.OPTIMAL
            assert (solutions.cost[optimal] <= exact.cost[optimal] + 1e-12).all()
            assert (exact.status[solutions.status == Status.NONE] == Status.NONE).all()
            seen |= set(solutions.status.tolist())
            missed += int((exact.found & ~solutions.found).sum())
            dearer += int((solutions.cost > exact.cost + 1e-9)[solutions.found].sum())
    assert (
        missed > 0
        and dearer > 0
        and seen == {Status.OPTIMAL, Status.NONE, Status.FOUND, Status.UNKNOWN}
    )


@pytest.mark.parametrize("block", range(4))
def test_live_regions_equal_enumeration(block):
    found = 0
    for seed in range(50):
        rng = np.random.default_rng([13, block, seed])
        encoder, matrix, ensemble, cost = any_problem(rng)
        known = matrix[: -len(matrix) // 4]
        people = some_people(rng, ensemble, matrix)
        budget, most = float(rng.choice(BUDGETS)), rng.choice([None, 1, 2], p=[0.6, 0.2, 0.2])
        search = LiveRegionSearch(ensemble, encoder.axes, cost, known)
        solutions = search.solve(people, budget, max_changes=most)
        check_values(encoder, ensemble, cost, people, solutions)
        most = 99 if most is None else most
        regions = [
            naive.live_region(ensemble, row) for row in known[naive.naive_decision(ensemble, known)]
        ]
        assert search.n_regions <= len(regions)
        accepted = naive.naive_decision(ensemble, people)
        for i, own in enumerate(people):
            expected = naive.cheapest_of_regions(
                regions, ensemble, encoder.axes, own, matrix, rng, norm=cost.norm, budget=budget,
                max_changes=most,
            )  # fmt: skip
            assert solutions.cost[i] == pytest.approx(expected, abs=1e-12)
            status = (
                Status.OPTIMAL
                if accepted[i]
                else Status.FOUND
                if np.isfinite(expected)
                else Status.UNKNOWN
            )
            assert solutions.status[i] == status
            found += status == Status.FOUND
    assert found > 9


def mahalanobis_problem(rng):
    encoder, matrix, ensemble, _ = any_problem(rng)
    return encoder, matrix, ensemble, make_cost("mahalanobis").fit(matrix.T, encoder.weights)


def test_the_stand_in_never_exceeds_the_mahalanobis_distance():
    tight = seen_in_groups = 0
    for seed in range(300):
        rng = np.random.default_rng([15, seed])
        encoder, matrix, _, cost = mahalanobis_problem(rng)
        if seed % 2 and not encoder.axes[0].is_categorical:
            # A column twice: the form cannot tell the two apart.
            axes = (*encoder.axes, dataclasses.replace(encoder.axes[0], columns=(matrix.shape[1],)))
            matrix = np.column_stack([matrix, matrix[:, 0]])
            weights = np.append(encoder.weights, rng.choice([1.0, 0.5]))
            cost = make_cost("mahalanobis").fit(matrix.T, weights)
        else:
            axes = encoder.axes
        measure = PointCost(cost, axes)
        start, stop = rng.permutation(matrix), rng.permutation(matrix)
        stand_in, real = measure.by_column.between(start, stop), cost.between(start, stop)
        assert (stand_in <= real + 1e-7).all()
        tight += int((stand_in > 0.5 * real).sum())
        one_hot = [j for axis in axes if axis.is_categorical for j in axis.columns]
        seen_in_groups += int((measure.by_column.factors[one_hot] > 0).sum())
    assert tight > 1000 and seen_in_groups > 500


def test_mahalanobis_equals_enumeration_of_nearest_points():
    """Without categories, whose choice the distance does not settle."""
    found = 0
    for seed in range(150):
        rng = np.random.default_rng([16, seed])
        encoder, matrix, ensemble, cost = mahalanobis_problem(rng)
        people = some_people(rng, ensemble, matrix)
        budget = float(rng.choice([0.0, 1.3, np.inf]))
        leaves = LeafSearch(ensemble, encoder.axes, cost).solve(people, budget)
        live = LiveRegionSearch(ensemble, encoder.axes, cost, matrix).solve(people, budget)
        for solutions in (leaves, live):
            check_mahalanobis(encoder, ensemble, cost, people, solutions, budget)
        if any(axis.is_categorical for axis in encoder.axes):
            continue
        accepted = matrix[naive.naive_decision(ensemble, matrix)]
        around = [naive.live_region(ensemble, row) for row in accepted]
        for i, own in enumerate(people):
            for solutions, regions in (
                (leaves, naive.candidate_leaves(ensemble, own)), (live, around),
            ):  # fmt: skip
                rows = [
                    naive.nearest_in_region(encoder.axes, own, region, matrix, rng)
                    for region in regions
                ]
                rows = [own, *(row[0] for row in rows if row is not None)]
                costs = [distance(cost, row - own) for row in rows]
                ok = naive.naive_decision(ensemble, rows) & (np.array(costs) <= budget)
                best = min(np.array(costs)[ok], default=np.inf)
                assert solutions.cost[i] == pytest.approx(best, abs=1e-7)
                found += 0 < best < np.inf
    assert found > 50


def distance(cost: FittedMahalanobis, move):
    moved = move * cost.weights
    return float(np.sqrt(max(moved @ cost.precision @ moved, 0.0)))


def check_mahalanobis(encoder, ensemble, cost, people, solutions, budget):
    assert naive.naive_decision(ensemble, solutions.values[solutions.found]).all()
    assert within(solutions.cost[solutions.found], budget).all()
    moves = (solutions.values - people)[solutions.found]
    costs = [distance(cost, move) for move in moves]
    np.testing.assert_allclose(solutions.cost[solutions.found], costs, atol=1e-7)
    assert (solutions.bound <= solutions.cost + 1e-7).all()
    for axis in encoder.axes:
        if axis.feature.change == "fixed":
            columns = list(axis.columns)
            np.testing.assert_array_equal(solutions.values[:, columns], people[:, columns])


def test_threads_and_order_do_not_change_the_result():
    rng = np.random.default_rng(5)
    encoder, matrix, ensemble, cost = random_problem(rng)
    people = np.repeat(matrix, 30, axis=0)
    for search in (
        LeafSearch(ensemble, encoder.axes, cost),
        LiveRegionSearch(ensemble, encoder.axes, cost, matrix),
    ):
        one, two = search.solve(people, n_jobs=1), search.solve(people, n_jobs=2)
        np.testing.assert_array_equal(one.values, two.values)
        backwards = search.solve(people[::-1])
        np.testing.assert_array_equal(one.values, backwards.values[::-1])


def test_nobody_to_search_for_gives_no_solutions():
    encoder, matrix, ensemble, cost = random_problem(np.random.default_rng(5))
    for search in (
        ExactSearch(ensemble, encoder.axes, cost),
        LeafSearch(ensemble, encoder.axes, cost),
        LiveRegionSearch(ensemble, encoder.axes, cost, matrix),
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
    with pytest.raises(InvalidSpec, match="max_changes must be 0 or more, got -1"):
        search.solve(matrix, max_changes=-1)
    with pytest.raises(InvalidSpec, match="budget must be 0 or more"):
        search.solve(matrix, -0.1)
