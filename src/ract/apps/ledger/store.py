"""The database of a ledger, and the chain that binds its events together.

Events are only ever added. Each has the hash of the one before it, a digest of its details, and a
signature by a key that is not in the database:

    event 1               event 2               event 3
    digest of details     digest of details     digest of details
    previous: zeros  <--  previous: hash 1 <--  previous: hash 2
    signature             signature             signature

A digest is salted, and details stand beside the chain with their salt. Whoever erases both leaves
a digest that says nothing any more, and a chain that still verifies.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as NoConnection

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec, how_to_install
from ract.apps.ledger import chain
from ract.apps.ledger.chain import VARIABLE, Event, KeyRing, stamp
from ract.apps.ledger.tables import NEWEST, check_version, events, migrate, version

Mode = Literal["create", "write", "read"]
Keys = str | Path | KeyRing | None

# Writers of one PostgreSQL database wait for each other on this number.
LOCK = 0x72616374
SECONDS = 30  # that a writer waits for another one
READER_SECONDS = 2  # for readers to end, before a journal is left as it is
KEY_FILE = "ract-promises.key"  # of ledgers that are no file

# Asked before a transaction of this thread is kept; raises if it must not be.
before_commit: ContextVar[Callable[[sa.Connection], None] | None] = ContextVar(
    "before_commit", default=None
)


class LedgerUnavailable(OSError):
    """The database of a ledger does not answer, or cannot be written to."""


class OldLedger(InvalidFile):
    """A ledger of 0.2 that was not opened to be written to since."""


class LedgerChanged(InvalidFile):
    """The contents of a ledger do not match its signatures."""

    def __init__(self, subject: str) -> None:
        super().__init__(
            f"What the ledger says of {subject!r} is not as it was written; ract promises verify "
            "says more."
        )


class Store:
    """Events, and what follows from them, in a database.

    Parameters
    ----------
    where : path or URL
        A file of SQLite's, or an address that SQLAlchemy takes.
    keys : path or KeyRing, optional
        What signs; a file beside the ledger by default, or what ``RACT_LEDGER_KEY`` says.
    mode : {"create", "write", "read"}
        Whether a ledger that is not there is made, and whether this one may be written to.
    clock : callable, optional
        What time it is; that of the database by default, which all its writers share.
    """

    def __init__(
        self,
        where: str | Path,
        keys: Keys = None,
        mode: Mode = "create",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._clock = clock
        url = where if isinstance(where, str) and "://" in where else f"sqlite:///{where}"
        self._closed, self.ring = False, KeyRing(())
        self._file = _file_of(url)
        if self._file is not None:
            if mode != "create" and not self._file.exists():
                raise InvalidFile(f"The ledger {self._file} is not there.")
            if mode == "read":
                url = f"sqlite:///file:{quote(str(self._file))}?mode=ro&uri=true"
            else:
                _make_private(self._file)
        self.engine = _engine(url)
        if self._is_sqlite:
            _prepare_sqlite(self.engine, reads=mode == "read")
        sa.event.listen(self.engine, "checkin", self._close_if_last)
        try:
            self._begin(keys, mode)
        except BaseException:
            self.close()
            raise

    @property
    def _is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def _begin(self, keys: Keys, mode: Mode) -> None:
        with self.snapshot() if mode == "read" else self.writing() as db:
            names = sa.inspect(db).get_table_names()
            if mode != "create" and version.name not in names:
                raise InvalidFile(f"{self._file or _shown(str(self.engine.url))} holds no ledger.")
            self._read_keys(db, keys, mode, is_new=events.name not in names)
            if mode == "read":
                if check_version(db) < NEWEST:
                    raise OldLedger(
                        "This ledger was written by ract 0.2, whose events are not signed; open it "
                        "once to write, as ract promises open does, and they are."
                    )
            else:
                migrate(db, self)
        if version.name in names and mode != "read":
            self.tidy()  # an old ledger may have held secrets

    def _read_keys(self, db: sa.Connection, keys: Keys, mode: Mode, *, is_new: bool) -> None:
        """Take the keys that were given, or make some for a ledger that was never signed."""
        if isinstance(keys, KeyRing):
            self.ring = keys
            return
        in_memory = self._is_sqlite and self._file is None
        beside = KEY_FILE if self._file is None else f"{self._file}.key"
        path = Path(keys or os.environ.get(VARIABLE) or beside)
        ring = None if in_memory else KeyRing.found(path)
        if ring is None and mode != "read":
            columns = [] if is_new else sa.inspect(db).get_columns(events.name)
            if any(column["name"] == "key" for column in columns):
                signed = sa.select(events.c.key).where(events.c.key.is_not(None)).limit(1)
                if (key := db.scalar(signed)) is not None:
                    raise InvalidSpec(
                        f"The events of this ledger are signed by key {key}, but there is no "
                        f"{path}; say where it is by {VARIABLE}."
                    )
            ring = KeyRing.new(None if in_memory else path)
            if not in_memory:
                ring.save()
        self.ring = ring or self.ring

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that no other writer interrupts, kept whole or not at all."""
        with _as_sentences(self.engine), self.engine.begin() as db:
            if db.dialect.name == "postgresql":
                db.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
            yield db
            if (ask := before_commit.get()) is not None:
                ask(db)

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """A connection that keeps no writer waiting."""
        return self._connected("", "AUTOCOMMIT")

    def snapshot(self) -> AbstractContextManager[sa.Connection]:
        """A connection that sees the database as it is now, whatever others write meanwhile."""
        return self._connected("BEGIN", "REPEATABLE READ")

    @contextmanager
    def _connected(self, begin: str, isolation: str) -> Iterator[sa.Connection]:
        """A connection whose transactions begin so with SQLite, and elsewhere are isolated so.

        To change its isolation for each connection would cost SQLite as much as to read a row.
        """
        how = {"ract_begin": begin} if self._is_sqlite else {"isolation_level": isolation}
        with _as_sentences(self.engine), self.engine.connect() as db:
            yield db.execution_options(**how)

    def now(self, db: sa.Connection) -> datetime:
        """What time it is."""
        if self._clock is not None:
            return self._clock()
        if self._is_sqlite:  # whose clock is that of this machine
            return datetime.now(UTC)
        return datetime.fromisoformat(str(db.scalar(sa.select(sa.func.clock_timestamp()))))

    def append(
        self, db: sa.Connection, kind: str, subject: str, details: Mapping[str, Any], by: str
    ) -> Event:
        """Add an event at the end of the chain; never before the last one, whatever clocks say."""
        columns = events.c.number, events.c.hash, events.c.at
        last = db.execute(sa.select(*columns).order_by(events.c.number.desc()).limit(1)).first()
        number, previous, since = (1, chain.FIRST, "") if last is None else (last[0] + 1, *last[1:])
        salt, plain = secrets.token_hex(16), chain.canonical_json(details)
        when, digest = max(stamp(self.now(db)), since), chain.details_digest(salt, plain)
        new = Event(number, when, kind, subject, by, digest, previous, "", None, None, salt, plain)
        new = self.signed(new._replace(hash=chain.hash_of(new)))
        db.execute(sa.insert(events).values(new._asdict()))
        return new

    def signed(self, one: Event) -> Event:
        """An event with its signature."""
        key, signature = self.ring.sign(one.number, one.hash)
        return one._replace(key=key, signature=signature)

    def is_signed(self, one: Event) -> bool:
        """Whether a key of this ledger has signed an event."""
        return self.ring.signed(one.number, one.hash, one.at, one.key, one.signature or "")

    def said(self, one: Event) -> dict[str, Any]:
        """The details of an event that is as it was written and signed; refused otherwise."""
        if not chain.is_intact(one) or not self.is_signed(one):
            raise LedgerChanged(one.subject)
        found: dict[str, Any] = json.loads(one.details or "")
        return found

    def tidy(self) -> bool:
        """Leave nothing of what was erased in SQLite's journal; False if somebody reads from it.

        Readers are waited for, but not as long as writers: whoever asked wants an answer.
        """
        if not self._is_sqlite:
            return True
        with self.reading() as db:
            db.exec_driver_sql(f"PRAGMA busy_timeout = {READER_SECONDS * 1000}")
            try:
                return db.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar() == 0
            finally:
                db.exec_driver_sql(f"PRAGMA busy_timeout = {SECONDS * 1000}")

    def back_up(self, path: Path) -> None:
        """Copy a SQLite ledger to a new file while others go on writing."""
        if self._file is None:
            raise InvalidSpec("Only a ledger in a file is copied; PostgreSQL has pg_dump for that.")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise InvalidSpec(f"{path} is there already.") from None
        with closing(sqlite3.connect(path)) as target:
            with self.reading() as db:
                db.connection.driver_connection.backup(target)  # type: ignore[union-attr]
            target.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """Close every connection; those in use are closed when they are given back."""
        self._closed = True
        self.engine.dispose()

    def _close_if_last(self, _: Any, record: Any) -> None:
        if self._closed:
            record.invalidate()


