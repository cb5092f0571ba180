"""Writes the files beside it, under version 0.2 of ract only, from the root of a checkout.

RACT_DATA_HOME=... python -m tests.data.v02.make           files and expected texts
RACT_DATA_HOME=... python -m tests.data.v02.make expected  expected texts alone
"""

import json
import os
import pickle
import shutil
import sys
import tempfile
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from ract.cli import app
from ract.datasets import load_loans
from ract.promises import Ledger
from ract.serve import App, Settings
from ract.serve.service import publish
from ract.serve.state import State
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typer.testing import CliRunner

from ract import ActionSpace, OutcomeJudge, certify, import_model, save_model
from ract.notices import NoticeSettings
from tests.pins import PINS, REAL_PINS, loans
from tests.pins.names import EXPECTED, HERE, MODELS, PICKLES, QUIET

AMOUNTS = ["Income", "Debt", "Savings", "LoanAmount"]
LAST = datetime(2099, 12, 31, tzinfo=UTC)


def tables():
    """Four hundred people to train on, and forty others; each with and without holes."""
    for name, n, seed in (("loans", 400, 0), ("people", 200, 1)):
        made = load_loans(n, random_state=seed)
        frame = made.frame.assign(**made.frame[AMOUNTS].round(0), Decision=made.target)
        if name == "people":  # most of them were refused
            no = frame.query("Decision == 'refused'").head(28)
            frame = pd.concat([no, frame.query("Decision == 'approved'").head(12)]).sort_index()
            frame, n = frame.reset_index(drop=True), 40
        rng = np.random.default_rng(seed)
        holes = frame.copy()
        for column, share in (("Income", 0.2), ("Savings", 0.1), ("Education", 0.1)):
            holes.loc[rng.random(n) < share, column] = None
        other = "holes" if name == "loans" else "people-holes"
        for file, rows in ((name, frame), (other, holes)):
            if name == "people":
                rows.insert(0, "Applicant", [f"P-{k:02}" for k in range(n)])
            rows.to_csv(HERE / f"{file}.csv", index=False)


def action_files():
    """Everything that an action file can say of numbers and categories; and what init proposes."""
    space = load_loans(10).actions
    named = {feature.name: feature for feature in space}
    named["Purpose"] = replace(named["Purpose"], weight=2.0)
    ActionSpace(named.values(), "approved").to_toml(HERE / "actions.toml")
    named["Age"] = replace(named["Age"], per_month=1 / 12)
    named["Income"] = replace(named["Income"], missing="supply", supply_cost=0.1)
    named["Savings"] = replace(named["Savings"], missing="stays")
    named["Education"] = replace(named["Education"], missing="supply")
    ActionSpace(named.values(), "approved").to_toml(HERE / "holes.toml")
    words = ["init", HERE / "loans.csv", "--target", "Decision", "--desired", "approved"]
    words += ["-o", HERE / "proposed.toml", "--fixed", "LatePayments", "--decrease", "Debt"]
    assert CliRunner().invoke(app, [*map(str, words)]).exit_code == 0


def model_files():
    """A file of each model, a judge, a model of scikit-learn; and pickles."""
    (HERE / "models").mkdir(exist_ok=True)
    (HERE / "pickles").mkdir(exist_ok=True)
    space = ActionSpace.from_toml(HERE / "actions.toml")
    for name in MODELS:
        model = loans.fitted(name)
        save_model(model, HERE / "models" / f"{name}.ract", summary={"target": "Decision"})
        if name in PICKLES:
            (HERE / "pickles" / f"{name}.pickle").write_bytes(pickle.dumps(model))
    (HERE / "pickles" / "actions.pickle").write_bytes(pickle.dumps(space))
    rows = loans.table("loans")
    target = rows.pop("Decision")
    judge = OutcomeJudge(space, desired="approved", n_splits=2, random_state=0).fit(rows, target)
    small = loans.fitted("tree")
    save_model(small, HERE / "models" / "judged.ract", judge=judge, summary={"target": "Decision"})
    texts = ["Education", "Purpose"]
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), texts), remainder="passthrough"),
        RandomForestClassifier(7, max_depth=5, random_state=0),
    ).fit(rows, target)
    imported = import_model(pipeline, rows, space, budget=0.3)
    save_model(imported, HERE / "models" / "imported.ract", summary={"target": "Decision"})


