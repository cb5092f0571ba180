"""``ract audit``: a page about people that a model does not know, or does."""

import json

import pandas as pd
import pytest

from ract import load_model
from ract.evaluation.certificates import certify
from ract.io import read_model_file
from tests.apps.cli.builders import NEW_LABELLED, run


def test_an_audit_is_written_as_a_page(plain, tmp_path):
    out = tmp_path / "report.html"
    result = run(
        "audit", plain / "model.ract", plain / "new.csv", "--groups", "Town", "-o", out, "--json"
    )
    summary = json.loads(result.stdout)
    expected = certify(load_model(plain / "model.ract"), NEW_LABELLED.frame)
    assert summary["people"] == 300
    assert summary["risk_bound"] == pytest.approx(expected.everyone.risk_bound)
    page = out.read_text(encoding="utf-8")
    assert "accuracy" in page and ">A<" in page and "were used in training" in page


def test_the_training_table_is_recognised(plain, tmp_path):
    result = run("audit", plain / "model.ract", plain / "data.csv", "-o", tmp_path / "r.html")
    assert "800 of 800 people are in the training table" in result.stderr
    assert "800 of these people" in (tmp_path / "r.html").read_text(encoding="utf-8")
    result = run(
        "certify", plain / "model.ract", plain / "new.csv", "--training", plain / "data.csv"
    )
    assert "Note" not in result.stderr


def test_plans_are_judged_with_the_training_table_or_a_kept_judge(plain, tmp_path):
    one = ("--n-jobs", 1)  # threads take longer to start than these tables to search
    asked = ["audit", plain / "model.ract", plain / "new.csv", "-o", tmp_path / "r.html", *one]
    result = run(*asked, "--training", plain / "data.csv", "--json")
    summary, page = json.loads(result.stdout), (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Earned or granted" in page and summary["plans_granted"] > 0
    kept = tmp_path / "model.ract"
    run(
        "fit", plain / "data.csv", "--lasting", 0,
        "--target", "Decision", "--actions", plain / "a.toml",
        "--n-estimators", 15, "--recourse-weight", 0, "--budget", 0.15, "--keep-judge", *one,
        "-o", kept,
    )  # fmt: skip
    run("certify", kept, plain / "new.csv", "--keep")
    assert read_model_file(kept).judge is not None
    again = run("audit", kept, plain / "new.csv", "-o", tmp_path / "s.html", "--json", *one)
    assert json.loads(again.stdout) == summary | {"file": str(tmp_path / "s.html")}
    table = pd.read_csv(plain / "data.csv").drop(columns="Decision")
    table.to_csv(tmp_path / "features.csv", index=False)
    result = run(*asked, "--training", tmp_path / "features.csv", "--json")
    assert "plans_granted" not in json.loads(result.stdout)


def test_training_people_are_not_called_held_out(trees, tmp_path):
    run("audit", trees / "model.ract", trees / "data.csv", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "300 of these people are in the training table" in page
    assert "of 300 people are" in page and "held-out" not in page


def test_control_characters_do_not_reach_the_page(trees, tmp_path):
    groups = ["A\x1b[31m", "B\u202e"] * 150
    frame = pd.read_csv(trees / "data.csv").assign(Group=groups)
    frame.to_csv(tmp_path / "data.csv", index=False)
    run(
        "audit", trees / "model.ract", tmp_path / "data.csv", "--groups", "Group",
        "-o", tmp_path / "r.html",
    )  # fmt: skip
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert ">A[31m<" in page and "\x1b" not in page and "\u202e" not in page


def test_wrong_input_gets_one_sentence(plain, tmp_path):
    model, new = plain / "model.ract", plain / "new.csv"
    page = tmp_path / "r.html"
    for arguments, words in (
        (("audit", model, new, "--groups", "Moon", "-o", page), "'Moon'"),
        (("audit", model, new, "--target", "Moon", "-o", page), "'Moon'"),
        (("audit", model, new, "--target", "Town", "-o", page), "the model's classes are"),
        (("certify", model, new, "--confidence", 95), "confidence must be a share between"),
        (("certify", model, new, "--max-risk", 0.001), "too few"),
        (("certify", model, new, "--check", tmp_path / "none.json"), "none.json"),
        (
            ("fit", plain / "data.csv", "--lasting", 0,
"--target", "Decision", "--recourse-weight", "much",
             "-o", page),
            "must be a number or auto",
        ),
    ):  # fmt: skip
        result = run(*arguments, code=2)
        assert words in result.stderr and "Traceback" not in result.stderr
        assert result.stderr.count("Error:") == 1
    assert not page.exists()
