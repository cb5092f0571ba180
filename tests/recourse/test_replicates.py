"""Replicates of a learner: who plans, who judges, and what each of them says."""

import itertools

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier

from ract import RecourseBoostingClassifier, calibrate
from ract.data.datasets import load_loans
from ract.evaluation.metrics import lasting_recourse
from ract.recourse import calibration
from ract.recourse.replicates import PLANNERS, Replicates
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
