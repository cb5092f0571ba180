"""Checking a ledger, event by event, with nothing but its hashes and public keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from ract.apps.ledger import chain, tables
from ract.apps.ledger.chain import Head, KeyRing
from ract.apps.ledger.promise import ERASED, OFFERED, OPEN, Verification
from ract.apps.ledger.store import Store

MOST_FAULTS = 20  # that are listed

Standing = tuple[Any, ...]  # of a promise: person, when it ends, status; of a case: its events


class _Walk:
    """What is known after some events of a chain."""

    def __init__(self, store: Store) -> None:
        self.faults: list[str] = []
        self.number, self.last = 0, chain.FIRST
        self.newest: Head | None = None
        self.standing: dict[str, Standing] = {}
        self.without: dict[str, list[int]] = {}  # events whose details are gone, by subject
        self._store = store

    def step(self, event: chain.Event) -> None:
        """Take one more event."""
        self.number += 1
        if event.number != self.number:
            self.faults.append(f"Event {self.number} is not there.")
            self.number = event.number
        if event.previous != self.last:
            self.faults.append(f"Event {event.number} does not follow the one before it.")
        if chain.hash_of(event) != event.hash:
            self.faults.append(f"Event {event.number} was changed.")
        if not self._store.is_signed(event):
            self.faults.append(f"Event {event.number} was not signed by a key of this ledger.")
        self.last = event.hash
        self.newest = Head(
            event.number, event.hash, event.at, event.key or "", event.signature or ""
        )
        said = None
        if (event.details is None) != (event.salt is None):
            self.faults.append(f"The details of event {event.number} were changed.")
        elif event.details is None or event.salt is None:
            self.without.setdefault(event.subject, []).append(event.number)
        elif chain.details_digest(event.salt, event.details) != event.digest:
            self.faults.append(f"The details of event {event.number} were changed.")
        else:
            said = json.loads(event.details)
        self._stand(event, said)

    def _stand(self, event: chain.Event, said: Mapping[str, Any] | None) -> None:
        """Where the promise or the case of an event stands after it."""
        before = self.standing.get(event.subject, (None, None, ""))
        if event.kind == OFFERED:
            known = (None, None) if said is None else (said["person"], said["expires"])
            self.standing[event.subject] = *known, OPEN
        elif event.kind in ("redeemed", "withdrawn", "expired"):
            if before[2] != OPEN:
                self.faults.append(f"Event {event.number} ends a promise that is not open.")
            self.standing[event.subject] = *before[:2], event.kind
        elif event.kind == "decided":
            person = None if said is None else said["person"]
            self.standing[event.subject] = person, event.number, None
        elif event.kind == "reported":
            self.standing[event.subject] = *before[:2], event.number
        elif event.kind == ERASED:
            self.without.pop(event.subject, None)
            if isinstance(before[2], str):  # a promise
                self.standing[event.subject] = None, "", ERASED
            else:
                self.standing.pop(event.subject, None)


def verify_chain(
    db: Connection, store: Store, head: str | None = None, heads: Sequence[Head] = ()
) -> Verification:
    """Walk along the chain; see ``Ledger.verify``. What cannot be read is a fault too."""
    walk, seen = _Walk(store), head is None
    wanted = {one.number: one for one in heads}
    try:
        walk.faults += _integrity(db)
        for row in tables.all_events(db):
            event = chain.Event(*row)
            try:
                walk.step(event)
            except (TypeError, ValueError, KeyError, AttributeError):
                walk.faults.append(f"Event {event.number} cannot be read.")
                walk.last = str(event.hash)
            seen = seen or event.hash == head
            if event.number in wanted and wanted[event.number].hash != event.hash:
                walk.faults.append(f"Event {event.number} is not the one that was published.")
        gone = sorted(number for own in walk.without.values() for number in own)
        walk.faults += [f"The details of event {at} are missing." for at in gone]
        walk.faults += _index_faults(db, walk.standing)
    except DBAPIError as error:
        walk.faults.append(f"The database cannot be read: {' '.join(str(error.orig).split())}.")
    if not seen:
        walk.faults.append(f"The chain does not hold {head}: events were cut off its end.")
    for one in heads:
        if not store.ring.signed(*one):
            walk.faults.append(f"The head of event {one.number} was not signed by a key of ours.")
        elif one.number > walk.number:
            walk.faults.append(f"Event {one.number}, which was published, was cut off the end.")
    if any(wanted[one.number].hash != one.hash for one in heads):
        walk.faults.append("Two published heads of one event differ.")
    return Verification(walk.number, walk.last, tuple(walk.faults[:MOST_FAULTS]), walk.newest)


def check_receipt(receipt: Mapping[str, Any], ring: KeyRing) -> list[str]:
    """What is wrong with the receipt of a promise, a sentence each; empty if it is genuine.

    Parameters
    ----------
    receipt : mapping
        As ``Ledger.receipt`` gives it.
    ring : KeyRing
        Public keys of the lender.
    """
    try:
        event = chain.Event(**receipt)
        if not chain.is_intact(event):
            return ["The receipt was changed."]
        if not ring.signed(event.number, event.hash, event.at, event.key, event.signature or ""):
            return ["The receipt was not signed by one of these keys."]
    except (TypeError, ValueError, AttributeError):
        return ["This is not a receipt of a promise."]
    return []


def _integrity(db: Connection) -> list[str]:
    """What SQLite itself finds wrong with its file."""
    if db.dialect.name != "sqlite":
        return []
    rows = db.exec_driver_sql(f"PRAGMA integrity_check({MOST_FAULTS})").scalars().all()
    return [f"SQLite: {said}." for said in rows if said != "ok"]


def _index_faults(db: Connection, standing: dict[str, Standing]) -> list[str]:
    """Promises and cases whose place in their table is not the one that events give them."""
    wrong = []
    for table, columns in (
        (tables.promises, ("person", "expires", "status")),
        (tables.cases, ("person", "decided", "reported")),
    ):
        chosen = select(table.c.id, *(table.c[name] for name in columns)).order_by(table.c.id)
        for id, *place in db.execute(chosen, execution_options={"yield_per": tables.BATCH}):
            if standing.pop(id, None) != tuple(place):
                wrong.append(id)
    return [f"{id} does not stand where its events say." for id in (*wrong, *standing)]
