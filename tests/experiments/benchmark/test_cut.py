"""A cut from outside: the same trees, the rate that was asked for, decisions by the score."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from experiments.benchmark.cut import Scored
from experiments.benchmark.sendable_models import Encoded
from ract import RecourseForestClassifier
from ract.data.datasets import load_loans

LOANS = load_loans(600)
TRAIN, TEST = LOANS.frame[:400], LOANS.frame[400:]


def learner(name):
    if name.startswith("ours"):
        return RecourseForestClassifier(LOANS.actions, n_estimators=15, random_state=0)
    inner = {
        "forest": RandomForestClassifier(15, min_samples_leaf=5, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    }[name]
    return Encoded(inner, LOANS.actions, LOANS.desired)


@pytest.fixture(scope="module", params=["ours by votes", "ours by leaves", "forest", "boosting"])
def fitted(request):
    model = learner(request.param).fit(TRAIN, LOANS.target[:400])
    by_leaves = request.param == "ours by leaves"
    scored = Scored.of(model, TRAIN, LOANS.actions, LOANS.desired, by_leaves=by_leaves)
    return request.param, model, scored


def test_the_score_ranks_people_as_the_library_does(fitted):
    name, model, scored = fitted
    if name == "ours by votes":
        assert (scored.score(TEST) == model.ensemble_.totals(model.encoder_.matrix(TEST))[0]).all()
        return
    if name == "ours by leaves":
        expected = model.ensemble_.totals(model.encoder_.matrix(TEST))[1] / 15
    else:
        expected = model.predict_proba(TEST)[:, list(model.classes_).index(LOANS.desired)]
    # Equal up to rounding: probabilities may tie where log-odds differ in the last bit.
    order = np.argsort(scored.score(TEST), kind="stable")
    assert (np.diff(expected[order]) > -1e-9).all()


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_a_cut_approves_the_rate_and_all_who_tie(fitted, rate):
    _, _, scored = fitted
    cut = scored.cut(rate, TEST)
    score, approved = scored.score(TEST), cut.approves(TEST)
    last = np.sort(score)[::-1][round(rate * len(TEST)) - 1]
    assert (approved == (score >= last)).all()
    assert approved.sum() >= round(rate * len(TEST))


def test_plans_are_accepted_at_the_cut_and_the_model_is_left_alone(fitted):
    _, model, scored = fitted
    before = model.predict(TEST)
    cut = scored.cut(0.5, TEST)
    plans = cut.recourse(TEST[~cut.approves(TEST)].head(20), explain=False)
    assert plans.found.sum() > 5 and not plans.accepted.any()
    assert cut.approves(plans.counterfactuals[plans.found]).all()
    assert (model.predict(TEST) == before).all()
    stronger = cut.recourse(TEST[~cut.approves(TEST)].head(20), explain=False,
                            strength=cut.trees.strength_above(0.2))  # fmt: skip
    assert (stronger.cost >= plans.cost).all()
