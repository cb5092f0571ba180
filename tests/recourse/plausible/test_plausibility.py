"""Plausible actions are allowed, cost what they say, get the class and look like people."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.status import Status
from ract.data.costs import LinearCost, make_cost
from ract.data.datasets import load_loans
from ract.data.encoder import Axis, Encoder
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.search import ExactSearch
from ract.recourse.plausible.plausibility import METHODS, Plausibility, PlausibleSearch, Walks
from ract.trees.ensemble import TreeEnsemble
from tests.builders import check_values, stump_on


@pytest.fixture(scope="module")
def lending():
    loans = load_loans(n_people=1500, random_state=1)
    model = RecourseForestClassifier(
        loans.actions, desired="approved", n_estimators=20, budget=0.3, random_state=0
    ).fit(loans.frame[:1000], loans.target[:1000])
    matrix = model.encoder_.matrix(loans.frame)
    problem = CellProblem(model.ensemble_, model.encoder_.axes, model.cost_)
    refused = matrix[1000:][~model.ensemble_.decide(matrix[1000:])]
    return model, problem, matrix[:1000], refused[:25]


@pytest.mark.parametrize("method", METHODS)
def test_the_threshold_calls_the_given_share_of_people_outliers(method):
    rng = np.random.default_rng(0)
    people = rng.normal(size=(400, 3)) * [1.0, 100.0, 0.01]
    for share in (0.0, 0.05, 0.2):
        plausibility = Plausibility(method, max_outliers=share).fit(people)
        if method == "isolation_forest":
            scores = plausibility.score(people)
        else:  # a person is no neighbour of their own in training, but is one afterwards
            scores = plausibility._model.negative_outlier_factor_
        assert (scores < plausibility.threshold_).mean() == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize("method", METHODS)
def test_the_far_score_lower_whatever_the_units(method):
    rng = np.random.default_rng(0)
    people = rng.normal(size=(400, 2)) * [1.0, 1e4]
    plausibility = Plausibility(method).fit(people)
    ordinary, far = np.array([[0.1, 0.0], [0.0, 1e3]]), np.array([[6.0, 0.0], [0.0, 6e4]])
    assert plausibility.score(ordinary).min() > plausibility.score(far).max()
    assert plausibility.is_plausible(ordinary).all() and not plausibility.is_plausible(far).any()


def test_the_isolation_score_is_minus_that_of_the_paper():
    rng = np.random.default_rng(0)
    people = rng.normal(size=(300, 2))
    scores = Plausibility(random_state=3).fit(people).score(people)
    assert ((scores > -1) & (scores < 0)).all()
    assert -0.6 < scores.mean() < -0.4  # about a half is ordinary


def test_comparing_with_the_desired_only():
    rng = np.random.default_rng(0)
    people = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 8])
    desired = np.arange(400) >= 200
    everyone = Plausibility().fit(people)
    only = Plausibility(among="desired").fit(people, desired)
    assert everyone.is_plausible([[0.0, 0.0]])[0] and not only.is_plausible([[0.0, 0.0]])[0]
    assert only.is_plausible([[8.0, 8.0]])[0]


@pytest.mark.parametrize("method", METHODS)
def test_actions_are_allowed_desired_and_plausible(lending, method):
    model, problem, train, refused = lending
    plausibility = Plausibility(method, max_outliers=0.3).fit(train)
    exact = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_).solve(refused, 0.3)
    solutions = PlausibleSearch(problem, plausibility, train).solve(refused, 0.3)
    found = solutions.found
    check_values(model.encoder_, model.ensemble_, model.cost_, refused, solutions)
    assert plausibility.is_plausible(solutions.values[found]).all()
    assert (solutions.cost[found] <= 0.3).all()
    assert (solutions.cost >= exact.cost - 1e-12).all()
    np.testing.assert_array_equal(solutions.status == Status.NONE, exact.status == Status.NONE)
    lucky = exact.found.copy()
    lucky[lucky] = plausibility.is_plausible(exact.values[lucky])
    np.testing.assert_array_equal(solutions.status == Status.OPTIMAL, lucky)
    repaired = found & ~lucky
    assert repaired.sum() >= 0.2 * (exact.found & ~lucky).sum() > 0
    assert (solutions.status[repaired] == Status.FOUND).all()
    assert (solutions.status[~found & (exact.status != Status.NONE)] == Status.UNKNOWN).all()
    assert (solutions.bound <= np.where(found, solutions.cost, np.inf)).all()


def test_another_way_to_decide_and_another_norm(lending):
    model, _, train, refused = lending
    soft = dataclasses.replace(model.ensemble_, combine="mean", cutoff=0.5)
    cost = make_cost("l1").fit(train.T, model.encoder_.weights)
    problem = CellProblem(soft, model.encoder_.axes, cost)
    plausibility = Plausibility().fit(train)
    refused = refused[~soft.decide(refused)]
    solutions = PlausibleSearch(problem, plausibility, train).solve(refused)
    found = solutions.found
    assert found.mean() > 0.1
    assert set(solutions.status.tolist()) <= {Status.FOUND, Status.UNKNOWN}
    assert soft.decide(solutions.values[found]).all()
    assert plausibility.is_plausible(solutions.values[found]).all()
    np.testing.assert_allclose(
        cost.between(refused[found], solutions.values[found]), solutions.cost[found]
    )


def test_two_features_that_go_together_are_moved_together():
    """The tree asks for income only; savings of zero would be odd at that income."""
    rng = np.random.default_rng(0)
    income = rng.uniform(0, 10, 600)
    frame = pd.DataFrame({"income": income, "savings": income + rng.normal(size=600) * 0.3})
    encoder = Encoder(frame, ActionSpace([Feature("income"), Feature("savings")], limits=None))
    matrix = encoder.matrix(frame)
    cost = make_cost("range").fit(matrix.T, encoder.weights)
    problem = CellProblem(stump_on(0, 6.0), encoder.axes, cost)
    plausibility = Plausibility("local_outlier_factor", max_outliers=0.02).fit(matrix)
    person = np.array([[2.0, 2.0]])
    alone = ExactSearch(problem.ensemble, encoder.axes, cost).solve(person)
    assert alone.values[0, 1] == 2.0 and not plausibility.is_plausible(alone.values)[0]
    solutions = PlausibleSearch(problem, plausibility, matrix).solve(person)
    assert solutions.status[0] == Status.FOUND
    assert solutions.values[0, 0] > 6.0 and solutions.values[0, 1] > 4.0
    assert alone.cost[0] <= solutions.cost[0] < 2 * alone.cost[0]


def test_those_who_have_the_class_stay_as_they_are(lending):
    model, problem, train, _ = lending
    accepted = train[model.ensemble_.decide(train)][:20]
    solutions = PlausibleSearch(problem, Plausibility().fit(train), train).solve(accepted)
    assert (solutions.status == Status.OPTIMAL).all() and (solutions.cost == 0).all()
    np.testing.assert_array_equal(solutions.values, accepted)


def test_nobody_to_aim_at_is_open_or_what_the_exact_search_found(lending):
    model, problem, train, refused = lending
    nobody = train[~model.ensemble_.decide(train)]
    solutions = PlausibleSearch(problem, Plausibility().fit(train), nobody).solve(refused, 0.3)
    assert set(solutions.status.tolist()) <= {Status.OPTIMAL, Status.UNKNOWN, Status.NONE}


def test_threads_do_not_change_the_result(lending):
    _, problem, train, refused = lending
    plausibility = Plausibility(max_outliers=0.3).fit(train)
    one = PlausibleSearch(problem, plausibility, train).solve(refused[:30], 0.3, n_jobs=1)
    two = PlausibleSearch(problem, plausibility, train).solve(refused[:30], 0.3, n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values)


def test_wrong_input_is_refused():
    people = np.random.default_rng(0).normal(size=(50, 2))
    for wrong, words in (
        ({"method": "distance"}, "'isolation_forest' or 'local_outlier_factor', got 'distance'"),
        ({"among": "refused"}, "'all' or 'desired', got 'refused'"),
        ({"max_outliers": 1.0}, "share of at least 0 and below 1, got 1.0"),
    ):
        with pytest.raises(InvalidSpec, match=words):
            Plausibility(**wrong)
    with pytest.raises(InvalidSpec, match="call fit first"):
        Plausibility().score(people)
    with pytest.raises(InvalidSpec, match="needs to know who"):
        Plausibility(among="desired").fit(people)
    with pytest.raises(InvalidData, match="True or False for each of 50"):
        Plausibility(among="desired").fit(people, np.ones(3, bool))
    with pytest.raises(InvalidData, match="at least 2 people, got 0"):
        Plausibility(among="desired").fit(people, np.zeros(50, bool))
    fitted = Plausibility().fit(people)
    with pytest.raises(InvalidData, match="Expected 2 encoded columns, got 3"):
        fitted.score(np.zeros((1, 3)))
    with pytest.raises(InvalidData, match="Row 1 holds nan in column 0"):
        fitted.score([[0.0, 0.0], [np.nan, 0.0]])
    with pytest.raises(InvalidData, match="a matrix, got 1"):
        fitted.score([0.0, 0.0])
    with pytest.raises(InvalidData, match="encoded numbers"):
        fitted.score([["x", "y"]])


AXES = [Axis(Feature(name, "integer", lower=0, upper=10), (k,)) for k, name in enumerate("ab")]
PROBLEM = CellProblem(
    TreeEnsemble.stump(0, 5.5), AXES, LinearCost("max", np.array([0.1, 0.1]))
)  # six or more of the first number
PERSON, STOP = np.array([3.0, 4.0]), np.zeros(1, np.uint8)
ACCEPTED = np.array([[8.0, 2.0], [9.0, 1.0], [1.0, 1.0]])  # the last one is not


def cheapest(is_plausible, budget=1.0, known=None, stop=STOP):
    return Walks(PROBLEM, is_plausible, ACCEPTED).cheapest(PERSON, budget, known, stop)


def test_a_row_on_the_way_serves_where_everything_is_plausible():
    values, price, scored = cheapest(lambda rows: np.ones(len(rows), bool))
    assert values.tolist() == [6, 4] and price == pytest.approx(0.3) and scored > 0


def test_the_walk_goes_on_until_a_row_is_plausible():
    low = cheapest(lambda rows: rows[:, 1] <= 2)
    assert low[0][0] >= 6 and low[0][1] <= 2 and low[1] == pytest.approx(max(0.3, 0.2))


def test_without_budget_time_or_somebody_to_aim_at_there_is_none():
    for values, price, _ in (
        cheapest(lambda rows: np.ones(len(rows), bool), budget=0.25),
        cheapest(lambda rows: np.ones(len(rows), bool), stop=np.ones(1, np.uint8)),
        cheapest(lambda rows: np.zeros(len(rows), bool)),
    ):
        assert values is PERSON and np.isinf(price)
