"""The tables of a ledger, and how they came to be what they are.

Events of ledgers of 0.2 are checked and signed, and what lay beside them joins the chain. The
secret that signed applicants' links lay in the database, where whoever could read it could forge
them. It is removed, and links are made anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ract._utils.errors import InvalidFile
from ract.apps.ledger import chain

if TYPE_CHECKING:
    from ract.apps.ledger.store import Store

NEWEST = 2  # version of the tables; those of 0.2 are 1
BATCH = 1000  # rows that are read at once
BY = "upgrade from 0.2"
NEW = (("by", 200), ("key", 16), ("signature", 128))
EVENT = "event INTEGER"
GONE = ("cases", "notes", "secret", "counters")  # tables of the service

schema = sa.MetaData()
version = sa.Table("ract_version", schema, sa.Column("version", sa.Integer, nullable=False))
events = sa.Table(
    "ract_events",
    schema,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.String(27), nullable=False),
    sa.Column("kind", sa.String(12), nullable=False),
    sa.Column("subject", sa.String(32), nullable=False, index=True),
    sa.Column("by", sa.String(200)),  # None in events of 0.2
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("key", sa.String(16)),
    sa.Column("signature", sa.String(128)),
    sa.Column("salt", sa.String(32)),
    sa.Column("details", sa.Text),
)
ENDS = sa.text("kind IN ('redeemed', 'withdrawn', 'expired')")
one_end = sa.Index(
    "ract_one_end", events.c.subject, unique=True, sqlite_where=ENDS, postgresql_where=ENDS
)
# Where each promise and each case stands, for finding it; all of it follows from the events.
promises = sa.Table(
    "ract_promises",
    schema,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("person", sa.String(200), index=True),
    sa.Column("status", sa.String(12), nullable=False, index=True),
    sa.Column("expires", sa.String(27), nullable=False),
)
cases = sa.Table(
    "ract_cases",
    schema,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("person", sa.String(200), nullable=False, unique=True),
    sa.Column("decided", sa.Integer, nullable=False, index=True),  # numbers of events
    sa.Column("reported", sa.Integer),
)
# What requests with a key have made, so that they make it once.
requests = sa.Table(
    "ract_requests",
    schema,
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("made", sa.Text, nullable=False),
)


def erase_details(db: sa.Connection, subject: str) -> None:
    """Remove what events say of a person, and the salts without which their digests are mute."""
    gone = {"salt": None, "details": None}
    db.execute(sa.update(events).where(events.c.subject == subject).values(gone))


def erase_elsewhere(db: sa.Connection, person: str) -> None:
    """Remove a person's rows from the other tables of this database that have a ``person``."""
    others = sa.MetaData()
    own = [n for n in sa.inspect(db).get_table_names() if n.startswith("ract_")]
    others.reflect(db, only=[name for name in own if name != promises.name])
    for table in others.tables.values():
        if "person" in table.c:
            db.execute(sa.delete(table).where(table.c.person == person))


def all_events(db: sa.Connection, table: sa.Table = events) -> Iterable[Any]:
    """The chain from its beginning, of which a few events are in memory at a time."""
    chosen = sa.select(table).order_by(table.c.number)
    return db.execute(chosen, execution_options={"yield_per": BATCH})


def migrate(db: sa.Connection, store: Store) -> None:
    """Make the tables, or bring those of 0.2 to what they are now; nobody else writes meanwhile."""
    version.create(db, checkfirst=True)
    seen = check_version(db)
    if seen == 0:
        schema.create_all(db)
    elif seen < NEWEST:
        _upgrade(db, store)
    if seen < NEWEST:
        db.execute(sa.insert(version).values(version=NEWEST))


def check_version(db: sa.Connection) -> int:
    """The version of a database's tables; 0 if it has none. A newer one than ours is refused."""
    seen = int(db.execute(sa.select(sa.func.max(version.c.version))).scalar() or 0)
    if seen > NEWEST:
        raise InvalidFile(
            f"This ledger was written by a newer ract (schema {seen}; this one knows {NEWEST})."
        )
    return seen


