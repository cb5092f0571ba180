"""What leaks: more answers make a better copy, and points between cost less and are refused."""

from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

from ract import ActionSpace, RecourseTreeClassifier, load_loans, save_model
from ract._utils.errors import InvalidSpec
from ract.apps.cli import app
from ract.evaluation import measure_leak
from ract.evaluation.leak import (
    CHEAPEST,
    DECISIONS,
    LIMITED,
    RANGES,
    ROUND,
    STRONGEST,
    _answers,
    _Attack,
    _people,
)

KINDS = [DECISIONS, CHEAPEST, LIMITED, ROUND, RANGES, STRONGEST]

LOANS, NEW = load_loans(800), load_loans(400, random_state=1)


@cache
def tree():
    return RecourseTreeClassifier(LOANS.actions, max_depth=4).fit(LOANS.frame, LOANS.target)


@pytest.mark.parametrize("people", [None, NEW.frame])
def test_more_answers_make_a_better_copy(people):
    table = measure_leak(tree(), people, [10, 400]).table
    assert table["given"].unique().tolist() == KINDS
    by = table.set_index(["given", "queries"])
    for given in KINDS:
        few, many = by.loc[(given, 10)], by.loc[(given, 400)]
        assert many["fidelity"] > few["fidelity"] and many["fidelity"] > many["constant"]
        assert many["low"] <= many["fidelity"] <= many["high"]
    assert (by.loc[DECISIONS, "plans"] == 0).all() and by.loc[(CHEAPEST, 400), "plans"] > 30


def test_the_same_seed_gives_the_same_table():
    first, second = (measure_leak(tree(), None, [40]).table for _ in range(2))
    assert first.equals(second)
    assert not measure_leak(tree(), None, [40], random_state=1).table.equals(first)


def test_kinds_of_plans_differ_for_a_model_with_limits_too():
    space = ActionSpace(LOANS.actions.features, LOANS.desired)  # limits and round steps
    limited = RecourseTreeClassifier(space, max_depth=4).fit(LOANS.frame, LOANS.target)
    plans = dict(_answers(limited, NEW.frame, {}))
    assert (plans[LIMITED].cost >= plans[CHEAPEST].cost)[plans[LIMITED].found].all()
    assert (plans[ROUND].cost > plans[CHEAPEST].cost).any()
    assert plans[LIMITED].found.sum() < plans[CHEAPEST].found.sum()


def test_what_lies_between_a_person_and_their_cheapest_plan_is_refused():
    """The attack rests on it; asked of the model itself."""
    plans = tree().recourse(NEW.frame, explain=False)
    sure = plans.found & (plans.status == "optimal")
    world = _Attack(tree(), NEW.frame, NEW.frame)
    between = world._between(plans.before[sure], plans.after[sure])
    assert len(between) > 50
    frame = tree().encoder_.decode(between, like=NEW.frame.head(1))
    assert not (tree().predict(frame) == tree().desired_).any()


def test_what_lies_inside_the_ranges_of_a_plan_is_accepted():
    plans = tree().recourse(NEW.frame, explain=False, ranges=True)
    inside = _Attack(tree(), NEW.frame, NEW.frame)._inside(plans, len(NEW.frame))
    assert len(inside) == 5 * plans.found.sum() > 250
    assert len(np.unique(inside, axis=0)) > 1.5 * plans.found.sum()
    frame = tree().encoder_.decode(inside, like=NEW.frame.head(1))
    assert (tree().predict(frame) == tree().desired_).all()


def test_random_people_are_within_the_bounds():
    people = _people(tree(), None, 200, np.random.default_rng(0))
    for feature in tree().encoder_.space:
        if feature.is_categorical:
            assert set(people[feature.name]) <= set(feature.categories)
        else:
            assert people[feature.name].between(feature.lower, feature.upper).all()


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InvalidSpec, match="queries must be whole numbers of 2 or more"):
        measure_leak(tree(), queries=[1])
    with pytest.raises(InvalidSpec, match="a fitted model of ract"):
        measure_leak(object())


def test_the_command_prints_a_table(tmp_path):
    save_model(tree(), tmp_path / "model.ract")
    shown = CliRunner().invoke(app, ["leak", str(tmp_path / "model.ract"), "--queries", "40"])
    assert shown.exit_code == 0 and "Fidelity of a copy after 40 queries" in shown.output
    assert shown.output.count("cheapest plans") == 4  # three sizes, and the sentence
