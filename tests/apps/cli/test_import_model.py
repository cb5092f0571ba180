"""``ract import``: models of other libraries decide as they did there."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import load_model
from tests.apps.cli.builders import NEW, run


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
