"""The automatic weight and the trade-off curve."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from ract import ActionSpace, Feature, RecourseForestClassifier, RecourseTreeClassifier
from ract._auto import LADDER, Trial, choose_weight, impurity_of_all
from ract.datasets import load_loans
from ract.errors import InvalidData, InvalidSpec
from ract.metrics import recourse_ratio
from ract.selection import WeightWarning, pareto_front, tradeoff_curve


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500)


def line(recourse_at, auc_at):
    """Trials along the ladder with given recourse and AUC, and which weights were asked for."""
    asked = []

    def attempt(weight):
        asked.append(weight)
        return Trial(weight, recourse_at(weight), auc_at(weight), 0.7)

    return attempt, asked


@pytest.mark.parametrize("step", range(len(LADDER)))
def test_the_least_weight_that_meets_the_goal_is_found_in_three_trials(step):
    attempt, asked = line(lambda w: 0.5 + 0.4 * (w >= LADDER[step]), lambda w: 0.8)
    search = choose_weight(attempt, 1.0, min_recourse=0.9, max_auc_loss=None, n_people=7)
    assert search.weight == LADDER[step] and search.met and len(asked) <= 3
    assert search.to_frame()["chosen"].sum() == 1


def test_of_the_weights_that_meet_the_goal_the_most_accurate_is_taken():
    attempt, _ = line(lambda w: 1.0, lambda w: 0.7 + 0.02 * (w == LADDER[3]))
    search = choose_weight(attempt, 1.0, min_recourse=0.9, max_auc_loss=None, n_people=7)
    assert search.weight == LADDER[3]


@pytest.mark.parametrize("step", range(len(LADDER)))
def test_the_largest_weight_within_the_loss_is_found(step):
    attempt, asked = line(lambda w: 1.0, lambda w: 0.8 - 0.1 * (w >= LADDER[step]))
    search = choose_weight(attempt, 1.0, min_recourse=None, max_auc_loss=0.05, n_people=7)
    assert search.weight == (LADDER[step - 1] if step else 0.0)
    assert len(asked) <= 4 and 0.0 in asked


def test_a_goal_out_of_reach_says_what_the_best_is():
    attempt, _ = line(lambda w: 0.5 + 0.01 * w, lambda w: 0.8)
    with pytest.warns(WeightWarning, match="the best is 59.0% with recourse_weight=9"):
        search = choose_weight(attempt, 1.0, min_recourse=0.9, max_auc_loss=None, n_people=7)
    assert not search.met and search.weight == LADDER[-1]


def test_the_unit_is_the_impurity_of_everyone():
    desired, weights = np.array([1, 1, 0, 0]), np.array([1.0, 2.0, 1.0, 0.0])
    share = 0.75
    assert impurity_of_all(desired, weights, "gini") == pytest.approx(2 * share * (1 - share))
    assert impurity_of_all(desired, weights, "error") == pytest.approx(0.25)
    assert impurity_of_all(desired, weights, "entropy") == pytest.approx(0.8112781)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
def test_a_forest_with_an_automatic_weight_meets_its_goal(loans, criterion):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=20, criterion=criterion, recourse_weight="auto",
        min_recourse=0.9, random_state=0,
    )  # fmt: skip
    forest.fit(loans.frame[:1000], loans.target[:1000])
    search = forest.weight_search_
    assert search.met and search.n_people == 200
    assert forest.recourse_weight_ == search.weight in [t.weight for t in search.trials]
    assert recourse_ratio(forest, loans.frame[1000:]) >= 0.88
    again = clone(forest).fit(loans.frame[:1000], loans.target[:1000])
    assert again.recourse_weight_ == forest.recourse_weight_
    np.testing.assert_array_equal(again.ensemble_.threshold, forest.ensemble_.threshold)
    # The forest is the one that the weight gives when it is stated.
    stated = clone(forest).set_params(recourse_weight=search.weight, min_recourse=None)
    stated.fit(loans.frame[:1000], loans.target[:1000])
    np.testing.assert_array_equal(stated.ensemble_.value, forest.ensemble_.value)


def test_a_higher_goal_takes_at_least_the_weight_of_a_lower_one(loans):
    weights = [
        RecourseForestClassifier(
            loans.actions, n_estimators=10, recourse_weight="auto", min_recourse=goal,
            random_state=0,
        ).fit(loans.frame, loans.target).recourse_weight_
        for goal in (0.5, 0.9, 0.99)
    ]  # fmt: skip
    assert weights == sorted(weights) and weights[0] < weights[-1]


def test_a_tree_chooses_too_and_the_other_goal_bounds_the_loss(loans):
    tree = RecourseTreeClassifier(
        loans.actions, max_depth=5, recourse_weight="auto", max_auc_loss=0.02, random_state=0
    ).fit(loans.frame, loans.target)
    trials = {t.weight: t for t in tree.weight_search_.trials}
    assert trials[0.0].auc - trials[tree.recourse_weight_].auc <= 0.02
    assert tree.weight_search_.max_auc_loss == 0.02


def test_an_automatic_weight_keeps_to_held_out_people(loans):
    tree = RecourseTreeClassifier(
        loans.actions, max_depth=4, recourse_weight="auto", min_recourse=0.7,
        max_risk=0.2, confidence=0.9, random_state=0,
    ).fit(loans.frame, loans.target)  # fmt: skip
    assert tree.guarantee_ is not None and tree.weight_search_.trials


def test_what_an_automatic_weight_refuses(loans):
    few = loans.frame[:40], loans.target[:40]
    for options, words, error in (
        ({"min_recourse": 0.9}, "needs recourse_weight='auto'", InvalidSpec),
        ({"recourse_weight": "auto", "min_recourse": 2}, "share between 0 and 1", InvalidSpec),
        (
            {"recourse_weight": "auto", "min_recourse": 0.9, "max_auc_loss": 0.1},
            "not both",
            InvalidSpec,
        ),
        ({"recourse_weight": "auto"}, "needs 50 people or more", InvalidData),
        ({"recourse_weight": "much"}, "recourse_weight must be a number", InvalidSpec),
    ):
        for model in (RecourseForestClassifier, RecourseTreeClassifier):
            with pytest.raises(error, match=words):
                model(loans.actions, **options).fit(*few)


def test_a_category_that_only_judges_have_is_no_trouble():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "job": ["cook"] * 198 + ["pilot", "nurse"]})
    target = (frame["x"] + rng.normal(size=200) > 0).to_numpy()
    space = ActionSpace([Feature("x"), Feature("job")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        RecourseForestClassifier(space, n_estimators=3, recourse_weight="auto").fit(frame, target)


def test_warm_start_keeps_the_weight_that_was_chosen(loans):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=5, recourse_weight="auto", warm_start=True, random_state=0
    ).fit(loans.frame, loans.target)
    weight = forest.recourse_weight_
    forest.set_params(n_estimators=8).fit(loans.frame, loans.target)
    assert forest.recourse_weight_ == weight and forest.ensemble_.n_trees == 8


def test_the_curve_is_that_of_fits_one_by_one(loans):
    frame, target = loans.frame[:600], loans.target[:600].to_numpy()
    forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=0)
    values = [0.0, 0.1, 1.0]
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    curve = tradeoff_curve(forest, frame, target, "recourse_weight", values, splitter, n_jobs=2)
    expected = []
    for value in values:
        for fold, (train, test) in enumerate(splitter.split(frame, target)):
            model = clone(forest).set_params(recourse_weight=value)
            model.fit(frame.iloc[train], target[train])
            people, truth = frame.iloc[test], target[test]
            share = model.predict_proba(people)[:, model.classes_.tolist().index("approved")]
            auc = roc_auc_score(truth == "approved", share)
            ratio = recourse_ratio(model, people)
            expected.append((value, fold, model.score(people, truth), auc, ratio))
    np.testing.assert_allclose(curve.folds.to_numpy(float), expected)
    table = curve.to_frame()
    assert table["recourse_weight"].tolist() == values
    np.testing.assert_allclose(
        table["recourse"], curve.folds.groupby("value")["recourse"].mean().to_numpy()
    )


@pytest.mark.parametrize(("param", "values"), [("budget", [0.1, 0.5]), ("max_risk", [0.3, 0.01])])
def test_other_parameters_have_curves_too(loans, param, values):
    tree = RecourseTreeClassifier(loans.actions, max_depth=4, recourse_weight=0)
    curve = tradeoff_curve(tree, loans.frame, loans.target, param, values, cv=2)
    recourse = curve.to_frame()["recourse"]
    assert recourse[1] > recourse[0]


def test_a_curve_over_the_desired_class_reads_the_target_anew(loans):
    tree = RecourseTreeClassifier(loans.actions, max_depth=3)
    curve = tradeoff_curve(
        tree, loans.frame, loans.target, "desired", ["approved", "refused"], cv=2
    )
    for fold, (train, test) in enumerate(StratifiedKFold(2).split(loans.frame, loans.target)):
        model = clone(tree).set_params(desired="refused")
        model.fit(loans.frame.iloc[train], loans.target.iloc[train])
        rows = curve.folds[(curve.folds["value"] == "refused") & (curve.folds["fold"] == fold)]
        score = model.score(loans.frame.iloc[test], loans.target.iloc[test])
        assert rows["accuracy"].tolist() == [score]
        assert rows["recourse"].tolist() == [recourse_ratio(model, loans.frame.iloc[test])]


def test_a_curve_checks_every_value(loans):
    forest = RecourseForestClassifier(loans.actions, n_estimators=3)
    with pytest.raises(InvalidSpec, match="n_estimators must be"):
        tradeoff_curve(forest, loans.frame, loans.target, "n_estimators", [0], cv=2)


def test_the_best_value_is_chosen_or_the_most_recourse_told(loans):
    tree = RecourseTreeClassifier(loans.actions, max_depth=4)
    curve = tradeoff_curve(tree, loans.frame, loans.target, values=[0.0, 2.0], cv=2)
    assert curve.best(min_recourse=0.0) in (0.0, 2.0)
    with pytest.raises(InvalidSpec, match="the best is"):
        curve.best(min_recourse=1.01)


def test_the_front_is_what_nobody_beats():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, 30), rng.integers(0, 5, 30)
    front = pareto_front(first, second)
    for i in range(30):
        beaten = any(
            first[j] >= first[i]
            and second[j] >= second[i]
            and (first[j], second[j]) != (first[i], second[i])
            for j in range(30)
        )
        assert front[i] == (not beaten)


def test_a_curve_refuses_what_it_cannot_do(loans):
    tree = RecourseTreeClassifier(loans.actions)
    with pytest.raises(InvalidSpec, match="'moon' is not a parameter"):
        tradeoff_curve(tree, loans.frame, loans.target, "moon", [1])
    with pytest.raises(InvalidSpec, match="at least one value"):
        tradeoff_curve(tree, loans.frame, loans.target, values=[])
    with pytest.raises(InvalidSpec, match="takes a RecourseTreeClassifier"):
        tradeoff_curve(object(), loans.frame, loans.target)
    with pytest.raises(InvalidSpec, match="rows but y has"):
        tradeoff_curve(tree, loans.frame, loans.target[:100], cv=2)
