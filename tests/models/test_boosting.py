import copy
import pickle
import sys
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from ract import (
    ActionSpace,
    AssumedActions,
    Feature,
    RecourseBoostingClassifier,
    certify,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation import guarantee_recourse, tradeoff_curve
from ract.evaluation.report import audit
from ract.evaluation.text import export_text
from ract.io.decider import read_decider
from ract.trees import booster, model_fingerprint
from ract.trees import training as _training
from ract.trees.readers import read_model
from tests.builders import SecondClassBooster, seeded

DRAWN_ALIKE = {
    "check_sample_weight_equivalence_on_dense_data": (
        "parts and samples are drawn whatever people weigh, so a weight of two is no repeated row"
    )
}
SMALL = {"max_iter": 8, "min_samples_leaf": 5}
PLAIN = {"recourse_weight": 0, "subsample": 1.0, "max_features": None}


BY_REPLICATES = dict.fromkeys(
    ("check_classifiers_train", "check_decision_proba_consistency"),
    "members decide, and replicates give the probabilities",
) | {"check_class_weight_classifiers": "recourse keeps its weight, whatever classes weigh"}


def expected_failures(estimator):
    if not estimator.recourse_weight:
        return {}
    return DRAWN_ALIKE | (BY_REPLICATES if estimator.n_replicates else {})


def checks_of(*estimators):
    return parametrize_with_checks(list(estimators), expected_failed_checks=expected_failures)


@checks_of(SecondClassBooster(**SMALL, n_replicates=2))
def test_scikit_learn_estimator_checks(estimator, check):
    seeded(check)(estimator)


@pytest.mark.slow
@checks_of(
    SecondClassBooster(**SMALL, n_replicates=0),
    # Leaves of at least five people count repeated rows, which a weight is not.
    SecondClassBooster(**{**SMALL, "min_samples_leaf": 1}, **PLAIN),
)
def test_scikit_learn_estimator_checks_of_other_settings(estimator, check):
    seeded(check)(estimator)


def test_a_weight_of_a_plain_booster_is_a_repeated_row():
    plain = SecondClassBooster(**{**SMALL, "min_samples_leaf": 1}, **PLAIN)
    seeded(partial(check_sample_weight_equivalence_on_dense_data, "plain"))(plain)


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=900)


@pytest.fixture(scope="module")
def committee(loans):
    return small(loans).fit(loans.frame, loans.target)


@pytest.fixture(scope="module")
def plain(loans):
    return small(loans, recourse_weight=0).fit(loans.frame, loans.target)


def small(loans, **parameters):
    parameters = {
        "max_iter": 15, "min_samples_leaf": 20, "n_replicates": 3,
        "random_state": 0, **parameters,
    }  # fmt: skip
    return RecourseBoostingClassifier(loans.actions, **parameters)


def toward(model, people):
    """The score that decides minus its cut, above 0 for the desired class."""
    ahead = model.decision_function(people)
    return ahead if model.classes_[1] == model.desired_ else -ahead


def assert_same_trees(one, other):
    for name in ("feature", "threshold", "left", "right", "value", "root", "missing_left"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.base, one.cutoff, one.combine) == (other.base, other.cutoff, other.combine)


def assert_same_model(one, other):
    assert_same_trees(one.ensemble_, other.ensemble_)
    assert (one.probability_ensemble_ is None) == (other.probability_ensemble_ is None)
    if one.probability_ensemble_ is not None:
        assert_same_trees(one.probability_ensemble_, other.probability_ensemble_)


@pytest.mark.parametrize("kind", ["committee", "plain"])
def test_probabilities_are_those_of_the_replicates(kind, loans, request):
    model = request.getfixturevalue(kind)
    decided = toward(model, loans.frame) >= 0
    np.testing.assert_array_equal(model.predict(loans.frame) == model.desired_, decided)
    k = model.classes_.tolist().index(model.desired_)
    share = model.predict_proba(loans.frame)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    gives = model.probability_ensemble_ or model.ensemble_
    free = 1 / (1 + np.exp(-gives.score(model.encoder_.matrix(loans.frame))))
    np.testing.assert_allclose(share[:, k], free)
    assert ((free > 0.5) == decided).mean() > 0.8


def test_the_mean_of_the_members_decides(committee):
    assert committee.ensemble_.n_trees == 5 * committee.n_iter_ == 75
    assert committee.probability_ensemble_.n_trees == 3 * 15
    assert (committee.ensemble_.combine, committee.ensemble_.cutoff) == ("sum", 0.0)


def test_recourse_rises_with_the_weight(loans, plain, committee):
    people = loans.frame.head(300)
    alone = small(loans, n_replicates=0, recourse_weight=1).fit(loans.frame, loans.target)
    assert alone.probability_ensemble_ is None
    risks = [model.recourse_risk(people) for model in (plain, committee, alone)]
    assert risks[0] > 0.05
    assert max(risks[1:]) < risks[0] / 3


