"""Missing values from a table to plans: rules, words, frames, options and other searches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
    recourse_status,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.recourse.leaves import LeafSearch
from ract.recourse.plan import Change, Plan
from ract.recourse.solver import SolverSearch
from tests import naive
from tests.builders import (
    SUPPLYING,
    credit_with_holes,
)


@pytest.fixture(scope="module")
def forest():
    frame, label = credit_with_holes(600, 0)
    model = RecourseForestClassifier(SUPPLYING, n_estimators=9, random_state=0, recourse_weight=0.0)
    return model.fit(frame, label)


@pytest.fixture(scope="module")
def people():
    return credit_with_holes(150, 1)[0]


@pytest.fixture(scope="module")
def plans(forest, people):
    return forest.recourse(people)


def lacks(frame):
    return frame.isna().to_numpy()


def test_plans_hand_in_what_may_be_handed_in(forest, people, plans):
    before, after = lacks(people), lacks(plans.counterfactuals)
    assert not (after & ~before).any()  # nobody becomes missing
    np.testing.assert_array_equal(after[:, 1], before[:, 1])  # savings stay
    assert (before & ~after)[:, 0].any() and (before & ~after)[:, 2].any()
    accepted = forest.predict(plans.counterfactuals[plans.found]) == "yes"
    assert accepted.all()
    np.testing.assert_array_equal(plans.supplied, before & ~after)
    np.testing.assert_array_equal(recourse_status(forest, people) == "found", plans.found)


def test_plans_that_only_hand_in_values_are_counted_apart(plans):
    only = np.array([plan.only_supplied for plan in plans])
    np.testing.assert_array_equal(plans.only_supplied, only)
    assert only.any() and (plans.found & ~only).any()
    assert (plans.n_changes[only] == plans.supplied.sum(axis=1)[only]).all()
    assert not (plans.within_budget & only).any()
    summary = plans.summary()
    assert summary["plans that only supply values"] == only.sum()
    assert summary["recourse ratio"] == plans.within_budget.mean()
    np.testing.assert_array_equal(plans.to_frame("wide")["only supplied"], only)
    long = plans.to_frame().drop_duplicates("person")
    np.testing.assert_array_equal(long["only supplied"], only)
    handed = plans.to_frame()["from"].isna() & plans.to_frame()["feature"].notna()
    assert handed.sum() == plans.supplied.sum()


def test_words_say_what_is_needed():
    def said(*numbers, **more):
        return Change("income", None, *numbers, supplied=True, **more).describe()

    assert said(52000.0, 0.1, 44512.3) == "tell us your income; 44,600 or more is needed"
    assert said(100.0, 0.1, None, 212.7) == "tell us your income; 212 or less is needed"
    assert said(50.0, 0.1, 44.26, 60.0) == "tell us your income; 44.26 to 60 is needed"
    assert said(50.0, 0.1) == "tell us your income; exactly 50 is needed"
    assert said("cook", 0.1, switch=True) == "tell us your income; 'cook' is needed"
    assert said(True, 0.1, switch=True) == "tell us your income; yes is needed"
    handed = Change("income", None, 50.0, 0.1, 44.26, 60.0, supplied=True)
    plan = Plan(1, "yes", "optimal", 0.1, 0.1, 1.0, (Change("age", 3, 2, 0.1, 2, 2), handed))
    assert plan.describe() == (
        "Tell us your income; 44.26 to 60 is needed. Lower age from 3 to exactly 2."
    )
    assert not plan.only_supplied and dataclasses.replace(plan, changes=(handed,)).only_supplied


@pytest.mark.parametrize(
    "options", [{}, {"ranges": True}, {"at_least": True}, {"margin": 0.2}, {"strength": 0.8}]
)
def test_every_value_of_a_range_serves(forest, people, options):
    """Values in all ranges at once, also those of handed-in values without any option."""
    found = forest.recourse(people, **options)
    rng, goal = np.random.default_rng(0), forest.ensemble_.stronger(options.get("strength", 0.0))
    axes, several = found.encoder.axes, 0
    for i in np.flatnonzero(found.supplied[:, 0]).tolist():
        low, high = found.low[i], found.high[i]
        rows = np.tile(found.after[i], (60, 1))
        for a in np.flatnonzero(~np.isnan(low) & found.changed[i]).tolist():
            j = axes[a].columns[0]
            first = low[a] if np.isfinite(low[a]) else high[a] - 100
            last = high[a] if np.isfinite(high[a]) else low[a] + 100
            drawn = rng.uniform(first, last, 60)
            drawn[:2] = first, last
            whole = axes[a].feature.kind != "continuous"
            rows[:, j] = np.clip(np.round(drawn), first, last) if whole else drawn
            if options.get("margin") and not found.supplied[i, a]:
                rows[:, j] = found.after[i, j]
        assert naive.naive_decision(goal, rows).all()
        several += low[0] < high[0]
    assert several


def test_a_handed_in_value_is_a_usual_one(forest, people, plans):
    """The one nearest to the median that serves, all else as in the plan."""
    middle = credit_with_holes(600, 0)[0]["income"].median()
    [axis] = [a for a in plans.encoder.axes if a.feature.name == "income"]
    for i in np.flatnonzero(plans.supplied[:, 0]).tolist():
        lower, upper = axis.feature.bounds
        values = np.linspace(lower, upper, 400)
        rows = np.tile(plans.after[i], (400, 1))
        rows[:, axis.columns[0]] = values
        good = values[naive.naive_decision(forest.ensemble_, rows)]
        chosen = plans.after[i, axis.columns[0]]
        assert abs(chosen - middle) <= abs(good - middle).min() + (upper - lower) / 399


def test_alternatives_leave_one_of_the_changes(forest, people):
    found = forest.recourse(people, n_alternatives=2)
    seen = 0
    for plan in found:
        ways = [{c.feature for c in way.changes} for way in (plan, *plan.alternatives)]
        for k, way in enumerate(ways):
            assert not any(earlier <= way for earlier in ways[:k])
        costs = [plan.cost, *(way.cost for way in plan.alternatives)]
        assert costs == sorted(costs)
        seen += any(c.supplied for way in plan.alternatives for c in way.changes)
    assert seen


def test_options_bar_handing_in(forest, people, plans):
    someone = int(np.flatnonzero(plans.only_supplied & plans.supplied[:, 0])[0])
    row = people.iloc[[someone]]
    for options in (
        {"actions": forest.encoder_.space.restricted(forbidden=["income"])},
        {"actions": forest.encoder_.space.restricted(["savings", "job"])},
        {"overrides": {row.index[0]: {"income": Feature("income", missing="stays")}}},
    ):
        assert not forest.recourse(row, **options).supplied[0, 0]
    fixed = forest.recourse(row, overrides={row.index[0]: {"income": "fixed"}})
    assert fixed.supplied[0, 0]  # who has no value has nothing to hold fixed
    for rule, wrong in (
        (Feature("income", missing="supply", supply_cost=0.3), "supply_cost 0.3"),
        (Feature("age", missing="stays"), "missing 'stays'"),
    ):
        with pytest.raises(InvalidSpec, match=wrong):
            forest.recourse(row, overrides={row.index[0]: {rule.name: rule}})
    rule = Feature("savings", missing="supply")
    with pytest.raises(InvalidSpec, match="may be supplied, but this cost"):
        forest.recourse(row, overrides={row.index[0]: {"savings": rule}})


def test_a_value_missing_where_none_was_declared_is_invalid(forest, people):
    some = people.head(12).copy()
    some.loc[some.index[3], "age"] = np.nan
    found = forest.recourse(some)
    assert found.status[3] == "invalid" and (found.status == "invalid").sum() == 1
    assert found[3].message == "Column 'age' is missing."
    with pytest.raises(InvalidData, match="'age'"):
        forest.recourse(some, strict=True)
    assert len(forest.predict(some)) == 12


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"effects": "estimate"}, "Causal effects"),
        ({"plausibility": "isolation_forest"}, "Plausible plans"),
    ],
)
def test_what_takes_no_missing_values_names_the_columns(forest, people, options, what):
    with pytest.raises(InvalidSpec, match=f"{what}|'savings'") as refused:
        forest.recourse(people, **options)
    assert "missing" in str(refused.value)


def test_searches_of_values_refuse_to_hand_in(forest, people):
    with pytest.raises(InvalidSpec, match="lets people supply a missing 'income'"):
        find_recourse(forest, people, method="leaves")
    known = people[people["income"].notna()].head(40)
    found = find_recourse(forest, known, method="leaves", reference=credit_with_holes(600, 0)[0])
    assert (forest.predict(found.counterfactuals[found.found]) == "yes").all()
    for search in (LeafSearch, SolverSearch):
        with pytest.raises(InvalidSpec, match="no missing values"):
            search(forest.ensemble_, forest.encoder_.axes, forest.cost_)


def test_a_guarantee_does_not_rest_on_handing_in():
    """Where people can do nothing else, those who are refused are without recourse."""
    features = [dataclasses.replace(f, change="fixed") for f in SUPPLYING.features]
    tree = RecourseTreeClassifier(
        ActionSpace(features, desired="yes", limits=None), max_depth=3, min_recourse=0.7,
        confidence=0.9, validation_fraction=0.4, budget=0.5, random_state=0,
    ).fit(*credit_with_holes(900, 2))  # fmt: skip
    fresh = credit_with_holes(900, 3)[0]
    accepted = tree.predict(fresh) == "yes"
    assert (recourse_status(tree, fresh) == "found").any()
    assert 0.65 < accepted.mean() < 1
    assert tree.guarantee_.risk_bound <= 0.3
