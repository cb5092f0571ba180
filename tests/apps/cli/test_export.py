"""``ract export``: the same trees for other programs."""

import json

import joblib
import numpy as np
import pytest

from ract import load_model
from tests.apps.cli.builders import NEW, run


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
