"""``ract fit`` on Parquet that is read in batches: the same model, one sentence where it cannot."""

import json

import numpy as np
import pytest

from ract import load_model
from ract.apps.cli import tables
from ract.data.datasets import load_loans
from ract.io import read_model_file
from ract.trees import model_fingerprint
from tests.apps.cli.builders import run

pytest.importorskip("pyarrow")

LOANS = load_loans(400)
TABLE = LOANS.frame.assign(
    Decision=LOANS.target, Number=np.arange(400), Times=np.arange(400) % 3 + 1.0
)


@pytest.fixture
def folder(tmp_path):
    """The same people in one file and in parts, one of them in a subfolder of a data set."""
    TABLE.to_parquet(tmp_path / "table.parquet", index=False)
    for year, rows in ((2024, slice(0, 150)), (2025, slice(150, 400))):
        part = tmp_path / "parts" / f"year={year}"
        part.mkdir(parents=True)
        TABLE[rows].to_parquet(part / "a.parquet", index=False)
    LOANS.actions.to_toml(tmp_path / "actions.toml")
    return tmp_path


GIVEN = ("--target", "Decision", "--weights", "Times", "--drop", "Number", "--n-estimators", 20,
         "--lasting", 0.5)  # fmt: skip


def fitted(folder, data, *more):
    out = folder / "model.ract"
    result = run("fit", folder / data, *GIVEN, *more, "--actions", folder / "actions.toml",
                 "-o", out, "--json")  # fmt: skip
    return load_model(out), json.loads(result.stdout), result.stderr


def test_a_folder_is_read_in_batches_to_the_same_model(folder):
    own, summary, said = fitted(folder, "table.parquet")
    assert "in batches" not in said
    found, of_parts, said = fitted(folder, "parts", "--drop", "year")
    assert "is read in batches, 400 people; whatever is measured in addition" in said
    assert model_fingerprint(found) == model_fingerprint(own)
    assert found.lasting_ == own.lasting_
    data = summary.pop("data")
    figures = ("auc", "accuracy", "approval_rate", "bad_rate", "base_rate", "measured_on")
    held_out, of_training = ({k: s.pop(k) for k in figures} for s in (summary, of_parts))
    assert held_out["measured_on"] == "held-out people"
    assert of_training["measured_on"] == "training people"
    assert data.startswith("data-1-") and of_parts == summary
    assert "data" not in read_model_file(folder / "model.ract").summary


def test_a_large_file_is_read_in_batches(folder, monkeypatch):
    own, _, _ = fitted(folder, "table.parquet", "--model", "tree", "--max-depth", 4)
    monkeypatch.setattr(tables, "MOST_VALUES", 3999)
    found, _, said = fitted(folder, "table.parquet", "--model", "tree", "--max-depth", 4)
    assert "is read in batches" in said and model_fingerprint(found) == model_fingerprint(own)


def test_what_cannot_be_kept_is_refused_in_one_sentence(folder):
    (folder / "words.toml").write_text(
        (folder / "actions.toml").read_text() + '\n[table]\nmissing = ["?"]\n'
    )
    holes = TABLE.assign(Decision=TABLE["Decision"].where(TABLE.index > 0))
    (folder / "holes").mkdir()
    holes.to_parquet(folder / "holes" / "a.parquet")
    (folder / "empty").mkdir()
    parts, out = folder / "parts", ("-o", folder / "model.ract")
    given = ("--actions", folder / "actions.toml", *out)
    for arguments, words in (
        ((parts, *GIVEN, "--keep-judge", *given), "--keep-judge needs the whole table in memory"),
        ((parts, "--target", "Moon", *given), "--target names 'Moon', but"),
        ((parts, "--target", "Decision", "--drop", "Moon", *given), "--drop names 'Moon', but"),
        ((parts, "--target", "Age", *given), "The target 'Age' has"),
        ((parts, *GIVEN, "--actions", folder / "words.toml", *out), "take missing out of the act"),
        ((parts, *GIVEN, "--cost", "kernel-percentile", *given), "A kernel estimate needs the who"),
        ((parts, *GIVEN, "--model", "tree", "--min-recourse", 0.9, "--confidence", 0.9, *given),
         "confidence needs the whole table in memory"),
        ((folder / "holes", *GIVEN, *given), "The target 'Decision' is missing in some rows of"),
        ((folder / "empty", *GIVEN, *given), "is a folder without Parquet files"),
    ):  # fmt: skip
        result = run("fit", *arguments, code=2)
        assert words in result.stderr and result.stderr.count("Error:") == 1, result.stderr
        assert "Traceback" not in result.stderr
    assert not (folder / "model.ract").exists()
