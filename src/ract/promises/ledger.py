"""The ledger: promises are offered, redeemed, withdrawn, and never forgotten."""

from __future__ import annotations

import json
import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from ract.errors import InvalidSpec
from ract.promises import store
from ract.promises.drafts import check_keys, drafts, plain, until_of, utc
from ract.promises.promise import (
    ERASED,
    EXPIRED,
    OFFERED,
    OPEN,
    REDEEMED,
    WITHDRAWN,
    Promise,
    Redemption,
    Verification,
)
from ract.promises.region import Region
from ract.promises.verify import verify
from ract.recourse.result import Recourse


class Ledger:
    """Promises, in SQLite or PostgreSQL, as a chain of events to which one can only add.

    Parameters
    ----------
    where : path or URL
        A file of SQLite's, made if it is not there, or an address such as
        ``postgresql+psycopg://user@host/name``.

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=600)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> model = model.fit(loans.frame, loans.target)
    >>> refused = loans.frame[model.predict(loans.frame) == "refused"].head(20)
    >>> plans = model.recourse(refused, strength=0.7, at_least=True)
    >>> ledger = Ledger("sqlite://")
    >>> offered = ledger.offer(plans, expires=timedelta(days=180))
    >>> first = offered[0]
    >>> ledger.redeem(first.person, first.after).accepted
    True
    >>> bool(ledger.verify())
    True
    """

    def __init__(self, where: str | Path = "ract-promises.db") -> None:
        self.store = store.Store(where)

    def close(self) -> None:
        """Give the connections back."""
        self.store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def offer(
        self,
        recourse: Recourse,
        *,
        expires: date | datetime | timedelta,
        people: Sequence[Any] | None = None,
        by: str = "",
        requests: Sequence[str] | None = None,
        at: datetime | None = None,
    ) -> list[Promise]:
        """Promise the plans of a result to everyone who has one.

        All of them are kept, or none. A promise ends earlier where features that move by
        themselves (``Feature.per_month``) would leave what is proved.

        Parameters
        ----------
        recourse : Recourse
            Of a model of ract's, or of several. Ask for ``at_least=True``, so that people may do
            more than their plan asks.
        expires : date, datetime or timedelta
            When promises end; a date counts to the end of the day in UTC.
        people : sequence, optional
            Keys of the people; their labels in the table by default.
        by : str
            Who makes the promises.
        requests : sequence of str, optional
            A key for each person's offer: an offer whose key is known already is not made again.
        at : datetime, optional
            When; now by default.
        """
        now = utc(at)
        if requests is not None:
            if len(requests) != len(recourse):
                raise InvalidSpec(
                    f"{len(requests)} requests were given for {len(recourse)} people."
                )
            check_keys([str(request) for request in requests], "A request's key")
        until = until_of(expires, now)
        drafted = list(drafts(recourse, people, until, now, by))
        with self.store.writing() as db:
            made = []
            for draft in drafted:
                request = None if requests is None else str(requests[draft.row])
                id = None if request is None else _known(db, request, draft.person)
                if id is None:
                    id = secrets.token_hex(16)
                    store.append(db, OFFERED, id, draft.details, now)
                    db.execute(insert(store.promises).values(
                        id=id, person=draft.person, status=OPEN, expires=store.stamp(draft.end),
                        request=request,
                    ))  # fmt: skip
                made.append(id)
            return [_get(db, id) for id in made]

    def requested(self, requests: Sequence[str], people: Sequence[Any]) -> list[Promise]:
        """The promises that an offer with these request keys has made already, if it has.

        Parameters
        ----------
        requests : sequence of str
            As they were given to ``offer``.
        people : sequence
            Key of the person of each.
        """
        with self.store.reading() as db:
            pairs = zip(requests, people, strict=True)
            known = [_known(db, str(request), str(person)) for request, person in pairs]
            return [_get(db, id) for id in known if id is not None]

    def redeem(
        self,
        person: Any,
        values: Mapping[str, Any] | pd.Series,
        *,
        promise: str | None = None,
        at: datetime | None = None,
    ) -> Redemption:
        """Accept someone who comes back and stands where an open promise says.

        Whatever the model of the day says; the decision names the promise.

        Parameters
        ----------
        person : key
        values : mapping
            The person's values by feature, as they are now.
        promise : str, optional
            Only this one of their promises.
        at : datetime, optional
            When; now by default.
        """
        now, values = utc(at), _as_kept(values)
        with self.store.writing() as db:
            found = _nearest(db, str(person), values, promise, now)
            if found.promise is None or not found.accepted:
                return found
            details = {"person": str(person), "values": values}
            _end(db, found.promise.id, REDEEMED, details, now)
            return Redemption(True, _get(db, found.promise.id))

    def accepts(
        self,
        person: Any,
        values: Mapping[str, Any] | pd.Series,
        *,
        promise: str | None = None,
        at: datetime | None = None,
    ) -> Redemption:
        """What ``redeem`` would say; nothing is written."""
        with self.store.reading() as db:
            return _nearest(db, str(person), _as_kept(values), promise, utc(at))

    def withdraw(self, promise: str, reason: str, *, at: datetime | None = None) -> Promise:
        """Take back an open promise, for a reason that is kept."""
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidSpec("A promise is withdrawn for a reason; none was given.")
        with self.store.writing() as db:
            _end(db, promise, WITHDRAWN, {"reason": reason}, utc(at))
            return _get(db, promise)

    def expire(self, *, at: datetime | None = None) -> list[Promise]:
        """End the open promises whose time is over."""
        now, table = utc(at), store.promises.c
        with self.store.writing() as db:
            over = _promises(db, table.status == OPEN, table.expires < store.stamp(now))
            for promise in over:
                _end(db, promise.id, EXPIRED, {}, now)
            return [_get(db, promise.id) for promise in over]

    def erase(self, person: Any, *, at: datetime | None = None) -> int:
        """Remove everything that is known of a person; the chain still verifies.

        Returns how many promises they had. Open ones end. Rows that other tables of the same
        database (``ract_...``) hold in their name go too.
        """
        table = store.promises
        with self.store.writing() as db:
            chosen = select(table.c.id).where(table.c.person == str(person))
            ids = list(db.execute(chosen).scalars())
            for id in ids:
                store.erase(db, id)
                store.append(db, ERASED, id, {}, utc(at))
                gone = {"person": None, "status": ERASED, "request": None}
                db.execute(update(table).where(table.c.id == id).values(gone))
            store.erase_elsewhere(db, str(person))
        self.store.tidy()
        return len(ids)

    def get(self, promise: str) -> Promise:
        """A promise by its number."""
        with self.store.reading() as db:
            return _get(db, promise)

    def of(self, person: Any) -> list[Promise]:
        """The promises to a person, whatever became of them, oldest first."""
        with self.store.reading() as db:
            return _promises(db, store.promises.c.person == str(person))

    def open(self, *, at: datetime | None = None) -> list[Promise]:
        """The promises that can be redeemed, in the order in which they end."""
        now = utc(at)
        with self.store.reading() as db:
            found = _promises(db, store.promises.c.status == OPEN)
        return sorted((p for p in found if p.expires >= now), key=lambda p: p.expires)

    def counts(self) -> dict[str, int]:
        """How many promises have each status; those whose time is over count as open until ended.

        >>> Ledger("sqlite://").counts()["open"]
        0
        """
        status = store.promises.c.status
        with self.store.reading() as db:
            rows = db.execute(select(status, func.count()).group_by(status)).all()
        held = Counter({str(name): int(n) for name, n in rows})
        return {name: held[name] for name in (OPEN, REDEEMED, WITHDRAWN, EXPIRED, ERASED)}

    def history(self, person: Any) -> pd.DataFrame:
        """Everything that happened to the promises of a person, oldest first."""
        columns = ["at", "event", "promise", "details"]
        own = select(store.promises.c.id).where(store.promises.c.person == str(person))
        chosen = select(store.events).where(store.events.c.promise.in_(own))
        with self.store.reading() as db:
            rows = [
                (row.at, row.kind, row.promise, json.loads(row.details))
                for row in db.execute(chosen.order_by(store.events.c.number))
            ]
        return pd.DataFrame(rows, columns=columns)

    def verify(self, head: str | None = None) -> Verification:
        """Whether every event is as it was written, and every promise stands where events say.

        Parameters
        ----------
        head : str, optional
            The hash of an event that was noted before: the chain must hold it.
        """
        with self.store.snapshot() as db:
            return verify(db, head)