def test_plain_scores_are_those_of_the_peer():
    """Without ties to break, both find the same trees; binning is the same on few values."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 12, (800, 4)).astype(float)
    y = (rng.random(800) < 1 / (1 + np.exp(3 - X[:, 0] * X[:, 1] / 12))).astype(int)
    settings = {"max_iter": 20, "max_leaf_nodes": 6, "min_samples_leaf": 10, "learning_rate": 0.2}
    ours = RecourseBoostingClassifier(
        ActionSpace([], desired=1, limits=None), **settings, **PLAIN, l2_regularization=0.5
    ).fit(X, y)
    peer = HistGradientBoostingClassifier(
        **settings, l2_regularization=0.5, early_stopping=False
    ).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_missing_values_go_where_the_peer_sends_them():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 9, (900, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = (rng.random(900) < np.where(np.isnan(X[:, 0]), 0.8, X[:, 0] / 10)).astype(int)
    settings = {"max_iter": 15, "max_leaf_nodes": 7, "min_samples_leaf": 10}
    ours = RecourseBoostingClassifier(desired=1, **settings, **PLAIN, l2_regularization=0).fit(X, y)
    peer = HistGradientBoostingClassifier(**settings, early_stopping=False).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_monotonic_constraints_hold(loans):
    model = small(loans, recourse_weight=0, monotonic={"Income": 1, "Debt": -1})
    model.fit(loans.frame, loans.target)
    for name, sign in (("Income", 1), ("Debt", -1)):
        scores = []
        for share in np.linspace(0, 1, 15):
            moved = loans.frame.assign(**{name: loans.frame[name].quantile(share)})
            scores.append(toward(model, moved.astype({name: loans.frame[name].dtype})))
        assert (sign * np.diff(scores, axis=0) >= -1e-12).all()


def test_the_number_of_threads_makes_no_difference(loans, committee):
    assert_same_model(small(loans, n_jobs=2).fit(loans.frame, loans.target), committee)


@pytest.mark.parametrize("settings", [{"recourse_weight": 0}, {"n_replicates": 0}])
def test_a_booster_in_blocks_is_that_of_one_thread(settings, loans, monkeypatch):
    models = [small(loans, early_stopping=True, n_jobs=n, **settings) for n in (1, 3)]
    monkeypatch.setattr(booster, "FEWEST_CELLS", 200)
    monkeypatch.setattr(_training, "MANY_PEOPLE", 0)
    assert_same_model(*(model.fit(loans.frame, loans.target) for model in models))


@pytest.mark.parametrize("settings", [{"recourse_weight": 0}, {"n_replicates": 0}, {}])
def test_progress_is_shown_when_asked(settings, loans, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    model = small(loans, max_iter=5, verbose=1, **settings)
    model.fit(loans.frame, loans.target)
    shown = capsys.readouterr()
    assert "Boosting" in shown.err and "100%" in shown.err and not shown.out


def test_frames_and_arrays_give_the_same_model(rng):
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 9, 300)])
    y = (X[:, 0] + 0.2 * X[:, 1] > 1).astype(int)
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    settings = {"max_iter": 5, "min_samples_leaf": 10, "n_replicates": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumedActions)
        one, other = (
            RecourseBoostingClassifier(desired=1, **settings).fit(table, y)
            for table in (X, pl.from_pandas(frame))
        )
        assert_same_model(one, other)


def test_early_stopping_ends_when_held_out_loss_does_not_fall(loans):
    model = small(
        loans, recourse_weight=0, max_iter=300, learning_rate=0.5, early_stopping=True
    ).fit(loans.frame, loans.target)
    losses = model.validation_loss_
    assert model.n_iter_ == len(losses) - 1 < 300
    assert losses[-10:].min() >= losses[-11] - 1e-7
    assert all(losses[k - 10 : k].min() < losses[k - 11] for k in range(11, len(losses) - 1))
    members = small(loans, max_iter=150, learning_rate=0.5, early_stopping=True)
    assert members.fit(loans.frame, loans.target).n_iter_ < 150


def test_a_sample_weight_of_zero_leaves_out(loans):
    weights = np.ones(len(loans.frame))
    weights[600:] = 0
    one = small(loans).fit(loans.frame, loans.target, weights)
    other = small(loans).fit(loans.frame.head(600), loans.target[:600])
    assert_same_model(one, other)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"subsample": 0}, "subsample must be a share above 0"),
        ({"learning_rate": -1}, "learning_rate must be a number above 0"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be a whole number of 2"),
        ({"early_stopping": "yes"}, "True, False, 'auto'"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_parameters_are_checked(loans, parameters, said):
    with pytest.raises(InvalidSpec, match=said):
        small(loans, **parameters).fit(loans.frame, loans.target)


def test_plans_are_accepted_and_strong(loans, committee):
    refused = loans.frame[committee.predict(loans.frame) != committee.desired_].head(15)
    for options in ({}, {"strength": 0.6}, {"threshold": 0.55}):
        plans = committee.recourse(refused, **options)
        found = np.isfinite(plans.cost)
        assert found.any()
        least = options.get("strength", options.get("threshold", 0.5))
        after = toward(committee, plans.counterfactuals[found])
        assert (1 / (1 + np.exp(-after)) >= least - 1e-12).all()


def test_a_guarantee_lowers_the_score_that_is_needed(loans, plain):
    given = guarantee_recourse(plain, load_loans(400, random_state=5).frame, max_risk=0.05)
    assert given.risk_bound <= 0.05 and given.threshold < 0.5
    assert given.model.ensemble_.cutoff < 0 == plain.ensemble_.cutoff
    assert given.model.recourse_risk(loans.frame) < plain.recourse_risk(loans.frame)


@pytest.mark.parametrize("kind", ["committee", "plain"])
def test_files_and_deciders_keep_every_bit(kind, loans, tmp_path, request):
    model = request.getfixturevalue(kind)
    save_model(model, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    assert_same_model(again, model)
    assert model_fingerprint(again) == model_fingerprint(model)
    assert again.get_params() == model.get_params()
    probability = model.predict_proba(loans.frame)
    np.testing.assert_array_equal(again.predict_proba(loans.frame), probability)
    classes, share = read_decider(tmp_path / "model.ract").decide(loans.frame)
    np.testing.assert_array_equal(classes, model.predict(loans.frame))
    k = model.classes_.tolist().index(model.desired_)
    np.testing.assert_array_equal(share, probability[:, k])
    assert_same_model(pickle.loads(pickle.dumps(model)), model)


def test_the_probabilities_are_part_of_the_fingerprint(committee):
    other = copy.copy(committee)
    trees = committee.probability_ensemble_
    other.probability_ensemble_ = replace(trees, value=trees.value * 2)
    assert model_fingerprint(other) != model_fingerprint(committee)


def test_leaves_in_words_say_what_they_add(plain):
    lines = export_text(plain, tree=3).splitlines()
    assert lines[0].startswith("|--- ")
    leaves = [line.split("--- ")[1] for line in lines if line.split("--- ")[1][0] in "+-"]
    own = plain.ensemble_.value[plain.ensemble_.root[3] : plain.ensemble_.root[4]]
    assert sorted(map(float, leaves)) == pytest.approx(sorted(own[own != 0]), abs=6e-4)


def test_curves_certificates_audits_and_reasons(loans, committee, tmp_path):
    people = load_loans(120, random_state=7)
    curve = tradeoff_curve(
        small(loans, max_iter=5), loans.frame.head(400), loans.target[:400], values=[0, 0.5], cv=2
    ).to_frame()
    assert curve["recourse"].is_monotonic_increasing
    certificate = certify(committee, people.frame)
    without = certificate.everyone.without / certificate.everyone.n_people
    assert without == pytest.approx(committee.recourse_risk(people.frame))
    refused = people.frame[committee.predict(people.frame) != committee.desired_].head(5)
    reasons = committee.reasons(refused, reference=loans.frame)
    given = reasons.values.sum(axis=1) + reasons.base
    np.testing.assert_allclose(given, toward(committee, refused))
    audit(committee, people.frame, people.target).save(tmp_path / "audit.html")
    assert "approved" in (tmp_path / "audit.html").read_text()


def test_behind_the_steps_of_a_pipeline(rng):
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=400) > 0).astype(int)
    booster = RecourseBoostingClassifier(
        desired=1, max_iter=8, min_samples_leaf=20, recourse_weight=0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumedActions)
        pipeline = make_pipeline(StandardScaler(), booster).fit(X, y)
        model = read_model(
            pipeline, X, ActionSpace([Feature(f"x{j}") for j in range(3)], limits=None)
        )
    np.testing.assert_array_equal(model.decide(X), pipeline.predict(X) == 1)
    np.testing.assert_allclose(model.probability(X), pipeline.predict_proba(X)[:, 1])


def test_lasting_plans_keep_their_promise_in_a_file(tmp_path):
    loans, new = load_loans(1500), load_loans(300, random_state=3)
    model = small(loans, lasting=0.6, learning_rate=0.3).fit(loans.frame, loans.target)
    points = model.lasting_.to_frame()
    assert points["strength"].between(0.5, 1).all() and points["strength"].is_monotonic_increasing
    assert (points["last"] <= points["plans"]).all()
    assert model.lasting_.rule == "strength"
    strength = model.lasting_.strength_for(0.6)
    refused = new.frame[model.predict(new.frame) != model.desired_].head(30)
    plans = model.recourse(refused)
    assert plans.lasts.mean() > 0.5 and (plans.lasts <= plans.found).all()
    reached = 1 / (1 + np.exp(-toward(model, plans.counterfactuals)))
    assert (reached[plans.lasts] >= strength - 1e-12).all()
    assert (reached[~plans.lasts] < strength).all()  # nobody is left without for no reason
    save_model(model, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract")
    assert again.lasting_ == model.lasting_
    np.testing.assert_array_equal(again.recourse(refused).after, plans.after)
