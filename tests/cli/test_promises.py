"""Promises from the shell, and what a pipeline sees of them."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import RecourseForestClassifier, save_model
from ract.cli import app
from ract.datasets import load_loans


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, a candidate of other people, and people who ask."""
    folder = tmp_path_factory.mktemp("promises")
    for name, seed in (("model", 0), ("candidate", 1)):
        loans = load_loans(500, random_state=seed)
        forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=seed)
        save_model(forest.fit(loans.frame, loans.target), folder / f"{name}.ract")
    people = load_loans(25, random_state=2).frame
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


def test_bad_input_is_one_sentence(folder):
    ledger = ("--ledger", "other.db")
    bad = run(
        folder, "offer", "model.ract", "people.csv", "--id", "Key", "--expires", "soon", *ledger,
        code=2,
    )  # fmt: skip
    assert "2027-06-30" in bad.stderr
    assert run(folder, "erase", "nobody", *ledger, code=2).stderr.startswith("Error: The ledger")
    away = run(folder, "open", "--ledger", "/nonexistent/x/promises.db", code=3)
    assert "does not answer" in away.stderr
