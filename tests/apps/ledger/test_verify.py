"""Verifying reads only, never crashes, and refuses what is not there."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from datetime import timedelta

import pytest

from ract._utils.errors import InvalidFile
from ract.apps.ledger import Ledger, LedgerUnavailable

DAYS = timedelta(days=90)


@pytest.fixture
def path(tmp_path, plans):
    path = tmp_path / "promises.db"
    with Ledger(path) as ledger:
        made = ledger.offer(plans, expires=DAYS)
        ledger.decide([made[0].person], [made[0].before], [False], model="m")
    return path


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


def test_what_is_not_there_is_refused_and_not_made(tmp_path, path):
    for mode in ("read", "write"):
        with pytest.raises(InvalidFile, match="is not there"):
            Ledger(tmp_path / "none.db", mode=mode)
    assert not (tmp_path / "none.db").exists()
    with closing(sqlite3.connect(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE other (x)")
        db.commit()
    with pytest.raises(InvalidFile, match="holds no ledger"):
        Ledger(tmp_path / "other.db", mode="read")


def test_reading_changes_nothing(path):
    before = path.read_bytes(), path.stat().st_mtime_ns
    with Ledger(path, mode="read") as ledger:
        assert bool(ledger.verify()) and ledger.open()
        with pytest.raises(LedgerUnavailable, match="readonly|read-only"):
            ledger.expire(by="me")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_copy_is_made_while_others_write(path, tmp_path, plans):
    with Ledger(path) as ledger:
        ledger.store.back_up(tmp_path / "copy.db")
        ledger.offer(plans, expires=DAYS, people=[f"later-{k}" for k in range(len(plans))])
        with Ledger(tmp_path / "copy.db", mode="read", keys=ledger.store.ring) as copy:
            assert bool(copy.verify()) and copy.verify().n_events == len(plans) + 1
            assert {p.id for p in copy.open()} < {p.id for p in ledger.open()}
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


MANY = """
import sys, time
from ract.apps.ledger import Ledger, check
if sys.argv[3] == "check":
    from ract import load_model
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
                draft._replace(person=f"P-{k}", details=draft.details | {"person": f"P-{k}"})
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
