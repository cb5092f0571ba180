"""The automatic weight and the trade-off curve."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    TunedRecourseClassifierCV,
    find_recourse,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.data.frames import read_table
from ract.evaluation.metrics import recourse_ratio
from ract.evaluation.tradeoff import WeightWarning, pareto_front, tradeoff_curve
from ract.models.labelled import impurity_of_all
from ract.models.weight_search import (
    FLOORS,
    LADDER,
    STRENGTHS,
    Trial,
    choose_weight,
    choose_weight_and_floor,
)
from ract.recourse.calibration import LastingCurve, Point
from ract.trees.training import space_for_part


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
        loans.actions, n_estimators=20, criterion=criterion, random_state=0
    )
    tuned = TunedRecourseClassifierCV(forest, min_recourse=0.9)
    tuned.fit(loans.frame[:1000], loans.target[:1000])
    search, forest = tuned.weight_search_, tuned.estimator_
    assert search.met and search.n_people == 200
    assert forest.recourse_weight_ == search.weight in [t.weight for t in search.trials]
    assert recourse_ratio(forest, loans.frame[1000:]) >= 0.88
    again = clone(tuned).fit(loans.frame[:1000], loans.target[:1000])
    assert again.recourse_weight_ == tuned.recourse_weight_
    np.testing.assert_array_equal(
        again.predict_proba(loans.frame), tuned.predict_proba(loans.frame)
    )
    np.testing.assert_array_equal(again.predict(loans.frame), forest.predict(loans.frame))
    np.testing.assert_array_equal(
        again.decision_function(loans.frame), forest.decision_function(loans.frame)
    )
    own, given = forest.recourse(loans.frame[:60]), tuned.recourse(loans.frame[:60])
    np.testing.assert_array_equal(own.cost, given.cost)
    np.testing.assert_array_equal(find_recourse(tuned, loans.frame[:60]).cost, given.cost)
    # The forest is the one that the weight gives when it is stated.
    stated = clone(tuned.estimator).set_params(recourse_weight=search.weight)
    stated.fit(loans.frame[:1000], loans.target[:1000])
    np.testing.assert_array_equal(stated.ensemble_.value, forest.ensemble_.value)


def test_a_higher_goal_takes_at_least_the_weight_of_a_lower_one(loans):
    weights = [
        TunedRecourseClassifierCV(
            RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0),
            min_recourse=goal,
        )
        .fit(loans.frame, loans.target)
        .recourse_weight_
        for goal in (0.5, 0.9, 0.99)
    ]
    assert weights == sorted(weights) and weights[0] < weights[-1]


def test_a_tree_chooses_too_and_the_other_goal_bounds_the_loss(loans):
    tree = TunedRecourseClassifierCV(
        RecourseTreeClassifier(loans.actions, max_depth=5, random_state=0), max_auc_loss=0.02
    ).fit(loans.frame, loans.target)
    trials = {t.weight: t for t in tree.weight_search_.trials}
    assert trials[0.0].auc - trials[tree.recourse_weight_].auc <= 0.02
    assert tree.weight_search_.max_auc_loss == 0.02


def test_an_automatic_weight_keeps_to_held_out_people(loans):
    tree = RecourseTreeClassifier(
        loans.actions, max_depth=4, min_recourse=0.8, confidence=0.9, random_state=0
    )
    tuned = TunedRecourseClassifierCV(tree, min_recourse=0.7).fit(loans.frame, loans.target)
    assert tuned.estimator_.guarantee_ is not None and tuned.weight_search_.trials


def test_what_an_automatic_weight_refuses(loans):
    few = loans.frame[:40], loans.target[:40]
    for options, words, error in (
        ({"min_recourse": 2}, "share between 0 and 1", InvalidSpec),
        ({"min_recourse": 0.9, "max_auc_loss": 0.1}, "not both", InvalidSpec),
        ({}, "needs 50 people or more", InvalidData),
    ):
        for model in (RecourseForestClassifier, RecourseTreeClassifier):
            with pytest.raises(error, match=words):
                TunedRecourseClassifierCV(model(loans.actions), **options).fit(*few)
    with pytest.raises(InvalidSpec, match="estimator must be a classifier of ract"):
        TunedRecourseClassifierCV(DummyClassifier()).fit(*few)
    with pytest.raises(InvalidSpec, match="recourse_weight must be a number of 0"):
        RecourseForestClassifier(loans.actions, recourse_weight="auto").fit(*few)


def test_a_category_that_only_judges_have_is_no_trouble():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "job": ["cook"] * 198 + ["pilot", "nurse"]})
    target = (frame["x"] + rng.normal(size=200) > 0).to_numpy()
    space = ActionSpace([Feature("x"), Feature("job")], desired=True, limits=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        TunedRecourseClassifierCV(RecourseForestClassifier(space, n_estimators=3)).fit(
            frame, target
        )


GOAL = {"min_recourse": 0.9, "max_auc_loss": None, "n_people": 7}


def plane(recourse_at, auc_at=lambda w, f: 0.8, accuracy_at=lambda w, f: 0.7):
    """The same for weights and floors."""
    asked = []

    def attempt(weight, floor):
        asked.append((weight, floor))
        at = weight, floor
        return Trial(weight, recourse_at(*at), auc_at(*at), accuracy_at(*at), floor, 0.8)

    return attempt, asked


def test_no_weight_is_enough_where_plans_last_anyway():
    attempt, asked = plane(lambda w, f: 0.9)
    search = choose_weight_and_floor(attempt, 1.0, FLOORS, **GOAL)
    assert search.met and asked == [(search.weight, search.floor)] == [(0.0, 0.0)]


@pytest.mark.parametrize("step", range(len(LADDER)))
def test_the_highest_floor_is_kept_if_it_costs_nothing(step):
    attempt, asked = plane(lambda w, f: 0.5 + 0.4 * (w >= LADDER[step]))
    search = choose_weight_and_floor(attempt, 1.0, FLOORS, **GOAL)
    assert (search.weight, search.floor) == (LADDER[step], FLOORS[0]) and len(asked) <= 4
    table = search.to_frame()
    assert table["chosen"].sum() == 1 and {"floor", "strength"} <= set(table)


def test_lower_floors_are_tried_with_smaller_weights_if_it_costs_accuracy():
    def recourse_at(weight, floor):
        return 0.5 + 0.4 * (weight >= LADDER[4 if floor == 0.5 else 2])

    def accuracy_at(weight, floor):
        return 0.7 - 0.05 * (weight >= LADDER[3])

    attempt, asked = plane(recourse_at, accuracy_at=accuracy_at)
    search = choose_weight_and_floor(attempt, 1.0, FLOORS, **GOAL)
    assert (search.weight, search.floor) == (LADDER[2], 0.4)
    assert max(w for w, f in asked if f == 0.4) <= LADDER[4] and asked[0] == (0.0, 0.0)
    assert all(f > 0 for _, f in asked[1:])
    # Of two that meet the goal, AUC goes before accuracy.
    attempt, _ = plane(recourse_at, lambda w, f: 0.8 - 0.1 * (f < 0.5 and w > 0), accuracy_at)
    search = choose_weight_and_floor(attempt, 1.0, FLOORS, **GOAL)
    assert (search.weight, search.floor) == (LADDER[4], 0.5) and len(search.trials) <= 10


def test_the_most_lasting_recourse_within_a_loss_is_found():
    attempt, _ = plane(lambda w, f: 0.5 + 0.01 * w - 0.1 * f, lambda w, f: 0.8 - 0.01 * w)
    goal = GOAL | {"min_recourse": None, "max_auc_loss": 0.03}
    search = choose_weight_and_floor(attempt, 1.0, FLOORS, **goal)
    assert (search.weight, search.floor) == (3.0, 0.0)


def test_a_lasting_goal_out_of_reach_says_what_the_best_is():
    attempt, _ = plane(lambda w, f: 0.5 + 0.01 * w - 0.1 * f)
    words = "plan that lasts; the best is 59.0% with recourse_weight=9 and min_leaf_share=0 "
    with pytest.warns(WeightWarning, match=words):
        search = choose_weight_and_floor(attempt, 1.0, FLOORS, **GOAL)
    assert not search.met and (search.weight, search.floor) == (LADDER[-1], 0.0)


@pytest.fixture
def replicates(monkeypatch):
    """Learners that were to be calibrated, which is done elsewhere."""
    learners = []

    def calibrate(learner, X, y, lasting, **options):
        learners.append(learner)
        return LastingCurve((Point(0.8, 500, 500, 500, 500, (1.0, 1.0)),), 0.9, lasting)

    monkeypatch.setattr("ract.recourse.for_models.calibrate", calibrate)
    return learners


def lasting_by_hand(model, people, target, trial):
    """Refits the two halves; every other person who is held out is asked of either."""
    rows, desired = np.arange(len(target)), (target == "approved").astype(int)
    grow_on, held = train_test_split(rows, test_size=0.2, stratify=desired, random_state=0)
    halves = train_test_split(grow_on, test_size=0.5, stratify=desired[grow_on], random_state=0)
    models = []
    for half in map(np.sort, halves):
        part = people.iloc[half]
        space = space_for_part(model.actions, read_table(people), read_table(part))
        one = clone(model).set_params(
            actions=space, recourse_weight=trial.weight, min_leaf_share=trial.floor, lasting=None,
        )  # fmt: skip
        models.append(one.fit(part, target[half]))
    accuracy = np.mean([one.score(people.iloc[held], target[held]) for one in models])
    for strength in STRENGTHS:
        n_accepted = n_plans = n_last = 0
        for k, (planner, judge) in enumerate([models, models[::-1]]):
            own = people.iloc[np.sort(held)[k::2]]
            refused = planner.predict(own) == "refused"
            plans = planner.recourse(own, strength=strength)
            after = judge.predict(plans.counterfactuals)
            n_accepted += (~refused).sum()
            n_plans += (refused & plans.found).sum()
            n_last += (refused & plans.found & (after == "approved")).sum()
        if n_last >= model.lasting * n_plans:
            break
    return (n_accepted + n_last) / len(held), accuracy, strength


@pytest.mark.parametrize(
    "model",
    [
        RecourseForestClassifier(n_estimators=9, min_samples_leaf=10),
        RecourseTreeClassifier(min_samples_leaf=10),
    ],
)
def test_trials_count_plans_that_the_other_half_accepts(loans, replicates, model):
    people, target = loans.frame[:500], loans.target[:500].to_numpy()
    model = clone(model).set_params(actions=loans.actions, lasting=0.8, random_state=0)
    tuned = TunedRecourseClassifierCV(model, max_auc_loss=0.02).fit(people, target)
    trials = tuned.weight_search_.trials
    assert len({trial.floor for trial in trials}) == 3
    for trial in trials[::3]:
        found = trial.recourse, trial.accuracy, trial.strength
        assert found == pytest.approx(lasting_by_hand(model, people, target, trial))


def test_weight_and_floor_are_chosen_used_and_kept(loans, replicates, tmp_path):
    forest = RecourseForestClassifier(loans.actions, n_estimators=10, lasting=0.9, random_state=0)
    tuned = TunedRecourseClassifierCV(forest, min_recourse=0.85).fit(loans.frame, loans.target)
    search, model = tuned.weight_search_, tuned.estimator_
    chosen = model.recourse_weight_, model.min_leaf_share_
    assert search.met and chosen == (search.weight, search.floor)
    trial = next(t for t in search.trials if (t.weight, t.floor) == chosen)
    assert trial.recourse >= 0.85 and search.n_people == 300
    assert (replicates[0].recourse_weight, replicates[0].min_leaf_share) == chosen
    stated = clone(replicates[0]).fit(loans.frame, loans.target)
    np.testing.assert_array_equal(stated.ensemble_.label, model.ensemble_.label)
    save_model(tuned, tmp_path / "model.ract")
    loaded = load_model(tmp_path / "model.ract")
    assert (loaded.recourse_weight_, loaded.min_leaf_share_) == chosen
    assert (loaded.recourse_weight, loaded.min_leaf_share) == chosen


@pytest.mark.parametrize("floor", [0.0, 0.45])
def test_a_stated_floor_is_respected_and_a_goal_met_or_warned_of(loans, replicates, floor):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=5, lasting=0.9, min_leaf_share=floor, random_state=0,
        budget=0.05,
    )  # fmt: skip
    model = TunedRecourseClassifierCV(forest, min_recourse=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeightWarning)
        model.fit(loans.frame[:600], loans.target[:600])
    assert model.weight_search_.met == (floor == 0.0) == (not caught)
    assert {trial.floor for trial in model.weight_search_.trials} == {floor}
    assert model.estimator_.min_leaf_share_ == floor == replicates[0].min_leaf_share


def test_without_lasting_no_floor_is_tried(loans):
    model = TunedRecourseClassifierCV(
        RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
    ).fit(loans.frame[:600], loans.target[:600])
    assert model.weight_search_.floor is None and model.estimator_.min_leaf_share_ == 0.0
    names = ["weight", "recourse", "auc", "accuracy", "chosen"]
    assert model.weight_search_.to_frame().columns.tolist() == names


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


@pytest.mark.parametrize(
    ("param", "values"), [("budget", [0.1, 0.5]), ("min_recourse", [0.7, 0.99])]
)
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
