"""The ledger: promises are offered, redeemed, withdrawn, and never forgotten."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, insert, select, update

from ract._fingerprint import model_fingerprint
from ract._frames import read_table
from ract.errors import InvalidData, InvalidSpec
from ract.promises import store
from ract.promises.region import Region, Regions
from ract.recourse.result import Recourse

OPEN, REDEEMED, WITHDRAWN, EXPIRED, ERASED = "open", "redeemed", "withdrawn", "expired", "erased"
OFFERED = "offered"
MONTH = timedelta(days=365.25 / 12)
LONGEST = 200  # characters of a person's key


@dataclass(frozen=True)
class Promise:
    """What was promised to one person.

    Parameters
    ----------
    id : str
    person : str
        The key that the lender chose.
    status : {"open", "redeemed", "withdrawn", "expired"}
    offered, expires : datetime
        In UTC.
    model : str
        Fingerprint of the model that made it.
    by : str
        Who made it.
    desired : value
        The class that is promised.
    plan : str
        In words.
    region : Region
        Where the person must stand.
    before, after : dict
        The person's values when the promise was made, and after the plan.
    strength : float
    lasting : float or None
        The probability with which a model that is trained again accepts the plan too.
    """

    id: str
    person: str
    status: str
    offered: datetime
    expires: datetime
    model: str
    by: str
    desired: Any
    plan: str
    region: Region
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    strength: float
    lasting: float | None

    def __str__(self) -> str:
        asked = [f"{name} {self.region.limits[name]}" for name in self.region.asked]
        return (
            f"Promise {self.id} to {self.person}: {self.desired} until {self.expires:%Y-%m-%d} "
            f"with {', '.join(asked)} ({self.status})."
        )


@dataclass(frozen=True)
class Redemption:
    """What became of someone who came back.

    Parameters
    ----------
    accepted : bool
    promise : Promise or None
        The promise that decided, or the one that came nearest; None if there is none.
    faults : tuple of str
        What keeps them from being accepted, a sentence each.
    """

    accepted: bool
    promise: Promise | None
    faults: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.promise is None:
            return "There is no open promise to this person."
        if self.accepted:
            return f"Accepted: {self.promise.desired}, by promise {self.promise.id}."
        return f"Not accepted by promise {self.promise.id}: {' '.join(self.faults)}"


@dataclass(frozen=True)
class Verification:
    """Whether a ledger is as it was written.

    Parameters
    ----------
    n_events : int
    head : str
        Hash of the last event. Kept elsewhere, it also shows events that were cut off the end.
    faults : tuple of str
    """

    n_events: int
    head: str
    faults: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        if self:
            return f"All {self.n_events} events are as they were written. Head: {self.head}."
        return f"{len(self.faults)} faults in {self.n_events} events. {' '.join(self.faults)}"


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
        self._store = store.Store(where)

    def close(self) -> None:
        """Give the connections back."""
        self._store.close()

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
        now = _utc(at)
        until = _until(expires, now)
        keys = [str(key) for key in (recourse.labels if people is None else people)]
        _check_keys(keys, len(recourse))
        if requests is not None and len(requests) != len(recourse):
            raise InvalidSpec(f"{len(requests)} requests were given for {len(recourse)} people.")
        rows = np.flatnonzero(recourse.found).tolist()
        regions, whose = Regions(recourse), {"model": _fingerprint(recourse), "by": by}
        before, after = _rows(recourse.people), _rows(recourse.counterfactuals)
        months = (until - now) / MONTH
        drafts = []
        for i in rows:
            region, proved = regions.of(i, months)
            end = until if proved >= months else now + proved * MONTH
            details = _details(recourse, i, region, end, before[i], after[i])
            drafts.append((i, end, details | whose | {"person": keys[i]}))
        with self._store.writing() as db:
            made = []
            for i, end, details in drafts:
                request = None if requests is None else str(requests[i])
                id = None if request is None else _known(db, request)
                if id is None:
                    id = secrets.token_hex(16)
                    store.append(db, OFFERED, id, details, now)
                    db.execute(insert(store.promises).values(
                        id=id, person=keys[i], status=OPEN, expires=store.stamp(end),
                        request=request,
                    ))  # fmt: skip
                made.append(id)
            return [self._read(db, id) for id in made]

    def redeem(
        self, person: Any, values: Mapping[str, Any] | pd.Series, *, at: datetime | None = None
    ) -> Redemption:
        """Accept someone who comes back and stands where an open promise says.

        Whatever the model of the day says; the decision names the promise.

        Parameters
        ----------
        person : key
        values : mapping
            The person's values by feature, as they are now.
        at : datetime, optional
            When; now by default.
        """
        now, values = _utc(at), {str(k): _plain(v) for k, v in dict(values).items()}
        nearest = None
        with self._store.writing() as db:
            for id in self._ids(db, person=str(person), status=OPEN):
                promise = self._read(db, id)
                faults = promise.region.faults(values)
                if now > promise.expires:
                    faults = [f"It expired on {promise.expires:%Y-%m-%d}.", *faults]
                if not faults:
                    details = {"person": str(person), "values": values}
                    self._end(db, id, REDEEMED, details, now)
                    return Redemption(True, self._read(db, id))
                if nearest is None or len(faults) < len(nearest.faults):
                    nearest = Redemption(False, promise, tuple(faults))
        return Redemption(False, None) if nearest is None else nearest

    def withdraw(self, promise: str, reason: str, *, at: datetime | None = None) -> Promise:
        """Take back an open promise, for a reason that is kept."""
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidSpec("A promise is withdrawn for a reason; none was given.")
        with self._store.writing() as db:
            self._end(db, promise, WITHDRAWN, {"reason": reason}, _utc(at))
            return self._read(db, promise)

    def expire(self, *, at: datetime | None = None) -> list[Promise]:
        """End the open promises whose time is over."""
        now = _utc(at)
        with self._store.writing() as db:
            over = select(store.promises.c.id).where(
                store.promises.c.status == OPEN, store.promises.c.expires < store.stamp(now)
            )
            ids = list(db.execute(over).scalars())
            for id in ids:
                self._end(db, id, EXPIRED, {}, now)
            return [self._read(db, id) for id in ids]

    def erase(self, person: Any, *, at: datetime | None = None) -> int:
        """Remove everything that is known of a person; the chain still verifies.

        Returns how many promises they had. Open ones end.
        """
        with self._store.writing() as db:
            ids = self._ids(db, person=str(person))
            for id in ids:
                store.erase(db, id)
                store.append(db, ERASED, id, {}, _utc(at))
                gone = {"person": None, "status": ERASED, "request": None}
                db.execute(update(store.promises).where(store.promises.c.id == id).values(gone))
            return len(ids)

    def get(self, promise: str) -> Promise:
        """A promise by its number."""
        with self._store.reading() as db:
            return self._read(db, promise)

    def open(self, *, at: datetime | None = None) -> list[Promise]:
        """The promises that can be redeemed, in the order in which they end."""
        now = _utc(at)
        with self._store.reading() as db:
            found = [self._read(db, id) for id in self._ids(db, status=OPEN)]
        return sorted((p for p in found if p.expires >= now), key=lambda p: p.expires)

    def history(self, person: Any) -> pd.DataFrame:
        """Everything that happened to the promises of a person, oldest first."""
        columns = ["at", "event", "promise", "details"]
        with self._store.reading() as db:
            ids = self._ids(db, person=str(person))
            chosen = select(store.events).where(store.events.c.promise.in_(ids))
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
        from ract.promises.verify import verify

        with self._store.reading() as db:
            return verify(db, head)

    def _ids(self, db: Connection, **given: str) -> list[str]:
        chosen = select(store.promises.c.id).join(
            store.events, store.events.c.promise == store.promises.c.id
        )
        for name, value in given.items():
            chosen = chosen.where(store.promises.c[name] == value)
        chosen = chosen.where(store.events.c.kind == OFFERED).order_by(store.events.c.number)
        return list(db.execute(chosen).scalars())

    def _read(self, db: Connection, id: str) -> Promise:
        row = db.execute(select(store.promises).where(store.promises.c.id == id)).first()
        made = db.execute(
            select(store.events).where(store.events.c.promise == id, store.events.c.kind == OFFERED)
        ).first()
        if row is None or made is None:
            raise InvalidSpec(f"There is no promise {id!r} in this ledger.")
        if made.details is None:
            raise InvalidSpec(f"What promise {id!r} said was erased.")
        held = json.loads(made.details)
        held["region"] = Region.from_dict(held["region"])
        held["expires"] = datetime.fromisoformat(held["expires"])
        held["strength"] = math.nan if held["strength"] is None else held["strength"]
        return Promise(id, status=row.status, offered=datetime.fromisoformat(made.at), **held)

    def _end(
        self, db: Connection, id: str, status: str, details: Mapping[str, Any], now: datetime
    ) -> None:
        table = store.promises
        ended = db.execute(
            update(table).where(table.c.id == id, table.c.status == OPEN).values(status=status)
        )
        if ended.rowcount != 1:
            found = db.execute(select(table.c.status).where(table.c.id == id)).scalar()
            state = "is not in this ledger" if found is None else f"is {found}"
            raise InvalidSpec(f"Promise {id!r} {state}; only an open one can be {status}.")
        store.append(db, status, id, details, now)


def _known(db: Connection, request: str) -> str | None:
    found: str | None = db.execute(
        select(store.promises.c.id).where(store.promises.c.request == request)
    ).scalar()
    return found


def _rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as mappings."""
    read = read_table(table)
    cells = {name: read.cells(name) for name in read.names}
    return [{name: _plain(values[i]) for name, values in cells.items()} for i in range(read.n_rows)]


