"""Audits, certificates, trade-offs and automatic weights from the command line."""

import json
from io import StringIO

import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import load_model
from ract.apps.cli import app
from ract.data.datasets import load_loans
from ract.evaluation.certificates import Certificate, certify
from ract.io import read_model_file

NEW = load_loans(300, random_state=1)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, an action file, a model and people who are new to it."""
    folder = tmp_path_factory.mktemp("audit")
    run(
        "data",
        "loans",
        "-o",
        folder / "data.csv",
        "--n-people",
        800,
        "--actions",
        folder / "a.toml",
    )
    run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--actions", folder / "a.toml",
        "--n-estimators", 15, "--recourse-weight", 0, "--budget", 0.15, "-o", folder / "model.ract",
    )  # fmt: skip
    NEW.frame.assign(Decision=NEW.target, Town=["A", "B"] * 150).to_csv(
        folder / "new.csv", index=False
    )
    return folder


def test_an_audit_is_written_as_a_page(folder, tmp_path):
    out = tmp_path / "report.html"
    result = run(
        "audit", folder / "model.ract", folder / "new.csv", "--groups", "Town", "-o", out, "--json"
    )
    summary = json.loads(result.stdout)
    expected = certify(load_model(folder / "model.ract"), NEW.frame)
    assert summary["people"] == 300
    assert summary["risk_bound"] == pytest.approx(expected.everyone.risk_bound)
    page = out.read_text(encoding="utf-8")
    assert "accuracy" in page and ">A<" in page and "part in training is not known" in page


def test_the_training_table_is_recognised(folder, tmp_path):
    result = run("audit", folder / "model.ract", folder / "data.csv", "-o", tmp_path / "r.html")
    assert "800 of 800 people are equal to people of the training table" in result.stderr
    assert "800 of these people" in (tmp_path / "r.html").read_text(encoding="utf-8")
    result = run(
        "certify", folder / "model.ract", folder / "new.csv", "--training", folder / "data.csv"
    )
    assert "Note" not in result.stderr


def test_plans_are_judged_with_the_training_table_or_a_kept_judge(folder, tmp_path):
    asked = ["audit", folder / "model.ract", folder / "new.csv", "-o", tmp_path / "r.html"]
    result = run(*asked, "--training", folder / "data.csv", "--json")
    summary, page = json.loads(result.stdout), (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Earned or granted" in page and summary["plans_granted"] > 0
    kept = tmp_path / "model.ract"
    run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--actions", folder / "a.toml",
        "--n-estimators", 15, "--recourse-weight", 0, "--budget", 0.15, "--keep-judge", "-o", kept,
    )  # fmt: skip
    run("certify", kept, folder / "new.csv", "--keep")
    assert read_model_file(kept).judge is not None
    again = run("audit", kept, folder / "new.csv", "-o", tmp_path / "s.html", "--json")
    assert json.loads(again.stdout) == summary | {"file": str(tmp_path / "s.html")}
    table = pd.read_csv(folder / "data.csv").drop(columns="Decision")
    table.to_csv(tmp_path / "features.csv", index=False)
    result = run(*asked, "--training", tmp_path / "features.csv", "--json")
    assert "plans_granted" not in json.loads(result.stdout)


def test_a_certificate_is_made_kept_and_checked(folder, tmp_path):
    model, record = tmp_path / "model.ract", tmp_path / "recourse.json"
    model.write_bytes((folder / "model.ract").read_bytes())
    asked = ("certify", model, folder / "new.csv", "--groups", "Town", "--confidence", 0.9)
    training = ("--training", folder / "data.csv")
    result = run(*asked, *training, "-o", record, "--keep")
    assert "With 90% confidence at most" in result.stderr
    held = read_model_file(model)
    assert held.certificates == (json.loads(record.read_text()),)
    assert Certificate.load(record).model == held.fingerprint
    checked = json.loads(run(*asked, *training, "--check", record, "--json").stdout)
    assert checked["agrees"] and checked["complete"]
    assert checked["unchecked"].keys() == {"date", "version", "witnesses"}
    partly = json.loads(run(*asked, "--check", record, "--json", code=4).stdout)
    assert partly["agrees"] and "overlap" in partly["unchecked"]
    without_groups = (*asked[:3], *asked[5:], *training, "--check", record)
    said = run(*without_groups, code=4).stderr
    assert "not verified" in said and "groups (the groups were not given)" in said
    said = run(*asked[:-2], *training, "--check", record, code=2).stderr
    assert "its confidence is 0.9, and 0.95 was asked for" in said
    changed = json.loads(record.read_text())
    changed["everyone"]["risk_bound"] = 0.0001
    record.write_text(json.dumps(changed), encoding="utf-8")
    result = run(*asked, "--check", record, code=2)
    assert "The record is not as it was written" in result.stderr


def test_actions_are_kept_beside_a_certificate_and_checked(folder, tmp_path):
    record, witnesses = tmp_path / "recourse.json", tmp_path / "witnesses.npy"
    given = ("certify", folder / "model.ract", folder / "new.csv", "--witnesses", witnesses)
    run(*given, "-o", record)
    checked = json.loads(run(*given, "--check", record, "--json").stdout)
    assert checked["agrees"] and "witnesses" in checked["checked"]
    assert "was checked without a search" in checked["notes"][0]
    witnesses.write_bytes(witnesses.read_bytes() + b" ")
    assert "its hash is not" in run(*given, "--check", record, code=2).stderr


def test_a_trade_off_is_a_table_and_a_picture(folder, tmp_path):
    out, picture = tmp_path / "curve.csv", tmp_path / "curve.svg"
    result = run(
        "tradeoff", folder / "data.csv", "--target", "Decision", "--actions", folder / "a.toml",
        "--model", "tree", "--values", "0, 0.1,1", "--cv", 2, "-o", out, "--plot", picture,
        "--json",
    )  # fmt: skip
    table = pd.read_csv(out)
    assert table["recourse_weight"].tolist() == [0, 0.1, 1]
    assert len(json.loads(result.stdout)["rows"]) == 3
    assert "<svg" in picture.read_text(encoding="utf-8")
    result = run(
        "tradeoff", folder / "data.csv", "--target", "Decision", "--values", "0", "--cv", 2,
        "--model", "tree", "--plot", tmp_path / "curve.doc", code=2,
    )  # fmt: skip
    assert "writes PNG, SVG or PDF" in result.stderr


def test_a_trade_off_shows_plans_that_last(folder):
    given = ("tradeoff", folder / "data.csv", "--target", "Decision", "--actions",
             folder / "a.toml", "--model", "tree", "--values", "0.1", "--cv", 2)  # fmt: skip
    table = pd.read_csv(StringIO(run(*given, "--strength", "most").stdout))
    assert 0 <= table["lasting low"][0] <= table["lasting"][0] <= table["lasting high"][0] <= 1
    result = run(*given, "--strength", "strong", code=2)
    assert "strength must be a share from 0 to 1, or 'most'; got 'strong'" in result.stderr


def test_a_weight_is_chosen_and_kept_in_the_file(folder, tmp_path):
    out = tmp_path / "auto.ract"
    result = run(
        "fit", folder / "data.csv",
        "--target", "Decision", "--actions", folder / "a.toml",
        "--n-estimators", 10, "--recourse-weight", "auto", "--min-recourse", 0.8, "-o", out,
    )  # fmt: skip
    assert "its weight of recourse is" in result.stderr and "leaf share" in result.stderr
    held = read_model_file(out)
    assert held.model.recourse_weight == held.model.recourse_weight_
    assert held.summary["recourse_weight"] == pytest.approx(held.model.recourse_weight_)


def test_wrong_input_gets_one_sentence(folder, tmp_path):
    model, new = folder / "model.ract", folder / "new.csv"
    page = tmp_path / "r.html"
    for arguments, words in (
        (("audit", model, new, "--groups", "Moon", "-o", page), "'Moon'"),
        (("audit", model, new, "--target", "Moon", "-o", page), "'Moon'"),
        (("audit", model, new, "--target", "Town", "-o", page), "the model's classes are"),
        (("certify", model, new, "--confidence", 95), "confidence must lie between"),
        (("certify", model, new, "--max-risk", 0.001), "too few"),
        (("certify", model, new, "--check", tmp_path / "none.json"), "none.json"),
        (
            ("fit", folder / "data.csv", "--lasting", 0,
"--target", "Decision", "--recourse-weight", "much",
             "-o", page),
            "must be a number or auto",
        ),
    ):  # fmt: skip
        result = run(*arguments, code=2)
        assert words in result.stderr and "Traceback" not in result.stderr
        assert result.stderr.count("Error:") == 1
    assert not page.exists()
