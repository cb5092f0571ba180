"""The plain path of the command line, and what each command writes."""

import json
import os
import subprocess
import sys
from functools import partialmethod

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    load_model,
)
from ract.apps.cli import app
from ract.data.csv import files as tables
from ract.data.datasets import load_loans
from ract.io import read_model_file

LOANS = load_loans(800)
NEW = load_loans(70, random_state=1).frame


def run(*arguments, code=0, given=None):
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, an action file, a model and people."""
    folder = tmp_path_factory.mktemp("path")
    run("data", "loans", "-o", folder / "data.csv", "--n-people", 800)
    LOANS.actions.to_toml(folder / "actions.toml")
    run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--desired", "approved",
        "--actions", folder / "actions.toml", "--n-estimators", 20, "-o", folder / "model.ract",
    )  # fmt: skip
    NEW.assign(Name=[f"P-{k}" for k in range(len(NEW))]).to_csv(folder / "people.csv", index=False)
    return folder


def test_init_writes_a_file_that_fit_takes(folder, tmp_path):
    out = tmp_path / "actions.toml"
    result = run(
        "init", folder / "data.csv", "--target", "Decision", "--desired", "approved", "-o", out,
        "--fixed", "Age", "--increase", "Income", "--json",
    )  # fmt: skip
    assert json.loads(result.stdout)["may_change"] == 9  # nor late payments
    space = ActionSpace.from_toml(out)
    assert space["Age"].change == "fixed" and space["Income"].change == "increase"
    assert space.desired == "approved" and "Decision" not in space
    printed = run("init", folder / "data.csv", "--target", "Decision", "--drop", "Age")
    assert "Age" not in ActionSpace.from_toml_text(printed.stdout)
    assert "11 features" not in printed.stdout and "10 features" in printed.stderr


def test_the_model_is_the_one_that_python_trains(folder):
    held = read_model_file(folder / "model.ract")
    model = RecourseForestClassifier(
        LOANS.actions, n_estimators=20, desired="approved", random_state=0
    ).fit(LOANS.frame, LOANS.target)
    assert np.array_equal(held.model.predict_proba(NEW), model.predict_proba(NEW))
    assert held.summary["people"] == 800 and held.summary["target"] == "Decision"
    assert 0.6 < held.summary["oob_score"] < 0.9 < held.summary["oob_recourse_ratio"]


def test_a_tree_with_a_guarantee(folder, tmp_path):
    result = run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--desired", "approved", "--actions",
        folder / "actions.toml", "--model", "tree", "--max-depth", 4, "--min-recourse", 0.7,
        "--confidence", 0.9, "-o", tmp_path / "tree.ract",
    )  # fmt: skip
    assert "With 90% confidence at most" in result.stderr
    assert load_model(tmp_path / "tree.ract").guarantee_.confidence == 0.9


def test_a_forest_with_a_floor(folder, tmp_path):
    run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--desired", "approved", "--actions",
        folder / "actions.toml", "--n-estimators", 5, "--min-leaf-share", 0.6, "--no-oob-score",
        "-o", tmp_path / "floor.ract",
    )  # fmt: skip
    model = load_model(tmp_path / "floor.ract")
    leaves = model.ensemble_.leaves
    assert model.min_leaf_share == 0.6
    assert model.ensemble_.value[leaves[model.ensemble_.label[leaves] == 1]].min() >= 0.6


def test_a_booster(folder, tmp_path):
    fit = (
        "fit", folder / "data.csv", "--lasting", 0, "--target", "Decision", "--desired", "approved",
        "--actions", folder / "actions.toml", "--model", "boosting", "--n-estimators", 10,
    )  # fmt: skip
    out = tmp_path / "boosted.ract"
    assert "Trained a boosting model on 800 people" in run(*fit, "-o", out).output
    model = RecourseBoostingClassifier(
        LOANS.actions, max_iter=10, desired="approved", random_state=0
    ).fit(LOANS.frame, LOANS.target)
    again = load_model(out)
    assert again.recourse_weight_ == 0.25
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    run("predict", out, folder / "people.csv", "-o", tmp_path / "decided.csv")
    decided = pd.read_csv(tmp_path / "decided.csv")
    assert (decided["prediction"] == model.predict(NEW)).all()
    refused = run(*fit, "--min-recourse", 0.9, "-o", out, code=2)
    assert "--min-recourse is for --model forest or tree" in refused.output


def test_predict(folder, tmp_path):
    out = tmp_path / "out.csv"
    run("predict", folder / "model.ract", folder / "people.csv", "-o", out, "--id", "Name")
    found, model = pd.read_csv(out), load_model(folder / "model.ract")
    assert found["prediction"].tolist() == model.predict(NEW).tolist()
    assert np.allclose(found["probability"], model.predict_proba(NEW)[:, 0], rtol=1e-15)
    assert found["person"][3] == "P-3"


def plans(folder):
    return load_model(folder / "model.ract").recourse(NEW).to_frame()


def same_plans(found, expected):
    assert found["person"].tolist() == expected["person"].tolist()
    assert found["status"].tolist() == expected["status"].tolist()
    has = expected["feature"].notna()
    assert found["feature"][has].tolist() == expected["feature"][has].tolist()
    for name in ("from", "to"):
        words = [str(value) for value in expected[name][has]]
        assert [_number(v) for v in found[name][has]] == [_number(v) for v in words]
    assert np.allclose(found["cost"].astype(float).fillna(np.inf), expected["cost"])


def _number(value):
    try:
        return float(str(value))
    except ValueError:
        return str(value)


@pytest.mark.parametrize("end", ["csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("size", [7, 5000])
def test_recourse_in_every_form_and_in_pieces(folder, tmp_path, end, size, monkeypatch):
    made = tables.Chunks.__init__
    monkeypatch.setattr(tables.Chunks, "__init__", partialmethod(made, size=size))
    if end == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"plans.{end}"
    result = run("recourse", folder / "model.ract", folder / "people.csv", "-o", out, "--json")
    read = {
        "csv": pd.read_csv,
        "json": lambda path: pd.DataFrame(json.loads(path.read_text())),
        "jsonl": lambda path: pd.DataFrame(map(json.loads, path.read_text().splitlines())),
        "parquet": pd.read_parquet,
    }
    expected = plans(folder)
    same_plans(read[end](out), expected)
    summary = json.loads(result.stdout)
    assert summary["people"] == 70 and sum(summary["statuses"].values()) == 70


def test_parquet_people(folder, tmp_path):
    pytest.importorskip("pyarrow")
    NEW.to_parquet(tmp_path / "people.parquet")
    run(
        "recourse", folder / "model.ract", tmp_path / "people.parquet", "-o", tmp_path / "plans.csv"
    )
    same_plans(pd.read_csv(tmp_path / "plans.csv"), plans(folder))


def test_standard_input_and_output(folder):
    given = (folder / "people.csv").read_bytes()
    result = run("recourse", folder / "model.ract", "-", given=given)
    assert result.stdout.startswith("person,plan,feature,from,to")
    assert result.stdout.count("\n") == len(plans(folder)) + 1
    assert "70 people" in result.stderr
    run("recourse", folder / "model.ract", "-", "--json", given=given, code=2)


def test_options_reach_the_search(folder, tmp_path):
    out = tmp_path / "plans.csv"
    run(
        "recourse", folder / "model.ract", folder / "people.csv", "-o", out, "--max-changes", 1,
        "--forbidden", "LoanAmount", "--n-alternatives", 1, "--budget", 0.5,
    )  # fmt: skip
    model = load_model(folder / "model.ract")
    barred = model.encoder_.space.restricted(forbidden=["LoanAmount"])
    expected = model.recourse(NEW, max_changes=1, actions=barred, n_alternatives=1, budget=0.5)
    same_plans(pd.read_csv(out), expected.to_frame())


def test_import_and_recourse(folder, tmp_path):
    data = pd.read_csv(folder / "data.csv")
    numbers = data[["Income", "Debt", "Savings"]]
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(numbers, data["Decision"])
    joblib.dump(forest, tmp_path / "forest.joblib")
    arguments = [
        "import", tmp_path / "forest.joblib", folder / "data.csv", "--target", "Decision",
        "--desired", "approved", "--budget", 0.3, "-o", tmp_path / "model.ract",
    ]  # fmt: skip
    assert "runs whatever code is in it" in run(*arguments, code=2).stderr
    run(*arguments, "--trust")
    run("predict", tmp_path / "model.ract", folder / "people.csv", "-o", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")["prediction"].tolist()
    assert found == forest.predict(NEW[numbers.columns]).tolist()
    result = run(
        "recourse", tmp_path / "model.ract", folder / "people.csv", "-o", tmp_path / "p.csv"
    )
    assert "70 people" in result.stderr


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_import_of_native_files(folder, tmp_path, library):
    module = pytest.importorskip(library)
    data = pd.read_csv(folder / "data.csv")
    numbers, target = data[["Income", "Debt", "Savings"]], (data["Decision"] == "approved") * 1
    if library == "xgboost":
        model = module.XGBClassifier(n_estimators=5).fit(numbers, target)
        path = tmp_path / "model.json"
        model.save_model(path)
    elif library == "catboost":
        model = module.CatBoostClassifier(5, verbose=0, allow_writing_files=False)
        model.fit(numbers, target)
        path = tmp_path / "model.cbm"
        model.save_model(str(path))
    else:
        model = module.LGBMClassifier(n_estimators=5, verbose=-1).fit(numbers, target)
        path = tmp_path / "model.txt"
        model.booster_.save_model(path)
    run("import", path, folder / "data.csv", "--desired", "1", "-o", tmp_path / "model.ract")
    loaded = load_model(tmp_path / "model.ract")
    new = NEW[numbers.columns]
    assert np.array_equal(loaded.predict(new), model.predict(new))


def test_export(folder, tmp_path):
    for end in ("json", "joblib"):
        run("export", folder / "model.ract", "-o", tmp_path / f"model.{end}")
    found = json.loads((tmp_path / "model.json").read_text())
    assert len(found["trees"]) == 20
    model, exported = load_model(folder / "model.ract"), joblib.load(tmp_path / "model.joblib")
    floats = NEW.select_dtypes("float").columns
    singles = NEW.assign(**{name: NEW[name].astype("float32").astype(float) for name in floats})
    assert np.array_equal(exported.predict(singles), model.predict(singles))
    run("export", folder / "model.ract", "-o", tmp_path / "model.pdf", code=2)
    onnx = pytest.importorskip("onnx")
    run("export", folder / "model.ract", "-o", tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx").producer_name == "ract"


def test_data_lists_and_prints():
    assert run("data").stdout.split()[0] == "loans"
    printed = run("data", "loans", "--n-people", 3)
    assert printed.stdout.count("\n") == 4 and "'approved'" in printed.stderr


def test_a_table_of_another_country(folder, tmp_path):
    data = pd.read_csv(folder / "data.csv")
    path = tmp_path / "data.csv"
    data.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")
    run(
        "fit", path, "--target", "Decision", "--desired", "approved", "--decimal", ",",
        "--encoding", "cp1252", "--actions", folder / "actions.toml", "--n-estimators", 20,
        "-o", tmp_path / "model.ract",
    )  # fmt: skip
    one, other = (load_model(place / "model.ract") for place in (folder, tmp_path))
    assert np.array_equal(one.predict_proba(NEW), other.predict_proba(NEW))


def test_columns_may_be_in_another_order_and_more(folder, tmp_path):
    people = pd.read_csv(folder / "people.csv")
    people[sorted(people.columns)].assign(more=1).to_csv(tmp_path / "people.csv", index=False)
    run("recourse", folder / "model.ract", tmp_path / "people.csv", "-o", tmp_path / "plans.csv")
    same_plans(pd.read_csv(tmp_path / "plans.csv"), plans(folder))


@pytest.mark.slow
def test_warmup_leaves_nothing_to_compile(folder, tmp_path):
    cache = tmp_path / "cache"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}

    def run_afresh(*arguments):
        command = [sys.executable, "-m", "ract", *map(str, arguments)]
        subprocess.run(command, env=environment, capture_output=True, check=True)
        return {path.name for path in cache.rglob("*.nbi")}, {
            path.name for path in cache.rglob("*.nbc")
        }

    compiled = run_afresh("warmup")
    assert len(compiled[1]) > 10
    model = tmp_path / "model.ract"
    for arguments in (
        ["fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--desired", "approved", "--actions",
         folder / "actions.toml", "-o", model],
        ["predict", model, folder / "people.csv", "-o", tmp_path / "out.csv"],
        ["recourse", model, folder / "people.csv", "-o", tmp_path / "plans.csv",
         "--n-alternatives", 1, "--ranges", "--margin", 0.1, "--budget", 0.1],
        ["recourse", model, folder / "people.csv", "-o", tmp_path / "plans.csv",
         "--max-changes", 1],
    ):  # fmt: skip
        assert run_afresh(*arguments) == compiled, arguments
