"""Keys that sign a ledger: rotated, ended, and kept outside of the database."""

from datetime import UTC, datetime, timedelta

import pytest

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.apps.ledger import (
    KeyRing,
    Ledger,
)

DAYS = timedelta(days=90)


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
