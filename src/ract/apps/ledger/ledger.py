"""The ledger: promises are offered, redeemed, withdrawn, and never forgotten."""

from __future__ import annotations

import getpass
import json
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from sqlalchemy import Connection, func, insert, select, update

from ract._utils.errors import InvalidSpec
from ract.apps.ledger import chain, store, tables
from ract.apps.ledger.cases import Cases
from ract.apps.ledger.chain import Head
from ract.apps.ledger.entries import check_keys, plain_values, until_of, zone_of
from ract.apps.ledger.promise import (
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
from ract.apps.ledger.shelf import OFFERS, Conflict, Request, Shelf
from ract.apps.ledger.verify import verify_chain

if TYPE_CHECKING:
    from ract.recourse.result import Recourse

Values = Mapping[str, Any] | pd.Series


class Erased(NamedTuple):
    """What became of a person's data: how many promises and cases, and whether journals are clean.

    If ``everywhere`` is False, SQLite's journal still contains them, because somebody reads from
    it; they are gone when the last reader has closed the ledger.
    """

    promises: int
    cases: int
    everywhere: bool


class Ledger:
    """Promises, in SQLite or PostgreSQL, as a signed chain of events to which one can only add.

    Parameters
    ----------
    where : path or URL
        A file of SQLite, which is created if there is none, or an address such as
        ``postgresql+psycopg://user@host/name``.
    keys : path or KeyRing, optional
        The keys that sign events: a file, which is created if the ledger is new. By default the
        file that ``RACT_LEDGER_KEY`` names, or one beside the ledger.
    mode : {"create", "write", "read"}
        "create" makes a ledger if there is none, "write" raises an error then, and "read" changes
        nothing.
    zone : str
        The lender's time zone; promises end at the end of a day in it.
    by : str, optional
        Who writes, if a call does not say so; the user of this process by default.
    clock : callable, optional
        Returns the time; by default the clock of the database is used.

    Examples
    --------
    >>> from ract import RecourseForestClassifier, load_loans
    >>> loans = load_loans(n_people=600)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> model = model.fit(loans.frame, loans.target)
    >>> refused = loans.frame[model.predict(loans.frame) == "refused"].head(20)
    >>> plans = model.recourse(refused, strength=0.7, at_least=True)
    >>> with Ledger("sqlite://") as ledger:
    ...     first = ledger.offer(plans, expires=timedelta(days=180))[0]
    ...     ledger.redeem(first.person, first.after).accepted, bool(ledger.verify())
    (True, True)
    """

    def __init__(
        self,
        where: str | Path = "ract-promises.db",
        *,
        keys: store.Keys = None,
        mode: store.Mode = "create",
        zone: str = "UTC",
        by: str | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._zone, self._by = zone_of(zone), _user() if by is None else by
        self.store = store.Store(where, keys, mode, clock)
        self.cases, self._shelf = Cases(self.store), Shelf(self.store, self._zone)

    def close(self) -> None:
        """Close the connections."""
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
        people: Sequence[Hashable] | None = None,
        pinned: Collection[str] = (),
        by: str | None = None,
        request: str | Request | None = None,
    ) -> list[Promise]:
        """Promise the plans of a result to everyone who has one.

        Either all promises are made, or none. A promise ends earlier if features that change by
        themselves (``Feature.drift``) would leave the proved region before.

        Parameters
        ----------
        recourse : Recourse
            Plans of a model of ract's, or of several. Use ``at_least=True``, so that people may do
            more than their plan asks.
        expires : date, datetime or timedelta
            The last day of the promises; they are valid to its end.
        people : sequence, optional
            Keys of the people; their labels in the table by default.
        pinned : names
            Features that must stay as they are unless the plan changes them, such as the amount
            of a loan.
        by : str, optional
            Who makes the promises.
        request : str or Request, optional
            An offer with a key that is known already is not made again.
        """
        drafted = self.draft(recourse, expires=expires, people=people, pinned=pinned)
        return self.keep(drafted, by=by, request=request)

    def draft(
        self,
        recourse: Recourse,
        *,
        expires: date | datetime | timedelta,
        people: Sequence[Hashable] | None = None,
        pinned: Collection[str] = (),
    ) -> list[dict[str, Any]]:
        """Return what ``offer`` would promise as plain data, without writing anything."""
        from ract.apps.ledger.proving import drafts

        with self.store.reading() as db:
            now = self.store.now(db)
        return drafts(recourse, people, until_of(expires, now, self._zone), now, pinned)

    def keep(
        self,
        drafted: Sequence[Mapping[str, Any]],
        *,
        by: str | None = None,
        request: str | Request | None = None,
    ) -> list[Promise]:
        """Record drafted promises, all of them or none."""
        asked = Request(request) if isinstance(request, str) else request
        with self.store.writing() as db:
            made = None if asked is None else asked.made(db)
            if made is None:
                made = [self._offer(db, draft, by) for draft in drafted]
                if asked is not None:
                    asked.remember(db, made)
            return [self._shelf.get(db, id) for id in made]

    def made(self, request: Request) -> list[Promise] | None:
        """The promises that a request has made already; None if it was not carried out."""
        with self.store.reading() as db:
            made = request.made(db)
            return None if made is None else [self._shelf.get(db, id) for id in made]

    def redeem(
        self,
        person: Hashable,
        values: Values,
        *,
        promise: str | None = None,
        evidence: Mapping[str, str] | None = None,
        by: str | None = None,
        request: Request | None = None,
    ) -> Redemption:
        """Accept a person who comes back and meets the conditions of an open promise.

        The person is accepted whatever the model of the day says; the decision names the promise.
        If the person has a case, the decision is recorded there.

        Parameters
        ----------
        person : key
        values : mapping
            The person's values by feature, as they are now.
        promise : str, optional
            Only this one of their promises.
        evidence : mapping, optional
            By feature: the evidence that was seen.
        by : str, optional
            Who redeems it.
        request : Request, optional
            A request that was carried out already gets the same answer again.
        """
        key, given = str(person), plain_values(values)
        with self.store.writing() as db:
            if request is not None and (made := request.made(db)):
                return Redemption(True, self._shelf.get(db, made[0]))
            found = self._redeem(db, key, given, promise, evidence, by)
            if (id := found.decided_by) is not None:
                if self.cases.number(db, key) is not None:
                    decision = {"accepted": True, "promise": id, "model": None}
                    self.cases.keep(db, key, given, decision, self._actor(by))
                if request is not None:
                    request.remember(db, [id])
            return found

    def decide(
        self,
        people: Sequence[str],
        rows: Sequence[Mapping[str, Any]],
        accepted: Sequence[bool],
        *,
        model: str,
        by: str | None = None,
        redeem: bool = True,
    ) -> list[tuple[str, str | None]]:
        """Record decisions of a model as cases: all of them, or none.

        A person whom the model refuses and who meets the conditions of an open promise is accepted
        by it, if promises are to be redeemed. Returns the numbers of the case and of that promise
        for each person.
        """
        check_keys(people, "A person's key")
        found = []
        with self.store.writing() as db:
            for person, values, is_yes in zip(people, rows, accepted, strict=True):
                given, promise = plain_values(values), None
                if redeem and not is_yes:
                    promise = self._redeem(db, person, given, by=by).decided_by
                decision = {"accepted": is_yes or promise is not None, "promise": promise}
                decision["model"] = model
                case = self.cases.keep(db, person, given, decision, self._actor(by))
                found.append((case, promise))
        return found

    def accepts(
        self, person: Hashable, values: Values, *, promise: str | None = None
    ) -> Redemption:
        """Return what ``redeem`` would return, without writing anything."""
        with self.store.reading() as db:
            return self._shelf.nearest(db, str(person), plain_values(values), promise)

    def withdraw(self, promise: str, reason: str, *, by: str | None = None) -> Promise:
        """Withdraw an open promise, for a reason that is recorded and shown to the person."""
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidSpec("A promise is withdrawn for a reason; none was given.")
        with self.store.writing() as db:
            self._end(db, promise, WITHDRAWN, {"reason": reason}, by)
            return self._shelf.get(db, promise)

    def expire(self, *, by: str | None = None) -> list[Promise]:
        """End the open promises whose last day is over."""
        table = tables.promises.c
        with self.store.writing() as db:
            now = self.store.now(db)
            held = self._shelf.all(db, table.status == OPEN, table.expires < chain.stamp(now))
            over = [promise for promise in held if promise.expires < now]
            for promise in over:
                self._end(db, promise.id, EXPIRED, {}, by)
            return [self._shelf.get(db, promise.id) for promise in over]

    def erase(self, person: Hashable, *, by: str | None = None) -> Erased:
        """Erase a person's data; the chain still verifies.

        Open promises end. Rows of the person in other tables of the same database (``ract_...``)
        are removed too.
        """
        key, table, own = str(person), tables.promises, tables.cases.c
        with self.store.writing() as db:
            ids = db.execute(select(table.c.id).where(table.c.person == key)).scalars().all()
            held = db.execute(select(own.id).where(own.person == key)).scalars().all()
            for id in (*ids, *held):
                tables.erase_details(db, id)
                self.store.append(db, ERASED, id, {}, self._actor(by))
            gone = {"person": None, "status": ERASED, "expires": ""}
            db.execute(update(table).where(table.c.person == key).values(gone))
            tables.erase_elsewhere(db, key)
        return Erased(len(ids), len(held), self.store.tidy())

    def get(self, promise: str) -> Promise:
        """A promise by its number."""
        with self.store.reading() as db:
            return self._shelf.get(db, promise)

    def of(self, person: Hashable) -> list[Promise]:
        """The promises to a person, with any status, oldest first."""
        with self.store.reading() as db:
            return self._shelf.all(db, tables.promises.c.person == str(person))

    def open(self) -> list[Promise]:
        """The promises that can be redeemed, in the order in which they end."""
        return list(self.each_open())

    def each_open(self) -> Iterator[Promise]:
        """Iterate over open promises without loading all of them into memory."""
        with self.store.reading() as db:
            now = self.store.now(db)
        return self._shelf.each_open(now)

    def counts(self) -> dict[str, int]:
        """How many promises have each status; those whose time is over count as open until ended.

        >>> with Ledger("sqlite://") as ledger:
        ...     ledger.counts()["open"]
        0
        """
        status = tables.promises.c.status
        with self.store.reading() as db:
            rows = db.execute(select(status, func.count()).group_by(status)).all()
        held = Counter({str(name): int(n) for name, n in rows})
        return {name: held[name] for name in (OPEN, REDEEMED, WITHDRAWN, EXPIRED, ERASED)}

    def history(self, person: Hashable) -> pd.DataFrame:
        """Events of all promises to a person, oldest first."""
        columns = ["at", "event", "promise", "by", "details"]
        own = select(tables.promises.c.id).where(tables.promises.c.person == str(person))
        event = tables.events.c
        chosen = select(event.at, event.kind, event.subject, event.by, event.details)
        with self.store.reading() as db:
            rows = db.execute(chosen.where(event.subject.in_(own)).order_by(event.number)).all()
        return pd.DataFrame([(*row[:4], json.loads(row[4])) for row in rows], columns=columns)

    def verify(self, head: str | None = None, *, heads: Sequence[Head] = ()) -> Verification:
        """Verify every event and its signature, and that all other tables follow from them.

        Parameters
        ----------
        head : str, optional
            The hash of an event that was noted before; the chain must contain it.
        heads : sequence of Head
            Signed heads that were published; the chain must contain all of them.
        """
        with self.store.snapshot() as db:
            return verify_chain(db, self.store, head, heads)

    def head(self) -> Head | None:
        """The newest event, signed, to be published elsewhere; None if there is none."""
        columns = [tables.events.c[name] for name in Head._fields]
        with self.store.reading() as db:
            newest = select(*columns).order_by(tables.events.c.number.desc()).limit(1)
            row = db.execute(newest).first()
        return None if row is None else Head(*row)

    def receipt(self, promise: str) -> dict[str, Any]:
        """A promise as its person can keep it: signed, and checked without this ledger.

        ``ract.apps.ledger.check_receipt`` checks it.
        """
        with self.store.reading() as db:
            self._shelf.get(db, promise)
            row = db.execute(OFFERS.where(tables.promises.c.id == promise)).one()
        return chain.Event(*row[1:])._asdict()

    def _actor(self, by: str | None) -> str:
        by = by or self._by
        check_keys([by], "Whoever acts")
        return by

    def _offer(self, db: Connection, draft: Mapping[str, Any], by: str | None) -> str:
        id = secrets.token_hex(16)
        self.store.append(db, OFFERED, id, draft, self._actor(by))
        new = {"id": id, "status": OPEN, "person": draft["person"], "expires": draft["expires"]}
        db.execute(insert(tables.promises).values(new))
        return id

    def _redeem(
        self,
        db: Connection,
        person: str,
        values: Mapping[str, Any],
        only: str | None = None,
        evidence: Mapping[str, str] | None = None,
        by: str | None = None,
    ) -> Redemption:
        found = self._shelf.nearest(db, person, values, only)
        if (id := found.decided_by) is None:
            return found
        details = {"person": person, "values": values, "evidence": dict(evidence or {})}
        self._end(db, id, REDEEMED, details, by)
        return Redemption(True, self._shelf.get(db, id))

    def _end(
        self, db: Connection, id: str, status: str, details: Mapping[str, Any], by: str | None
    ) -> None:
        table = tables.promises
        chosen = update(table).where(table.c.id == id, table.c.status == OPEN)
        if db.execute(chosen.values(status=status)).rowcount != 1:
            found = db.scalar(select(table.c.status).where(table.c.id == id))
            state = "is not in this ledger" if found is None else f"is {found}"
            raise Conflict(f"Promise {id!r} {state}; only an open one can be {status}.")
        # Once only: the database has a constraint for the ends of a promise.
        self.store.append(db, status, id, details, self._actor(by))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without names
        return "unknown user"
