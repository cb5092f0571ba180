"""Round targets: every search against brute force on the grid, reach, files and proposals."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    find_recourse,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.actions.steps import first_above, last_below, proposed_step
from ract.data.costs import fit_cost
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.evaluation.certificates.checker import wrong_action
from ract.recourse.additive.search import AdditiveSearch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.exact.several import SeveralSearch
from ract.recourse.leaves import LeafSearch
from ract.recourse.solver import SolverSearch
from tests import naive
from tests.builders import CHANGES, each_seed, random_ensemble, with_random_values

STEPS = {"integer": [1, 5, 7, 25, 50], "continuous": [0.01, 0.05, 0.25, 0.1]}


@each_seed(range(200))
def test_the_next_round_targets_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    step = float(rng.choice([1, 2, 5, 25, 100, 0.01, 0.05, 0.5, 7]))
    own = round(float(rng.choice([rng.integers(0, 3000), rng.random() * 30, rng.normal()])), 3)
    low = own + float(rng.choice([0.0, 0.001, rng.random() * 10, rng.integers(0, 500)]))
    upward = first_above(np.array([own]), np.array([low]), step)[0]
    downward = last_below(np.array([own]), np.array([2 * own - low]), step)[0]
    for found, sign in ((upward, 1), (downward, -1)):
        assert naive.is_round(found, own, step)
        end = low if sign > 0 else 2 * own - low
        assert sign * found >= sign * end and sign * found > sign * own
        between = (float(step) * k for k in range(1, 400))
        nearer = [round(found - sign * gap, 9) for gap in between]
        nearer = [v for v in nearer if sign * v >= sign * end and sign * v > sign * own]
        assert not any(naive.is_round(v, own, step) for v in nearer)


def stepped_problem(rng, combine="votes", cost="percentile"):
    """A small table with steps, and sometimes limits, a random model and a fitted cost."""
    data, features, n = {}, [], int(rng.integers(10, 20))
    for k in range(int(rng.integers(1, 2, endpoint=True))):
        kind = str(rng.choice(list(STEPS)))
        size = int(rng.choice([40, 400]))
        column = rng.integers(0, size, n) / (1 if kind == "integer" else 100)
        limit = float(rng.choice([np.inf, size / 3 / (1 if kind == "integer" else 100)]))
        features.append(
            Feature(f"f{k}", kind, str(rng.choice(CHANGES)), max_change=limit,
                    step=float(rng.choice(STEPS[kind])))
        )  # fmt: skip
        data[f"f{k}"] = column
    if rng.random() < 0.5:
        data["c"] = rng.choice(list("uvw"), n)
        features.append(Feature("c", "categorical", categories=("u", "v", "w")))
    frame = pd.DataFrame(data)
    encoder = Encoder(frame, ActionSpace(features, limits=None))
    matrix = encoder.matrix(frame)
    ensemble = random_ensemble(rng, matrix, int(rng.integers(1, 7)))
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    fitted = fit_cost(cost, list(matrix.T), encoder.weights, exact=True)
    return encoder, matrix, ensemble, fitted


def check_round(encoder, people, values):
    for axis in encoder.axes:
        if not axis.is_categorical:
            j = axis.columns[0]
            for own, value in zip(people[:, j], values[:, j], strict=True):
                assert naive.is_round(value, own, axis.feature.step)
                low, high = axis.feature.limits(own)
                assert low <= value <= high


def least_cost(ensembles, encoder, cost, own, matrix):
    """The cheapest of every combination of round values that all accept."""
    rows = naive.allowed_rows(ensembles[0], encoder.axes, own, matrix, None)
    good = rows[np.all([ensemble.decide(rows) for ensemble in ensembles], axis=0)]
    return cost.between(np.tile(own, (len(good), 1)), good).min(initial=np.inf)


@pytest.mark.parametrize("adds_up", [False, True])
@pytest.mark.parametrize("combine", ["votes", "sum", "mean"])
@each_seed(range(200), n_quick=12)
def test_exact_search_lands_on_the_cheapest_round_values(seed, combine, adds_up):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = stepped_problem(
        rng, combine, "log-percentile" if adds_up else "percentile"
    )
    people, budget = matrix[:6], float(rng.choice([0.3, np.inf]))
    search = (AdditiveSearch if adds_up else ExactSearch)(ensemble, encoder.axes, cost)
    answers, attains = search.solve(people, budget), search.attains(people, budget)
    check_round(encoder, people, answers.values)
    for i, own in enumerate(people):
        least = least_cost([ensemble], encoder, cost, own, matrix)
        if np.isinf(least) or least > budget * (1 + 1e-9):
            assert (answers.status[i], attains[i]) == (Status.NONE, Status.NONE)
            continue
        assert (answers.status[i], attains[i]) == (Status.OPTIMAL, Status.FOUND)
        assert answers.cost[i] == pytest.approx(least, rel=1e-9, abs=1e-12)
        case = ensemble, encoder.axes, cost, people[[i]], answers.values[[i]], budget, None
        assert wrong_action(*case) is None


@pytest.mark.parametrize("cost", ["percentile", "l1"])
@each_seed(range(80), n_quick=15)
def test_solver_and_leaves_land_on_round_values(seed, cost):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, fitted = stepped_problem(rng, cost=cost)
    solver = SolverSearch(ensemble, encoder.axes, fitted).solve(matrix[:3])
    leaves = LeafSearch(ensemble, encoder.axes, fitted).solve(matrix[:3])
    for answers in (solver, leaves):
        check_round(encoder, matrix[:3], answers.values)
    for i, own in enumerate(matrix[:3]):
        least = least_cost([ensemble], encoder, fitted, own, matrix)
        assert solver.cost[i] == pytest.approx(least, abs=1e-9)
        assert leaves.cost[i] >= least - 1e-9
        if ensemble.n_trees == 1:
            assert leaves.cost[i] == pytest.approx(least, abs=1e-9)
        if leaves.status[i] == Status.NONE:
            assert np.isinf(least)


@each_seed(range(80), n_quick=15)
def test_actions_that_several_models_accept_are_round(seed):
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = stepped_problem(rng)
    other = with_random_values(rng, random_ensemble(rng, matrix, 3), "sum")
    both = [ensemble, other]
    answers = SeveralSearch(both, encoder.axes, cost).solve(matrix[:4])
    check_round(encoder, matrix[:4], answers.values)
    for i, own in enumerate(matrix[:4]):
        assert answers.cost[i] == pytest.approx(
            least_cost(both, encoder, cost, own, matrix), abs=1e-12
        )


@each_seed(range(300), n_quick=60)
def test_reach_ends_at_the_last_round_values(seed):
    rng = np.random.default_rng(seed)
    encoder, matrix, _, cost = stepped_problem(rng)
    columns, budget = list(matrix.T), float(rng.choice([0.0, 0.2, 0.5, 5.0]))
    grid = Grid.from_columns(encoder.axes, columns, int(rng.integers(2, 14)))
    cells = grid.cells(columns)
    reach = grid.price(cost).reach(columns, cells, budget)
    for a, axis in enumerate(encoder.axes):
        if axis.is_categorical:
            continue
        j = axis.columns[0]
        for i, own in enumerate(matrix[:, j]):
            values = np.array(naive.round_values(axis.feature, own))
            price = np.abs(cost.level(j, values) - cost.level(j, np.array([own])))
            near = values[price <= budget * (1 + 1e-9)]
            reached = [naive.cell_of(grid.thresholds[a], v) for v in near]
            assert (reach.lowest[a, i], reach.highest[a, i]) == (min(reached), max(reached))


def test_who_hands_in_a_value_hands_in_a_multiple():
    people = pd.DataFrame({"x": [3.0, 18, 22, 41, np.nan, 77], "y": range(6)})
    features = [
        Feature("x", "integer", missing="supply", supply_cost=0.1, step=10),
        Feature("y", "integer", "fixed"),
    ]
    encoder = Encoder(people, ActionSpace(features, limits=None))
    matrix = encoder.matrix(people)
    missing = encoder.missing_cells
    cost = fit_cost("percentile", list(matrix.T), encoder.weights, exact=True, missing=missing)
    grid = Grid(encoder.axes, (np.array([18.5, 25.5, 52.5, 55.5]), np.zeros(0)))
    handed = grid.price(cost).supplied[0]
    np.testing.assert_array_equal(handed.values, [10, 20, 30, np.nan, 60])


@pytest.fixture(scope="module")
def loans():
    data = load_loans(500)
    space = ActionSpace(data.actions.features, data.actions.desired, limits="size", steps="round")
    return dataclasses.replace(data, actions=space)


@pytest.fixture(scope="module")
def forest(loans):
    model = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=0)
    return model.fit(loans.frame, loans.target)


def test_plans_of_a_model_are_round_with_every_option(forest, loans):
    encoder = forest.encoder_
    assert all(f.is_stepped for f in encoder.space if f.is_number)
    options = [
        {}, {"strength": "most"}, {"max_changes": 2, "n_alternatives": 2}, {"at_least": True},
        {"margin": 0.1}, {"strength": 0.7, "ranges": True},
    ]  # fmt: skip
    for how in options:
        plans = find_recourse(forest, loans.frame[:60], **how)
        assert plans.found.any()
        for plan in plans:
            for one in (plan, *plan.alternatives):
                for change in one.changes:
                    feature = encoder.space[change.feature]
                    if feature.is_number:
                        assert naive.is_round(change.after, change.before, feature.step)


def test_reasons_name_round_values(forest, loans):
    refused = loans.frame[forest.predict(loans.frame) != "approved"][:40]
    named = 0
    for person in forest.reasons(refused, reference=loans.frame):
        for reason in person.reasons:
            feature = forest.encoder_.space[reason.feature]
            if reason.alone and feature.is_number:
                assert naive.is_round(reason.from_value, reason.value, feature.step)
                named += 1
    assert named > 3


def test_files_keep_steps_units_and_labels(forest, loans, tmp_path):
    save_model(forest, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    assert again.encoder_.space == forest.encoder_.space
    before, after = (m.recourse(loans.frame[:40], explain=False) for m in (forest, again))
    np.testing.assert_array_equal(before.after, after.after)
    told = Feature("rent", "continuous", step=0.5, unit="EUR", label="Monthly rent")
    space = ActionSpace([told, Feature("age", step=0)], limits=None, steps="round")
    for one in (space, space.complete(pd.DataFrame({"rent": [1.0, 2.0], "age": [30, 40]}))):
        assert ActionSpace.from_toml_text(one.to_toml_text()) == one
    assert not one["age"].is_stepped


def test_the_checker_refuses_what_is_not_round():
    people = np.arange(0.0, 500.0)[:, None]
    encoder = Encoder(people, ActionSpace([Feature("x0", "integer", step=5)], limits=None))
    ensemble = dataclasses.replace(random_ensemble(np.random.default_rng(0), people, 1), cutoff=0)
    cost = fit_cost("percentile", [people[:, 0]], np.ones(1), exact=True)
    for own in (0, 103, 250):
        for to in range(0, 500, 3):
            case = ensemble, encoder.axes, cost, people[[own]], people[[to]], np.inf, None
            expected = None if naive.is_round(to, own, 5) else (0, "'x0' does not end at a step")
            assert wrong_action(*case) == expected


def test_proposed_steps():
    assert proposed_step(0, 3, 9, 40, whole=True) == 1
    assert proposed_step(0, 10_000, 45_000, 250_000, whole=True) == 1000
    assert proposed_step(0, 100, 300, 900, whole=True) == 10
    assert proposed_step(0, 0.1, 0.5, 1, whole=False) == 0.01
    assert proposed_step(0, 0.1, 0.12, 1, whole=False) == 0.001
    assert proposed_step(-5, 1.5, 13.5, 80, whole=False) == 0.5
    assert proposed_step(2, 2, 2, 2, whole=False) is None
    assert proposed_step(0, 0, 0, 700, whole=True) == 5
    for given, message in (
        ({"kind": "integer", "step": 0.5}, "is an integer, but its step is 0.5"),
        ({"step": -1}, "step must be 0 or more"),
        ({"kind": "binary", "step": 1}, "is binary; step is for numbers"),
        ({"unit": 3}, "unit must be text, got 3"),
    ):
        with pytest.raises(InvalidSpec, match=message):
            Feature("x", **given)
    with pytest.raises(InvalidSpec, match="steps must be 'round' or 'limits', or None, got 5"):
        ActionSpace([], steps=5)