def _upgrade(db: sa.Connection, store: Store) -> None:
    """Bring the tables of 0.2 to those of today, and sign their events."""
    old = _old_events(db)
    db.execute(sa.text("ALTER TABLE ract_events RENAME COLUMN promise TO subject"))
    for name, size in NEW:
        db.execute(sa.text(f'ALTER TABLE ract_events ADD COLUMN "{name}" VARCHAR({size})'))
    for event in map(store.signed, old):
        chosen = sa.update(events).where(events.c.number == event.number)
        db.execute(chosen.values(key=event.key, signature=event.signature))
    db.execute(sa.text("UPDATE ract_promises SET expires = '' WHERE status = 'erased'"))
    for new in (cases, requests):
        new.create(db)
    one_end.create(db)
    names = set(sa.inspect(db).get_table_names())
    if "ract_serve_cases" in names:
        _take_cases(db, store)
        _take_keys_and_models(db, store)
        for name in GONE:
            db.execute(sa.text(f"DROP TABLE ract_serve_{name}"))
    last = old[-1].hash if old else chain.FIRST
    store.append(db, "upgraded", "0" * 32, {"events": len(old), "head": last}, BY)


def _old_events(db: sa.Connection) -> list[chain.Event]:
    """The events of 0.2, if they are as they were written: whatever else is not signed."""
    names = ("at", "kind", "promise", "digest", "previous", "hash", "salt", "details")
    columns = [sa.Column(name, sa.String) for name in names]
    old = sa.Table("ract_events", sa.MetaData(), sa.Column("number", sa.Integer), *columns)
    previous, found = chain.FIRST, list[chain.Event]()
    for row in all_events(db, old):
        held = {"by": None, "key": None, "signature": None, **row._mapping}
        event = chain.Event(subject=held.pop("promise"), **held)
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


def _take_cases(db: sa.Connection, store: Store) -> None:
    """Decisions, reports and notes as events."""
    for row in _rows(db, "cases ORDER BY at"):
        person, reported = row["person"], None
        decided = {"person": person, "values": json.loads(row["held"]), "at": row["at"]}
        decided["decision"] = json.loads(row["decision"])
        number = store.append(db, "decided", row["id"], decided, BY).number
        if row["reported"] is not None:
            said = {"person": person, "values": json.loads(row["reported"])}
            reported = store.append(db, "reported", row["id"], said, BY).number
        new = {"id": row["id"], "person": person, "decided": number, "reported": reported}
        db.execute(cases.insert().values(new))
    for note in _rows(db, "notes ORDER BY number"):
        details = {"person": note["person"], "text": note["text"], "at": note["at"]}
        store.append(db, "noted", note["case"], details, note["by"])


def _take_keys_and_models(db: sa.Connection, store: Store) -> None:
    """Whose keys there are and which models decided, as events."""
    for table, column in (("keys", "until VARCHAR(27)"), ("keys", EVENT), ("models", EVENT)):
        db.execute(sa.text(f"ALTER TABLE ract_serve_{table} ADD COLUMN {column}"))
    for row in _rows(db, "keys ORDER BY made"):
        details = {name: row[name] for name in ("role", "name", "hash")} | {"until": None}
        number = store.append(db, "key", row["id"], details, BY).number
        if row["revoked"] is not None:
            store.append(db, "revoked", row["id"], {}, BY)
        chosen = sa.text("UPDATE ract_serve_keys SET event = :event WHERE id = :id")
        db.execute(chosen, {"event": number, "id": row["id"]})
    for row in _rows(db, "models"):
        details = {"number": row["number"], "hash": row["hash"], "forced": bool(row["forced"])}
        number = store.append(db, "model", row["hash"][:32], details, BY).number
        chosen = sa.text("UPDATE ract_serve_models SET event = :event WHERE number = :number")
        db.execute(chosen, {"event": number, "number": row["number"]})


def _rows(db: sa.Connection, which: str) -> Sequence[sa.RowMapping]:
    """Rows of a table of the service of 0.2."""
    return db.execute(sa.text(f"SELECT * FROM ract_serve_{which}")).mappings().all()