def _file_of(url: str) -> Path | None:
    """The file of a ledger; None if it is another database, or in memory."""
    if not url.startswith("sqlite:///"):
        return None
    name = url.removeprefix("sqlite:///").partition("?")[0]
    return None if name in ("", ":memory:") else Path(name)


def _engine(url: str) -> sa.Engine:
    try:
        kind = sa.make_url(url).get_backend_name()
        waiting: dict[str, Any] = {"timeout" if kind == "sqlite" else "connect_timeout": SECONDS}
        if kind == "postgresql":
            waiting["options"] = f"-c lock_timeout={SECONDS}s"
        return sa.create_engine(url, pool_pre_ping=kind != "sqlite", connect_args=waiting)
    except (ArgumentError, NoSuchModuleError):
        raise InvalidSpec(
            "A ledger is a file, or the address of a database such as "
            f"postgresql+psycopg://user@host/name; got {_shown(url)!r}."
        ) from None
    except ImportError as error:
        raise InvalidSpec(
            f"{error.name} is needed for this ledger: {how_to_install('promises')}."
        ) from None


def _make_private(path: Path) -> None:
    """Make a file that only its owner may read, or make one so; its journals follow it."""
    with suppress(OSError):  # what is wrong with it, the database says
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        for own in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            if own.exists() and own.stat().st_mode & 0o077:
                own.chmod(0o600)


