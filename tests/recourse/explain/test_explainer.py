"""Why there is no plan: what is proved, what is unknown, and who bars it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import ActionSpace, Feature, RecourseTreeClassifier, find_recourse, recourse_status
from ract._utils.status import Status
from ract.data.datasets import load_loans
from ract.evaluation.report.audit import _held
from ract.recourse.common.answers import Answer
from ract.recourse.explain import explainer
from ract.recourse.explain.explainer import smallest_release

PROVED_NONE = ("none", "none within budget")


@pytest.fixture(scope="module")
def rushed():
    """A large forest, people it refuses, and what 5 ms a person and a small budget ask of it."""
    loans = load_loans(n_people=800)
    numbers = loans.frame.select_dtypes("number")
    forest = RandomForestClassifier(300, random_state=0).fit(numbers, loans.target)
    space = ActionSpace.infer(numbers, fixed=["Age"], increase=["Income", "Savings"], limits=None)
    who = numbers[forest.predict(numbers) == "refused"].head(8)
    options = {"actions": space, "desired": "approved", "reference": numbers}
    return forest, who, options


def test_a_search_that_ran_out_of_time_is_no_proof_that_no_budget_would_do(rushed):
    forest, who, options = rushed
    hurried = find_recourse(forest, who, budget=0.02, time_limit=0.005, **options)
    any_budget = find_recourse(forest, who, method="leaves", **options)
    assert any_budget.found.all()  # so that nobody is without a way
    assert "none" not in hurried.status and len(hurried.obstacles) > 3
    for i, obstacle in hurried.obstacles.items():
        assert not np.isposinf(obstacle.budget)
        assert "within the budget of 0.02" in hurried[i].describe()
    frame = hurried.to_frame()
    assert not np.isposinf(frame["budget needed"]).any()
    known = recourse_status(forest, who, budget=0.02, time_limit=0.005, **options)
    assert "none" not in known
    with_plan = any_budget.cost <= 0.02
    assert not np.isin(hurried.status[with_plan], PROVED_NONE).any()
    assert not np.isin(known[with_plan], PROVED_NONE).any()


def test_a_search_that_ran_out_of_nodes_is_no_proof_either(rushed, monkeypatch):
    forest, who, options = rushed
    monkeypatch.setattr(explainer, "MAX_NODES", 1)
    few = find_recourse(forest, who, budget=0.02, **options)
    assert "none" not in few.status
    assert all(not np.isposinf(obstacle.budget) for obstacle in few.obstacles.values())


def test_a_release_that_was_not_decided_is_not_called_impossible():
    costs, free = np.ones((2, 1)), np.zeros((2, 1))
    unknown = smallest_release([0, 1], costs, free, lambda _: Answer(Status.UNKNOWN))
    assert unknown == ((), False)
    assert smallest_release([0, 1], costs, free, lambda _: Answer(Status.NONE)) == ((), True)

    def only_both(mixed):  # each alone is undecided
        if mixed.sum() == 0:
            return Answer(Status.FOUND, 0.0, 0.0, np.zeros(2))
        return Answer(Status.UNKNOWN)

    assert smallest_release([0, 1], costs, free, only_both) == ((0, 1), False)


def test_the_audit_keeps_unknown_apart_from_none(rushed):
    forest, who, options = rushed
    recourse = find_recourse(forest, who, budget=0.02, time_limit=0.0, **options)
    held = _held(recourse)
    unproved = sum(not o.proved and not o.features for o in recourse.obstacles.values())
    shown = held.loc[held["features"] == "not known", "people"].sum()
    assert shown == unproved


@pytest.fixture(scope="module")
def stump():
    frame = pd.DataFrame({"income": [20, 30, 40, 50], "age": [30, 40, 50, 60]})
    space = ActionSpace(
        [Feature("income", change="increase"), Feature("age", change="fixed")], True, limits=None
    )
    approved = np.array([False, False, True, True])
    tree = RecourseTreeClassifier(space, max_depth=1, min_samples_leaf=1).fit(frame, approved)
    return tree, frame.head(1)


@pytest.mark.parametrize(
    "options",
    [
        {"overrides": {0: {"income": "fixed"}}},
        {"overrides": {0: {"income": Feature("income", upper=25)}}},
    ],
)
def test_what_the_call_bars_is_not_called_a_rule(stump, options):
    tree, person = stump
    _barred_by_the_call(tree.recourse(person, budget=np.inf, **options)[0])


@pytest.mark.parametrize("restriction", [{"features": ["age"]}, {"forbidden": ["income"]}])
def test_what_a_restricted_space_bars_is_not_called_a_rule(stump, restriction):
    tree, person = stump
    actions = tree.encoder_.space.restricted(**restriction)
    _barred_by_the_call(tree.recourse(person, budget=np.inf, actions=actions)[0])


def _barred_by_the_call(plan):
    assert plan.status == "none"
    assert plan.obstacle.features == () and plan.obstacle.options == ("income",)
    assert plan.obstacle.proved
    assert plan.describe() == (
        "No allowed change leads to class True; it would if the options of this call let income "
        "change."
    )


def test_rules_and_options_that_hold_someone_together_are_kept_apart():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (200, 2)), columns=["a", "b"])
    space = ActionSpace(
        [Feature("a", "integer", "fixed"), Feature("b", "integer")], True, limits=None
    )
    tree = RecourseTreeClassifier(
        space, max_depth=2, min_samples_leaf=1, recourse_weight=0.0
    ).fit(X, X["a"] * X["b"] == 1)  # fmt: skip
    person = pd.DataFrame({"a": [0], "b": [0]})
    by_rule = tree.recourse(person, budget=np.inf)[0].obstacle
    assert (by_rule.features, by_rule.options) == (("a",), ())
    both = tree.recourse(
        person, budget=np.inf, actions=tree.encoder_.space.restricted(forbidden=["b"])
    )[0]
    assert (both.obstacle.features, both.obstacle.options) == (("a",), ("b",))
    assert "let b change and a could change freely" in both.describe()
