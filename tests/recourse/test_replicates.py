"""Replicates of a learner: who plans, who judges, and what each of them says."""

import itertools

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    calibrate,
)
from ract._utils.status import Status
from ract.data.datasets import load_loans
from ract.evaluation.metrics import lasting_recourse
from ract.recourse import calibration
from ract.recourse.exact.search import ExactSearch
from ract.recourse.find import inquire
from ract.recourse.replicates import PLANNERS, AtStrengths, Replicates
from ract.trees.readers import read_model
from tests.recourse.test_calibration import forest_of


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=600)


@pytest.fixture(scope="module")
def lasting(loans):
    return lasting_recourse(
        forest_of(loans), loans.frame, loans.target, strengths=(0.7,), n_refused=100
    )


def test_planner_judge_and_person_share_nobody(loans):
    run = Replicates(None, loans.frame, loans.target)
    assert len(PLANNERS) == 10
    triples = set()
    for person in range(len(loans.frame)):
        planner, judge = int(run.planner[person]), run.judge(person)
        sets = [set(run.rows_of(planner)), set(run.rows_of(judge)), {person}]
        for one, other in itertools.combinations(sets, 2):
            assert not one & other
        triples.add((int(run.fold[person]), planner, judge))
    assert len(triples) == 30


def test_trials_are_what_the_models_themselves_say(loans, lasting):
    """Refitted here by hand: plans of the planner, put to the judge."""
    labels = np.asarray(loans.target)
    run = Replicates(None, loans.frame, labels)
    trials = lasting.trials
    for k in (0, 7):
        own = trials[(trials["planner"] == k) & (trials["strength"] == 0.7)]
        planner = forest_of(loans).fit(loans.frame.iloc[run.rows_of(k)], labels[run.rows_of(k)])
        people = loans.frame.iloc[own["person"].to_numpy()]
        assert (planner.predict(people) == "refused").all()
        plans = planner.recourse(people, strength=0.7)
        found = own["status"].isin(["optimal", "found"]).to_numpy()
        assert (plans.found == found).all()
        assert plans.cost[found] == pytest.approx(own["cost"].to_numpy()[found])
        for j in own["judge"].unique():
            judge = forest_of(loans).fit(loans.frame.iloc[run.rows_of(j)], labels[run.rows_of(j)])
            mine = (own["judge"] == j).to_numpy() & found
            after = judge.predict(plans.counterfactuals[mine]) == "approved"
            assert after.tolist() == own["lasts"].to_numpy()[mine].tolist()


@pytest.mark.parametrize(("fewest", "of_part"), [(50, 20), (20, 8), (1, 1), (0.1, 0.1)])
def test_leaves_of_replicates_hold_the_same_share_of_people(loans, monkeypatch, fewest, of_part):
    asked = []
    monkeypatch.setattr(
        calibration, "Replicates", lambda learner, *given: asked.append(learner) or 1 / 0
    )
    learners = [
        (forest_of(loans, min_samples_leaf=fewest), "min_samples_leaf"),
        (RecourseBoostingClassifier(loans.actions, min_samples_leaf=fewest), "min_samples_leaf"),
        (RandomForestClassifier(min_samples_leaf=fewest), "min_samples_leaf"),
        (LGBMClassifier(min_child_samples=fewest), "min_child_samples"),
    ]
    for learner, name in learners:
        with pytest.raises(ZeroDivisionError):
            calibrate(learner, loans.frame, loans.target)
        assert asked[-1].get_params()[name] == of_part
        assert learner.get_params()[name] == fewest


BUDGET = 0.4


def own(kind, loans, **given):
    model = kind(loans.actions, budget=BUDGET, random_state=0, **given)
    return model.fit(loans.frame, loans.target), loans.frame, {}


def theirs(model, loans):
    numbers = loans.frame.select_dtypes("number")
    space = ActionSpace.infer(numbers, fixed=["Age"], desired="approved", limits=None)
    given = {"actions": space, "reference": numbers, "budget": BUDGET}
    return model.fit(numbers, loans.target), numbers, given


MODELS = {
    "votes": lambda loans: own(RecourseForestClassifier, loans, n_estimators=15),
    "tree": lambda loans: own(RecourseTreeClassifier, loans, max_depth=6),
    "mean": lambda loans: theirs(
        RandomForestClassifier(12, min_samples_leaf=10, random_state=0), loans
    ),
    "sum": lambda loans: theirs(GradientBoostingClassifier(n_estimators=15, random_state=0), loans),
}


@pytest.mark.parametrize("kind", MODELS)
def test_up_and_down_plans_are_those_of_a_search_of_their_own(kind):
    """A fresh search for every strength, which shares nothing with the others."""
    loans = load_loans(n_people=400)
    model, table, given = MODELS[kind](loans)
    people = table[model.predict(table) == "refused"].iloc[:40]
    plans_of = AtStrengths(inquire(model, people, explain=False, **given))
    question = plans_of.inquiry.question
    some = np.arange(0, len(people), 3)
    n_found = set()
    for strength in (0.0, 0.6, 0.7, 0.9, 0.8, 0.65, "most", 0.75, 0.6):
        rows = some if strength == 0.7 else np.arange(len(people))
        plans = plans_of.at(strength, rows)
        most = strength == "most"
        tree = read_model(model, table, given.get("actions"))
        goal = tree.ensemble if most else tree.ensemble.stronger(strength)
        fresh = ExactSearch(goal, tree.encoder.axes, question.cost)
        alone = fresh.solve(question.matrix[rows], BUDGET, strongest=most)
        assert np.array_equal(plans.found, alone.status == Status.OPTIMAL), strength
        assert plans.cost == pytest.approx(alone.cost, abs=1e-12)
        if not most:
            assert (plans.strength[plans.found] >= strength - 1e-9).all()
        n_found.add(int(plans.found.sum()))
    assert len(n_found) > 1


def test_a_limit_of_nodes_leaves_people_unknown_and_never_without():
    loans = load_loans(n_people=400)
    model, table, _ = own(RecourseForestClassifier, loans, n_estimators=40, min_samples_leaf=2)
    people = table[model.predict(table) == "refused"]
    every, few = (
        inquire(model, people, explain=False, max_nodes=nodes).answered(0.8)
        for nodes in (10**6, 2)
    )  # fmt: skip
    assert (few.status == "unknown").any()
    assert np.isin(every.status[few.status == "none within budget"], "none within budget").all()
    assert not (few.status == "unknown").all()
