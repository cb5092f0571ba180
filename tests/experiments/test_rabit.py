"""Beside RABIT: splits, one run from a folder of tables, and its page."""

import numpy as np
import pandas as pd
import pytest

from ract.datasets import DataUnavailable
from ract.errors import InvalidSpec
from ract.experiments.benchmark import rabit
from ract.experiments.data import chosen
from ract.experiments.pages.rabit_page import rabit_page
from ract.experiments.store import Store


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A folder with a table that looks like its COMPAS; half of the rows repeat others."""
    rng = np.random.default_rng(0)
    n = 300
    rows = pd.DataFrame(
        {
            "sex": rng.choice(["Male", "Female"], n),
            "age": rng.integers(18, 70, n),
            "race": rng.choice(["A", "B"], n),
            "priors_count": rng.poisson(3, n),
            "c_charge_degree": rng.choice(["F", "M"], n),
        }
    )
    score = 0.05 * (rows["age"] - 40) - 0.5 * (rows["priors_count"] - 3) + rng.normal(size=n)
    rows["two_year_recid"] = np.where(score > 0, "No", "Yes")
    (tmp_path / "rabit").mkdir()
    pd.concat([rows, rows]).to_csv(tmp_path / "rabit" / "compas.csv", index=False)
    monkeypatch.setenv("RACT_DATA_HOME", str(tmp_path))
    rabit.read.cache_clear()
    yield tmp_path
    rabit.read.cache_clear()


def test_rules_are_those_of_its_tables(tables):
    data = rabit.read("compas")
    change = {feature.name: feature.change for feature in data.actions}
    assert change == {"sex": "fixed", "age": "increase", "race": "fixed", "priors_count": "any",
                      "c_charge_degree": "any"}  # fmt: skip
    with pytest.raises(DataUnavailable, match="RACT_DATA_HOME"):
        rabit.read("fico")


def test_unseen_rows_are_not_in_training(tables):
    frame = rabit.read("compas").frame
    rows = [tuple(row) for row in frame.to_numpy()]
    for number in (1, 2):
        train, test = rabit.split_of("compas", rabit.SEEN, number)
        assert len(train) + len(test) == 600 and not set(train) & set(test)
        assert {rows[k] for k in train} & {rows[k] for k in test}
        train, test = rabit.split_of("compas", rabit.UNSEEN, number)
        assert len(test) > 50 and not {rows[k] for k in train} & {rows[k] for k in test}


def test_a_run_is_resumed_and_has_a_page(tables, tmp_path):
    pytest.importorskip("lightgbm")
    models = chosen("model", ["lightgbm"], rabit.BOOSTERS)
    data, out = [rabit.TABLES["compas"]], tmp_path / "results"
    store = rabit.beside_rabit(models, data, out, n_folds=1, progress=False)
    for protocol in (rabit.SEEN, rabit.UNSEEN):
        [row] = store.read(protocol, "compas").to_dict("records")
        assert row["Accepted"] <= row["By leaves"] <= row["Exact"] + 1e-12 <= 1 + 1e-12
        assert 0.5 < row["AUC"] <= 1
        assert 0 <= row["Lasting"] <= 1 and 0 < row["Lasting, strongest"] <= 1
    before = (out / rabit.SEEN / "compas.csv").stat().st_mtime_ns
    rabit.beside_rabit(models, data, out, n_folds=1, progress=False)
    assert (out / rabit.SEEN / "compas.csv").stat().st_mtime_ns == before
    theirs = pd.DataFrame(
        {"dataset": ["COMPAS"], "method": ["RABIT"], "gamma": [0.002], "accuracy": [0.684],
         "AUC": [0.733], "recourse": [0.924], "time": [2.2]}
    )  # fmt: skip
    text = rabit_page(store, {}, theirs)
    assert "LightGBM" in text and "RABIT, gamma 0.002" in text and "0.924" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1


def test_only_splits_that_all_models_have_are_compared(tmp_path):
    names = ["AUC", "Accuracy", "Accepted", "By leaves", "Exact", "Unknown", "Lasting",
             "Lasting, strongest", "Fit [s]"]  # fmt: skip
    rows = pd.DataFrame(
        {"Fold": [1, 1, 2], "Model": ["lightgbm", "ract-boosting", "lightgbm"]}
        | {name: [0.25, 0.5, 0.75] for name in names}
    )
    (tmp_path / rabit.SEEN).mkdir()
    rows.to_csv(tmp_path / rabit.SEEN / "fico.csv", index=False)
    text = rabit_page(Store(tmp_path))
    assert "| its protocol | LightGBM | 1 | 0.250 |" in text
    assert "| its protocol | ract boosting | 1 | 0.500 |" in text


def test_recorded_results_are_means_over_splits(tmp_path):
    with pytest.raises(InvalidSpec, match=r"results_comparison\.csv"):
        rabit.recorded(tmp_path)
    columns = "dataset,method,gamma,accuracy,AUC,recourse,time\n"
    rows = "FICO,RABIT,0.002,0.7,0.78,0.8,10\nFICO,RABIT,0.002,0.8,0.80,0.9,12\n"
    (tmp_path / "results_comparison.csv").write_text(columns + rows)
    [mean] = rabit.recorded(tmp_path).to_dict("records")
    assert (mean["AUC"], mean["recourse"]) == (pytest.approx(0.79), pytest.approx(0.85))