def records():
    """A certificate with its witnesses, files of codes, and two ledgers."""
    model, rows = loans.opened("forest"), loans.people()
    witnesses = HERE / "witnesses.json"
    record = certify(model, rows, groups="Education", witnesses=witnesses, **QUIET)
    record.save(HERE / "certificate.json")
    for language in ("en", "de", "fr"):
        settings = NoticeSettings.suggest(model, language=language)
        details = replace(
            settings.details, creditor="Sample Bank", address="1 Main Street, Springfield",
            contact="Jane Roe, 555-0100", not_considered=("religion",),
        )  # fmt: skip
        text = replace(settings, details=details).to_toml_text()
        (HERE / f"notice-{language}.toml").write_text(text)
    ledger(model, rows)
    service()


def day(month, n=1):
    """A day that is over, so that no clock matters; promises end then or in 2099."""
    return datetime(2025, month, n, 12, tzinfo=UTC)


def ledger(model, rows):
    """Promises that are open, over, redeemed, withdrawn, expired and erased."""
    path = HERE / "ledger.db"
    path.unlink(missing_ok=True)
    asked = loans.refused(model, rows, 40)
    with Ledger(path) as book:
        early = model.recourse(asked[:6], at_least=True, **QUIET)
        first = book.offer(early, expires=day(9), by="Loans desk", at=day(1))
        late = model.recourse(asked[6:], at_least=True, **QUIET)
        keys = [f"request-{k}" for k in range(len(late))]
        rest = book.offer(late, expires=LAST, by="Branch 7", requests=keys, at=day(2))
        book.redeem(first[0].person, first[0].before, at=day(3))
        book.redeem(first[0].person, first[0].after, at=day(3, 2))
        book.withdraw(first[1].id, "The payslip was forged.", at=day(4))
        book.redeem(rest[0].person, rest[0].after, at=day(5))
        book.erase(rest[1].person, at=day(6))
        book.erase(rest[0].person, at=day(6, 2))
        book.withdraw(rest[2].id, "Moved away.", at=day(7))
        book.expire(at=day(10))
        over = model.recourse(asked[:1], at_least=True, **QUIET)
        book.offer(over, expires=day(12), at=day(10, 5))
        back = [p.after | {"Applicant": p.person} for p in rest[3:5]]
        back += [p.before | {"Applicant": p.person} for p in rest[5:6]]
    pd.DataFrame(back).to_csv(HERE / "back.csv", index=False)


def service():
    """What ``ract serve`` writes beside a ledger: keys, a model, cases, notes, promises."""
    from fastapi.testclient import TestClient

    path, content = HERE / "service.db", (HERE / "models" / "forest.ract").read_bytes()
    path.unlink(missing_ok=True)
    with Ledger(path) as book:
        state = State(book.store)
        publish(book, state, content)
        roles = ("case-worker", "auditor", "admin")
        keys = {role: state.add_key(role, f"The {role}") for role in roles}
    rows = loans.people()
    everyone = [{"person": key, "values": row} for key, row in rows.to_dict("index").items()]
    with TestClient(
        App(Settings(str(path), promise_days=20_000)), base_url="http://127.0.0.1"
    ) as c:

        def ask(method, path, **given):
            headers = {"authorization": f"Bearer {keys['case-worker']}"}
            answer = c.request(method, path, headers=headers, **given)
            assert answer.status_code < 300, answer.text
            return answer.json()

        decided = ask("POST", "/decide", json={"people": everyone, "keep": True})["decisions"]
        no = [one for one, d in zip(everyone, decided, strict=True) if not d["accepted"]][:6]
        made = ask("POST", "/promises", json={"people": no})["promises"]
        case = {d["person"]: d["case"] for d in decided}[made[0]["person"]]
        ask("POST", f"/cases/{case}/link")
    with Ledger(path) as book:
        state = State(book.store)
        state.add_note(state.case(case), "The case-worker", "Called on Monday.")
        after = dict(book.get(made[0]["id"]).after)
        state.revoke(state.key_of(state.add_key("admin", "Someone who left")).id)
        others = [dict(book.get(p["id"]).after) for p in made[1:2]]
        book.redeem(made[1]["person"], others[0])
    asked = next(one for one in no if one["person"] == made[0]["person"])
    known = {"keys": keys, "asked": asked, "after": after, "promise": made[0]["id"], "case": case}
    (HERE / "service.json").write_text(json.dumps(known, indent=1) + "\n")


def expected():
    """The texts that later versions must give again."""
    shutil.rmtree(EXPECTED, ignore_errors=True)
    for name, pin in (PINS | REAL_PINS).items():
        path = EXPECTED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            given = os.environ["RACT_DATA_HOME"] if name in REAL_PINS else folder
            path.write_text(pin(Path(given)), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["expected"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that forty people are few, for a certificate
            for step in (tables, action_files, model_files, records):
                step()
    warnings.simplefilter("error")
    expected()
