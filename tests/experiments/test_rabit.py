"""Beside RABIT: splits, one run from a folder of tables, and its page."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.benchmark import rabit, rabit_weights
from experiments.benchmark.tuning import described, tuned
from experiments.data import chosen
from experiments.pages.rabit_page import COLUMNS, draw_rabit, rabit_page
from experiments.store import Store
from ract._utils.errors import InvalidSpec
from ract.data.datasets import DataUnavailable


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
    names = ["AUC", "AUC, deciding", "Accuracy", "Accepted", "By leaves", "Exact", "Unknown",
             "Lasting", "Lasting, strongest", "Fit [s]"]  # fmt: skip
    rows = pd.DataFrame(
        {"Fold": [1, 1, 2, 1], "Model": ["lightgbm", "ract-boosting", "lightgbm", "of old"]}
        | {name: [0.25, 0.5, 0.75, 1.0] for name in names}
    )
    (tmp_path / rabit.SEEN).mkdir()
    rows.to_csv(tmp_path / rabit.SEEN / "fico.csv", index=False)
    text = rabit_page(Store(tmp_path))
    assert "| its protocol | LightGBM | 1 | 0.250 |" in text
    assert "| its protocol | ract boosting | 1 | 0.500 |" in text


def test_settings_are_chosen_on_validation_people(tables):
    pytest.importorskip("lightgbm")
    data = rabit.read("compas")
    train, _ = rabit.split_of("compas", rabit.SEEN, 1)
    for name, trees in (("lightgbm-tuned", "n_estimators"), ("ract-boosting-tuned", "max_iter")):
        model = tuned(rabit.BOOSTERS[name], data, train, 1)
        assert 1 <= model.options[trees] < 500
        leaves, rate = described(model).split(", ")[:2]
        assert leaves in ("8 leaves", "15 leaves", "31 leaves")
        assert rate in ("rate 0.05", "rate 0.1")
        # Nothing but the training people is looked at.
        hidden = np.setdiff1d(np.arange(len(data.target)), train)
        target = data.target.copy()
        target.iloc[hidden] = "No"
        assert tuned(rabit.BOOSTERS[name], replace(data, target=target), train, 1) == model


def test_recourse_grows_with_its_weight(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(rabit_weights, "PROTOCOLS", {"compas": rabit.UNSEEN})
    monkeypatch.setattr(rabit_weights, "WEIGHTS", (0.0, 1.0))
    [model] = chosen("model", ["ract-boosting-tuned"], rabit.BOOSTERS)
    data = [rabit.TABLES["compas"], rabit.TABLES["bail"]]  # only the first has a curve
    store = rabit_weights.over_weights([model], data, tmp_path / "r", n_folds=1, progress=False)
    without, with_most = store.read(rabit_weights.NAME, "compas").to_dict("records")
    assert (without["Alpha"], with_most["Alpha"]) == (0, 1)
    assert with_most["Exact"] > without["Exact"] and without["AUC"] > 0.6


def test_the_page_has_a_curve_over_weights(tmp_path):
    rows = pd.DataFrame(
        {"Fold": 1, "Model": "ract-boosting", "Alpha": [0.0, 0.25], "AUC": [0.7, 0.69],
         "AUC, deciding": [0.7, 0.68], "Accepted": 0.3, "Exact": [0.4, 0.75]}
    )  # fmt: skip
    one = dict.fromkeys(COLUMNS, 0.5) | {"Fold": 1, "Model": "lightgbm", "Accepted": 0.3}
    for name, table in ((rabit_weights.NAME, rows), (rabit.UNSEEN, pd.DataFrame([one]))):
        (tmp_path / name).mkdir()
        table.to_csv(tmp_path / name / "bail.csv", index=False)
    pytest.importorskip("matplotlib")
    drawn = draw_rabit(Store(tmp_path), tmp_path / "figures")
    assert set(drawn) == {"rabit-bail", "rabit-weights-bail"}
    pictures = {name: file.name for name, file in drawn.items()}
    text = rabit_page(Store(tmp_path), pictures)
    assert "| ract boosting | 0.25 | 0.690 | 0.680 | 0.750 |" in text
    assert "(unseen rows, one split)" in text and "rabit-weights-bail.svg" in text


def test_recorded_results_are_means_over_splits(tmp_path):
    with pytest.raises(InvalidSpec, match=r"results_comparison\.csv"):
        rabit.recorded(tmp_path)
    columns = "dataset,method,gamma,accuracy,AUC,recourse,time\n"
    rows = "FICO,RABIT,0.002,0.7,0.78,0.8,10\nFICO,RABIT,0.002,0.8,0.80,0.9,12\n"
    (tmp_path / "results_comparison.csv").write_text(columns + rows)
    [mean] = rabit.recorded(tmp_path).to_dict("records")
    assert (mean["AUC"], mean["recourse"]) == (pytest.approx(0.79), pytest.approx(0.85))
