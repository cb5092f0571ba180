"""Cases: on whom was decided, by what, what they have reported since, and notes.

Everything is an event of the chain; the table of cases only finds them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from ract._utils.errors import InvalidSpec
from ract.apps.ledger.chain import Event
from ract.apps.ledger.promise import Case
from ract.apps.ledger.store import Store
from ract.apps.ledger.tables import cases, events

DECIDED, REPORTED, NOTED = "decided", "reported", "noted"
MOST_FOUND = 50  # cases that a search lists
MOST_NOTE = 4000  # characters

Values = Mapping[str, Any]


class Note(NamedTuple):
    """What someone wrote or did on a case."""

    at: datetime
    by: str
    text: str


class NotFound(InvalidSpec):
    """Something that is not there, or not for whoever asks."""


class Cases:
    """The cases of a ledger.

    Parameters
    ----------
    store : Store

    Examples
    --------
    >>> from ract.apps.ledger import Ledger
    >>> ledger = Ledger("sqlite://")
    >>> with ledger.store.writing() as db:
    ...     id = ledger.cases.keep(db, "A-17", {"Income": 5}, {"accepted": False}, "J. Doe")
    >>> ledger.cases.get(id).accepted, [note.text for note in ledger.cases.notes(id)]
    (False, ['refused'])
    >>> ledger.close()
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def keep(
        self, db: Connection, person: str, values: Values, decision: Mapping[str, Any], by: str
    ) -> str:
        """Keep a decision on a person, within a transaction; the number of their case."""
        known = self.number(db, person)
        id = known or secrets.token_hex(16)
        details = {"person": person, "values": values, "decision": decision}
        row = {"decided": self._store.append(db, DECIDED, id, details, by).number, "reported": None}
        if known is None:
            db.execute(insert(cases).values(id=id, person=person, **row))
        else:
            db.execute(update(cases).where(cases.c.id == id).values(row))
        return id

    def number(self, db: Connection, person: str) -> str | None:
        """The number of a person's case, if they have one."""
        id: str | None = db.scalar(select(cases.c.id).where(cases.c.person == person))
        return id

    def report(self, case: Case, values: Values, by: str) -> None:
        """Keep what a person reports of themselves."""
        with self._store.writing() as db:
            details = {"person": case.person, "values": values}
            made = self._store.append(db, REPORTED, case.id, details, by)
            db.execute(update(cases).where(cases.c.id == case.id).values(reported=made.number))

    def add_note(self, case: Case, by: str, text: str) -> None:
        """Write a note on a case."""
        text = text.replace("\x00", "").strip()
        if not 0 < len(text) <= MOST_NOTE:
            raise InvalidSpec(f"A note has 1 to {MOST_NOTE} characters, got {len(text)}.")
        with self._store.writing() as db:
            self._store.append(db, NOTED, case.id, {"person": case.person, "text": text}, by)

    def get(self, id: str) -> Case:
        """A case by its number."""
        if not (found := self._cases(cases.c.id == id, most=1)):
            raise NotFound("There is no such case.")
        return found[0]

    def of(self, person: str) -> Case | None:
        """The case of a person, if they have one."""
        found = self._cases(cases.c.person == person, most=1)
        return found[0] if found else None

    def search(self, text: str = "", most: int = MOST_FOUND, skip: int = 0) -> list[Case]:
        """Cases whose person's key has a text in it, newest first, without the first ones."""
        return self._cases(cases.c.person.contains(text, autoescape=True), most, skip)

    def count(self, text: str = "") -> int:
        """How many cases a search would find."""
        has = cases.c.person.contains(text, autoescape=True)
        with self._store.reading() as db:
            return db.execute(select(func.count()).select_from(cases).where(has)).scalar_one()

    def notes(self, id: str) -> list[Note]:
        """What happened to a case, oldest first."""
        own = events.c.subject == id, events.c.kind.in_((DECIDED, NOTED))
        chosen = select(events).where(*own, events.c.details.is_not(None))
        with self._store.reading() as db:
            rows = db.execute(chosen.order_by(events.c.number))
            return [_note(Event(*row)) for row in rows]

    def _cases(self, condition: ColumnElement[bool], most: int, skip: int = 0) -> list[Case]:
        made, new = events.alias(), events.alias()
        found = cases.outerjoin(made, made.c.number == cases.c.decided)
        found = found.outerjoin(new, new.c.number == cases.c.reported)
        chosen = select(cases.c.id, cases.c.person, made, new).select_from(found).where(condition)
        chosen = chosen.order_by(cases.c.decided.desc()).limit(most).offset(skip)
        with self._store.reading() as db:
            return [self._case(*row) for row in db.execute(chosen).all()]

    def _case(self, id: str, person: str, *columns: Any) -> Case:
        n = len(Event._fields)
        made, new = Event(*columns[:n]), Event(*columns[n:])
        known = self._store.said(made)
        at = datetime.fromisoformat(known.get("at", made.at))
        reported = None if new.number is None else self._store.said(new)["values"]
        return Case(id, person, at, known["values"], known["decision"], reported)


def _note(event: Event) -> Note:
    details = json.loads(event.details or "{}")
    if event.kind == NOTED:
        text = details["text"]
    else:
        promise = details["decision"].get("promise")
        text = "accepted" if details["decision"]["accepted"] else "refused"
        text = f"{text}, by promise {promise}" if promise else text
    return Note(datetime.fromisoformat(details.get("at", event.at)), event.by or "", text)
