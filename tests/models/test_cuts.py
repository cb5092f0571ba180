"""Cuts: where they lie, what decides, and that nothing else depends on them."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.io.decider import read_decider
from ract.models.cuts import CutRule, FewRefusedWarning, warn_if_few_refused
from ract.recourse.exact.search import ExactSearch
from ract.trees import cooperation, model_fingerprint
from ract.trees.grower import bootstrap_counts
from tests import naive
from tests.builders import each_seed

LOANS, NEW = load_loans(900), load_loans(2000, random_state=1)
MODELS = {
    "forest": RecourseForestClassifier(LOANS.actions, n_estimators=30, random_state=0),
    "plain forest": RecourseForestClassifier(
        LOANS.actions, n_estimators=30, recourse_weight=0, random_state=0
    ),
    "tree": RecourseTreeClassifier(LOANS.actions, min_samples_leaf=20, random_state=0),
    "booster": RecourseBoostingClassifier(
        LOANS.actions, max_iter=15, n_replicates=3, random_state=0
    ),
    "single booster": RecourseBoostingClassifier(
        LOANS.actions, max_iter=15, n_replicates=0, random_state=0
    ),
    "plain booster": RecourseBoostingClassifier(
        LOANS.actions, max_iter=15, recourse_weight=0, random_state=0
    ),
}


def fitted(name, **given):
    return clone(MODELS[name]).set_params(**given).fit(LOANS.frame, LOANS.target)


def naive_cut(scores, desired, weights, rate, bad_rate):
    """Every cut tried, one by one: the rates that it gives."""
    tried = []
    for cut in sorted(set(scores), reverse=True):
        inside = scores >= cut
        mass = weights[inside].sum()
        bad = weights[inside & (desired == 0)].sum() / mass
        tried.append((cut, mass / weights.sum(), bad))
    if rate is not None:
        return min(tried, key=lambda one: abs(one[1] - rate))[1:]
    good = [one for one in tried if one[2] <= bad_rate]
    return max(good, key=lambda one: one[1])[1:] if good else None


@each_seed(range(40))
def test_the_chosen_cut_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    scores = rng.choice(rng.normal(size=max(2, n // 2)), n)
    desired, weights = rng.integers(0, 2, n), rng.choice([1.0, 0.5, 2.0], n)
    rate = float(rng.uniform(0.05, 0.95))
    missing = np.concatenate([scores, [np.nan, np.nan]])
    padded = np.append(desired, [0, 1]), np.append(weights, [5.0, 5.0])
    cut = CutRule(approval_rate=rate).choose(missing, *padded)
    share = weights[scores >= cut].sum() / weights.sum()
    best = naive_cut(scores, desired, weights, rate, None)[0]
    assert abs(share - rate) == pytest.approx(abs(best - rate))
    expected = naive_cut(scores, desired, weights, None, rate)
    if expected is None:
        with pytest.raises(InvalidData, match="No cut gives a bad rate of at most"):
            CutRule(max_bad_rate=rate).choose(missing, *padded)
    else:
        cut = CutRule(max_bad_rate=rate).choose(missing, *padded)
        assert weights[scores >= cut].sum() / weights.sum() == pytest.approx(expected[0])


def test_scores_outside_of_parts_are_those_of_the_other_models(rng):
    class Model:
        def __init__(self, add):
            self.add = add

        def scores(self, codes):
            return codes[:, 0] + self.add

    codes = np.arange(5.0)[:, None]
    rows = cooperation.CellRows.of(codes, np.zeros(5), np.ones(5))
    parts = [np.array([0, 1]), np.array([1, 2]), np.array([1])]
    scores = [
        cooperation.scores_outside(Model(add), inside, rows)
        for add, inside in zip((10, 20, 60), parts, strict=True)
    ]
    np.testing.assert_allclose(cooperation.mean_known(scores), [40, np.nan, 37, 33, 34])


@pytest.mark.parametrize("name", MODELS)
def test_rates_hold_for_new_people_and_everything_agrees(name, tmp_path):
    model = fitted(name, approval_rate=0.5)
    decided = model.predict(NEW.frame) == "approved"
    assert decided.mean() == pytest.approx(0.5, abs=0.06)
    ahead = model.decision_function(NEW.frame)
    np.testing.assert_array_equal(model.classes_[(ahead > 0).astype(int)], model.predict(NEW.frame))
    assert 0 < model.threshold_ < 1
    same = fitted(name, threshold=model.threshold_)
    assert np.mean(same.predict(NEW.frame) == model.predict(NEW.frame)) > 0.9
    save_model(model, tmp_path / "cut.ract")
    again = load_model(tmp_path / "cut.ract")
    assert model_fingerprint(again) == model_fingerprint(model)
    assert again.threshold_ == model.threshold_ and again.approval_rate == 0.5
    classes, share = read_decider(tmp_path / "cut.ract").decide(NEW.frame)
    np.testing.assert_array_equal(classes, model.predict(NEW.frame))
    np.testing.assert_array_equal(share, model.predict_proba(NEW.frame)[:, 0])


@pytest.mark.parametrize("name", ["forest", "tree", "booster"])
def test_bad_rates_hold_for_new_people(name):
    model = fitted(name, max_bad_rate=0.15)
    approved = model.predict(NEW.frame) == "approved"
    assert 0.2 < approved.mean() < 0.75
    assert (NEW.target[approved] != "approved").mean() == pytest.approx(0.15, abs=0.04)


@pytest.mark.parametrize("name", ["plain forest", "plain booster"])
def test_ranking_and_probabilities_do_not_depend_on_the_cut(name):
    """They were held on the decision's side of one half, which cost AUC."""
    truth, found = NEW.target == "approved", []
    for given in ({}, {"threshold": 0.3}, {"threshold": 0.8}, {"approval_rate": 0.7}):
        share = fitted(name, **given).predict_proba(NEW.frame)[:, 0]
        found.append(share)
        assert roc_auc_score(truth, share) == roc_auc_score(truth, found[0])
        np.testing.assert_array_equal(share, found[0])


