"""The tables of a ledger, and how they came to be what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa

from ract._utils.errors import InvalidFile

NEWEST = 2  # version of the tables; those of 0.2 are 1
BATCH = 1000  # rows that are read at once

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


def migrate(db: sa.Connection, upgrade: Callable[[sa.Connection], None]) -> None:
    """Make the tables, or bring those of 0.2 to what they are now; nobody else writes meanwhile."""
    version.create(db, checkfirst=True)
    seen = check_version(db)
    if seen == 0:
        schema.create_all(db)
    elif seen < NEWEST:
        upgrade(db)
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
