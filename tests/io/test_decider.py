"""Decisions of a model file without the model: the same bits, by plain and by compiled code."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import (
    ActionSpace,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    import_model,
    load_model,
    save_model,
)
from ract.data.datasets import load_loans
from ract.io import decider
from ract.io.decider import read_decider

LOANS = load_loans(300)
X, y, NUMBERS = LOANS.frame, LOANS.target, LOANS.frame[["Income", "Debt", "Savings"]]
SPACE = ActionSpace([LOANS.actions[name] for name in NUMBERS], limits=None)
MODELS = {
    "tree": lambda: RecourseTreeClassifier(LOANS.actions, max_depth=4).fit(X, y),
    "shares": lambda: RecourseForestClassifier(LOANS.actions, n_estimators=9).fit(X, y),
    "votes": lambda: RecourseForestClassifier(LOANS.actions, n_estimators=9, desired="refused").fit(
        X, y
    ),
    "boosted": lambda: import_model(
        GradientBoostingClassifier(n_estimators=9).fit(NUMBERS, y),
        NUMBERS,
        SPACE,
        desired="approved",
    ),
    "forest": lambda: import_model(
        RandomForestClassifier(9, max_depth=4).fit(NUMBERS, y), NUMBERS, SPACE, desired="refused"
    ),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("most", [0, 10**9])
def test_decisions_are_those_of_the_model(tmp_path, monkeypatch, kind, most):
    monkeypatch.setattr(decider, "MOST_WALKS", most)
    save_model(MODELS[kind](), tmp_path / "model.ract")
    model, light = load_model(tmp_path / "model.ract"), read_decider(tmp_path / "model.ract")
    people = load_loans(200, random_state=1).frame[list(model.encoder_.feature_names)]
    classes, probability = light.decide(people)
    k = model.classes_.tolist().index(model.desired_)
    assert classes.dtype == model.predict(people).dtype
    assert np.array_equal(classes, model.predict(people))
    assert np.array_equal(probability, model.predict_proba(people)[:, k])
