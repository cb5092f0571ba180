"""Ledgers of 0.2: their events are checked and signed, and what lay beside them joins the chain.

The secret that signed applicants' links lay in the database, where whoever could read it could
forge them. It is removed, and links are made anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, inspect, text, update

from ract._utils.errors import InvalidFile
from ract.apps.ledger import chain, tables
from ract.apps.ledger.chain import FIRST, Event
from ract.apps.ledger.tables import cases, events, one_end, requests

if TYPE_CHECKING:
    from ract.apps.ledger.store import Store

BY = "upgrade from 0.2"
NEW = (("by", 200), ("key", 16), ("signature", 128))
GONE = ("cases", "notes", "secret", "counters")  # tables of the service


def upgrade(db: Connection, store: Store) -> None:
    """Bring the tables of 0.2 to those of today, and sign their events."""
    old = _old_events(db)
    db.execute(text("ALTER TABLE ract_events RENAME COLUMN promise TO subject"))
    for name, size in NEW:
        db.execute(text(f'ALTER TABLE ract_events ADD COLUMN "{name}" VARCHAR({size})'))
    for event in map(store.signed, old):
        chosen = update(events).where(events.c.number == event.number)
        db.execute(chosen.values(key=event.key, signature=event.signature))
    db.execute(text("UPDATE ract_promises SET expires = '' WHERE status = 'erased'"))
    for new in (cases, requests):
        new.create(db)
    one_end.create(db)
    names = set(inspect(db).get_table_names())
    if "ract_serve_cases" in names:
        _take_cases(db, store)
        _take_keys_and_models(db, store)
        for name in GONE:
            db.execute(text(f"DROP TABLE ract_serve_{name}"))
    last = old[-1].hash if old else FIRST
    store.append(db, "upgraded", "0" * 32, {"events": len(old), "head": last}, BY)


def _old_events(db: Connection) -> list[Event]:
    """The events of 0.2, if they are as they were written: whatever else is not signed."""
    names = ("at", "kind", "promise", "digest", "previous", "hash", "salt", "details")
    first = Column("number", Integer, primary_key=True)
    old = Table("ract_events", MetaData(), first, *(Column(name, String) for name in names))
    previous, found = FIRST, list[Event]()
    for row in tables.all_events(db, old):
        columns: dict[str, Any] = dict(row._mapping)
        subject = columns.pop("promise")
        event = Event(subject=subject, by=None, key=None, signature=None, **columns)
        is_whole = event.number == len(found) + 1 and event.previous == previous
        if (
            not is_whole
            or chain.hash_of(event) != event.hash
            or not (event.details is None or chain.is_intact(event))
        ):
            raise InvalidFile(
                f"Event {event.number} of this ledger of 0.2 is not as it was written; the "
                "ledger cannot be upgraded."
            )
        previous = event.hash
        found.append(event._replace(salt=None, details=None))
    return found


def _take_cases(db: Connection, store: Store) -> None:
    """Decisions, reports and notes as events."""
    for row in db.execute(text("SELECT * FROM ract_serve_cases ORDER BY at")).mappings().all():
        person, reported = row["person"], None
        decided = {"person": person, "values": json.loads(row["held"]), "at": row["at"]}
        decided["decision"] = json.loads(row["decision"])
        number = store.append(db, "decided", row["id"], decided, BY).number
        if row["reported"] is not None:
            said = {"person": person, "values": json.loads(row["reported"])}
            reported = store.append(db, "reported", row["id"], said, BY).number
        new = {"id": row["id"], "person": person, "decided": number, "reported": reported}
        db.execute(cases.insert().values(new))
    for note in db.execute(text("SELECT * FROM ract_serve_notes ORDER BY number")).mappings().all():
        details = {"person": note["person"], "text": note["text"], "at": note["at"]}
        store.append(db, "noted", note["case"], details, note["by"])


def _take_keys_and_models(db: Connection, store: Store) -> None:
    """Whose keys there are and which models decided, as events."""
    for table, extra in (("keys", '"until" VARCHAR(27)'), ("models", "")):
        for column in (extra, "event INTEGER"):
            if column:
                db.execute(text(f"ALTER TABLE ract_serve_{table} ADD COLUMN {column}"))
    for row in db.execute(text("SELECT * FROM ract_serve_keys ORDER BY made")).mappings().all():
        details = {name: row[name] for name in ("role", "name", "hash")} | {"until": None}
        number = store.append(db, "key", row["id"], details, BY).number
        if row["revoked"] is not None:
            store.append(db, "revoked", row["id"], {}, BY)
        chosen = text("UPDATE ract_serve_keys SET event = :event WHERE id = :id")
        db.execute(chosen, {"event": number, "id": row["id"]})
    columns = "number, hash, forced"
    for row in db.execute(text(f"SELECT {columns} FROM ract_serve_models")).mappings().all():
        details = {"number": row["number"], "hash": row["hash"], "forced": bool(row["forced"])}
        number = store.append(db, "model", row["hash"][:32], details, BY).number
        chosen = text("UPDATE ract_serve_models SET event = :event WHERE number = :number")
        db.execute(chosen, {"event": number, "number": row["number"]})
