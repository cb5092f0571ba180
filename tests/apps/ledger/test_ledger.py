"""The ledger: what is acknowledged is kept, what is changed shows, whoever is erased is gone."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import text

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.apps.ledger import Ledger, LedgerUnavailable
from tests.apps.ledger.conftest import START

HALF_A_YEAR = timedelta(days=182)


def changed(ledger, statement):
    """Change the database behind the ledger's back."""
    with ledger.store.engine.begin() as db:
        assert db.execute(text(statement)).rowcount > 0


def test_from_an_offer_to_its_end(ledger, plans, clock):
    made = ledger.offer(plans, expires=HALF_A_YEAR, by="J. Doe")
    assert [p.person for p in made] == plans.labels[plans.found].tolist()
    first, second, third = made[:3]
    assert (first.status, first.by, first.desired) == ("open", "J. Doe", "approved")
    assert first.plan == plans[int(plans.found.argmax())].describe()
    assert first.expires == datetime(2026, 7, 2, 23, 59, 59, 999999, tzinfo=UTC)
    assert ledger.get(first.id) == first
    back = ledger.redeem(first.person, first.before)
    assert not back.accepted and back.promise == first and "promised for" in str(back)
    assert ledger.get(first.id).status == "open"
    clock.now = first.expires
    back = ledger.redeem(first.person, first.after)
    assert back.accepted and first.id in str(back)
    assert ledger.get(first.id).status == "redeemed"
    assert not ledger.redeem(first.person, first.after).accepted  # once only
    withdrawn = ledger.withdraw(second.id, "Forged payslip.", by="A. Smith")
    assert (withdrawn.status, withdrawn.reason) == ("withdrawn", "Forged payslip.")
    with pytest.raises(InvalidSpec, match="is withdrawn"):
        ledger.withdraw(second.id, "Again.")
    assert {p.id for p in ledger.open()} == {p.id for p in made[2:]}
    clock.now = first.expires + timedelta(microseconds=1)
    late = ledger.redeem(third.person, third.after)
    assert not late.accepted and "expired" in late.faults[0]
    assert len(ledger.expire()) == len(made) - 2
    assert ledger.open() == []
    happened = ledger.history(second.person)
    assert happened["event"].tolist() == ["offered", "withdrawn"]
    assert happened["by"].tolist() == ["J. Doe", "A. Smith"]
    assert happened["details"][1] == {"reason": "Forged payslip."}
    assert bool(ledger.verify())


def test_what_people_may_do_beyond_their_plan_is_accepted(ledger, plans):
    promise = ledger.offer(plans, expires=HALF_A_YEAR)[0]
    more = dict(promise.after)
    for name in promise.region.asked:
        limit = promise.region.limits[name]
        if limit.category is None and limit.high > more[name]:
            more[name] = limit.high
    assert ledger.redeem(promise.person, more).accepted


def test_any_change_shows(ledger, plans):
    made = ledger.offer(plans, expires=HALF_A_YEAR)
    ledger.redeem(made[0].person, made[0].after)
    head = ledger.verify().head
    for statement, fault in (
        ("UPDATE ract_events SET at = '2025-01-01T00:00:00.000000Z' WHERE number = 2", "changed"),
        ('UPDATE ract_events SET details = \'{"person":"A-1"}\' WHERE number = 2', "details"),
        ("UPDATE ract_events SET salt = NULL, details = NULL WHERE number = 3", "missing"),
        ("UPDATE ract_promises SET status = 'open' WHERE status = 'redeemed'", "does not stand"),
        (f"UPDATE ract_promises SET person = 'me' WHERE id = '{made[5].id}'", "does not stand"),
        (f"DELETE FROM ract_events WHERE number = {len(made) + 1}", "cut off"),
        ("DELETE FROM ract_events WHERE number = 2", "is not there"),
    ):
        before = set(ledger.verify(head).faults)
        changed(ledger, statement)
        found = ledger.verify(head)
        new = set(found.faults) - before
        assert not found and any(fault in one for one in new)


def test_whoever_is_erased_is_gone_and_the_chain_holds(ledger, plans, where):
    made = ledger.offer(plans, expires=HALF_A_YEAR)
    gone, other = made[0], made[1]
    assert ledger.erase(gone.person) == (1, 0, True)
    assert ledger.erase(gone.person) == (0, 0, True)
    assert bool(ledger.verify())
    assert len(ledger.history(gone.person)) == 0
    assert not ledger.redeem(gone.person, gone.after).accepted
    with pytest.raises(InvalidSpec, match="erased"):
        ledger.get(gone.id)
    assert ledger.redeem(other.person, other.after).accepted
    with ledger.store.reading() as db:
        rows = db.execute(text("SELECT details, salt FROM ract_events")).all()
        people = db.execute(text("SELECT person FROM ract_promises")).scalars().all()
    assert gone.person not in people
    assert not any(f'"person":"{gone.person}"' in (details or "") for details, _ in rows)


