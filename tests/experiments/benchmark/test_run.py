"""The benchmark on made-up people."""

import dataclasses

import pandas as pd
import pytest

from ract.experiments.benchmark import run as bench
from ract.experiments.benchmark.models import MODELS
from ract.experiments.data import DATA
from ract.experiments.pages.benchmark_page import benchmark_page
from tests.experiments.builders import made_up


def test_the_benchmark_tests_every_model_alike(tmp_path, small):
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    data = [DATA["compas"]]
    store = bench.benchmark([*MODELS.values()], data, tmp_path, n_folds=1, progress=False)
    rows = store.read("benchmark", "compas")
    assert sorted(rows["Model"]) == sorted(MODELS)
    assert list(rows) == [
        "Fold", "Model", "Accuracy", "AUC", "Recourse", "Unknown", "Cost", "Fit [s]", "Search [s]",
    ]  # fmt: skip
    assert rows["AUC"].between(0.4, 1).all()
    assert (rows["Recourse"] + rows["Unknown"] <= 1 + 1e-12).all()
    text = benchmark_page(store)
    assert "XGBoost" in text and ("Pareto" in text or "is beaten in both" in text)
    bench.benchmark([MODELS["forest"]], data, tmp_path, n_folds=2, progress=False)
    assert len(store.read("benchmark", "compas")) == len(rows) + 1


def test_people_with_the_same_features_are_never_in_different_folds():
    data = made_up(60)
    twice = pd.concat([data.frame, data.frame], ignore_index=True)
    other = pd.concat([data.target, data.target.map({"yes": "no", "no": "yes"})], ignore_index=True)
    data = dataclasses.replace(data, frame=twice, target=other)
    for train, test in bench.folds(data):
        assert not {k % 60 for k in train} & {k % 60 for k in test}
