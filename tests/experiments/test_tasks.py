"""Runs fold by fold, resumed where they were interrupted."""

from functools import partial

import pandas as pd
import pytest

from experiments.data import DATA
from experiments.paper import reproduce as repro
from experiments.tasks import Task, run_missing
from ract._utils.errors import InvalidSpec
from tests.experiments.builders import run_small


def without_times(file):
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    return rows.drop(columns=[column for column in rows if column.endswith("[s]")]).to_csv()


def test_an_interrupted_run_is_resumed_and_ends_in_the_same_file(tmp_path, small, monkeypatch):
    names = ("forests", "trees")
    run_small(tmp_path / "whole", names)
    real, calls = repro.run_fold, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(repro, "run_fold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "parts", names)
    run_small(tmp_path / "parts", names)
    assert len(calls) == 2 * 3 + 1  # no fold but the interrupted one twice
    for table in ("forests", "trees", "importance"):
        files = [tmp_path / folder / table / "compas.csv" for folder in ("whole", "parts")]
        assert without_times(files[0]) == without_times(files[1])
    assert not list((tmp_path / "parts" / "parts").iterdir())


def test_folds_limits_a_run_and_more_folds_add_to_it(tmp_path, small):
    store = run_small(tmp_path, n_folds=1)
    first = store.read("forests", "compas")
    assert set(first["Fold"]) == {1}
    store = run_small(tmp_path)
    assert set(store.read("forests", "compas")["Fold"]) == {1, 2, 3}
    again = store.read("forests", "compas").query("Fold == 1").reset_index(drop=True)
    pd.testing.assert_frame_equal(first, again)
    with pytest.raises(InvalidSpec, match="folds must be 1 or more, got 0"):
        run_small(tmp_path, n_folds=0)


def one_row(model, data, number):
    return {"rows": pd.DataFrame({"Fold": [number], "Model": [model]})}


def test_every_task_is_run_once_in_processes_too(tmp_path):
    tasks = [Task("rows", {}, 3, len, partial(one_row, model), model) for model in ("a", "b")]
    store = run_missing(tasks, [DATA["fico"]], tmp_path, n_jobs=2, progress=False)
    rows = store.read("rows", "fico")
    assert list(zip(rows["Fold"], rows["Model"], strict=True)) == [
        (fold, model) for fold in (1, 2, 3) for model in ("a", "b")
    ]
