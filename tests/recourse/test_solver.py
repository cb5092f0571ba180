import dataclasses
import itertools
import sys
from functools import cache

import numpy as np
import pytest

from ract import RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import CombinedCost, PercentileCost, ScaledCost, make_cost
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder
from ract.recourse.exact.search import ExactSearch
from ract.recourse.solver import SolverSearch
from ract.trees.ensemble import TreeEnsemble
from tests import naive
from tests.builders import check_values, quick_of, random_problem
from tests.recourse import milo

pytest.importorskip("ortools", reason="OR-Tools is not installed")

COSTS = ["percentile", "range", "l1", "log-percentile"]


def with_values(rng, ensemble):
    """The same trees deciding by votes, mean or sum, often close to a tie."""
    combine = str(rng.choice(["votes", "mean", "sum"]))
    if combine == "votes":
        return ensemble
    values = rng.choice([0.0, 0.1, 0.2, 0.3, 1 / 3, -0.7], len(ensemble.feature))
    low, high = values.min(), values.max()
    cutoff = float(rng.choice([rng.uniform(low, high), 0.1, 0.2, 0.15]))
    cutoff *= 1 if combine == "mean" else ensemble.n_trees
    return dataclasses.replace(ensemble, value=values, combine=combine, cutoff=cutoff)


def brute_force(name, encoder, matrix, ensemble, person, rng, **limits):
    rows = naive.allowed_rows(ensemble, encoder.axes, person, matrix, rng, **limits)
    prices = naive.price_rows(name, matrix, encoder.weights, person, rows)
    return naive.cheapest_row(ensemble, rows, prices)


def agree(solutions, i, best, budget, tolerance):
    if np.isfinite(best) and best <= budget:
        assert solutions.status[i] == Status.OPTIMAL
        assert solutions.cost[i] == pytest.approx(best, abs=tolerance)
        assert best - tolerance <= solutions.bound[i] <= solutions.cost[i]
    else:
        assert solutions.status[i] == Status.NONE and np.isinf(solutions.cost[i])
    return int(solutions.status[i])


@pytest.mark.parametrize("block", range(5))
def test_every_ensemble_and_cost_equals_brute_force(block):
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng([block, seed])
        name = str(rng.choice(COSTS))
        encoder, matrix, ensemble, cost = random_problem(rng, cost=name)
        ensemble = with_values(rng, ensemble)
        people = matrix[rng.choice(len(matrix), 3, replace=False)]
        budget = float(rng.choice([0.213, 0.517, 1.211, np.inf]))
        most = int(rng.integers(0, 3)) if rng.random() < 0.3 else None
        search = SolverSearch(ensemble, encoder.axes, cost)
        solutions = search.solve(people, budget, max_changes=most)
        check_values(encoder, ensemble, cost, people, solutions, max_changes=most)
        for i, person in enumerate(people):
            best = brute_force(name, encoder, matrix, ensemble, person, rng, max_changes=most)
            seen.add(agree(solutions, i, best, budget, 1e-6))
    assert seen == {Status.OPTIMAL, Status.NONE}


def stumps(values, cutoff):
    """One stump per column and pair of leaf values, split at 0.5, deciding by their sum."""
    n = len(values)
    return TreeEnsemble(
        np.tile(np.array([0, -1, -1], np.int32), n) + np.repeat(np.arange(n), 3).astype(np.int32)
        * np.tile(np.array([1, 0, 0], np.int32), n),
        np.tile([0.5, 0.0, 0.0], n),
        np.concatenate([[3 * t + 1, -1, -1] for t in range(n)]).astype(np.int32),
        np.concatenate([[3 * t + 2, -1, -1] for t in range(n)]).astype(np.int32),
        np.zeros(3 * n, np.uint8),
        np.concatenate([[0.0, low, high] for low, high in values]),
        3 * np.arange(n, dtype=np.int32),
        "sum",
        cutoff,
    )  # fmt: skip


