"""The service from the shell: keys, another model, what is refused before it starts."""

import re
import socket
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from ract import RecourseForestClassifier, save_model
from ract.apps.cli import app
from ract.apps.cli.serve_demo import prepare
from ract.apps.ledger import Ledger
from ract.apps.web.keys import LINK
from ract.apps.web.live import Rules
from ract.apps.web.service import Service, publish
from ract.apps.web.settings import Settings
from ract.apps.web.state import State
from ract.apps.web.views import View
from ract.data.datasets import load_loans
from tests.builders import timeless


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, and a candidate of other people."""
    folder = tmp_path_factory.mktemp("serve")
    for name, seed in (("model", 0), ("candidate", 1)):
        loans = timeless(load_loans(500, random_state=seed))
        forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=seed)
        save_model(forest.fit(loans.frame, loans.target), folder / f"{name}.ract")
    return folder


def run(*words, code=0):
    result = CliRunner().invoke(app, ["serve", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def test_keys_are_made_listed_and_revoked(folder):
    ledger = ("--ledger", folder / "keys.db")
    key = run("add-key", "auditor", "J. Doe", *ledger).stdout.strip()
    assert re.fullmatch(r"ract-[\w-]{43}", key)
    listed = run("keys", *ledger).stdout
    assert "J. Doe" in listed and "auditor" in listed and key not in listed
    number = listed.split()[0]
    run("revoke", number, *ledger)
    assert "revoked" in run("keys", *ledger).stdout
    assert "could be revoked" in run("revoke", number, *ledger, code=2).stderr
    assert "'king'" in run("add-key", "king", "J. Doe", *ledger, code=2).stderr
    assert "1 to 200" in run("add-key", "admin", "", *ledger, code=2).stderr
    short = run("add-key", "auditor", "J. Doe", "--days", "3", *ledger).stdout.strip()
    assert "until 20" in run("keys", *ledger).stdout
    late = lambda: datetime.now(UTC) + timedelta(days=4)  # noqa: E731
    with Ledger(folder / "keys.db") as book:
        state = State(book.store)
        assert state.key_of(key) is None and state.key_of(short) is not None
    with Ledger(folder / "keys.db", clock=late) as book:
        assert State(book.store).key_of(short) is None


def test_a_model_that_breaks_promises_is_let_in_only_by_force(folder):
    ledger = ("--ledger", folder / "promises.db")
    said = run("reload", folder / "model.ract", *ledger).stderr
    assert "decides now; it keeps 0 of 0" in said
    assert "decides already" in run("reload", folder / "model.ract", *ledger).stderr
    from ract import load_model

    model, people = load_model(folder / "model.ract"), load_loans(60, random_state=2).frame
    people.index = [f"A-{k}" for k in range(len(people))]
    with Ledger(folder / "promises.db") as book:
        made = book.offer(model.recourse(people, explain=False), expires=timedelta(days=90))
    said = run("reload", folder / "candidate.ract", *ledger, code=4).stderr
    assert f"Of {len(made)} open promises" in said and "force it" in said
    said = run("reload", folder / "candidate.ract", *ledger, "--force").stderr
    assert "and was forced" in said
    with Ledger(folder / "promises.db") as book:
        number, content = State(book.store).model()
    assert number == 2 and content == (folder / "candidate.ract").read_bytes()


def test_what_cannot_be_started_is_said_before(folder):
    ledger = ("--ledger", folder / "start.db")
    assert "or --demo" in run("start", *ledger, code=2).stderr
    assert "or --demo" in run(folder / "model.ract", "--demo", *ledger, code=2).stderr
    assert "There is no file" in run(folder / "none.ract", *ledger, code=2).stderr
    (folder / "text.ract").write_text("no model")
    assert "cannot be read as a model" in run(folder / "text.ract", *ledger, code=2).stderr
    alone = (folder / "model.ract", "--certificate", "x.pem", *ledger)
    assert "belong together" in run(*alone, code=2).stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = run(folder / "model.ract", "--port", port, *ledger, code=2).stderr
    assert "cannot be listened on" in said


def test_the_demonstration_has_something_for_everyone(tmp_path, capsys):
    model, files, show = prepare(tmp_path)
    settings = Settings(str(tmp_path / "demo.db"), str(model), tuple(map(str, files)))
    with Ledger(settings.ledger) as ledger:
        publish(ledger, State(ledger.store), model.read_bytes(), by="Test")
    show(settings, "http://127.0.0.1:8000")
    said = capsys.readouterr().err
    assert all(role in said for role in ("case-worker", "auditor", "admin"))
    service = Service(settings)
    token = re.search(r"/my/(\S+)", said)[1]
    case = service.cases.get(service.state.subject_of(LINK, token))
    assert not case.accepted and len(service.ways(case, Rules()).each) == 3
    audit = service.audit()
    assert 0 < audit.lasting <= 1 and sum(audit.earned.values()) > 0
    assert audit.verified and audit.promises["open"] > 0
    # What is shown can be done before it ends, by paces that are written down again here.
    promises = service.ledger.open()
    assert len(promises) > 1
    for promise in promises:
        check_in_time(promise.before, promise.after, (promise.expires - promise.offered).days)
    for way in service.ways(case, Rules()).each.values():
        assert way[0].month <= 5
        changes = [{"feature": c.feature, "from": c.before, "to": c.after} for c in way[0].changes]
        bars = View(service, "en")._timeline(changes)
        assert max(bar["months"] for bar in bars) == bars[0]["of"] == way[0].month
        for before, after in zip(
            way.people.to_dict("records"), way.counterfactuals.to_dict("records"), strict=True
        ):
            check_in_time(before, after, settings.promise_days)
    service.close()


def check_in_time(before, after, days):
    months = days / (365.25 / 12)
    assert after["Education"] == before["Education"] and months < 24
    assert after["YearsEmployed"] - before["YearsEmployed"] <= months / 12
    assert before["ExistingLoans"] - after["ExistingLoans"] <= months / 3
    assert after["Income"] <= before["Income"] * (1 + 0.1 * months / 12)
    assert before["Debt"] - after["Debt"] <= 1_000 * months
    assert after["Savings"] - before["Savings"] <= 1_000 * months