def _promises(db: Connection, *conditions: ColumnElement[bool]) -> list[Promise]:
    """Promises in the order in which they were made, each checked against its own hashes."""
    chosen = (
        select(store.promises.c.status, store.events)
        .join(store.events, store.events.c.promise == store.promises.c.id)
        .where(store.events.c.kind == OFFERED, *conditions)
        .order_by(store.events.c.number)
    )
    return [_promise(row[0], store.Event(*row[1:])) for row in db.execute(chosen)]


def _get(db: Connection, id: str) -> Promise:
    found = _promises(db, store.promises.c.id == id)
    if not found:
        raise InvalidSpec(f"There is no promise {id!r} in this ledger.")
    return found[0]


def _promise(status: str, made: store.Event) -> Promise:
    if made.details is None and status == ERASED:
        raise InvalidSpec(f"What promise {made.promise!r} said was erased.")
    if made.details is None or not store.is_intact(made):
        raise store.LedgerChanged(made.promise)
    held = json.loads(made.details)
    held["region"] = Region.from_dict(held["region"])
    held["expires"] = datetime.fromisoformat(held["expires"])
    held["strength"] = math.nan if held["strength"] is None else held["strength"]
    offered = datetime.fromisoformat(made.at)
    return Promise(made.promise, status=status, offered=offered, **held)


