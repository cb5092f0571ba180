"""The benchmark of sendable plans on a small table."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from experiments.benchmark import sendable as bench
from experiments.benchmark.sendable_models import ENTRIES, Encoded
from experiments.pages.sendable_page import sendable_page
from experiments.spaces import tables
from ract.data.datasets import load_loans
from ract.evaluation.metrics.amounts import Amounts


@pytest.fixture
def small(monkeypatch):
    """The loans of a few people, and models of a few trees."""
    loans = dataclasses.replace(tables.TABLES["loans"], load=lambda: load_loans(500))
    monkeypatch.setitem(tables.TABLES, "loans", loans)
    for cached in (bench.dataset, bench.fold_of, bench.plain_forest, bench.approval_rate):
        cached.cache_clear()
    few = {
        "ract": {"options": {"max_iter": 10, "n_replicates": 3}},
        "forest": {"options": {"n_estimators": 10}, "choices": ({"min_samples_leaf": 5},)},
    }
    entries = {name: dataclasses.replace(ENTRIES[name], **new) for name, new in few.items()}
    monkeypatch.setattr(bench, "PLAIN", (entries["forest"],))
    yield loans, list(entries.values())
    for cached in (bench.dataset, bench.fold_of, bench.plain_forest, bench.approval_rate):
        cached.cache_clear()


def test_rows_are_counts_of_the_same_people_and_can_be_resumed(small, tmp_path):
    loans, entries = small
    run = {"max_people": 6, "n_folds": 2, "progress": False}
    store = bench.run_sendable(entries, [loans], tmp_path, **run)
    ract, forest = (store.read(bench.name_of(entry), "loans") for entry in entries)
    assert len(ract) == 4 and len(forest) == 4  # folds, directions
    for rows in (ract, forest):
        assert (rows["Refused"] == 6).all()
        for check in ("few", "safe", "size", "round", "lasts"):
            assert (rows["Sendable"] <= rows[check]).all() and (rows[check] <= rows["Plans"]).all()
        assert (rows["Sendable"] <= rows["Aside"]).all()
        assert (rows["Plain sendable"] <= rows["Plain refused"]).all()
        assert rows["Rate"].nunique() == 1
        assert (rows["Approved"] - rows["Rate"]).abs().max() < 0.2
    text = (tmp_path / bench.name_of(entries[0]) / "loans.csv").read_text()
    bench.run_sendable(entries[:1], [loans], tmp_path, **run)
    assert (tmp_path / bench.name_of(entries[0]) / "loans.csv").read_text() == text
    page = sendable_page(store)
    assert "### loans" in page and "scikit-learn forest" in page and "2 folds" in page
    assert "FICO" not in page


def test_plans_for_other_models_keep_to_the_size_check(small):
    _, entries = small
    fold = bench.fold_of("loans", 1)
    scored = bench.fit_half(fold, entries[1], 0, {"min_samples_leaf": 5})
    scored = scored.cut(0.6, fold.data.frame.iloc[fold.halves[1]])
    people = fold.data.frame.iloc[fold.test][~scored.approves(fold.data.frame.iloc[fold.test])]
    plans = scored.recourse(people.head(10), explain=False)
    assert plans.found.any()
    axes = plans.encoder.axes
    first = [axis.columns[0] for axis in axes]
    known = plans.encoder.matrix(fold.data.frame.iloc[fold.halves[0]])
    axes = [replace(axis, feature=axis.feature.blank()) for axis in axes]  # the rule itself
    most = Amounts.of(axes, known).largest_change(plans.before[:, first])
    moved = np.abs(plans.after - plans.before)[:, first]
    assert (moved[plans.found] <= most[plans.found] * (1 + 1e-12)).all()


def test_monotone_learners_are_held_to_the_directions_of_the_space():
    lightgbm = pytest.importorskip("lightgbm")
    data = tables.TABLES["loans"].dataset()
    frame, target = data.frame.head(800), data.target.head(800).to_numpy()
    learner = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    model = Encoded(learner, data.actions, data.desired, monotone=True).fit(frame, target)
    wanted = list(model.classes_).index(data.desired)
    people = frame.head(200)
    base = model.predict_proba(people)[:, wanted]
    better = {
        "Income": people["Income"] * 2, "Debt": people["Debt"] / 2, "Education": "Graduate",
        "LoanAmount": people["LoanAmount"] / 2, "ExistingLoans": 0,
    }  # fmt: skip
    for name, values in better.items():
        after = model.predict_proba(people.assign(**{name: values}))[:, wanted]
        assert (after >= base - 1e-12).all(), name