def _details(
    recourse: Recourse, i: int, region: Region, end: datetime, before: Any, after: Any
) -> dict[str, Any]:
    """What a promise says, beside whose it is."""
    plan = recourse[i]
    strength = float(recourse.strength[i])
    return {
        "desired": _plain(recourse.desired),
        "expires": store.stamp(end),
        "plan": plan.describe(),
        "region": region.to_dict(),
        "before": before,
        "after": after,
        "strength": None if math.isnan(strength) else strength,
        "lasting": plan.lasting,
    }


def _fingerprint(recourse: Recourse) -> str:
    models = [one.model for one in recourse.question.each if one.decides]
    if not all(hasattr(model, "ensemble_") for model in models):
        raise InvalidSpec(
            "Promises are made by models that can be kept: make one of this model with "
            "ract.import_model first."
        )
    return " ".join(model_fingerprint(model) for model in models)


def _check_keys(keys: Sequence[str], n_people: int) -> None:
    if len(keys) != n_people:
        raise InvalidSpec(f"{len(keys)} keys were given for {n_people} people.")
    if len(set(keys)) < len(keys):
        raise InvalidData("Two people have the same key; each needs one of their own.")
    for key in keys:
        if not 0 < len(key) <= LONGEST:
            raise InvalidData(f"A person's key has 1 to {LONGEST} characters, got {key[:60]!r}.")


def _until(expires: date | datetime | timedelta, now: datetime) -> datetime:
    if isinstance(expires, timedelta):
        until = now + expires
    elif isinstance(expires, datetime):
        until = _utc(expires)
    elif isinstance(expires, date):
        until = datetime(expires.year, expires.month, expires.day, tzinfo=UTC) + timedelta(days=1)
        until -= timedelta(microseconds=1)
    else:
        raise InvalidSpec(f"expires must be a date or a length of time, got {expires!r}.")
    if until <= now:
        raise InvalidSpec(f"A promise must end after it is made, got {until:%Y-%m-%d %H:%M}.")
    return until


def _utc(at: datetime | None) -> datetime:
    if at is None:
        return datetime.now(UTC)
    if not isinstance(at, datetime):
        raise InvalidSpec(f"at must be a datetime, got {at!r}.")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _plain(value: Any) -> Any:
    """A value of Python's own, as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
