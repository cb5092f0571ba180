"""The tables of a ledger, and how they came to be what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)

from ract._utils.errors import InvalidFile

schema = MetaData()
version = Table("ract_version", schema, Column("version", Integer, nullable=False))
events = Table(
    "ract_events",
    schema,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(27), nullable=False),
    Column("kind", String(12), nullable=False),
    Column("subject", String(32), nullable=False, index=True),
    Column("by", String(200)),  # None in events of 0.2
    Column("digest", String(64), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("key", String(16)),
    Column("signature", String(128)),
    Column("salt", String(32)),
    Column("details", Text),
)
ENDS = text("kind IN ('redeemed', 'withdrawn', 'expired')")
one_end = Index(
    "ract_one_end", events.c.subject, unique=True, sqlite_where=ENDS, postgresql_where=ENDS
)
# Where each promise and each case stands, for finding it; all of it follows from the events.
promises = Table(
    "ract_promises",
    schema,
    Column("id", String(32), primary_key=True),
    Column("person", String(200), index=True),
    Column("status", String(12), nullable=False, index=True),
    Column("expires", String(27), nullable=False),
)
cases = Table(
    "ract_cases",
    schema,
    Column("id", String(32), primary_key=True),
    Column("person", String(200), nullable=False, unique=True),
    Column("decided", Integer, nullable=False, index=True),  # numbers of events
    Column("reported", Integer),
)
# What requests with a key have made, so that they make it once.
requests = Table(
    "ract_requests",
    schema,
    Column("key", String(200), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("made", Text, nullable=False),
)


def erase(db: Connection, subject: str) -> None:
    """Remove what events say of a person, and the salts without which their digests are mute."""
    gone = {"salt": None, "details": None}
    db.execute(update(events).where(events.c.subject == subject).values(gone))


def erase_elsewhere(db: Connection, person: str) -> None:
    """Remove a person's rows from the other tables of this database that have a ``person``."""
    others = MetaData()
    own = [n for n in inspect(db).get_table_names() if n.startswith("ract_")]
    others.reflect(db, only=[name for name in own if name != promises.name])
    for table in others.tables.values():
        if "person" in table.c:
            db.execute(delete(table).where(table.c.person == person))


def all_events(db: Connection, table: Table = events) -> Iterator[Any]:
    """The chain from its beginning, a few at a time."""
    last, more = 0, True
    while more:
        part = db.execute(
            select(table).where(table.c.number > last).order_by(table.c.number).limit(1000)
        ).all()
        yield from part
        more = len(part) > 0
        last = part[-1].number if more else last


def migrate(
    db: Connection, version: Table, tables: MetaData, steps: Sequence[Callable[[Connection], None]]
) -> None:
    """Make the tables, or run the steps that a database has not seen.

    Parameters
    ----------
    db : Connection
        With which nobody else writes.
    version : Table
        Of the numbers of the steps that were run; making the tables of 0.2 was the first.
    tables : MetaData
        As they are after all steps.
    steps : sequence of callables
    """
    version.create(db, checkfirst=True)
    newest = len(steps) + 1
    seen = check_version(db, version, newest)
    if seen == 0:
        tables.create_all(db)
    for step in steps[seen - 1 :] if seen else ():
        step(db)
    if seen < newest:
        db.execute(insert(version).values(version=newest))


def check_version(db: Connection, version: Table, newest: int) -> int:
    """How many steps a database has seen; those that this version does not know are refused."""
    seen = int(db.execute(select(func.max(version.c.version))).scalar() or 0)
    if seen > newest:
        raise InvalidFile(
            f"This ledger was written by a newer ract (schema {seen}; this one knows {newest})."
        )
    return seen
