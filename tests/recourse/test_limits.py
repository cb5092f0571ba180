"""Limits relative to the person: every search, the learner, certificates and files agree."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
    load_model,
    save_model,
)
from ract._utils.status import Status
from ract.data.costs import fit_cost
from ract.data.datasets import load_loans
from ract.data.effects import CausalEffects
from ract.data.encoder import Encoder
from ract.evaluation.certificates.checker import wrong_action
from ract.recourse.causal.search import CausalSearch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.leaves import LeafSearch
from ract.recourse.solver import SolverSearch
from tests import naive
from tests.builders import (
    KINDS,
    check_allowed,
    each_seed,
    random_ensemble,
    random_ensemble_with_holes,
    random_table,
    with_holes,
    with_limits,
    with_random_values,
)


def limited_problem(rng, combine, *, holes=False, cost="percentile", kinds=KINDS):
    """A small table with limits, a random model and a fitted cost."""
    frame, actions = random_table(rng, int(rng.integers(10, 20)), kinds)
    frame, actions = with_holes(rng, frame, actions) if holes else (frame, actions)
    encoder = Encoder(frame, with_limits(rng, frame, actions))
    matrix = encoder.matrix(frame)
    grown = random_ensemble_with_holes if holes else random_ensemble
    ensemble = grown(rng, matrix, int(rng.integers(1, 7)))
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    missing = encoder.missing_cells
    fitted = fit_cost(cost, list(matrix.T), encoder.weights, exact=True, missing=missing)
    return encoder, matrix, ensemble, fitted


@pytest.mark.parametrize("combine", ["votes", "sum", "mean"])
@each_seed(range(200), n_quick=25)
def test_exact_search_equals_brute_force(seed, combine):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = limited_problem(rng, combine)
    search, budget = ExactSearch(ensemble, encoder.axes, cost), float(rng.choice([0.3, np.inf]))
    answers, attains = search.solve(matrix, budget), search.attains(matrix, budget)
    check_allowed(encoder, matrix, answers.values)
    for i, own in enumerate(matrix[:6]):
        expected = naive.cheapest_action(ensemble, encoder.axes, own, matrix, rng)
        if np.isinf(expected) or expected > budget * (1 + 1e-9):
            assert (answers.status[i], attains[i]) == (Status.NONE, Status.NONE)
            continue
        assert answers.cost[i] == pytest.approx(expected, abs=1e-12)
        assert attains[i] == Status.FOUND
        case = ensemble, encoder.axes, cost, matrix[[i]], answers.values[[i]], budget, None
        assert wrong_action(*case) is None


@each_seed(range(150), n_quick=25)
def test_people_without_a_value_hand_in_any_within_the_bounds(seed):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = limited_problem(rng, "votes", holes=True)
    answers = ExactSearch(ensemble, encoder.axes, cost).solve(matrix)
    check_allowed(encoder, matrix, answers.values)
    priced = all(f.supply_cost is not None for f in encoder.space if f.may_supply)
    for i, own in enumerate(matrix[:6] if priced else []):
        expected = naive.cheapest_action(ensemble, encoder.axes, own, matrix, rng)
        assert answers.cost[i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("cost", ["l1", "percentile"])
@each_seed(range(60), n_quick=10)
def test_solver_and_leaves_keep_to_limits(seed, cost):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, fitted = limited_problem(rng, "votes", cost=cost)
    weights = encoder.weights
    solver = SolverSearch(ensemble, encoder.axes, fitted).solve(matrix[:4])
    leaves = LeafSearch(ensemble, encoder.axes, fitted).solve(matrix[:4])
    for i, own in enumerate(matrix[:4]):
        rows = naive.allowed_rows(ensemble, encoder.axes, own, matrix, rng)
        good = rows[naive.naive_decision(ensemble, rows)]
        least = fitted.between(np.tile(own, (len(good), 1)), good).min(initial=np.inf)
        assert solver.cost[i] == pytest.approx(least, abs=1e-9)
        assert leaves.cost[i] >= least - 1e-9
        if ensemble.n_trees == 1:
            assert leaves.cost[i] == pytest.approx(least, abs=1e-9)
    assert len(weights) == matrix.shape[1]
    for answers in (solver, leaves):
        check_allowed(encoder, matrix[:4], answers.values)


@pytest.mark.parametrize("seed", range(10))
def test_actions_with_effects_keep_to_limits(seed):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = limited_problem(rng, "votes", kinds=["integer", "continuous"])
    nothing = CausalEffects(encoder.column_names, np.zeros((matrix.shape[1],) * 2))
    exact = ExactSearch(ensemble, encoder.axes, cost).solve(matrix)
    causal = CausalSearch(ensemble, encoder.axes, cost, nothing).solve(matrix)
    check_allowed(encoder, matrix, causal.values)
    found = causal.status == Status.OPTIMAL
    np.testing.assert_allclose(causal.cost[found], exact.cost[found], rtol=1e-6, atol=1e-9)


def test_the_checker_refuses_what_moves_too_far():
    people = np.arange(20.0)[:, None]
    space = ActionSpace([Feature("x0", "integer", max_relative=0.5, median=4)], limits=None)
    encoder = Encoder(people, space)
    ensemble = random_ensemble(np.random.default_rng(0), people, 1)
    accepted = np.flatnonzero(naive.naive_decision(ensemble, people))
    cost = fit_cost("percentile", [people[:, 0]], np.ones(1), exact=True)
    for own in range(20):
        for to in accepted:
            fault = wrong_action(
                ensemble, encoder.axes, cost, people[[own]], people[[to]], np.inf, None
            )
            allowed = abs(to - own) <= max(own, 4) / 2
            assert fault == (None if allowed else (0, "'x0' moves further than its limit"))


@pytest.fixture(scope="module")
def loans():
    data = load_loans(600)
    limited = ActionSpace(data.actions.features, data.actions.desired, limits="size")
    return dataclasses.replace(data, actions=limited)


def test_a_tree_learns_with_the_reach_that_people_are_held_to(loans):
    tree = RecourseTreeClassifier(loans.actions, max_depth=4).fit(loans.frame, loans.target)
    some = loans.frame[:150]
    matrix = tree.encoder_.matrix(some)
    found = tree.recourse(some, explain=False)
    check_allowed(tree.encoder_, matrix, found.after)
    has_plan = found.accepted | found.found
    np.testing.assert_array_equal(tree.desired_reached(some) > 0, has_plan)
    free = RecourseTreeClassifier(
        ActionSpace(loans.actions.features, loans.actions.desired, limits=None), max_depth=4
    ).fit(loans.frame, loans.target)
    assert not np.array_equal(tree.predict(loans.frame), free.predict(loans.frame))


def test_a_loaded_model_has_the_same_reach(loans, tmp_path):
    forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=0)
    forest.fit(loans.frame, loans.target)
    save_model(forest, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    assert again.encoder_.space == forest.encoder_.space
    assert again.encoder_.space["Income"].is_limited
    before, after = (m.recourse(loans.frame[:60], explain=False) for m in (forest, again))
    np.testing.assert_array_equal(before.after, after.after)


def test_an_override_has_a_limit_of_its_own(loans):
    forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=0)
    forest.fit(loans.frame, loans.target)
    plans = forest.recourse(loans.frame, budget=np.inf, explain=False)
    who = next(i for i, plan in enumerate(plans) if "Income" in {c.feature for c in plan.changes})
    barely = {who: {"Income": Feature("Income", max_change=100)}}
    own = forest.recourse(loans.frame, budget=np.inf, explain=False, overrides=barely)
    moved = own.after[who] - own.question.matrix[who]
    assert abs(moved[forest.encoder_.column_names.index("Income")]) <= 100


def test_doing_more_is_safe_beyond_the_limit(loans):
    """Limits say what people are asked for; who does more than that must be accepted too."""
    forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=0)
    forest.fit(loans.frame, loans.target)
    plans = find_recourse(forest, loans.frame[:120], at_least=True, explain=False)
    rng, checked = np.random.default_rng(0), 0
    names, features = forest.encoder_.column_names, forest.encoder_.space
    for i in np.flatnonzero(plans.found & plans.answers.beyond):
        before, after = plans.question.matrix[i], plans.after[i]
        further = np.tile(after, (200, 1))
        for j in np.flatnonzero(before != after):
            if names[j] in features and features[names[j]].is_number:
                end = features[names[j]].bounds[int(after[j] > before[j])]
                further[:, j] += rng.integers(0, abs(end - after[j]), 200, endpoint=True) * np.sign(
                    after[j] - before[j]
                )
                checked += 1
        assert forest.ensemble_.decide(further).all()
    assert checked > 5


def test_limits_are_read_off_a_table_with_missing_values():
    people = pd.DataFrame({"a": [1.0, np.nan, 3.0, 5.0, 7.0], "b": [1, 2, 3, 4, 9]})
    space = ActionSpace(map(Feature, people), limits="size").complete(people)
    assert space["a"].median == 4 and space["a"].max_change == 3


@each_seed(range(25))
def test_relative_costs_are_searched_exactly(seed):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = limited_problem(rng, "votes", cost="relative")
    answers = ExactSearch(ensemble, encoder.axes, cost).solve(matrix[:5])
    check_allowed(encoder, matrix[:5], answers.values)
    for i, own in enumerate(matrix[:5]):
        rows = naive.allowed_rows(ensemble, encoder.axes, own, matrix, rng)
        good = rows[naive.naive_decision(ensemble, rows)]
        least = cost.between(np.tile(own, (len(good), 1)), good).min(initial=np.inf)
        assert answers.cost[i] == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("cost", ["relative", "range"])
def test_a_loaded_model_has_the_same_cost(loans, tmp_path, cost):
    far = loans.frame.assign(Income=loans.frame["Income"] + 2**40)
    forest = RecourseForestClassifier(cost=cost, budget=0.2, n_estimators=4, random_state=0)
    forest.set_params(actions=ActionSpace(map(Feature, far), loans.actions.desired, limits=None))
    forest.fit(far, loans.target)
    save_model(forest, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    before, after = (m.recourse(far[:60], explain=False) for m in (forest, again))
    assert before.found.any()
    np.testing.assert_array_equal(before.cost, after.cost)
