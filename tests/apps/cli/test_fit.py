"""``ract fit``: the model that Python trains, with every kind and option."""

import inspect
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import ract
from ract import RecourseBoostingClassifier, RecourseForestClassifier, load_model
from ract.apps.cli.fit import Parameters
from ract.io import read_model_file
from ract.models import TunedRecourseClassifierCV
from tests.apps.cli.builders import LOANS, NEW, run


def test_parameters_of_fit_are_those_of_the_estimators():
    forest = ract.RecourseForestClassifier().get_params()
    tree = ract.RecourseTreeClassifier().get_params()
    tuned = inspect.signature(TunedRecourseClassifierCV).parameters
    kept = {"exact_costs", "keep_reference"}  # of the cost, and of saving
    assert {field.name for field in fields(Parameters)} <= {*forest, *tree, *tuned, *kept}


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


def test_a_weight_is_chosen_and_kept_in_the_file(folder, tmp_path):
    out = tmp_path / "auto.ract"
    result = run(
        "fit", folder / "data.csv",
        "--target", "Decision", "--actions", folder / "actions.toml",
        "--n-estimators", 10, "--recourse-weight", "auto", "--min-recourse", 0.8, "-o", out,
    )  # fmt: skip
    assert "its weight of recourse is" in result.stderr and "leaf share" in result.stderr
    held = read_model_file(out)
    assert held.model.recourse_weight == held.model.recourse_weight_
    assert held.summary["recourse_weight"] == pytest.approx(held.model.recourse_weight_)


def test_options_of_fit(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.normal(size=300), "debt": rng.normal(size=300)})
    frame["weight"] = rng.integers(1, 4, 300)
    frame["Risk"] = np.where(frame["income"] - frame["debt"] > 1, "good", "bad")
    frame.to_csv(tmp_path / "data.csv", index=False)
    fit = ("fit", tmp_path / "data.csv", "--target", "Risk", "--desired", "good", "--lasting", 0,
           "--n-estimators", 10, "--recourse-weight", 0, "--no-oob-score",
           "-o", tmp_path / "m")  # fmt: skip
    run(*fit, "--threshold", 0.65, "--class-weight", "balanced", "--weights", "weight",
        "--monotone", "income=+1", "--monotone", "debt=-1")  # fmt: skip
    model = read_model_file(tmp_path / "m").model
    assert model.ensemble_.cutoff == 0.65 and model.class_weight == "balanced"
    assert model.feature_names_in_.tolist() == ["income", "debt"]
    assert model.monotonic == {"income": 1, "debt": -1}
    run(*fit, "--class-weight", "good=3, bad=1", "--drop", "weight")
    assert read_model_file(tmp_path / "m").model.class_weight == {"good": 3.0, "bad": 1.0}
    for more, says in [
        (("--threshold", 2), "threshold must be a share between 0 and 1, or None, got 2.0."),
        (("--threshold", 0.5, "--approval-rate", 0.7), "A model has one cut; give one of"),
        (("--class-weight", "best=3"), "--class-weight must be balanced or weights such as 'bad="),
        (("--monotone", "income"), "--monotone takes such as Income=+1 or Debt=-1, got 'income'."),
        (("--weights", "w"), "--weights names 'w', but"),
    ]:  # fmt: skip
        assert says in run(*fit, *more, code=2).stderr