def _nearest(
    db: Connection, person: str, values: Mapping[str, Any], only: str | None, now: datetime
) -> Redemption:
    """The first open promise that accepts values, else the one that comes nearest."""
    table, nearest = store.promises.c, Redemption(False, None)
    for promise in _promises(db, table.person == person, table.status == OPEN):
        if only is not None and promise.id != only:
            continue
        if promise.person != person:  # the index was changed, not the event
            raise store.LedgerChanged(promise.id)
        faults = promise.region.faults(values)
        if now > promise.expires:
            faults = [f"It expired on {promise.expires:%Y-%m-%d}.", *faults]
        if not faults:
            return Redemption(True, promise)
        if nearest.promise is None or len(faults) < len(nearest.faults):
            nearest = Redemption(False, promise, tuple(faults))
    return nearest


def _end(db: Connection, id: str, status: str, details: Mapping[str, Any], now: datetime) -> None:
    table, events = store.promises, store.events.c
    ended = db.execute(
        update(table).where(table.c.id == id, table.c.status == OPEN).values(status=status)
    )
    if ended.rowcount != 1:
        found = db.execute(select(table.c.status).where(table.c.id == id)).scalar()
        state = "is not in this ledger" if found is None else f"is {found}"
        raise InvalidSpec(f"Promise {id!r} {state}; only an open one can be {status}.")
    happened = select(func.count()).where(events.promise == id)
    if db.execute(happened).scalar() != 1:  # it ended before, whatever the index says
        raise store.LedgerChanged(id)
    store.append(db, status, id, details, now)


def _known(db: Connection, request: str, person: str) -> str | None:
    """The promise that a request has made already, which must be to the same person."""
    table = store.promises.c
    found = db.execute(select(table.id, table.person).where(table.request == request)).first()
    if found is not None and found.person != person:
        raise InvalidSpec(f"The request {request!r} was used for someone else's promise.")
    return None if found is None else str(found.id)


def _as_kept(values: Mapping[str, Any] | pd.Series) -> dict[str, Any]:
    return {str(name): plain(value) for name, value in dict(values).items()}
