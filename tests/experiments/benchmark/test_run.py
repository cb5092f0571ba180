"""The benchmark on made-up people."""

import dataclasses

import pandas as pd
import pytest

from experiments.benchmark import run as bench
from experiments.benchmark.models import MODELS
from experiments.data import DATA
from experiments.pages.benchmark_page import benchmark_page
from tests.experiments.builders import made_up, with_few_trees


def test_the_benchmark_tests_every_model_alike(tmp_path, small, monkeypatch):
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    for name, fewer in (("N_ASKED", 20), ("MAX_PEOPLE", 4), ("STRENGTHS", (0.0, 0.7))):
        monkeypatch.setattr(bench, name, fewer)
    few = ("ract", "ract-paper", "forest-leaf5", "lightgbm-monotone", "robust-votes", "xgboost")
    models = with_few_trees(*few)
    data = [DATA["compas"]]
    store = bench.benchmark(models, data, tmp_path, n_folds=1, progress=False)
    rows, lasting = store.read("benchmark", "compas"), store.read("lasting", "compas")
    assert sorted(rows["Model"]) == sorted(few)
    assert rows["AUC"].between(0.4, 1).all()
    for name, n_rows in lasting.groupby("Model").size().items():  # some refuse nobody
        method = MODELS[name].method
        settings = bench.STRENGTHS if method is None else method.settings
        assert n_rows in (2 * (len(settings) + 2), 4 * (len(settings) + 2))
    assert lasting["Model"].nunique() > 2
    assert (lasting["Lasting"] <= lasting["Plans"]).all()
    assert (lasting["Plans"] + lasting["Unknown"] <= lasting["Refused"]).all()
    text = benchmark_page(store)
    assert "XGBoost" in text and "lasting, calibrated" in text
    bench.benchmark(with_few_trees("forest-leaf5"), data, tmp_path, n_folds=2, progress=False)
    assert len(store.read("benchmark", "compas")) == len(rows) + 1


def test_halves_and_test_people_of_a_fold_share_nobody():
    data = made_up(60)
    train, test = bench.folds(data)[0]
    fold = bench.Fold.cut(data, 1, train, test)
    everyone = [*fold.halves[0], *fold.halves[1], *fold.test]
    assert sorted(everyone) == list(range(60))


def test_people_with_the_same_features_are_never_in_different_folds():
    data = made_up(60)
    twice = pd.concat([data.frame, data.frame], ignore_index=True)
    other = pd.concat([data.target, data.target.map({"yes": "no", "no": "yes"})], ignore_index=True)
    data = dataclasses.replace(data, frame=twice, target=other)
    for train, test in bench.folds(data):
        assert not {k % 60 for k in train} & {k % 60 for k in test}
