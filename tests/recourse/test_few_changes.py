"""Plans for people: few, safe and as strong as they can be where the space limits changes."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    find_recourse,
    import_model,
)
from ract.data.datasets import load_loans
from ract.notices.ways import ways_of
from ract.recourse.few_changes import MAX_CHANGES, STRONGER, few_changes

LOANS = load_loans(900, random_state=0)
SPACE = ActionSpace(LOANS.actions.features, LOANS.desired)
NEW = load_loans(200, random_state=1).frame


@pytest.fixture(scope="module")
def booster():
    model = RecourseBoostingClassifier(
        SPACE, budget=1.0, max_iter=25, n_replicates=4, random_state=0
    )
    return model.fit(LOANS.frame, LOANS.target)


def test_plans_have_the_highest_strength_of_which_there_is_a_plan(booster):
    people = NEW[booster.predict(NEW) != LOANS.desired].head(40)
    given = {"max_changes": MAX_CHANGES, "at_least": True, "explain": False}
    asked = [
        find_recourse(booster, people, strength=booster.ensemble_.strength_above(share), **given)
        for share in STRONGER
    ]
    plain = find_recourse(booster, people, **given)
    found = booster.recourse(people)
    stronger = 0
    for i in range(len(people)):
        if not plain.found[i]:
            continue
        rungs = [plain]
        for one in asked:  # each is asked of those who had the one before
            if not one.found[i]:
                break
            rungs.append(one)
        assert found.cost[i] == pytest.approx(rungs[-1].cost[i])
        stronger += len(rungs) > 1
    assert stronger > 5


def test_without_options_plans_are_those_of_letters(booster):
    people = NEW[booster.predict(NEW) != LOANS.desired].head(40)
    found = booster.recourse(people)
    letters = few_changes(booster.recourse, people, at_least=True)
    np.testing.assert_array_equal(found.cost, letters.cost)
    few = find_recourse(booster, people, max_changes=MAX_CHANGES)
    assert (found.n_changes[few.found] <= MAX_CHANGES).all() and few.found.any()
    bare = find_recourse(booster, people)
    assert (booster.recourse(people, max_changes=None).cost == bare.cost).all()
    assert (found.cost[found.found] >= bare.cost[found.found] - 1e-9).all()


def test_an_option_that_is_none_is_no_option(booster):
    people = NEW.head(40)
    found = booster.recourse(people, by=None, strength=None, cost=None, actions=None)
    np.testing.assert_array_equal(found.cost, booster.recourse(people).cost)


def test_the_cheapest_plan_stands_beside_a_stronger_one(booster):
    people = NEW[booster.predict(NEW) != LOANS.desired].head(40)
    found = few_changes(booster.recourse, people, at_least=True, smaller=True, n_alternatives=1)
    cheapest = find_recourse(booster, people, at_least=True, max_changes=MAX_CHANGES)
    n_beside = 0
    for i in range(len(people)):
        smaller = [way for way in found[i].alternatives if way.smaller]
        assert not found[i].smaller
        if cheapest.found[i] and found.cost[i] > cheapest.cost[i]:
            [way] = smaller
            assert way == found[i].alternatives[-1]
            assert way.cost == cheapest.cost[i] and way.strength < found[i].strength
            assert way.changes == cheapest[i].changes and way.at_least == cheapest[i].at_least
            ways = ways_of(found[i])  # without it, if it asks for nearly as much
            assert way not in ways[2:]
            n_beside += way in ways[:2]
    assert n_beside > 5
    plain = few_changes(booster.recourse, people, at_least=True, n_alternatives=1)
    assert not any(way.smaller for plan in plain for way in plan.alternatives)


def test_plans_of_an_imported_model_are_those_of_letters_too():
    numbers = LOANS.frame[["Income", "Debt", "Savings", "LoanAmount"]]
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(numbers, LOANS.target)
    space = ActionSpace([f for f in LOANS.actions if f.name in numbers], LOANS.desired)
    imported = import_model(forest, numbers, space)
    assert imported.budget == 1.0
    people = NEW[numbers.columns][forest.predict(NEW[numbers.columns]) != LOANS.desired].head(20)
    found, letters = (
        imported.recourse(people),
        few_changes(imported.recourse, people, at_least=True),
    )
    np.testing.assert_array_equal(found.cost, letters.cost)
    assert found.cost[found.found].sum() > find_recourse(imported, people).cost[found.found].sum()


def test_a_table_of_another_kind_has_short_and_safe_plans_too(booster):
    people = NEW[booster.predict(NEW) != LOANS.desired].head(10)
    twice = people.iloc[[0, 0, 1]]  # labels that name two people
    found = booster.recourse(twice)
    assert (found.n_changes[found.found] <= MAX_CHANGES).all()


def test_a_space_without_limits_asks_the_bare_question():
    model = RecourseForestClassifier(LOANS.actions, n_estimators=10, random_state=0)
    model.fit(LOANS.frame, LOANS.target)
    people = NEW[model.predict(NEW) != LOANS.desired].head(20)
    assert (model.recourse(people).cost == find_recourse(model, people).cost).all()
    assert not hasattr(model, "monotonic_")


def test_limits_bring_constraints_that_cost_little(booster):
    assert booster.monotonic_ and set(booster.monotonic_.values()) <= {-1, 1}
    free = RecourseForestClassifier(SPACE, n_estimators=5, monotonic="none", random_state=0)
    assert free.fit(LOANS.frame, LOANS.target).monotonic_ == {}
    relabelled = RecourseForestClassifier(SPACE, n_estimators=5, min_recourse=0.9, random_state=0)
    assert not hasattr(relabelled.fit(LOANS.frame, LOANS.target), "monotonic_")
