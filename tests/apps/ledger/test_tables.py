"""The tables of a ledger: their version, what erasing reaches, and ledgers of 0.2.

Those are signed from the first event on, their promises honoured, their secret gone.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from ract._utils.errors import InvalidFile
from ract.apps.ledger import Ledger
from ract.apps.ledger.store import OldLedger
from ract.apps.web import App, Settings
from ract.apps.web.state import ServiceState
from tests.apps.ledger.test_ledger import HALF_A_YEAR, changed
from tests.apps.web.conftest import TestClient

OLD = Path(__file__).parents[2] / "data" / "v02"


@pytest.fixture(params=["ledger", "service"])
def path(request, tmp_path):
    shutil.copy(OLD / f"{request.param}.db", tmp_path / "old.db")
    return tmp_path / "old.db"


def old_events(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT number, at, hash FROM ract_events ORDER BY number").fetchall()


def test_old_events_are_covered_by_the_first_signed_head(path):
    before = old_events(path)
    with pytest.raises(OldLedger, match="0.2"):
        Ledger(path, mode="read")
    with Ledger(path) as ledger:
        found = ledger.verify()
        assert bool(found), str(found)
        assert found.n_events > len(before) and found.signed.number == found.n_events
    after = old_events(path)
    assert after[: len(before)] == before and after[-1][0] == found.n_events
    assert path.stat().st_mode & 0o077 == 0
    with Ledger(path) as ledger:  # once
        assert ledger.verify().n_events == found.n_events
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE ract_events SET details = replace(details, '\"low\"', '\"LOW\"')")
        db.commit()
    with Ledger(path, mode="read") as ledger:
        assert not ledger.verify()


def test_old_promises_are_honoured_to_the_end_of_their_day(path):
    with closing(sqlite3.connect(path)) as db:
        chosen = "SELECT expires FROM ract_promises WHERE status = 'open' ORDER BY expires DESC"
        ends = datetime.fromisoformat(db.execute(chosen).fetchone()[0])
    late = ends.replace(hour=23, minute=59, second=59)
    with Ledger(path, clock=lambda: late) as ledger:
        held = [p for p in ledger.open() if p.expires.date() == ends.date()]
        assert held and all(p.by for p in held)
        for promise in held:
            assert ledger.redeem(promise.person, promise.after).accepted
            assert not ledger.redeem(promise.person, promise.after).accepted
        assert bool(ledger.verify())


def test_an_old_ledger_that_was_changed_is_not_signed(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE ract_events SET at = '2020-01-01T00:00:00.000000Z' WHERE number = 1")
        db.commit()
    with pytest.raises(InvalidFile, match="Event 1 of this ledger of 0.2 is not as it was written"):
        Ledger(path)
    with closing(sqlite3.connect(path)) as db:  # and is as it was
        assert db.execute("SELECT max(version) FROM ract_version").fetchone() == (1,)


def test_an_old_service_goes_on(tmp_path):
    """Keys, cases, notes and the model are events now; the secret is gone, and its links too."""
    path = tmp_path / "service.db"
    shutil.copy(OLD / "service.db", path)
    known = json.loads((OLD / "service.json").read_text())
    with closing(sqlite3.connect(path)) as db:
        (secret,) = db.execute("SELECT value FROM ract_serve_secret").fetchone()
        n_cases, n_notes = (
            db.execute(f"SELECT count(*) FROM ract_serve_{name}").fetchone()[0]
            for name in ("cases", "notes")
        )
        decided = dict(db.execute("SELECT id, at FROM ract_serve_cases").fetchall())
    with Ledger(path) as ledger:
        cases = ledger.cases.search(most=1000)
        assert len(cases) == n_cases
        assert {case.id: case.at for case in cases} == {
            id: datetime.fromisoformat(at) for id, at in decided.items()
        }
        notes = [note for case in cases for note in ledger.cases.notes(case.id)]
        assert sum(note.by != "upgrade from 0.2" for note in notes) == n_notes
        assert secret.encode() not in path.read_bytes()
        state = ServiceState(ledger.store)
        assert state.key_of(known["keys"]["admin"]).role == "admin"
        assert sum(key["revoked"] is not None for key in state.all_keys()) == 1
    app = App(Settings(str(path), time_limit=60.0))
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        headers = {"authorization": f"Bearer {known['keys']['case-worker']}"}
        redeem = f"/promises/{known['promise']}/redeem"
        back = client.post(redeem, json={"values": known["after"]}, headers=headers)
        assert back.status_code == 200 and back.json()["accepted"], back.text
        audit = client.get(
            "/audit", headers={"authorization": f"Bearer {known['keys']['auditor']}"}
        )
        assert audit.json()["verified"] and audit.json()["cases"] == n_cases


def test_a_newer_ledger_is_refused(ledger, where):
    changed(ledger, "UPDATE ract_version SET version = 99")
    with pytest.raises(InvalidFile, match="newer ract"):
        Ledger(where)


def test_erasing_removes_a_person_from_other_tables_of_the_database(ledger, plans):
    made = ledger.offer(plans, expires=HALF_A_YEAR)
    gone, other = made[0].person, made[1].person
    with ledger.store.writing() as db:
        db.execute(text("DROP TABLE IF EXISTS ract_other"))
        db.execute(text("CREATE TABLE ract_other (person VARCHAR(200), said VARCHAR(20))"))
        for person in (gone, other):
            db.execute(text("INSERT INTO ract_other VALUES (:who, 'hello')"), {"who": person})
    ledger.erase(gone)
    with ledger.store.writing() as db:
        assert db.execute(text("SELECT person FROM ract_other")).scalars().all() == [other]
        db.execute(text("DROP TABLE ract_other"))
    assert bool(ledger.verify())
