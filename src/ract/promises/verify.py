"""Checking a ledger, event by event, with nothing but the hashes that it holds."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select

from ract.promises import store
from ract.promises.promise import ERASED, OFFERED, OPEN, Verification

MOST_FAULTS = 20  # that are listed

Standing = tuple[str | None, str | None, str]  # person, when it ends, status


def verify(db: Connection, head: str | None = None) -> Verification:
    """Walk along the chain; see ``Ledger.verify``."""
    faults: list[str] = []
    last, number, seen = store.FIRST, 0, head is None
    standing: dict[str, Standing] = {}  # as events say
    without: dict[str, int] = {}  # promises whose details are gone, and where
    for one in store.all_events(db):
        number += 1
        if one.number != number:
            faults.append(f"Event {number} is not there.")
            number = one.number
        if one.previous != last:
            faults.append(f"Event {one.number} does not follow the one before it.")
        if store.hash_of(one) != one.hash:
            faults.append(f"Event {one.number} was changed.")
        person, expires, _ = standing.get(one.promise, (None, None, ""))
        if one.details is None or one.salt is None:
            without[one.promise] = one.number
        elif store.digest_of(one.salt, one.details) != one.digest:
            faults.append(f"The details of event {one.number} were changed.")
        elif one.kind == OFFERED:
            said = json.loads(one.details)
            person, expires = said["person"], said["expires"]
        if one.kind == ERASED:
            without.pop(one.promise, None)
            person = expires = None
        standing[one.promise] = person, expires, OPEN if one.kind == OFFERED else one.kind
        last, seen = one.hash, seen or one.hash == head
    faults += [f"The details of event {at} are missing." for at in without.values()]
    if not seen:
        faults.append(f"The chain does not hold {head}: events were cut off its end.")
    faults += _projection_faults(db, standing)
    return Verification(number, last, tuple(faults[:MOST_FAULTS]))


def _projection_faults(db: Connection, standing: dict[str, Standing]) -> list[str]:
    """Promises whose place in the table is not the one that events give them."""
    rows = db.execute(select(store.promises)).all()
    held = {
        row.id: (row.person, None if row.status == ERASED else row.expires, row.status)
        for row in rows
    }
    wrong = sorted(id for id in held.keys() | standing.keys() if held.get(id) != standing.get(id))
    return [f"Promise {id} does not stand where its events say." for id in wrong]
