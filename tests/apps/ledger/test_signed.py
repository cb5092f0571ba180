"""Signatures: whoever can write to the database, but has no key, forges nothing that counts."""

import json
import os
import random
import stat
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.apps.ledger import (
    KeyRing,
    Ledger,
    LedgerChanged,
    check_receipt,
    publish_head,
    read_heads,
)
from ract.apps.ledger.chain import Event, canonical, digest_of, hash_of
from ract.apps.ledger.tables import events, promises

DAYS = timedelta(days=90)


@pytest.fixture
def ring():
    return KeyRing.new()


@pytest.fixture
def ledger(tmp_path, ring):
    with Ledger(tmp_path / "promises.db", keys=ring) as opened:
        yield opened


def forged(ledger, made, person, *, ring=None):
    """Append a promise of our own to the database, with hashes that are right."""
    with ledger.store.engine.begin() as db:
        last = db.execute(select(events).order_by(events.c.number.desc())).first()
        own = Event(*db.execute(select(events).where(events.c.subject == made.id)).first())
        details = canonical(json.loads(own.details) | {"person": person})
        new = own._replace(
            number=last.number + 1, subject="f" * 32, at=last.at, details=details,
            digest=digest_of(own.salt, details), previous=last.hash,
        )  # fmt: skip
        new = new._replace(hash=hash_of(new))
        if ring is not None:
            key, signature = ring.sign(new.number, new.hash)
            new = new._replace(key=key, signature=signature)
        db.execute(events.insert().values(new._asdict()))
        db.execute(promises.insert().values(
            id=new.subject, person=person, status="open", expires=json.loads(details)["expires"]
        ))  # fmt: skip
    return new


@pytest.mark.parametrize("signs", ["a copied signature", "a key of their own", "nothing"])
def test_a_forged_promise_is_seen_and_not_redeemed(ledger, plans, signs):
    made = ledger.offer(plans, expires=DAYS)
    head = ledger.verify().head
    new = forged(ledger, made[0], "me", ring=KeyRing.new() if "own" in signs else None)
    if signs == "nothing":
        with ledger.store.engine.begin() as db:
            db.execute(events.update().where(events.c.number == new.number).values(signature=None))
    found = ledger.verify(head)
    assert [f"Event {new.number} was not signed" in fault for fault in found.faults] == [True]
    for ask in (
        lambda: ledger.redeem("me", made[0].after),
        lambda: ledger.accepts("me", made[0].after),
        lambda: ledger.get("f" * 32),
        lambda: ledger.receipt("f" * 32),
    ):
        with pytest.raises(LedgerChanged):
            ask()
    assert ledger.redeem(made[0].person, made[0].after).accepted


def test_what_was_published_shows_a_tail_that_was_cut_and_history_that_was_rewritten(
    ledger, plans, tmp_path
):
    path = str(tmp_path / "heads.jsonl")
    assert ledger.head() is None
    made = ledger.offer(plans, expires=DAYS)
    publish_head(ledger.head(), path)
    ledger.withdraw(made[0].id, "Why not.")
    publish_head(ledger.head(), path)
    first, second = read_heads(path)
    assert second.number == first.number + 1 == len(made) + 1
    assert bool(ledger.verify(heads=[first, second]))
    assert ledger.verify().signed == second
    wrong = second._replace(hash=first.hash)
    assert "not signed by a key of ours" in str(ledger.verify(heads=[wrong]))
    assert "differ" in str(ledger.verify(heads=[second, wrong]))
    with ledger.store.engine.begin() as db:
        db.execute(events.delete().where(events.c.number == second.number))
        db.execute(text("UPDATE ract_promises SET status = 'open'"))
    assert bool(ledger.verify(heads=[first])) and bool(ledger.verify())
    assert "was cut off the end" in str(ledger.verify(heads=[first, second]))
    # The lender itself, which has the key, goes on from there: another history.
    ledger.withdraw(made[1].id, "Another.")
    assert bool(ledger.verify())
    assert "is not the one that was published" in str(ledger.verify(heads=[first, second]))
    (tmp_path / "no").write_text("{}")
    with pytest.raises(InvalidFile, match="published heads"):
        read_heads(tmp_path / "no")


def test_a_receipt_is_checked_without_the_ledger(ledger, plans, ring):
    promise = ledger.offer(plans, expires=DAYS)[0]
    receipt = json.loads(json.dumps(ledger.receipt(promise.id)))
    public = KeyRing.read(ring.text(private=False))
    assert check_receipt(receipt, public) == []
    assert "not signed" in check_receipt(receipt, KeyRing.new())[0]
    for name in receipt:
        changed = receipt | {name: 7 if isinstance(receipt[name], int) else f"{receipt[name]}0"}
        assert check_receipt(changed, public) != [], name
    assert check_receipt({"number": 1}, public) == ["This is not a receipt of a promise."]
    with pytest.raises(InvalidSpec, match="not write to it"):
        public.sign(1, "x")