def test_a_cut_does_not_saturate():
    """Where one class is rare most people win all trees, and no cut of votes refuses 30%."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    bad = rng.random(3000) < 1 / (1 + np.exp(3.5 - X["a"] + X["b"]))
    settings = {"desired": False, "n_estimators": 30, "random_state": 0}
    with pytest.warns(FewRefusedWarning, match=r"refuses [0-4]\.\d% of the training people"):
        forest = RecourseForestClassifier(**settings).fit(X, bad)
    votes = forest.ensemble_.score(forest.encoder_.matrix(X))
    assert (votes == 30).mean() > 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewRefusedWarning)
        cut = RecourseForestClassifier(**settings, approval_rate=0.7).fit(X, bad)
    assert (cut.predict(X) == False).mean() == pytest.approx(0.7, abs=0.05)  # noqa: E712


@pytest.mark.parametrize("name", ["forest", "booster", "tree"])
def test_training_for_recourse_is_about_the_cut(name):
    plain, aware = (
        fitted(name, approval_rate=0.5, recourse_weight=weight) for weight in (0.0, 1.0)
    )
    people = NEW.frame[:300]
    assert aware.recourse_risk(people) < plain.recourse_risk(people) / 2
    plans = aware.recourse(people, budget=0.3)
    after = plans.counterfactuals[plans.found]
    assert len(after) > 50 and (aware.predict(after) == "approved").all()


@pytest.mark.parametrize("seed", range(6))
def test_plans_of_a_cut_forest_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (150, 3)).astype(float)
    y = rng.random(150) < 1 / (1 + np.exp(4 - X[:, 0] - X[:, 1] / 2))
    space = ActionSpace([Feature(f"x{j}", "integer") for j in range(3)], desired=True, limits=None)
    forest = RecourseForestClassifier(
        space, n_estimators=9, min_samples_leaf=3, random_state=seed, cost="range",
        threshold=float(rng.uniform(0.25, 0.8)),
    ).fit(X, y)  # fmt: skip
    search = ExactSearch(forest.ensemble_, forest.encoder_.axes, forest.cost_)
    points = np.array(np.meshgrid(*[range(6)] * 3), float).reshape(3, -1).T
    leaves = naive.naive_leaves(forest.ensemble_, points)
    wins = forest.ensemble_.value[leaves].sum(axis=1) / 9 >= forest.threshold_
    refused = X[forest.predict(X) != True][:25]  # noqa: E712
    answers = search.solve(refused, budget=10.0)
    for person, cost, found in zip(refused, answers.cost, answers.found, strict=True):
        costs = forest.cost_.between(np.tile(person, (len(points), 1)), points)
        assert found == wins.any()
        assert not found or cost == pytest.approx(costs[wins].min())


def test_out_of_bag_recourse_is_about_the_cut():
    frame, target = LOANS.frame[:120], LOANS.target[:120]
    forest = clone(MODELS["forest"]).set_params(n_estimators=15, oob_score=True, threshold=0.6)
    forest.fit(frame, target)
    matrix, ensemble = forest.encoder_.matrix(frame), forest.ensemble_
    leaves, served = ensemble.apply(matrix), 0
    out = np.column_stack([bootstrap_counts(120, 120, seed)[0] == 0 for seed in forest.seeds])
    right = 0
    for i in range(120):
        part = naive_part(ensemble, out[i])
        mean = ensemble.value[leaves[i][out[i]]].mean()
        right += (mean >= 0.6) == (target.iloc[i] == "approved")
        search = ExactSearch(part, forest.encoder_.axes, forest.cost_)
        served += mean >= 0.6 or bool(search.solve(matrix[[i]], forest.budget_).found[0])
    assert forest.oob_score_ == pytest.approx(right / 120)
    assert forest.oob_recourse_ratio_ == pytest.approx(served / 120)


def naive_part(ensemble, kept):
    """Some trees of a forest, node by node."""
    ends = np.append(ensemble.root, len(ensemble.feature))
    parts = [slice(ends[t], ends[t + 1]) for t in np.flatnonzero(kept)]
    first = np.cumsum([0, *(part.stop - part.start for part in parts)])[:-1]

    def joined(name):
        return np.concatenate([getattr(ensemble, name)[part] for part in parts])

    def children(name):
        moved = [
            np.where(getattr(ensemble, name)[part] < 0, -1, getattr(ensemble, name)[part] + shift)
            for part, shift in zip(
                parts, [f - p.start for f, p in zip(first, parts, strict=True)], strict=True
            )
        ]
        return np.concatenate(moved).astype(np.int32)

    names = ("feature", "threshold", "label", "value", "missing_left")
    return replace(
        ensemble, **{name: joined(name) for name in names}, left=children("left"),
        right=children("right"), root=first.astype(np.int32),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["forest", "tree"])
def test_class_weights_do_not_dilute_recourse(name):
    """A weight of recourse stands against the impurity of all, which class weights change."""
    heavy = {"approved": 1.0, "refused": 6.0}
    model = fitted(name, class_weight=heavy, recourse_weight=0.3)
    training = model.prepare(LOANS.frame, LOANS.target).training
    rules = model._rules(training, 0.3, 0.0, None)
    desired, weights = training.people.desired, training.weights
    share = np.average(desired, weights=weights.growing)
    errors = 2 * share * (1 - share) * weights.growing.sum()
    plain = 2 * desired.mean() * (1 - desired.mean()) * 900
    assert rules.recourse_weight == pytest.approx(0.3 * errors / plain)
    # Whatever classes weigh together, what a weight means is the same.
    many = {label: 50 * weight for label, weight in heavy.items()}
    other = fitted(name, class_weight=many, recourse_weight=0.3)
    np.testing.assert_array_equal(other.predict(NEW.frame), model.predict(NEW.frame))


def test_a_point_counts_as_a_person_on_average():
    heavy, many = {"approved": 1.0, "refused": 6.0}, {"approved": 0.5, "refused": 3.0}
    one, other = (
        fitted("booster", class_weight=given, l2_regularization=0.0) for given in (heavy, many)
    )
    assert np.mean(one.predict(NEW.frame) == other.predict(NEW.frame)) > 0.97


@pytest.mark.parametrize("name", ["forest", "tree", "booster"])
def test_what_cannot_be_a_cut_is_refused(name):
    for given, said in (
        ({"threshold": 0.5, "approval_rate": 0.7}, "A model has one cut; give one of 'threshold'"),
        ({"threshold": 0}, "threshold must be a share between 0 and 1, or None, got 0"),
        ({"approval_rate": 70}, "approval_rate must be a share between 0 and 1"),
        ({"max_bad_rate": "low"}, "max_bad_rate must be a share between 0 and 1"),
    ):
        with pytest.raises(InvalidSpec, match=said):
            fitted(name, **given)
    if name != "booster":
        with pytest.raises(InvalidSpec, match="min_recourse flips the labels of leaves"):
            fitted(name, threshold=0.5, min_recourse=0.9)


def test_stored_people_give_the_same_cut(tmp_path):
    pytest.importorskip("pyarrow")
    LOANS.frame.assign(outcome=LOANS.target).to_parquet(tmp_path / "loans.parquet")
    for name in ("forest", "tree", "booster"):
        model = clone(MODELS[name]).set_params(approval_rate=0.6)
        own = model_fingerprint(model.fit(LOANS.frame, LOANS.target))
        assert model_fingerprint(model.fit(tmp_path / "loans.parquet", "outcome")) == own


@pytest.mark.parametrize("weight", [1.0, 0.1, 0.7, 1e-3])
@pytest.mark.parametrize(("n_refused", "warns"), [(19, True), (20, False), (21, False)])
def test_exactly_a_twentieth_refused_is_not_few(n_refused, warns, weight):
    decided, weights = np.arange(400) >= n_refused, np.full(400, weight)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_few_refused(decided, weights)
    assert bool(caught) == warns


@pytest.mark.parametrize("n_refused", [299, 300])
def test_all_training_people_count_for_few_refused(n_refused):
    """Of more than 5000 people only as many were asked."""
    X = np.ones((6000, 1))
    X[:n_refused] = 0
    tree = RecourseTreeClassifier(desired=1, max_depth=1, recourse_weight=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree.fit(X, X[:, 0].astype(int))
    assert len(caught) == (n_refused < 300)
