"""Monotone constraints from the directions of the action space."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
)
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.models.monotonic import cheap_directions, directions_of_actions

LOANS = load_loans(900)
MODELS = {
    "tree": RecourseTreeClassifier(LOANS.actions, min_samples_leaf=20, random_state=0),
    "forest": RecourseForestClassifier(LOANS.actions, n_estimators=15, random_state=0),
    "booster": RecourseBoostingClassifier(
        LOANS.actions, max_iter=15, n_replicates=2, random_state=0
    ),
}


def fitted(name, **given):
    return clone(MODELS[name]).set_params(**given).fit(LOANS.frame, LOANS.target)


@pytest.mark.parametrize("name", MODELS)
def test_doing_more_never_harms(name):
    model, frame = fitted(name, monotonic="all"), LOANS.frame.head(150)
    wanted = directions_of_actions(model.encoder_)
    assert model.monotonic_ == wanted and len(wanted) > 3
    for feature, sign in wanted.items():
        steps = np.quantile(LOANS.frame[feature], np.linspace(0, 1, 9))
        if LOANS.frame[feature].dtype.kind in "iu":
            steps = np.round(steps)
        kind = LOANS.frame[feature].dtype
        scores = [
            model.decision_function(frame.assign(**{feature: np.full(150, step).astype(kind)}))
            for step in steps[::sign]
        ]
        for before, after in itertools.pairwise(scores):  # "approved" is the first class
            assert (after <= before + 1e-12).all(), feature


@pytest.mark.parametrize("name", MODELS)
def test_none_is_no_constraint_and_words_are_checked(name):
    one, other = fitted(name, monotonic="none"), fitted(name)
    np.testing.assert_array_equal(one.predict_proba(LOANS.frame), other.predict_proba(LOANS.frame))
    assert one.monotonic_ == {} and not hasattr(other, "monotonic_")
    with pytest.raises(InvalidSpec, match="monotonic must be one of 'auto', 'all', 'none', or a"):
        fitted(name, monotonic="some")


@pytest.mark.parametrize("name", MODELS)
def test_constraints_that_the_data_speak_against_are_left_out(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 3)), columns=["good", "bad", "noise"])
    y = X["good"] - 2 * X["bad"] + rng.normal(size=1500) > 0
    space = ActionSpace([Feature(name, change="increase") for name in X], desired=True, limits=None)
    model = clone(MODELS[name]).set_params(actions=space, monotonic="auto").fit(X, y)
    assert "good" in model.monotonic_ and "bad" not in model.monotonic_
    forced = clone(model).set_params(monotonic="all").fit(X, y)
    assert model.score(X, y) > forced.score(X, y) + 0.1


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_costs_no_more_than_is_said(seed):
    rng = np.random.default_rng(seed)
    names = [f"f{k}" for k in range(int(rng.integers(1, 7)))]
    price = dict(zip(names, rng.choice([0.0, 0.001, 0.002, 0.004, 0.02], len(names)), strict=True))
    asked = []

    def auc_of(some):
        asked.append(dict(some))
        return 0.8 - sum(price[name] for name in some)

    kept = cheap_directions(dict.fromkeys(names, 1), auc_of, 0.005)
    assert sum(price[name] for name in kept) <= 0.005 + 1e-12
    assert len(asked) <= 2 + 2 * len(names)
    # With prices that add up, none of those left out would fit in beside the others.
    total = sum(price[name] for name in kept)
    assert all(total + price[name] > 0.005 - 1e-12 for name in names if name not in kept)
    assert not cheap_directions({}, auc_of)
