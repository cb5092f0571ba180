"""``ract recourse`` on a folder of Parquet files."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import RecourseTreeClassifier, save_model
from ract.apps.cli import app
from ract.data.datasets import load_loans


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a model and people."""
    home = tmp_path_factory.mktemp("parts")
    loans = load_loans(300)
    model = RecourseTreeClassifier(loans.actions, max_depth=4).fit(loans.frame, loans.target)
    save_model(model, home / "model.ract")
    people = load_loans(60, random_state=1).frame.assign(who=[f"p{i}" for i in range(60)])
    people.loc[5, "Purpose"] = "Yacht"
    (home / "people").mkdir()
    people[:40].to_parquet(home / "people" / "a.parquet")
    people[40:].to_parquet(home / "people" / "b.parquet")
    people.to_csv(home / "people.csv", index=False)
    return home


def run(*words):
    return CliRunner().invoke(app, ["recourse", *map(str, words)])


def test_plans_are_those_of_one_file(made, tmp_path):
    words = [made / "model.ract", made / "people", "-o", tmp_path / "plans", "--id", "who"]
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    one = run(
        made / "model.ract", made / "people.csv", "-o", tmp_path / "p.parquet", "--id", "who",
        "--json",
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(one.stdout)
    found, own = pd.read_parquet(tmp_path / "plans"), pd.read_parquet(tmp_path / "p.parquet")
    assert found.columns.tolist() == own.columns.tolist()
    for name in own:
        pd.testing.assert_series_equal(
            found[name].astype(own[name].dtype), own[name], check_dtype=False
        )
    again = run(*words)
    assert again.exit_code == 0 and "1 invalid" in again.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--time-limit", "3"], "--time-limit would give other plans on another machine"),
        (["--strict"], "--strict is for a single file"),
        (["--engine", "ray"], "--engine must be local or dask, got 'ray'."),
        (["--engine", "local", "--scheduler", "x"], "--scheduler is that of Dask"),
        (["--scheduler", "tcp://127.0.0.1:1"], "There is no Dask scheduler at tcp://127.0.0.1:1."),
        (["--also", "model.ract"], "--also is for a single file; leave out --engine."),
    ],
)
@pytest.mark.filterwarnings("ignore")  # Dask's, of the connection that failed
def test_what_cannot_be_is_one_sentence(made, tmp_path, words, sentence):
    pytest.importorskip("distributed")  # before its settings are set, which would replace them all
    config = pytest.importorskip("dask.config")
    with config.set({"distributed.comm.timeouts.connect": "1s"}):
        done = run(made / "model.ract", made / "people", "-o", tmp_path / "out", *words)
    assert done.exit_code == 2 and f"Error: {sentence}" in done.stderr


def test_a_folder_of_plans_and_parquet_are_needed(made, tmp_path):
    done = run(made / "model.ract", made / "people")
    assert done.exit_code == 2 and "need a folder: -o FOLDER." in done.stderr
    done = run(made / "model.ract", made / "people.csv", "--engine", "local", "-o", tmp_path / "x")
    assert done.exit_code == 2 and "need a Parquet file or a folder of them" in done.stderr


@pytest.mark.slow
def test_a_cluster_of_this_machine(made, tmp_path):
    words = [made / "model.ract", made / "people", "--id", "who"]
    assert run(*words, "-o", tmp_path / "here").exit_code == 0
    command = [sys.executable, "-m", "ract", "recourse", *words, "--engine", "dask"]
    subprocess.run([*command, "-o", tmp_path / "there"], check=True)
    for name in os.listdir(tmp_path / "here"):
        if name.endswith(".parquet"):
            one, other = (tmp_path / folder / name for folder in ("here", "there"))
            assert one.read_bytes() == other.read_bytes()
