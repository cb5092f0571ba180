"""Promises as they are read from a ledger, and requests that have made them.

Each promise is checked against its hashes and its signature.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, insert, select

from ract._utils.errors import InvalidSpec
from ract.apps.ledger import chain, tables
from ract.apps.ledger.cases import NotFound
from ract.apps.ledger.entries import check_keys, end_of, zone_of
from ract.apps.ledger.promise import ERASED, OFFERED, OPEN, WITHDRAWN, Promise, Redemption, Region
from ract.apps.ledger.store import LedgerChanged, Store

PAGE = 1000  # promises that are read at once

# Status and event of promises.
OFFERS = (
    select(tables.promises.c.status, tables.events)
    .join(tables.events, tables.events.c.subject == tables.promises.c.id)
    .where(tables.events.c.kind == OFFERED)
    .order_by(tables.events.c.number)
)


class Shelf:
    """The promises of a store.

    Parameters
    ----------
    store : Store
    zone : tzinfo
        In which promises of 0.2, which do not say theirs, end with a day.
    """

    def __init__(self, store: Store, zone: tzinfo) -> None:
        self._store, self._zone = store, zone

    def get(self, db: Connection, id: str) -> Promise:
        """A promise by its number."""
        found = self.all(db, tables.promises.c.id == id)
        if not found:
            raise NotFound(f"There is no promise {id!r} in this ledger.")
        return found[0]

    def all(self, db: Connection, *conditions: ColumnElement[bool]) -> list[Promise]:
        """Promises in the order in which they were made."""
        found = []
        for row in db.execute(OFFERS.where(*conditions)).all():
            promise = self._promise(row[0], chain.Event(*row[1:]), signed=True)
            if promise.status == WITHDRAWN:
                events = tables.events
                own = events.c.subject == promise.id, events.c.kind == WITHDRAWN
                end = chain.Event(*db.execute(select(events).where(*own)).one())
                promise = replace(promise, reason=self._store.said(end)["reason"])
            found.append(promise)
        return found

    def each_open(self, now: datetime) -> Iterator[Promise]:
        """Those that can be redeemed, in the order in which they end, a few at a time.

        Their signatures are checked when they are redeemed.
        """
        table, event = tables.promises.c, tables.events.c
        chosen = OFFERS.with_only_columns(event.number).where(table.status == OPEN)
        with self._store.reading() as db:
            ordered = chosen.order_by(None).order_by(table.expires, event.number)
            numbers = np.fromiter(db.execute(ordered).scalars(), np.int64)
        for first in range(0, len(numbers), PAGE):
            places = {number: k for k, number in enumerate(numbers[first : first + PAGE].tolist())}
            with self._store.reading() as db:
                rows = db.execute(OFFERS.where(event.number.in_(places))).all()
            for row in sorted(rows, key=lambda row: places[row.number]):
                if row.status == OPEN:  # asked in SQL, SQLite would go through all open ones
                    promise = self._promise(row[0], chain.Event(*row[1:]), signed=False)
                    if promise.expires >= now:
                        yield promise

    def nearest(
        self, db: Connection, person: str, values: Mapping[str, Any], only: str | None
    ) -> Redemption:
        """The first open promise that accepts values, else the one that comes nearest."""
        table, found = tables.promises.c, Redemption(False, None)
        conditions = [table.person == person, table.status == OPEN]
        promises = self.all(db, *conditions, *([table.id == only] if only else []))
        if not promises:
            return found
        now = self._store.now(db)
        for promise in promises:
            if promise.person != person:  # the index was changed, not the event
                raise LedgerChanged(promise.id)
            faults = promise.region.faults(values)
            if now > promise.expires:
                faults = [f"It expired on {promise.expires:%Y-%m-%d}.", *faults]
            if not faults:
                return Redemption(True, promise)
            if found.promise is None or len(faults) < len(found.faults):
                found = Redemption(False, promise, tuple(faults))
        return found

    def _promise(self, status: str, made: chain.Event, *, signed: bool) -> Promise:
        if made.details is None and status == ERASED:
            raise InvalidSpec(f"The contents of promise {made.subject!r} were erased.")
        if not chain.is_intact(made) or (signed and not self._store.is_signed(made)):
            raise LedgerChanged(made.subject)
        details = json.loads(made.details or "")
        details["region"] = Region.from_dict(details["region"])
        ends, zone = datetime.fromisoformat(details["expires"]), details.pop("zone", None)
        if zone is None:  # 0.2 showed the day in UTC, and ended promises before it was over
            details["expires"] = end_of(ends.date(), self._zone)
        else:
            details["expires"] = ends.astimezone(zone_of(zone))
        details["strength"] = math.nan if details["strength"] is None else details["strength"]
        details["by"] = details.get("by", made.by)
        offered = datetime.fromisoformat(made.at)
        return Promise(made.subject, status=status, offered=offered, **details)


class Conflict(InvalidSpec):
    """A request's key that was used with another body, or a promise that has ended."""


class Request(NamedTuple):
    """A request that is carried out once: its key, and what it asks for."""

    key: str
    body: str = ""

    @property
    def digest(self) -> str:
        """The hash of the body, which is stored."""
        return hashlib.sha256(self.body.encode("utf-8", "surrogatepass")).hexdigest()

    def made(self, db: Connection) -> list[str] | None:
        """The promises that it has made; None if it was not carried out yet."""
        check_keys([self.key], "A request's key")
        table = tables.requests
        row = db.execute(select(table).where(table.c.key == self.key)).first()
        if row is None:
            return None
        if row.digest != self.digest:
            raise Conflict(f"The request {self.key!r} was used before, for something else.")
        return [str(id) for id in json.loads(row.made)]

    def remember(self, db: Connection, made: Sequence[str]) -> None:
        """Record which promises it has made."""
        new = {"key": self.key, "digest": self.digest, "made": json.dumps(made)}
        db.execute(insert(tables.requests).values(new))
