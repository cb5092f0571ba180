"""Reasons and their report from the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from ract import load_model
from ract.data.datasets import load_loans
from tests.apps.cli.builders import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a training table, a model that kept people, one that did not, new people."""
    folder = tmp_path_factory.mktemp("reasons")
    run("data", "loans", "-o", folder / "data.csv", "--n-people", 400,
        "--actions", folder / "a.toml")  # fmt: skip
    for name, option in (("kept.ract", ["--keep-reference"]), ("plain.ract", [])):
        run("fit", folder / "data.csv", "--lasting", 0, "--target", "Decision", "--actions",
            folder / "a.toml", "--n-estimators", 8, "-o", folder / name, *option)  # fmt: skip
    people = load_loans(60, random_state=1).frame.assign(Town=["A", "B"] * 30, Name="P")
    people["Name"] += np.arange(60).astype(str)
    people.to_csv(folder / "people.csv", index=False)
    return folder


def test_reasons_are_a_table_of_those_of_python(folder, tmp_path):
    out = tmp_path / "reasons.csv"
    result = run("reasons", folder / "kept.ract", folder / "people.csv", "-o", out, "--id", "Name",
                 "--json")  # fmt: skip
    table = pd.read_csv(out)
    found = load_model(folder / "kept.ract").reasons(load_loans(60, random_state=1).frame)
    wanted = found.to_frame()
    assert table["feature"].fillna("").tolist() == wanted["feature"].fillna("").tolist()
    np.testing.assert_allclose(table["contribution"], wanted["contribution"].astype(float))
    assert table["person"].iloc[0] == "P0"
    summary = json.loads(result.stdout.splitlines()[-1])
    assert summary["refused"] == int(found.refused.sum()) and summary["people"] == 60


def test_the_report_is_by_group_and_compares_replicates(folder, tmp_path):
    out = tmp_path / "report.csv"
    result = run("reasons", folder / "plain.ract", folder / "people.csv", "-o", tmp_path / "r.csv",
                 "--reference", folder / "data.csv", "--report", out, "--groups", "Town",
                 "--replicates", 2)  # fmt: skip
    assert set(pd.read_csv(out)["group"]) == {"everyone", "A", "B"}
    assert "Trained again on other people" in result.output and str(out) in result.output


def test_wrong_input_gets_one_sentence(folder, tmp_path):
    people, plain = folder / "people.csv", folder / "plain.ract"
    for arguments, sentence in (
        ([plain], "give reference="),
        ([plain, "--groups", "Town"], "are for --report"),
        ([folder / "kept.ract", "--report", tmp_path / "r.csv", "--replicates", 2],
         "--replicates needs --reference"),
        ([folder / "kept.ract", "--report", tmp_path / "r.csv", "--groups", "Street"],
         "--groups names 'Street'"),
        ([folder / "kept.ract", "--against", "median"], "against must be one of"),
        ([folder / "kept.ract", "-o", tmp_path / "r.txt"], "must end in .csv"),
    ):  # fmt: skip
        result = run("reasons", arguments[0], people, *arguments[1:], code=2)
        assert sentence in result.output and "Traceback" not in result.output
