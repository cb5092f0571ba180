"""The service from the shell: keys, another model, what is refused before it starts."""

import re
import shutil
import socket
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from ract.apps.cli import app
from ract.apps.ledger import Ledger
from ract.apps.web.state import ServiceState
from ract.data.datasets import load_loans


@pytest.fixture(scope="module")
def folder(rivals, tmp_path_factory):
    """A model, and a candidate of other people."""
    return shutil.copytree(rivals, tmp_path_factory.mktemp("serve"), dirs_exist_ok=True)


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
        state = ServiceState(book.store)
        assert state.key_of(key) is None and state.key_of(short) is not None
    with Ledger(folder / "keys.db", clock=late) as book:
        assert ServiceState(book.store).key_of(short) is None


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
        number, content = ServiceState(book.store).model()
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