def test_keys_are_rotated_and_end(tmp_path, plans, monkeypatch):
    monkeypatch.delenv("RACT_LEDGER_KEY")
    where = tmp_path / "promises.db"
    with Ledger(where) as old:
        made = old.offer(plans, expires=DAYS)
        ring = KeyRing.found(tmp_path / "promises.db.key")
        ring.rotated().save()
        with Ledger(where) as new:
            assert new.withdraw(made[0].id, "New key.").status == "withdrawn"
            assert len({k.id for k in new.store.ring.keys}) == 2
        # Whoever has not read the new key yet goes on with theirs, and reads what it signs.
        assert old.withdraw(made[1].id, "Old key.").status == "withdrawn"
        assert bool(old.verify()) and len(old.store.ring.keys) == 2
    late = KeyRing.found(tmp_path / "promises.db.key")
    later = (datetime.now(UTC) + timedelta(days=8)).isoformat()
    key, signature = KeyRing(late.keys[:1]).sign(9, "ab")
    assert late.signed(9, "ab", datetime.now(UTC).isoformat(), key, signature)
    assert not late.signed(9, "ab", later, key, signature)
    assert late.rotated().keys[0].private is None


def test_files_are_their_owner_s_alone_and_hold_no_key(tmp_path, plans, monkeypatch):
    monkeypatch.delenv("RACT_LEDGER_KEY")
    where, before = tmp_path / "promises.db", os.umask(0)
    try:
        with Ledger(where) as ledger:
            ledger.offer(plans, expires=DAYS)
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert len(modes) == 4 and set(modes.values()) == {0o600}, modes
    private = KeyRing.found(tmp_path / "promises.db.key").keys[0].private
    assert private.encode() not in where.read_bytes()
    (tmp_path / "promises.db.key").unlink()
    with pytest.raises(InvalidSpec, match=r"signed by key .* RACT_LEDGER_KEY"):
        Ledger(where)
    with Ledger(where, mode="read") as ledger:
        assert "was not signed by a key of this ledger" in str(ledger.verify())


def test_keys_may_lie_in_the_environment(tmp_path, plans, ring, monkeypatch):
    monkeypatch.setenv("RACT_LEDGER_KEY", ring.text())
    with Ledger(tmp_path / "promises.db") as ledger:
        assert ledger.offer(plans, expires=DAYS) and bool(ledger.verify())
        with pytest.raises(InvalidSpec, match="cannot be changed there"):
            ledger.store.ring.rotated().save()
    assert [p.name for p in tmp_path.iterdir()] == ["promises.db"]
    monkeypatch.setenv("RACT_LEDGER_KEY", "{")
    with pytest.raises(InvalidFile, match="keys of a ledger"):
        Ledger(tmp_path / "promises.db")


def test_who_did_what_is_in_the_chain(ledger, plans):
    made = ledger.offer(plans, expires=DAYS, by="Desk")
    ledger.decide([made[0].person], [made[0].before], [False], model="m", by="J. Doe")
    case = ledger.cases.of(made[0].person)
    ledger.cases.add_note(case, "A. Smith", "Called.")
    ledger.cases.report(case, made[0].after, "applicant")
    ledger.redeem(made[0].person, made[0].after, evidence={"Income": "payslip"}, by="J. Doe")
    with ledger.store.reading() as db:
        rows = db.execute(select(events.c.kind, events.c.by).order_by(events.c.number)).all()
    done = ["decided", "noted", "reported", "redeemed", "decided"]
    assert rows[len(made) :] == list(
        zip(done, ["J. Doe", "A. Smith", "applicant", "J. Doe", "J. Doe"], strict=True)
    )
    assert bool(ledger.verify())
    notes = [(note.by, note.text) for note in ledger.cases.notes(case.id)]
    assert notes[1] == ("A. Smith", "Called.") and "by promise" in notes[2][1]
    with ledger.store.engine.begin() as db:
        db.execute(text("UPDATE ract_events SET by = 'Somebody else' WHERE kind = 'noted'"))
    assert "was changed" in str(ledger.verify())


def tampered(ledger, rng):
    """Change one cell of one event or index, at random; what was changed."""
    table = rng.choice(["ract_events", "ract_events", "ract_promises", "ract_cases"])
    with ledger.store.engine.begin() as db:
        rows = db.execute(text(f"SELECT * FROM {table}")).mappings().all()
        row = dict(rng.choice(rows))
        key = "number" if table == "ract_events" else "id"
        name = rng.choice([n for n in row if n != key])
        new = rng.choice(["0", "f" * 32, "2030-01-01T00:00:00.000000Z", None, "\ufffd{"])
        if new == row[name] or (new is None and row[name] is None):
            new = "zz"
        change = text(f'UPDATE {table} SET "{name}" = :new WHERE "{key}" = :key')
        db.execute(change, {"new": new, "key": row[key]})
    return table, row[key], name, new


@pytest.mark.parametrize("n", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_any_cell_that_is_changed_shows(n, plans, tmp_path, ring):
    """Each change alone, in a copy of one ledger."""
    path, copy = tmp_path / "promises.db", tmp_path / "copy.db"
    rng, missed = random.Random(0), []
    with Ledger(path, keys=ring) as ledger:
        made = ledger.offer(plans, expires=DAYS)
        people, rows = [p.person for p in made[:4]], [p.before for p in made[:4]]
        ledger.decide(people, rows, [False] * 4, model="m")
        ledger.cases.report(ledger.cases.of(people[0]), made[0].after, "applicant")
        ledger.redeem(people[0], made[0].after)
        ledger.withdraw(made[1].id, "Why not.")
        ledger.erase(people[2])
        ledger.store.back_up(copy)
    content = copy.read_bytes()
    for _ in range(n):
        with Ledger(copy, keys=ring) as ledger:
            assert bool(ledger.verify())
            with suppress(IntegrityError):  # a constraint of the database has refused it
                what = tampered(ledger, rng)
                if ledger.verify():
                    missed.append(what)
        copy.write_bytes(content)
    assert missed == []
