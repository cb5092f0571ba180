"""``ract predict``: the decisions of the model, without loading what trains it."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd

from ract import load_model
from tests.apps.cli.builders import NEW, run


def test_predict(folder, tmp_path):
    out = tmp_path / "out.csv"
    run("predict", folder / "model.ract", folder / "people.csv", "-o", out, "--id", "Name")
    found, model = pd.read_csv(out), load_model(folder / "model.ract")
    assert found["prediction"].tolist() == model.predict(NEW).tolist()
    assert np.allclose(found["probability"], model.predict_proba(NEW)[:, 0], rtol=1e-15)
    assert found["person"][3] == "P-3"


def test_predicting_loads_no_training_and_no_search(trees, tmp_path):
    """Importing scikit-learn's models and the searches took longer than the prediction."""
    script = (
        "import sys; from ract.apps.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    arguments = ["predict", trees / "model.ract", trees / "data.csv", "-o", tmp_path / "o.csv"]
    found = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, check=True, env=os.environ,
    )  # fmt: skip
    loaded = set(found.stderr.split())
    heavy = {"sklearn", "scipy.stats", "ract.recourse.find", "joblib", "jinja2"}
    assert "ract.trees.ensemble" in loaded and not heavy & loaded
