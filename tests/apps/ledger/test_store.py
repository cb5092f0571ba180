"""The database of a ledger: files of their owner, read-only opening, copies."""

import os
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta

import pytest

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.apps.ledger import (
    KeyRing,
    Ledger,
    LedgerUnavailable,
)

DAYS = timedelta(days=90)


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
