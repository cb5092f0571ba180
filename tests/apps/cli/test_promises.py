"""Promises from the shell, and what a pipeline sees of them."""

import json
import shutil
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import load_model
from ract.apps.cli import app
from ract.apps.ledger import Ledger
from ract.data.datasets import load_loans
from ract.trees import model_fingerprint


@pytest.fixture(scope="module")
def folder(rivals, tmp_path_factory):
    """A model, a candidate of other people, and people who ask."""
    folder = shutil.copytree(rivals, tmp_path_factory.mktemp("promises"), dirs_exist_ok=True)
    people = load_loans(40, random_state=2).frame
    people.insert(0, "Key", [f"A-{k}" for k in range(len(people))])
    people.to_csv(folder / "people.csv", index=False)
    return folder


def run(folder, *words, code=0):
    given = [str(folder / word) if "." in word and "/" not in word else word for word in words]
    result = CliRunner().invoke(app, ["promises", *given])
    assert result.exit_code == code, result.output
    return result


def test_from_an_offer_to_a_decision(folder):
    ledger = ("--ledger", "promises.db")
    offered = run(
        folder, "offer", "model.ract", "people.csv", "--id", "Key", "--expires", "180d", "--by",
        "Desk", "--json", *ledger,
    )  # fmt: skip
    n = json.loads(offered.stdout)["promises"]
    assert n > 3
    run(folder, "open", "-o", "open.csv", *ledger)
    listed = pd.read_csv(folder / "open.csv")
    assert len(listed) == n and (listed["by"] == "Desk").all()
    back = run(folder, "redeem", "people.csv", "--id", "Key", "-o", "decisions.csv", *ledger)
    assert "0 are accepted by their promise" in back.stderr
    decisions = pd.read_csv(folder / "decisions.csv")
    assert decisions["missing"].str.contains("promised for").sum() == n
    assert run(folder, "check", "model.ract", *ledger).stderr.count(f"keeps {n}.") == 1
    checked = run(
        folder, "check", "candidate.ract", "-o", "checked.csv", *ledger, code=4
    )  # fmt: skip
    assert "accepted all the same" in checked.stderr
    assert set(pd.read_csv(folder / "checked.csv")["verdict"]) <= {"kept", "broken", "unknown"}
    run(folder, "check", "candidate.ract", "--share", "0", *ledger)
    first = listed.iloc[0]
    run(folder, "withdraw", first["promise"], "--reason", "Moved away", *ledger)
    assert "Moved away" in run(folder, "history", first["person"], *ledger).stdout
    run(folder, "erase", first["person"], *ledger)
    run(folder, "history", first["person"], *ledger, code=2)
    assert "0 promises have expired" in run(folder, "expire", *ledger).stderr
    assert json.loads(run(folder, "verify", "--json", *ledger).stdout)["verified"]
    wrong = run(folder, "verify", "--head", "0" * 64, *ledger, code=2)
    assert "cut off" in wrong.stderr


@pytest.fixture(scope="module")
def owed(folder):
    """A ledger with open promises, and a table of other people with its action file."""
    loans = load_loans(500, random_state=3)
    loans.frame.assign(Decision=loans.target).to_csv(folder / "new.csv", index=False)
    loans.actions.to_toml(folder / "actions.toml")
    run(folder, "offer", "model.ract", "people.csv", "--id", "Key", "--expires", "90d",
        "--ledger", "owed.db")  # fmt: skip
    return folder


def fit(folder, *words, code=0):
    given = [folder / "new.csv", "--target", "Decision", "--desired", "approved", "--actions",
             folder / "actions.toml", "--n-estimators", 15, "--lasting", 0, *words]  # fmt: skip
    result = CliRunner().invoke(app, ["fit", *map(str, given)])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("model", ["forest", "boosting"])
def test_a_model_is_trained_to_keep_promises(owed, model):
    """What fit says of the file is what check finds in it."""
    out = owed / f"{model}.ract"
    given = ("-o", out, "--model", model, "--promises", owed / "owed.db")
    summary = json.loads(fit(owed, *given, "--json").stdout)
    n, kept = summary["promises"], summary["promises_kept"]
    assert kept > summary["promises_kept_without"] and summary["exceptions"] == n - kept
    assert 0.5 < summary["auc"] <= 1 and 0.5 < summary["auc_without_promises"] <= 1
    checked = run(owed, "check", out.name, "--share", "0", "--json", "--ledger", "owed.db")
    assert json.loads(checked.stdout) == {"promises": n, "kept": kept, "share": kept / n}


