"""Plans that several models accept, from the public edge."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from typer.testing import CliRunner

from ract import ActionSpace, Feature, RecourseForestClassifier, RecourseTreeClassifier, save_model
from ract._utils.errors import InvalidSpec
from ract.apps.cli import app
from ract.data.datasets import load_loans
from ract.recourse.find import find_recourse

NUMBERS = ["Age", "Income", "Debt", "Savings", "LoanAmount"]


@pytest.fixture(scope="module")
def loans():
    return load_loans(1200)


@pytest.fixture(scope="module")
def old_and_new(loans):
    halves = np.arange(1200) < 600
    return [
        RecourseForestClassifier(loans.actions, n_estimators=15, random_state=0).fit(
            loans.frame[half], loans.target[half]
        )
        for half in (halves, ~halves)
    ]


def test_plans_serve_in_every_model_and_cost_at_least_what_each_asks(loans, old_and_new):
    old, people = old_and_new[0], loans.frame.tail(150)
    both = find_recourse(old_and_new, people)
    decided = [model.predict(people) == "approved" for model in old_and_new]
    np.testing.assert_array_equal(both.status == "accepted", decided[0] & decided[1])
    assert (both.status == "optimal").sum() > 20
    plans = both.counterfactuals[both.found]
    won = []
    for model in old_and_new:
        assert (model.predict(plans) == "approved").all()
        won.append(model.ensemble_.strength(model.encoder_.matrix(plans)))
    np.testing.assert_array_equal(both.strength[both.found], np.min(won, axis=0))
    alone = old.recourse(people)
    assert (both.cost[~decided[0]] >= alone.cost[~decided[0]] - 1e-12).all()
    assert (both.cost[~decided[0]] > alone.cost[~decided[0]] + 1e-9).any()
    # cost, rules and budget are the first one's
    assert both.budget == old.budget_ and both.question.cost is old.cost_


def test_options_combine_with_several_models(loans, old_and_new):
    people = loans.frame.tail(60)
    few = find_recourse(
        old_and_new,
        people,
        max_changes=1,
        actions=old_and_new[0].encoder_.space.restricted(forbidden=["Income"]),
    )
    assert few.n_changes.max() == 1
    assert all(c.feature != "Income" for plan in few for c in plan.changes)
    strong = find_recourse(tuple(old_and_new), people, strength=0.7)
    for model in old_and_new:
        plans = model.encoder_.matrix(strong.counterfactuals[strong.found])
        assert (model.ensemble_.strength(plans) >= 0.7).all()
    assert (strong.strength[strong.found] >= 0.7).all()
    bound = {people.index[0]: {"LoanAmount": "fixed"}}
    theirs = find_recourse(old_and_new, people, overrides=bound)
    assert all(c.feature != "LoanAmount" for c in theirs[0].changes)
    total = find_recourse(old_and_new, people, cost="l1", budget=1.0)
    assert (total.status == "optimal").any()
    for model in old_and_new:
        assert (model.predict(total.counterfactuals[total.found]) == "approved").all()
    # Other models' own costs are shares, which no budget of 3 is about.
    assert (
        find_recourse(old_and_new, people, cost="l1", budget=3.0).found.sum() >= total.found.sum()
    )
    for option in (
        {"margin": 0.1}, {"n_alternatives": 1}, {"ranges": True}, {"at_least": True},
        {"strength": "most"}, {"method": "leaves"}, {"effects": "estimate"},
        {"plausibility": "isolation_forest"},
    ):  # fmt: skip
        with pytest.raises(InvalidSpec, match="several models"):
            find_recourse(old_and_new, people, **option)


def test_models_of_other_libraries_join_in(loans):
    frame = loans.frame[NUMBERS]
    space = ActionSpace.infer(frame, fixed=["Age"], increase=["Income", "Savings"], limits=None)
    own = RecourseTreeClassifier(space, desired="approved", max_depth=4).fit(frame, loans.target)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(frame, loans.target)
    boosted = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(frame, loans.target)
    models, people = [own, forest, boosted], frame.tail(60)
    found = find_recourse(models, people)
    assert (found.status == "optimal").any()
    for model in models:
        assert (model.predict(found.counterfactuals[found.found]) == "approved").all()
    other_way = find_recourse(
        [boosted, own], people, actions=space, desired="approved", budget=0.3, reference=frame
    )
    assert (own.predict(other_way.counterfactuals[other_way.found]) == "approved").all()


def test_models_over_other_columns_are_refused(loans, old_and_new):
    frame = pd.DataFrame({"a": [0, 1, 2, 3] * 5, "job": ["x", "y", "z", "x"] * 5})
    target = np.arange(20) % 4 > 1
    jobs = {"x y z": ("x", "y", "z"), "x y z w": ("x", "y", "z", "w")}
    models = [
        RecourseTreeClassifier(
            ActionSpace(
                [Feature("a"), Feature("job", "categorical", categories=names)], True, limits=None
            )
        ).fit(frame, target)
        for names in jobs.values()
    ]
    with pytest.raises(InvalidSpec, match="Model 2 takes other columns, categories or bounds"):
        find_recourse(models, frame)
    assert len(find_recourse(models[:1] * 2, frame)) == 20
    with pytest.raises(InvalidSpec, match="list of models is empty"):
        find_recourse([], frame)
    with pytest.raises(InvalidSpec, match="desired is 'approved', but the model was trained for"):
        find_recourse([old_and_new[0], models[0]], loans.frame.head())


def test_command_line_takes_further_models(loans, old_and_new, tmp_path):
    for name, model in zip(("old", "new"), old_and_new, strict=True):
        save_model(model, tmp_path / f"{name}.ract")
    loans.frame.tail(40).to_csv(tmp_path / "people.csv", index=False)
    arguments = ["recourse", f"{tmp_path}/old.ract", f"{tmp_path}/people.csv"]
    also = ["--also", f"{tmp_path}/new.ract"]
    done = CliRunner().invoke(app, [*arguments, *also, "-o", f"{tmp_path}/plans.csv"])
    assert done.exit_code == 0, done.output
    plans = pd.read_csv(tmp_path / "plans.csv")
    expected = find_recourse(old_and_new, loans.frame.tail(40)).to_frame()
    np.testing.assert_allclose(plans["cost"], expected["cost"])
