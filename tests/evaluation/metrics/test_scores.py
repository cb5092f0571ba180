"""Metrics against cases that can be counted by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from ract import ActionSpace, Feature, RecourseForestClassifier, RecourseTreeClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation import metrics

# Twenty people: income 1 ... 20, the desired class from 11 on; half of them may not move at all.
INCOME = np.arange(1.0, 21.0)
FRAME = pd.DataFrame({"income": INCOME, "locked": (np.arange(20) % 2 == 0)})
TARGET = np.where(INCOME > 10, "yes", "no")


@pytest.fixture(scope="module")
def tree():
    space = ActionSpace(
        [Feature("income", "integer", change="increase"), Feature("locked", change="fixed")],
        desired="yes",
        limits=None,
    )
    model = RecourseTreeClassifier(space, recourse_weight=0, budget=0.2, cost="range")
    return model.fit(FRAME, TARGET)


def test_metrics_of_a_case_that_can_be_counted(tree):
    # Accepted: 11 to 20. The threshold is 10.5, an integer lands on 11: income i costs
    # (11 - i) / 19 of the range, so 11 - i <= 3.8 is within the budget: 8, 9 and 10.
    costs = (11 - INCOME[:10]) / 19
    within = costs <= 0.2
    assert within.sum() == 3
    assert metrics.recourse_ratio(tree, FRAME) == pytest.approx(13 / 20)
    assert metrics.recourse_risk(tree, FRAME, TARGET) == pytest.approx(7 / 20)
    assert metrics.validity(tree, FRAME) == 1.0
    assert metrics.validity(tree, FRAME, budget=0.2) == pytest.approx(3 / 10)
    assert metrics.mean_cost(tree, FRAME) == pytest.approx(costs.mean())
    assert metrics.mean_cost(tree, FRAME, budget=0.2) == pytest.approx(costs[within].mean())
    assert metrics.sparsity(tree, FRAME) == 1.0
    after = np.column_stack([np.full(10, 11.0), FRAME["locked"][:10]])
    known = FRAME.to_numpy(float)
    outlier = -IsolationForest(random_state=0).fit(known).score_samples(after).mean()
    assert metrics.outlier_score(tree, FRAME) == pytest.approx(outlier)
    assert metrics.plausibility(tree, FRAME) == pytest.approx(-outlier)


def test_people_without_an_action_count_for_plausibility_as_they_are(tree):
    known = FRAME.to_numpy(float)
    after = known[:10].copy()
    after[7:, 0] = 11
    outlier = -IsolationForest(random_state=0).fit(known).score_samples(after).mean()
    assert metrics.outlier_score(tree, FRAME, budget=0.2) == pytest.approx(outlier)


def test_nobody_refused_leaves_nothing_to_average(tree):
    accepted = FRAME[10:]
    assert metrics.recourse_ratio(tree, accepted) == 1.0
    assert np.isnan(metrics.validity(tree, accepted))
    assert np.isnan(metrics.mean_cost(tree, accepted))
    assert np.isnan(metrics.outlier_score(tree, accepted))


def test_the_quick_ratio_equals_that_of_plans():
    loans = load_loans(n_people=700)
    for weight in (0.0, 0.1):
        forest = RecourseForestClassifier(
            loans.actions, n_estimators=15, recourse_weight=weight, random_state=1
        ).fit(loans.frame[:500], loans.target[:500])
        people = loans.frame[500:]
        for budget in (0.05, 0.1, 0.3, np.inf):
            plans = forest.recourse(people, budget=budget, explain=False)
            assert metrics.recourse_ratio(forest, people, budget=budget) == pytest.approx(
                plans.within_budget.mean()
            )
        assert forest.recourse_risk(people) == pytest.approx(metrics.recourse_risk(forest, people))


def test_causal_validity_counts_effects_in():
    loans = load_loans(n_people=600)
    forest = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    forest.fit(loans.frame[:500], loans.target[:500])
    people = loans.frame[500:540]
    none = metrics.causal_validity(forest, people, effects={}, budget=0.3)
    assert none == pytest.approx(metrics.validity(forest, people, budget=0.3))


def test_metrics_are_scorers():
    loans = load_loans(n_people=400)
    tree = RecourseTreeClassifier(loans.actions, max_depth=3)
    each = cross_val_score(tree, loans.frame, loans.target, scoring=metrics.recourse_ratio, cv=3)
    assert ((each >= 0) & (each <= 1)).all()
    search = GridSearchCV(
        tree, {"recourse_weight": [0.0, 1.0]}, scoring=metrics.recourse_ratio, cv=2
    ).fit(loans.frame, loans.target)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_models_of_other_libraries_are_measured_too():
    loans = load_loans(n_people=400)
    frame = loans.frame.select_dtypes("number")
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(frame, loans.target)
    space = ActionSpace(map(Feature, frame.columns), desired="approved", limits=None)
    ratio = metrics.recourse_ratio(forest, frame, actions=space, budget=0.1)
    report = metrics.recourse_report(forest, frame, loans.target, actions=space, budget=0.1)
    by_metric = report.set_index("metric")["value"]
    assert by_metric["recourse ratio"] == pytest.approx(ratio)
    assert by_metric["accuracy"] == pytest.approx(forest.score(frame, loans.target))


def test_what_makes_no_sense_is_refused(tree):
    for wrong, words in (("moon", "not a column"), (np.arange(3), "groups has shape")):
        with pytest.raises((InvalidSpec, InvalidData), match=words):
            metrics.recourse_report(tree, FRAME, groups=wrong)
    empty = pd.Series(["a"] * 20, dtype=pd.CategoricalDtype(["a", "b"]))
    with pytest.raises(InvalidData, match="Nobody is in the group 'b'"):
        metrics.recourse_report(tree, FRAME, groups=empty)
    wide = pd.concat([FRAME] * 5, ignore_index=True)
    with pytest.raises(InvalidData, match="more than 50"):
        metrics.recourse_report(tree, wide, groups=np.arange(100))
    with pytest.raises(InvalidSpec, match="confidence"):
        metrics.recourse_report(tree, FRAME, confidence=1.0)
    with pytest.raises(InvalidData, match="y has shape"):
        metrics.recourse_report(tree, FRAME, TARGET[:5])