def test_ties_are_decided_as_floating_point_decides_them():
    """0.7 + 0.1 is just below 0.8 in floating point, and 0.1 + 0.2 just above 0.3."""
    matrix = np.array([[0.0, 0, 0], [1, 1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost([10.0, 10.0, 1.0], norm="l1").fit(matrix.T, encoder.weights)
    for values, cutoff, expected in (
        ([(0.0, 0.7), (0.0, 0.1), (0.0, 0.9)], 0.8, 1.0),  # the two cheap ones are refused
        ([(0.0, 0.7), (0.0, 0.1), (0.0, 0.0)], 0.8, np.inf),
        ([(0.0, 0.1), (0.0, 0.2), (0.0, 0.9)], 0.3, 0.2),
        ([(0.0, 0.1), (0.0, 0.2), (0.0, 0.0)], 0.1 + 0.2, 0.2),
    ):
        search = SolverSearch(stumps(values, cutoff), encoder.axes, cost)
        assert search.solve(matrix[:1]).cost[0] == pytest.approx(expected)


def test_what_costs_exactly_the_budget_is_within_it():
    """Two features at 0.1 and 0.2 cost 0.30000000000000004 together."""
    matrix = np.array([[0.0, 0], [1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost([10.0, 5.0], norm="l1").fit(matrix.T, encoder.weights)
    both = stumps([(0.0, 1.0), (0.0, 1.0)], 2.0)
    search = SolverSearch(both, encoder.axes, cost)
    assert search.solve(matrix[:1], 0.3).status[0] == Status.OPTIMAL
    assert search.solve(matrix[:1], 0.2999999).status[0] == Status.NONE


@pytest.mark.parametrize("combine", ["sum", "mean"])
def test_a_model_without_any_score_has_no_recourse(combine):
    """Scores are all 0 and must be above 0, by however little."""
    matrix = np.array([[0.0, 0], [1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost(norm="l1").fit(matrix.T, encoder.weights)
    stump = TreeEnsemble.stump(0, 0.5, combine)
    nothing = dataclasses.replace(
        stump, value=np.zeros_like(stump.value), cutoff=np.nextafter(0.0, 1.0)
    )
    search = SolverSearch(nothing, encoder.axes, cost)
    assert (search.solve(matrix).status == Status.NONE).all()


@cache
def loans_forest(n_trees, depth, weight):
    loans = load_loans(n_people=800)
    model = RecourseForestClassifier(
        loans.actions, n_estimators=n_trees, max_depth=depth, recourse_weight=weight,
        cost=PercentileCost(exact=True), random_state=0,
    ).fit(loans.frame, loans.target)  # fmt: skip
    matrix = model.encoder_.matrix(loans.frame)
    return model, matrix, matrix[~model.ensemble_.decide(matrix)]


def three_agree(n_trees, depth, weight, n_people, budget):
    model, matrix, refused = loans_forest(n_trees, depth, weight)
    people, axes = refused[:n_people], model.encoder_.axes
    ours = ExactSearch(model.ensemble_, axes, model.cost_).solve(people, budget)
    theirs = SolverSearch(model.ensemble_, axes, model.cost_).solve(people, budget)
    np.testing.assert_array_equal(theirs.status, ours.status)
    np.testing.assert_array_equal(theirs.cost, ours.cost)
    check_values(model.encoder_, model.ensemble_, model.cost_, people, theirs)
    for i, person in enumerate(people):
        cost, row = milo.cheapest_action(model.ensemble_, axes, person, matrix)
        if cost <= budget:
            assert ours.status[i] == Status.OPTIMAL
            assert ours.cost[i] == pytest.approx(cost, abs=1e-12)
            assert naive.naive_votes(model.ensemble_, row[None])[0] >= model.ensemble_.cutoff
        else:
            assert ours.status[i] == Status.NONE
    return set(ours.status.tolist())


@pytest.mark.parametrize("n_people", quick_of(1, [(30, 30, 10), (120, 80, 20)]))
def test_both_searches_and_the_integer_program_agree_on_forests(n_people):
    seen = three_agree(10, 4, 0.1, n_people[0], np.inf)
    seen |= three_agree(8, 5, 0.0, n_people[1], 0.25)
    seen |= three_agree(16, 4, 0.1, n_people[2], 0.3)
    assert seen == {Status.OPTIMAL, Status.NONE}


@pytest.mark.slow
@pytest.mark.parametrize(("n_trees", "weight"), [(20, 0.1), (30, 0.0), (30, 0.2)])
def test_both_searches_and_the_integer_program_agree_on_larger_forests(n_trees, weight):
    three_agree(n_trees, 5, weight, 60, 0.3)


def test_a_time_limit_leaves_people_unknown_with_bounds_that_hold():
    model, _, refused = loans_forest(10, 4, 0.1)
    search = SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    exact, stopped = (search.solve(refused[:5], time_limit=limit) for limit in (None, 0.0))
    assert (exact.status == Status.OPTIMAL).all()
    assert (stopped.status == Status.UNKNOWN).all() and np.isinf(stopped.cost).all()
    assert (stopped.bound <= exact.cost).all()
    np.testing.assert_array_equal(stopped.values, refused[:5])


@pytest.mark.parametrize("single", [False, True])
def test_one_class_among_several_wins_or_loses_a_tie_as_the_library_says(single):
    """Sums of 0.1 and 0.2 against 0.3: larger as doubles, equal or smaller as singles."""
    matrix = np.array([[0.0, 0], [1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost(norm="l1").fit(matrix.T, encoder.weights)
    for against, later in itertools.product((0.3, 0.3000001, 0.29), (False, True)):
        trees = stumps([(0.0, 0.1), (0.0, 0.2)], float(np.nextafter(0.0, 1.0)) if later else 0.0)
        theirs = np.where(np.arange(6) < 3, against, 0.0)
        trees = dataclasses.replace(trees, against=theirs, single=single)
        wins = trees.decide(np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]))
        best = min(np.array([0.0, 1.0, 1.0, 2.0])[wins], default=np.inf)
        assert SolverSearch(trees, encoder.axes, cost).solve(matrix[:1]).cost[0] == best


def test_threads_and_order_do_not_change_the_result():
    model, _, refused = loans_forest(10, 4, 0.1)
    l1 = make_cost("l1").fit(refused.T, model.encoder_.weights)
    search = SolverSearch(model.ensemble_, model.encoder_.axes, l1)
    one = search.solve(refused[:12], n_jobs=1)
    two = search.solve(refused[11::-1], n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values[::-1])
    np.testing.assert_array_equal(one.nodes, two.nodes[::-1])


def test_wrong_input_is_refused():
    model, _, refused = loans_forest(1, 2, 0.0)
    search = SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    for limit in (-1.0, float("nan")):
        with pytest.raises(InvalidSpec, match="time_limit must be a number of 0 or more"):
            search.solve(refused, time_limit=limit)
    with pytest.raises(InvalidSpec, match="max_changes must be a whole number of 0 or more"):
        search.solve(refused, max_changes=-1)
    with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
        search.solve(refused, -0.5)
    combined = CombinedCost("l1", per_change=0.1).fit(refused.T, model.encoder_.weights)
    with pytest.raises(InvalidSpec, match="Programs take no CombinedCost"):
        SolverSearch(model.ensemble_, model.encoder_.axes, combined)


def test_without_or_tools_it_says_what_to_install(monkeypatch):
    model, _, _ = loans_forest(1, 2, 0.0)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(ImportError, match=r'pip install "ract\[solver\]"'):
        SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)