def test_an_erased_value_is_not_left_in_the_file(plans, tmp_path):
    path = tmp_path / "promises.db"
    with Ledger(path) as ledger:
        made = ledger.offer(plans, expires=HALF_A_YEAR, people=[f"key-{k}-of" for k in range(12)])
        ledger.erase(made[0].person)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    content = path.read_bytes()
    assert made[0].person.encode() not in content and made[1].person.encode() in content


def test_a_clock_that_goes_back_leaves_the_order_of_events(ledger, plans, clock):
    promise = ledger.offer(plans, expires=HALF_A_YEAR)[0]
    clock.now = START - timedelta(days=400)
    ledger.withdraw(promise.id, "Why not.")
    happened = ledger.history(promise.person)
    assert happened["at"].is_monotonic_increasing and bool(ledger.verify())


def test_many_writers_keep_one_chain(where, plans):
    """Each promise is redeemed by several at once, and exactly one of them gets it."""
    with Ledger(where) as ledger:
        made = ledger.offer(plans, expires=HALF_A_YEAR)
    accepted, errors = [], []

    def come_back():
        try:
            with Ledger(where) as own:
                for promise in made:
                    if own.redeem(promise.person, promise.after).accepted:
                        accepted.append(promise.id)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=come_back) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(accepted) == sorted(p.id for p in made)
    with Ledger(where) as ledger:
        assert bool(ledger.verify()) and ledger.open() == []


KILLED = """
import os, sys
from datetime import timedelta
from ract.apps.ledger.store import Store
real = Store.append
def dies(*given):
    real(*given)
    os.kill(os.getpid(), 9)
Store.append = dies
from ract.apps.ledger import Ledger
Ledger(sys.argv[1]).withdraw(sys.argv[2], "Power cut.")
"""


def test_a_writer_that_is_killed_leaves_nothing_half_done(ledger, where, plans):
    promise = ledger.offer(plans, expires=HALF_A_YEAR)[0]
    killed = subprocess.run([sys.executable, "-c", KILLED, where, promise.id])
    assert killed.returncode == -9
    assert ledger.get(promise.id).status == "open" and bool(ledger.verify())
    assert ledger.withdraw(promise.id, "Again.").status == "withdrawn"


def test_bad_input_is_one_sentence(ledger, plans, tmp_path):
    for given, words in (
        ({"expires": timedelta(days=-1)}, "must end after it is made"),
        ({"expires": "soon"}, "must be a date"),
        ({"expires": HALF_A_YEAR, "people": ["a"]}, "1 keys"),
        ({"expires": HALF_A_YEAR, "pinned": ["Shoes"]}, "'Shoes' cannot be pinned"),
    ):
        with pytest.raises(InvalidSpec, match=words):
            ledger.offer(plans, **given)
    with pytest.raises(InvalidData, match="same key"):
        ledger.offer(plans, expires=HALF_A_YEAR, people=["a"] * len(plans))
    with pytest.raises(InvalidData, match="1 to 200"):
        ledger.offer(plans, expires=HALF_A_YEAR, people=["", *"bcdefghijkl"])
    with pytest.raises(InvalidSpec, match="no promise 'x'"):
        ledger.get("x")
    with pytest.raises(InvalidSpec, match="for a reason"):
        ledger.withdraw("x", " ")
    assert str(ledger.redeem("nobody", {})) == "There is no open promise to this person."
    assert ledger.verify().n_events == 0
    with pytest.raises(InvalidSpec, match="address of a database"):
        Ledger("nosuch://secret@host/name")
    with pytest.raises(InvalidSpec, match="time zone such as"):
        Ledger(tmp_path / "zone.db", zone="Mars/Base")
    (tmp_path / "text.db").write_text("This is no database, though it is long enough to be one.")
    with pytest.raises(InvalidFile, match="not a ledger"):
        Ledger(tmp_path / "text.db")
    with pytest.raises(LedgerUnavailable, match="does not answer"):
        Ledger(tmp_path / "none" / "promises.db")
    with pytest.raises(LedgerUnavailable) as info:
        Ledger("postgresql+psycopg://ract:secret@127.0.0.1:1/none")
    assert "secret" not in str(info.value)


def test_people_s_own_text_is_only_text(ledger, plans):
    keys = [f"'; DROP TABLE ract_events; --<b>{k}" for k in range(len(plans))]
    made = ledger.offer(plans, expires=date(2099, 12, 31), people=keys, by="<script>")
    assert made[0].expires.isoformat() == "2099-12-31T23:59:59.999999+00:00"
    assert ledger.redeem(made[0].person, made[0].after).accepted
    assert bool(ledger.verify())


def test_verifying_sees_one_state_while_others_write(ledger, where, plans):
    ledger.offer(plans, expires=HALF_A_YEAR)
    stop, errors = threading.Event(), []

    def write():
        try:
            with Ledger(where) as own:
                while not stop.is_set():
                    own.withdraw(own.offer(plans, expires=HALF_A_YEAR)[0].id, "Why not.")
        except Exception as error:
            errors.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(ledger.verify().faults == () for _ in range(25))
    finally:
        stop.set()
        writer.join()
    assert errors == []
