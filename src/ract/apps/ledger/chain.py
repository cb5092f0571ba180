"""One event of a ledger, and the hashes that bind it to the one before it."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import NamedTuple

FIRST = "0" * 64  # what the first event holds of the one before it
ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


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


def hash_of(event: Event) -> str:
    """What the next event holds of this event."""
    chained = [event.number, event.at, event.kind, event.subject, event.digest, event.previous]
    if event.by is not None:
        chained.append(event.by)
    return hashlib.sha256(canonical_json(chained).encode()).hexdigest()


def details_digest(salt: str, details: str) -> str:
    """A digest of details that cannot be guessed without the salt."""
    return hashlib.sha256(bytes.fromhex(salt) + details.encode()).hexdigest()


def is_intact(event: Event) -> bool:
    """Whether an event and its details are those that were hashed."""
    if event.salt is None or event.details is None:
        return False
    return (
        hash_of(event) == event.hash and details_digest(event.salt, event.details) == event.digest
    )


def canonical_json(value: object) -> str:
    """JSON that is equal for equal values."""
    return ENCODER.encode(value)


def stamp(at: datetime) -> str:
    """A time as text that sorts as times do.

    >>> stamp(datetime(2026, 11, 16, tzinfo=UTC))
    '2026-11-16T00:00:00.000000Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
