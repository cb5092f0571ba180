"""Hashes of events, computed by hand, and the keys that sign them: rotated, ended, kept outside."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.apps.ledger import (
    KeyRing,
    Ledger,
)
from ract.apps.ledger.chain import (
    FIRST,
    Event,
    canonical_json,
    details_digest,
    hash_of,
    is_intact,
)

SALT, DETAILS = "00ff", '{"a":1}'
DIGEST = hashlib.sha256(b"\x00\xff" + DETAILS.encode()).hexdigest()
EVENT = Event(1, "2026", "offered", "x", "me", DIGEST, FIRST, "", None, None, SALT, DETAILS)


def test_hashes_are_those_of_the_standard_library():
    chained = json.dumps([1, "2026", "offered", "x", DIGEST, FIRST, "me"], separators=(",", ":"))
    assert details_digest(SALT, DETAILS) == DIGEST
    assert hash_of(EVENT) == hashlib.sha256(chained.encode()).hexdigest()
    old = json.dumps([1, "2026", "offered", "x", DIGEST, FIRST], separators=(",", ":"))
    assert hash_of(EVENT._replace(by=None)) == hashlib.sha256(old.encode()).hexdigest()
    assert canonical_json({"b": 1, "a": [True, None]}) == '{"a":[true,null],"b":1}'


def test_any_field_that_is_hashed_shows():
    good = EVENT._replace(hash=hash_of(EVENT))
    assert is_intact(good)
    for name in ("number", "at", "kind", "subject", "by", "digest", "previous", "details"):
        value = getattr(good, name)
        assert not is_intact(good._replace(**{name: 7 if name == "number" else f"{value}0"})), name
    assert not is_intact(good._replace(salt="0000")) and not is_intact(good._replace(details=None))


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
