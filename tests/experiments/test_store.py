"""The folder of results."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from experiments.paper.settings import EXPERIMENTS
from experiments.store import Store
from ract._utils.errors import InvalidSpec
from tests.experiments.builders import run_small


def test_results_of_other_settings_are_refused_and_kept(tmp_path, small, monkeypatch):
    run_small(tmp_path, n_folds=1)
    before = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    other = dataclasses.replace(EXPERIMENTS["forests"], max_depth=2)
    monkeypatch.setitem(EXPERIMENTS, "forests", other)
    with pytest.raises(InvalidSpec, match="other settings .*'max_depth'.*Nothing was changed"):
        run_small(tmp_path)
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before


def test_a_folder_of_something_else_is_refused(tmp_path, small):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidSpec, match="no folder of results"):
        run_small(tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_store_keeps_text_as_it_is(tmp_path):
    store = Store(tmp_path / "new")
    store.open({"forests": {"a": (1, 2)}})
    store.open({"forests": {"a": [1, 2]}})
    rows = pd.DataFrame({"Fold": [2], "Method": ["x"], "Cost": [0.1 + 0.2]})
    store.add_fold("forests", "fico", 2, {"forests": rows})
    store.add_fold("forests", "fico", 1, {"forests": rows.assign(Fold=1, Cost=np.nan)})
    assert store.folds("forests", "fico") == {1, 2}
    store.collect()
    text = (tmp_path / "new" / "forests" / "fico.csv").read_text()
    assert text == "Fold,Method,Cost\n1,x,\n2,x,0.30000000000000004\n"
    assert json.loads((tmp_path / "new" / "settings.json").read_text())["forests"] == {"a": [1, 2]}