def _prepare_sqlite(engine: sa.Engine, *, reads: bool) -> None:
    """Durable, readable while it is written, and one writer at a time from the first statement."""

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where the event below says
        settings: tuple[str, ...] = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON")
        if reads:
            connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            settings = ("query_only=ON",)
        for setting in settings:
            connection.execute(f"PRAGMA {setting}").close()

    @sa.event.listens_for(engine, "begin")
    def _(connection: sa.Connection) -> None:
        if begin := connection.get_execution_options().get("ract_begin", "BEGIN IMMEDIATE"):
            connection.exec_driver_sql(begin)


@contextmanager
def _as_sentences(engine: sa.Engine) -> Iterator[None]:
    try:
        yield
    except NoConnection:
        raise LedgerUnavailable("All connections to the ledger are in use.") from None
    except DataError:
        raise InvalidData("The ledger cannot hold such a text or number.") from None
    except IntegrityError:
        raise LedgerChanged("a promise that has ended") from None
    except DBAPIError as error:
        cause = " ".join(str(error.orig).split())
        where = engine.url.render_as_string(hide_password=True)
        if "file is not a database" in cause or "malformed" in cause:
            damaged = f"{engine.url.database} is not a ledger, or damaged: {cause}."
            raise InvalidFile(damaged) from None
        raise LedgerUnavailable(f"The ledger {where} does not answer: {cause}") from None


def _shown(url: str) -> str:
    """An address without what stands before its host."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
