"""Verifying reads only, never crashes, and refuses what is not there."""

import json
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from datetime import timedelta

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.apps.ledger import (
    Head,
    KeyRing,
    Ledger,
    LedgerChanged,
    LedgerUnavailable,
    check_receipt,
    publish_head,
    read_heads,
)
from ract.apps.ledger.chain import Event, canonical_json, details_digest, hash_of
from ract.apps.ledger.tables import events, promises

DAYS = timedelta(days=90)


@pytest.fixture
def ledger(tmp_path, ring):
    with Ledger(tmp_path / "promises.db", keys=ring) as opened:
        yield opened


def said(path):
    with Ledger(path, mode="read") as ledger:
        found = ledger.verify()
    assert not found
    return str(found)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ract_events SET details = CAST(x'ff00fe' AS TEXT) WHERE number = 2",
        "UPDATE ract_events SET hash = x'ff00' WHERE number = 2",
        "UPDATE ract_events SET salt = 'no hexadecimal' WHERE number = 2",
        "UPDATE ract_events SET by = x'00', at = 7 WHERE number = 2",
        "UPDATE ract_events SET signature = 12.5, key = x'ff' WHERE number = 2",
        "UPDATE ract_events SET kind = 7, subject = x'aa' WHERE number = 2",
        "UPDATE ract_promises SET expires = x'ff'",
        "UPDATE ract_cases SET decided = 'first', person = x'00ff'",
        "DELETE FROM ract_events WHERE number = 1",
        "DROP TABLE ract_cases",
    ],
)
def test_bad_bytes_are_faults(path, change):
    with closing(sqlite3.connect(path)) as db:
        db.execute(change)
        db.commit()
    assert "faults in" in said(path)


def test_a_damaged_file_is_a_fault_or_no_ledger(path):
    content = bytearray(path.read_bytes())
    for first in range(4096, len(content), 4096):
        damaged = content.copy()
        damaged[first : first + 600] = os.urandom(600)
        path.write_bytes(damaged)
        with suppress(InvalidFile, LedgerUnavailable):
            said(path)


MANY = """
import sys, time
from ract.apps.ledger import Ledger
if sys.argv[3] == "check":
    from ract import load_model
    from ract.apps.ledger import check
    model = load_model(sys.argv[2])
with Ledger(sys.argv[1], mode="read") as ledger:
    begun = time.process_time()
    if sys.argv[3] == "open":
        n = sum(1 for _ in ledger.each_open())
    elif sys.argv[3] == "check":
        n = check(ledger, model).n_promises
    else:
        found = ledger.verify()
        assert found, str(found)
        n = found.n_events
with open("/proc/self/status") as file:
    peak = next(line for line in file if line.startswith("VmHWM")).split()[1]
print(n, time.process_time() - begun, int(peak) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
def test_a_hundred_thousand_promises_are_read_a_few_at_a_time(plans, model, tmp_path):
    """How long it takes is printed; that it does not grow with the ledger is what is checked."""
    from ract import save_model

    save_model(model, tmp_path / "model.ract")
    peaks = {}
    for n in (2_000, 100_000):
        path = tmp_path / f"{n}.db"
        with Ledger(path) as ledger:
            drafted = ledger.draft(plans, expires=DAYS)
            many = [
                draft | {"person": f"P-{k}"}
                for k, draft in zip(range(n), drafted * (n // len(drafted) + 1), strict=False)
            ]
            for first in range(0, n, 10_000):
                ledger.keep(many[first : first + 10_000])
        for what in ("open", "check", "verify"):
            words = [sys.executable, "-c", MANY, str(path), str(tmp_path / "model.ract"), what]
            shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
            assert int(shown[0]) == n
            peaks[n, what] = float(shown[2])
            print(f"{n} {what}: {float(shown[1]):.1f} s of CPU, {float(shown[2]):.0f} MB")
    # What is kept of all of them: where each stands, and for the check a row of its table.
    for what, most in (("open", 40), ("check", 60), ("verify", 80)):
        assert peaks[100_000, what] < peaks[2_000, what] + most, peaks
    # Whoever reads or verifies needs no model, and imports none of what models need.
    assert peaks[100_000, "open"] < 300 and peaks[100_000, "verify"] < 300, peaks


def forged(ledger, made, person, *, ring=None):
    """Append a promise of our own to the database, with hashes that are right."""
    with ledger.store.engine.begin() as db:
        last = db.execute(select(events).order_by(events.c.number.desc())).first()
        own = Event(*db.execute(select(events).where(events.c.subject == made.id)).first())
        details = canonical_json(json.loads(own.details) | {"person": person})
        new = own._replace(
            number=last.number + 1, subject="f" * 32, at=last.at, details=details,
            digest=details_digest(own.salt, details), previous=last.hash,
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


def test_a_promise_that_was_reopened_and_redeemed_again_shows(ledger, plans):
    """By someone who writes to the database, and takes its constraint away too."""
    made = ledger.offer(plans, expires=DAYS)[0]
    ledger.redeem(made.person, made.after)
    with ledger.store.engine.begin() as db:
        db.execute(text("DROP INDEX ract_one_end"))
        db.execute(text("UPDATE ract_promises SET status = 'open'"))
    ledger.redeem(made.person, made.after)
    assert "ends a promise that is not open" in str(ledger.verify())


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


def test_a_receipt_is_checked_without_the_ledger(ledger, plans, ring, tmp_path):
    promise = ledger.offer(plans, expires=DAYS)[0]
    receipt = json.loads(json.dumps(ledger.receipt(promise.id)))
    public = KeyRing.read(ring.text(private=False))
    assert check_receipt(receipt, public) == []
    assert "not signed" in check_receipt(receipt, KeyRing.new())[0]
    for name in receipt:
        changed = receipt | {name: 7 if isinstance(receipt[name], int) else f"{receipt[name]}0"}
        assert check_receipt(changed, public) != [], name
    assert check_receipt({"number": 1}, public) == ["This is not a receipt of a promise."]
    head = [Head(*(receipt[name] for name in Head._fields))]  # the signed head of its moment
    assert ledger.verify(heads=head) and not ledger.verify(heads=[head[0]._replace(hash="0" * 64)])
    (tmp_path / "receipt.json").write_text(json.dumps(receipt))
    assert read_heads(tmp_path / "receipt.json") == head
    with pytest.raises(InvalidSpec, match="not write to it"):
        public.sign(1, "x")


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
