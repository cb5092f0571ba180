"""One event of a ledger, and the hashes that bind it to the one before it."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

FIRST = "0" * 64  # what the first event holds of the one before it


class Event(NamedTuple):
    """One event as it is kept."""

    number: int
    at: str
    kind: str
    subject: str
    by: str | None
    digest: str
    previous: str
    hash: str
    key: str | None
    signature: str | None
    salt: str | None
    details: str | None


def hash_of(one: Event) -> str:
    """What the next event holds of this one."""
    chained = [one.number, one.at, one.kind, one.subject, one.digest, one.previous]
    if one.by is not None:
        chained.append(one.by)
    return hashlib.sha256(canonical(chained).encode()).hexdigest()


def digest_of(salt: str, details: str) -> str:
    """A digest of details that cannot be guessed without the salt."""
    return hashlib.sha256(bytes.fromhex(salt) + details.encode()).hexdigest()


def is_intact(one: Event) -> bool:
    """Whether an event and its details are those that were hashed."""
    if one.salt is None or one.details is None:
        return False
    return hash_of(one) == one.hash and digest_of(one.salt, one.details) == one.digest


def canonical(value: Any) -> str:
    """JSON that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def stamp(at: datetime) -> str:
    """A time as text that sorts as times do.

    >>> stamp(datetime(2026, 11, 16, tzinfo=UTC))
    '2026-11-16T00:00:00.000000Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
