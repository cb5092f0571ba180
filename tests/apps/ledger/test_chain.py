"""Hashes of events: computed by hand, and different for every change."""

import hashlib
import json

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
