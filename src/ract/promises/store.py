"""The tables of a ledger, and the chain that binds its events together.

Events are only ever added. Each has the hash of the one before it and a digest of its details:

    event 1               event 2               event 3
    digest of details     digest of details     digest of details
    previous: zeros  <--  previous: hash 1 <--  previous: hash 2

A digest is salted, and details stand beside the chain with their salt. Whoever erases both leaves
a digest that says nothing any more, and a chain that still verifies.

The schema grows by a numbered list of steps, each run once: a handful of tables needs no tool of
its own for that.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as NoConnection

from ract.errors import InvalidData, InvalidFile, InvalidSpec

FIRST = "0" * 64
# Writers of one PostgreSQL database wait for each other on this number.
LOCK = 0x72616374
SECONDS = 30  # that a writer waits for another one

schema = MetaData()
version = Table("ract_version", schema, Column("version", Integer, nullable=False))
events = Table(
    "ract_events",
    schema,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(27), nullable=False),
    Column("kind", String(12), nullable=False),
    Column("promise", String(32), nullable=False, index=True),
    Column("digest", String(64), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("salt", String(32)),
    Column("details", Text),
)
# Where each promise stands, for finding it; all of it follows from the events.
promises = Table(
    "ract_promises",
    schema,
    Column("id", String(32), primary_key=True),
    Column("person", String(200), index=True),
    Column("status", String(12), nullable=False, index=True),
    Column("expires", String(27), nullable=False),
    Column("request", String(200), unique=True),
)


def _create(db: Connection) -> None:
    schema.create_all(db)


Step = Callable[[Connection], None]
STEPS: tuple[Step, ...] = (_create,)


class LedgerUnavailable(OSError):
    """The database of a ledger does not answer, or cannot be written to."""


class LedgerChanged(InvalidFile):
    """What a ledger says of a promise is not what was written."""

    def __init__(self, promise: str) -> None:
        super().__init__(
            f"Promise {promise!r} is not as it was written; ract promises verify says more."
        )


class Event(NamedTuple):
    """One event as it is kept."""

    number: int
    at: str
    kind: str
    promise: str
    digest: str
    previous: str
    hash: str
    salt: str | None
    details: str | None


class Store:
    """Events and promises in a database.

    Parameters
    ----------
    where : path or URL
        A file of SQLite's, or an address that SQLAlchemy takes.
    """

    def __init__(self, where: str | Path) -> None:
        url = where if isinstance(where, str) and "://" in where else f"sqlite:///{where}"
        try:
            self.engine = create_engine(url, **_waiting(url))
        except (ArgumentError, NoSuchModuleError):
            raise InvalidSpec(
                "A ledger is a file, or the address of a database such as "
                f"postgresql+psycopg://user@host/name; got {_shown(url)!r}."
            ) from None
        except ImportError as error:
            raise InvalidSpec(
                f'{error.name} is needed for this ledger: pip install "ract[promises]".'
            ) from None
        if self.engine.dialect.name == "sqlite":
            _prepare_sqlite(self.engine)
        try:
            with self.writing() as db:
                migrate(db, version, STEPS)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer interrupts, kept whole or not at all."""
        with _as_sentences(self.engine), self.engine.begin() as db:
            if db.dialect.name == "postgresql":
                db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
            yield db

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that keeps no writer waiting."""
        with _as_sentences(self.engine), self.engine.connect() as db:
            yield db.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now, whatever others write meanwhile."""
        how: dict[str, Any] = {"ract_reads": True}
        if self.engine.dialect.name != "sqlite":  # whose transactions are snapshots anyway
            how["isolation_level"] = "REPEATABLE READ"
        with _as_sentences(self.engine), self.engine.connect() as db:
            yield db.execution_options(**how)

    def tidy(self) -> None:
        """Leave nothing of what was erased in SQLite's journal, if nobody reads from it."""
        if self.engine.dialect.name == "sqlite":
            with self.reading() as db:
                db.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()


def append(
    db: Connection, kind: str, promise: str, details: Mapping[str, Any], at: datetime
) -> Event:
    """Add an event at the end of the chain; never before the last one, whatever the clock says."""
    last = db.execute(select(events).order_by(events.c.number.desc()).limit(1)).first()
    number, previous, since = (1, FIRST, "") if last is None else (
        last.number + 1, last.hash, last.at,
    )  # fmt: skip
    salt, plain = secrets.token_hex(16), canonical(details)
    new = Event(
        number, max(stamp(at), since), kind, promise, digest_of(salt, plain), previous, "", salt,
        plain,
    )  # fmt: skip
    new = new._replace(hash=hash_of(new))
    db.execute(insert(events).values(new._asdict()))
    return new


