"""Training again so that promises are kept."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    TunedRecourseClassifierCV,
)
from ract._utils.errors import InvalidSpec
from ract.apps.ledger import Ledger, check, refit
from ract.apps.ledger.training import _Samples, _samples, promised_rows
from ract.recourse.calibration import calibrate


@pytest.fixture(scope="module")
def ledger(model, loans):
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(40)
    with Ledger("sqlite://") as opened:
        opened.offer(model.recourse(refused, at_least=True), expires=timedelta(days=300))
        yield opened


@pytest.mark.filterwarnings("ignore::ract.models.cuts.FewRefusedWarning")
def test_training_with_promised_rows_keeps_more_of_them(ledger, loans):
    forest = RecourseForestClassifier(loans.actions, n_estimators=15, random_state=1)
    found = refit(forest, loans.frame[600:], loans.target[600:], ledger)
    assert found.check.share > found.plain.share
    assert found.check.share >= 0.9
    assert 0.5 < found.auc <= 1 and 0.5 < found.plain_auc <= 1
    assert f"Exceptions that remain: {found.n_exceptions}." in str(found)
    assert f"({found.auc - found.plain_auc:+.4f})" in str(found)
    assert check(ledger, found.model).share == found.check.share
    enough = refit(
        forest, loans.frame[600:], loans.target[600:], ledger, share=found.plain.share, held_out=0
    )
    assert enough.check.share == found.plain.share and np.isnan(enough.auc)


def test_who_does_more_than_was_asked_is_kept_too():
    """Incomes from 5 on were promised, and those from 8 on are refused by the people of today."""
    rng = np.random.default_rng(0)
    then, now = (
        pd.DataFrame({"Income": rng.uniform(0, 10, 400), "Age": rng.uniform(20, 60, 400)})
        for _ in range(2)
    )
    space = ActionSpace(
        [Feature("Income", change="increase"), Feature("Age", change="fixed")], limits=None
    )
    forest = RecourseForestClassifier(space, desired=1, n_estimators=10, random_state=2)
    model = clone(forest).fit(then, (then["Income"] >= 5).astype(int))
    refused = then[model.predict(then) == 0].head(30)
    with Ledger("sqlite://") as ledger:
        plans = model.recourse(refused, at_least=True, budget=np.inf)
        promises = ledger.offer(plans, expires=timedelta(days=90))
    found = refit(forest, now, now["Income"].between(5, 8).astype(int), promises)
    assert len(promises) == 30 and found.plain.share == 0 and found.check.share == 1
    more = pd.DataFrame({"Income": np.linspace(5.2, 10, 50), "Age": promises[0].after["Age"]})
    assert (found.model.predict(more) == 1).all()


def test_promised_rows_lie_in_what_was_promised(ledger, loans):
    promises = ledger.open()
    rows, owner = promised_rows(promises, loans.frame)
    assert list(rows.columns) == list(loans.frame.columns) and len(rows) == len(owner)
    assert set(owner) == set(range(len(promises))) and len(rows) > 2 * len(promises)
    for row, k in zip(rows.to_dict("records"), owner, strict=True):
        limits = promises[k].region.limits
        assert all(limits[name].holds(row[name]) for name in promises[k].region.asked)
        assert all(row[n] == promises[k].after[n] for n in row if n not in promises[k].region.asked)


def test_boosters_are_trained_to_keep_promises(ledger, loans):
    booster = RecourseBoostingClassifier(
        loans.actions, max_iter=20, min_samples_leaf=20, random_state=1
    )
    found = refit(booster, loans.frame[600:], loans.target[600:], ledger)
    assert found.check.share > found.plain.share
    plans = pd.DataFrame([p.after for p in ledger.open()])[list(loans.frame.columns)]
    accepted = found.model.predict(plans) == "approved"
    np.testing.assert_array_equal(accepted, found.check.table["accepted"])
    assert accepted[found.check.kept].all() and accepted.sum() > found.plain.table["accepted"].sum()
    assert found.auc != found.plain_auc and 0.5 < found.auc <= 1


def test_the_round_that_kept_the_most_is_returned(ledger, loans, monkeypatch):
    """With the weights that its model was trained with."""
    shares = []

    def noted(promises, model):
        found = check(promises, model)
        shares.append(found.share)
        return found

    monkeypatch.setattr("ract.apps.ledger.training.check", noted)
    forest = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=1)
    X, y = loans.frame[600:], loans.target[600:]
    found = refit(forest, X, y, ledger, held_out=0)
    assert found.check.share == max(shares) == check(ledger, found.model).share
    monkeypatch.setattr("ract.apps.ledger.training.ROUNDS", 1)
    first = refit(forest, X, y, ledger, held_out=0)
    assert first.n_exceptions and (first.weights == 1).all()


def test_what_a_learner_chooses_it_chooses_once(ledger, loans, monkeypatch, recwarn):
    """With auto and lasting: not in every round, but on the people alone and in the end."""
    measured = []
    monkeypatch.setattr(
        "ract.recourse.for_models.calibrate",
        lambda *args, **given: measured.append(len(args[1])) or calibrate(*args, **given),
    )
    forest = TunedRecourseClassifierCV(
        RecourseForestClassifier(loans.actions, n_estimators=5, lasting=0.9, random_state=1)
    )
    found = refit(forest, loans.frame[600:], loans.target[600:], ledger, held_out=0)
    assert measured == [300, 300 + len(promised_rows(ledger.open(), loans.frame)[0])]
    assert (
        found.model.recourse_weight == found.model.recourse_weight_
        and found.check.share > found.plain.share
    )
    assert found.model.lasting == 0.9 and found.model.lasting_.lasting == 0.9


def test_promised_values_that_whole_numbers_cannot_hold(ledger, loans):
    promise = ledger.open()[0]
    whole = next(n for n in loans.frame if loans.frame[n].dtype.kind == "i" and n != "Age")
    half = replace(promise, after=promise.after | {whole: promise.after[whole] + 0.5})
    people = _samples(loans.frame, loans.target, None)
    rows = pd.DataFrame([half.after])[list(loans.frame.columns)]
    both = people.with_rows(_Samples(rows, np.array(["approved"]), np.ones(1)))
    assert both.X[whole].iloc[-1] == half.after[whole]
    assert (both.X.dtypes.drop(whole) == loans.frame.dtypes.drop(whole)).all()


def test_promises_of_another_class_are_refused(ledger, loans):
    forest = RecourseForestClassifier(n_estimators=3, desired="refused", random_state=0)
    with pytest.raises(InvalidSpec, match="of the class 'approved'"):
        refit(forest, loans.frame, loans.target, ledger)
