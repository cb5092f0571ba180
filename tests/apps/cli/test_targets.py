"""Every command on targets that are text, 0/1, booleans and floats, with either class desired."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from ract.apps.cli import app
from ract.evaluation import leak

N = 240
ONE_JOB = ("--n-jobs", 1)  # threads take longer to start than tables of this size to search
TARGETS = {
    "text": ("bad", "good"),
    "0/1": (0, 1),
    "booleans": (False, True),
    "floats": (0.0, 1.0),
}


def people(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.integers(10, 60, n),
            "debt": rng.normal(20, 5, n).round(2),
            "job": rng.choice(["clerk", "cook", "none"], n),
        }
    )
    good = frame["income"] - frame["debt"] + rng.normal(0, 6, n) > 12
    return frame, good.to_numpy()


@pytest.fixture(scope="module", params=[(k, d) for k in TARGETS for d in (0, 1)],
                ids=lambda p: f"{p[0]}-desired-{p[1]}")  # fmt: skip
def case(request, tmp_path_factory):
    """A folder of tables with one kind of target, a fitted model, and how to run commands."""
    kind, which = request.param
    classes = TARGETS[kind]
    folder = tmp_path_factory.mktemp("targets")
    for name, n, seed in (("train", N, 0), ("new", 60, 1)):
        frame, good = people(n, seed)
        target = np.where(good, classes[1], classes[0])
        frame.assign(id=np.arange(n), out=target, town=["A", "B"] * (n // 2)).to_csv(
            folder / f"{name}.csv", index=False
        )
    desired = str(classes[which])
    asked = f"{which}" if kind == "floats" else desired  # 1 is the class 1.0

    def run(*arguments, code=0):
        given = [str(one) for one in arguments]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == code, (given, result.output, result.exception)
        return result

    run("init", folder / "train.csv", "--target", "out", "--desired", asked,
        "--drop", "id", "--drop", "town", "-o", folder / "a.toml")  # fmt: skip
    run("fit", folder / "train.csv", "--target", "out", "--actions", folder / "a.toml",
        "--model", "forest", "--n-estimators", 15, "--lasting", 0, "--drop", "id", "--drop", "town",
        "-o", folder / "m.ract", *ONE_JOB)  # fmt: skip
    return folder, run, desired


def test_decisions_and_plans_name_the_classes_of_the_table(case):
    folder, run, desired = case
    model, new = folder / "m.ract", folder / "new.csv"
    run("predict", model, new, "-o", folder / "decisions.csv")
    decisions = pd.read_csv(folder / "decisions.csv", dtype=str)
    truth = set(pd.read_csv(new, dtype=str)["out"])
    assert set(decisions["prediction"]) <= truth | {desired}
    run("recourse", model, new, "--id", "id", "-o", folder / "plans.csv", *ONE_JOB)
    plans = pd.read_csv(folder / "plans.csv", dtype=str)
    accepted = decisions["prediction"] == desired
    assert accepted.any() and not accepted.all()
    assert (plans.loc[plans["status"] == "accepted", "person"].nunique()) == accepted.sum()
    run("reasons", model, new, "--reference", folder / "train.csv", "-o", folder / "reasons.csv",
        "--report", folder / "report.csv", "--replicates", 2)  # fmt: skip


def test_audits_judge_by_the_training_table(case):
    folder, run, _ = case
    training = ("--training", folder / "train.csv")
    asked = ("audit", folder / "m.ract", folder / "new.csv", "-o", folder / "audit.html", *ONE_JOB)
    summary = json.loads(run(*asked, "--groups", "town", *training, "--json").stdout)
    assert summary["people"] == 60 and "plans_granted" in summary
    assert "accuracy" in (folder / "audit.html").read_text(encoding="utf-8")


def test_certificates_are_made_and_checked(case):
    folder, run, _ = case
    record = folder / "record.json"
    asked = ("certify", folder / "m.ract", folder / "new.csv", "--groups", "town",
             "--training", folder / "train.csv", *ONE_JOB)  # fmt: skip
    run(*asked, "-o", record)
    run(*asked, "--check", record)


def test_notices_and_promises(case):
    folder, run, _ = case
    model, new, ledger = folder / "m.ract", folder / "new.csv", folder / "promises.db"
    contact = ("--creditor", "A", "--address", "B", "--contact", "C")
    run("notice", "init", model, *contact, "-o", folder / "reasons.toml")
    run("notice", model, new, "--reasons", folder / "reasons.toml", "--id", "id",
        "--reference", folder / "train.csv", "-o", folder / "notices", *ONE_JOB)  # fmt: skip
    run("promises", "offer", model, new, "--id", "id", "--expires", "30d", "--ledger", ledger)
    run("promises", "redeem", new, "--id", "id", "--ledger", ledger, "-o", folder / "back.csv")
    run("promises", "check", model, "--ledger", ledger)
    run("promises", "verify", "--ledger", ledger)


def test_trade_offs_and_other_kinds_of_model(case):
    folder, run, _ = case
    table = ("--target", "out", "--actions", folder / "a.toml", "--drop", "id", "--drop", "town")
    run("tradeoff", folder / "train.csv", *table, "--values", "0,0.1", "--cv", 2,
        "--n-estimators", 3, "-o", folder / "curve.csv", *ONE_JOB)  # fmt: skip
    for kind in ("tree", "boosting"):
        run("fit", folder / "train.csv", *table, "--model", kind, "--n-estimators", 5,
            "--lasting", 0, "-o", folder / f"{kind}.ract", *ONE_JOB)  # fmt: skip
        run("audit", folder / f"{kind}.ract", folder / "new.csv", "-o", folder / f"{kind}.html",
            *ONE_JOB)  # fmt: skip


def test_models_come_in_and_go_out(case, monkeypatch):
    import joblib

    folder, run, desired = case
    few = partial(RandomForestClassifier, 3)  # how well the copies agree is tested with leak
    monkeypatch.setattr(leak, "RandomForestClassifier", lambda _, **given: few(**given))
    run("export", folder / "m.ract", "-o", folder / "m.json")
    run("leak", folder / "m.ract", folder / "new.csv", "--queries", 20, "-o", folder / "leak.csv")
    table = pd.read_csv(folder / "train.csv")
    model = DecisionTreeClassifier(max_depth=3).fit(table[["income", "debt"]], table["out"])
    joblib.dump(model, folder / "other.joblib")
    run("import", folder / "other.joblib", folder / "train.csv", "--trust", "--target", "out",
        "--drop", "id", "--drop", "town", "--drop", "job", "--desired", desired,
        "-o", folder / "other.ract")  # fmt: skip
    run("audit", folder / "other.ract", folder / "new.csv", "--target", "out",
        "--training", folder / "train.csv", "-o", folder / "other.html", *ONE_JOB)  # fmt: skip