def test_enough_promises_are_enough(owed):
    """A share that is kept anyway leaves the model as it would have been."""
    ledger, plain, kept = owed / "owed.db", owed / "plain.ract", owed / "enough.ract"
    fit(owed, "-o", plain)
    said = fit(owed, "-o", kept, "--promises", ledger, "--promises-share", 0).stderr
    assert "Exceptions that remain: " in said and said.count("AUC") == 1
    assert model_fingerprint(load_model(kept)) == model_fingerprint(load_model(plain))


def test_promises_that_fit_cannot_know(owed, monkeypatch):
    away = fit(owed, "-o", owed / "x.ract", "--promises", owed / "nowhere.db", code=2)
    assert "There is no ledger" in away.stderr and not (owed / "nowhere.db").exists()
    share = fit(owed, "-o", owed / "x.ract", "--promises-share", 0.5, code=2)
    assert "--promises-share" in share.stderr
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    lacking = fit(owed, "-o", owed / "x.ract", "--promises", owed / "owed.db", code=2)
    assert 'pip install "ract[promises]"' in lacking.stderr


def test_a_check_is_a_picture(owed, monkeypatch):
    ledger = ("--ledger", "owed.db", "--share", "0")
    run(owed, "check", "candidate.ract", "--plot", "checked.svg", *ledger)
    assert "<svg" in (owed / "checked.svg").read_text(encoding="utf-8")
    wrong = run(owed, "check", "candidate.ract", "--plot", "checked.doc", *ledger, code=2)
    assert "writes PNG, SVG or PDF" in wrong.stderr
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    lacking = run(owed, "check", "candidate.ract", "--plot", "again.svg", *ledger, code=2)
    assert 'pip install "ract[plot]"' in lacking.stderr


def test_bad_input_is_one_sentence(folder):
    ledger = ("--ledger", "other.db")
    bad = run(
        folder, "offer", "model.ract", "people.csv", "--id", "Key", "--expires", "soon", *ledger,
        code=2,
    )  # fmt: skip
    assert "2027-06-30" in bad.stderr
    assert run(folder, "erase", "nobody", *ledger, code=2).stderr.startswith("Error: The ledger")
    for command in (("open",), ("verify",), ("expire",), ("publish", "heads.jsonl")):
        away = run(folder, *command, "--ledger", "/nonexistent/x/promises.db", code=2)
        assert "is not there" in away.stderr
    away = run(
        folder, "offer", "model.ract", "people.csv", "--id", "Key", "--expires", "9d", "--ledger",
        "/nonexistent/x/promises.db", code=3,
    )  # fmt: skip
    assert "does not answer" in away.stderr


def test_what_an_auditor_and_an_applicant_check(folder, owed):
    """Heads, public keys, receipts and a copy; the lender's ledger is not needed for a receipt."""
    ledger = ("--ledger", "owed.db")
    run(folder, "publish", "heads.jsonl", *ledger)
    run(folder, "expire", *ledger)
    public = run(folder, "public-keys", *ledger).stdout
    assert '"private": null' in public
    (folder / "public.json").write_text(public)
    verify = ("verify", "--heads", "heads.jsonl", "--keys", "public.json", *ledger)
    assert "are as they were written" in run(folder, *verify).stderr
    with Ledger(folder / "owed.db", mode="read") as book:
        receipt = book.receipt(book.open()[0].id)
    (folder / "receipt.json").write_text(json.dumps(receipt))
    check = ("receipt", "receipt.json", "--keys", "public.json")
    assert "Genuine: a promise to A-" in run(folder, *check).stderr
    (folder / "receipt.json").write_text(json.dumps(receipt | {"by": "me"}))
    assert "was changed" in run(folder, *check, code=2).stderr
    said = run(folder, "backup", "copy.db", *ledger).stderr
    assert "are as they were written" in said
    assert "is there already" in run(folder, "backup", "copy.db", *ledger, code=2).stderr
    assert "signs from now on" in run(folder, "rotate-key", *ledger).stderr
    run(folder, "offer", "model.ract", "people.csv", "--id", "Key", "--expires", "9d", *ledger)
    assert "were written" in run(folder, "verify", "--heads", "heads.jsonl", *ledger).stderr
    assert "not signed by a key" in run(folder, *verify, code=2).stderr  # the old public keys