def erase(db: Connection, promise: str) -> None:
    """Remove what an event says of a person, and the salt without which its digest is mute."""
    gone = {"salt": None, "details": None}
    db.execute(update(events).where(events.c.promise == promise).values(gone))


def erase_elsewhere(db: Connection, person: str) -> None:
    """Remove a person's rows from the other tables of this database that have a ``person``."""
    others = MetaData()
    names = inspect(db).get_table_names()
    own = [n for n in names if n.startswith("ract_") and n not in schema.tables]
    others.reflect(db, only=own)
    for table in others.tables.values():
        if "person" in table.c:
            db.execute(delete(table).where(table.c.person == person))


def all_events(db: Connection) -> Iterator[Event]:
    """The chain from its beginning, a few at a time."""
    last, more = 0, True
    while more:
        part = db.execute(
            select(events).where(events.c.number > last).order_by(events.c.number).limit(1000)
        ).all()
        yield from (Event(*row) for row in part)
        more = len(part) > 0
        last = part[-1].number if more else last


def hash_of(one: Event) -> str:
    """What the next event holds of this one."""
    chained = [one.number, one.at, one.kind, one.promise, one.digest, one.previous]
    return hashlib.sha256(canonical(chained).encode()).hexdigest()


def digest_of(salt: str, details: str) -> str:
    """A digest of details that cannot be guessed without the salt."""
    return hashlib.sha256(bytes.fromhex(salt) + details.encode()).hexdigest()


def is_intact(one: Event) -> bool:
    """Whether an event and its details are those that were hashed."""
    if one.salt is None or one.details is None:
        return False
    return hash_of(one) == one.hash and digest_of(one.salt, one.details) == one.digest


def canonical(value: Any) -> str:
    """JSON that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def stamp(at: datetime) -> str:
    """A time as text that sorts as times do.

    >>> stamp(datetime(2026, 11, 16, tzinfo=UTC))
    '2026-11-16T00:00:00.000000Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def migrate(db: Connection, version: Table, steps: Sequence[Step]) -> None:
    """Run the steps that a database has not seen.

    Parameters
    ----------
    db : Connection
        With which nobody else writes.
    version : Table
        Of the numbers of the steps that were run.
    steps : sequence of callables
    """
    version.create(db, checkfirst=True)
    seen = db.execute(select(func.max(version.c.version))).scalar() or 0
    if seen > len(steps):
        raise InvalidFile(
            f"This ledger was written by a newer ract (schema {seen}; this one knows {len(steps)})."
        )
    for number, step in enumerate(steps[seen:], start=seen + 1):
        step(db)
        db.execute(insert(version).values(version=number))


def _waiting(url: str) -> dict[str, Any]:
    if url.startswith("sqlite"):
        return {"connect_args": {"timeout": SECONDS}}
    waiting: dict[str, Any] = {"connect_timeout": SECONDS}
    if url.startswith("postgresql"):
        waiting["options"] = f"-c lock_timeout={SECONDS}s"
    return {"pool_pre_ping": True, "connect_args": waiting}


def _prepare_sqlite(engine: Engine) -> None:
    """Durable, readable while it is written, and one writer at a time from the first statement."""

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where the event below says
        for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}").close()

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        how = connection.get_execution_options()
        if how.get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql("BEGIN" if how.get("ract_reads") else "BEGIN IMMEDIATE")


@contextmanager
def _as_sentences(engine: Engine) -> Iterator[None]:
    try:
        yield
    except NoConnection:
        raise LedgerUnavailable("All connections to the ledger are in use.") from None
    except DataError:
        raise InvalidData("The ledger cannot hold such a text or number.") from None
    except DBAPIError as error:
        cause = " ".join(str(error.orig).split())
        where = engine.url.render_as_string(hide_password=True)
        if "file is not a database" in cause:
            raise InvalidFile(f"{engine.url.database} is not a ledger.") from None
        raise LedgerUnavailable(f"The ledger {where} does not answer: {cause}") from None


def _shown(url: str) -> str:
    """An address without what stands before its host."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
