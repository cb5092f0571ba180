"""Checking a ledger, event by event, with nothing but its hashes and public keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from ract.apps.ledger import chain, store, tables
from ract.apps.ledger.promise import ERASED, OFFERED, OPEN, Verification
from ract.apps.ledger.ring import Head, KeyRing

MOST_FAULTS = 20  # that are listed

Standing = tuple[Any, ...]  # of a promise: person, when it ends, status; of a case: its events


class _Walk:
    """What is known after some events of a chain."""

    def __init__(self, held: store.Store) -> None:
        self.faults: list[str] = []
        self.number, self.last = 0, chain.FIRST
        self.newest: Head | None = None
        self.standing: dict[str, Standing] = {}
        self.without: dict[str, list[int]] = {}  # events whose details are gone, by subject
        self._store = held

    def step(self, one: chain.Event) -> None:
        """Take one more event."""
        self.number += 1
        if one.number != self.number:
            self.faults.append(f"Event {self.number} is not there.")
            self.number = one.number
        if one.previous != self.last:
            self.faults.append(f"Event {one.number} does not follow the one before it.")
        if chain.hash_of(one) != one.hash:
            self.faults.append(f"Event {one.number} was changed.")
        if not self._store.is_signed(one):
            self.faults.append(f"Event {one.number} was not signed by a key of this ledger.")
        self.last = one.hash
        self.newest = Head(one.number, one.hash, one.at, one.key or "", one.signature or "")
        said = None
        if (one.details is None) != (one.salt is None):
            self.faults.append(f"The details of event {one.number} were changed.")
        elif one.details is None or one.salt is None:
            self.without.setdefault(one.subject, []).append(one.number)
        elif chain.digest_of(one.salt, one.details) != one.digest:
            self.faults.append(f"The details of event {one.number} were changed.")
        else:
            said = json.loads(one.details)
        self._stand(one, said)

    def _stand(self, one: chain.Event, said: Mapping[str, Any] | None) -> None:
        """Where the promise or the case of an event stands after it."""
        before = self.standing.get(one.subject, (None, None, ""))
        if one.kind == OFFERED:
            known = (None, None) if said is None else (said["person"], said["expires"])
            self.standing[one.subject] = *known, OPEN
        elif one.kind in ("redeemed", "withdrawn", "expired"):
            self.standing[one.subject] = *before[:2], one.kind
        elif one.kind == "decided":
            self.standing[one.subject] = None if said is None else said["person"], one.number, None
        elif one.kind == "reported":
            self.standing[one.subject] = *before[:2], one.number
        elif one.kind == ERASED:
            self.without.pop(one.subject, None)
            if isinstance(before[2], str):  # a promise
                self.standing[one.subject] = None, "", ERASED
            else:
                self.standing.pop(one.subject, None)


def verify(
    db: Connection, held: store.Store, head: str | None = None, heads: Sequence[Head] = ()
) -> Verification:
    """Walk along the chain; see ``Ledger.verify``. What cannot be read is a fault too."""
    walk, seen = _Walk(held), head is None
    wanted = {one.number: one for one in heads}
    try:
        walk.faults += _integrity(db)
        for row in tables.all_events(db):
            one = chain.Event(*row)
            try:
                walk.step(one)
            except (TypeError, ValueError, KeyError, AttributeError):
                walk.faults.append(f"Event {one.number} cannot be read.")
                walk.last = str(one.hash)
            seen = seen or one.hash == head
            if one.number in wanted and wanted[one.number].hash != one.hash:
                walk.faults.append(f"Event {one.number} is not the one that was published.")
        gone = sorted(number for own in walk.without.values() for number in own)
        walk.faults += [f"The details of event {at} are missing." for at in gone]
        walk.faults += _index_faults(db, walk.standing)
    except DBAPIError as error:
        walk.faults.append(f"The database cannot be read: {' '.join(str(error.orig).split())}.")
    if not seen:
        walk.faults.append(f"The chain does not hold {head}: events were cut off its end.")
    for own in heads:
        if not held.ring.signed(own.number, own.hash, own.at, own.key, own.signature):
            walk.faults.append(f"The head of event {own.number} was not signed by a key of ours.")
        elif own.number > walk.number:
            walk.faults.append(f"Event {own.number}, which was published, was cut off the end.")
    if {(one.number, one.hash) for one in heads} != {(n, h.hash) for n, h in wanted.items()}:
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
        one = chain.Event(**receipt)
        if not chain.is_intact(one):
            return ["The receipt was changed."]
        if not ring.signed(one.number, one.hash, one.at, one.key, one.signature or ""):
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
        last, more = "", True
        while more:
            chosen = select(table).where(table.c.id > last).order_by(table.c.id).limit(1000)
            rows = db.execute(chosen).mappings().all()
            for row in rows:
                place = tuple(row[name] for name in columns)
                if standing.pop(row["id"], None) != place:
                    wrong.append(row["id"])
            more, last = len(rows) > 0, rows[-1]["id"] if rows else last
    return [f"{id} does not stand where its events say." for id in (*wrong, *standing)]
