"""What worker processes share, beside the ledger and in its database: keys, links, models, jobs.

What matters for an audit is an event of the ledger's chain too: whose keys there are, and which
models decided. A key or a model whose row was not written with such an event is not believed.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ract._utils.errors import InvalidSpec
from ract.apps.ledger.cases import NotFound
from ract.apps.ledger.chain import Event, stamp
from ract.apps.ledger.entries import LONGEST, check_keys
from ract.apps.ledger.store import LedgerChanged, Store
from ract.apps.ledger.tables import events
from ract.apps.web.keys import Caller, Role, digest, new_key

FORGET = timedelta(days=7)  # jobs that are over
SILENT = timedelta(minutes=11)  # after which a job is lost that has not begun or says nothing

schema = sa.MetaData()
keys = sa.Table(
    "ract_serve_keys",
    schema,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("name", sa.String(LONGEST), nullable=False),
    sa.Column("made", sa.String(27), nullable=False),
    sa.Column("revoked", sa.String(27)),
    sa.Column("until", sa.String(27)),
    sa.Column("event", sa.Integer),
)
models = sa.Table(
    "ract_serve_models",
    schema,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.String(27), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("forced", sa.Boolean, nullable=False),
    sa.Column("content", sa.LargeBinary),
    sa.Column("event", sa.Integer),
)
# Links of applicants and sessions of browsers; what is not here has ended.
tokens = sa.Table(
    "ract_serve_tokens",
    schema,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(8), nullable=False),
    sa.Column("subject", sa.String(32), nullable=False, index=True),  # a case, or a key
    sa.Column("person", sa.String(LONGEST), index=True),
    sa.Column("until", sa.String(27), nullable=False),
)
jobs = sa.Table(
    "ract_serve_jobs",
    schema,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("key", sa.String(16), nullable=False),
    sa.Column("state", sa.String(12), nullable=False),
    sa.Column("said", sa.String(1000), nullable=False),
    sa.Column("at", sa.String(27), nullable=False),
)

NEWEST = sa.select(models).order_by(models.c.number.desc()).limit(1)
# Asked with every request, and so made once.
KEY_BY_HASH, KEY_BY_ID = (
    sa.select(keys).where(column == sa.bindparam("by"), keys.c.revoked.is_(None))
    for column in (keys.c.hash, keys.c.id)
)


class ServiceState:
    """Keys, links, sessions, models and jobs in the database of a ledger.

    Parameters
    ----------
    store : Store
        That of the ledger.

    Examples
    --------
    >>> from ract.apps.ledger import Ledger
    >>> with Ledger("sqlite://") as ledger:
    ...     state = ServiceState(ledger.store)
    ...     key = state.add_key("auditor", "J. Doe", by="IT")
    ...     state.key_of(key).name, state.key_of("guessed")
    ('J. Doe', None)
    """

    def __init__(self, store: Store) -> None:
        self.store, self._known = store, set[tuple[Any, ...]]()
        with store.writing() as db:
            schema.create_all(db)  # what is not there; the ledger has seen to tables of 0.2

    def add_key(self, role: Role, name: str, *, by: str, days: int | None = None) -> str:
        """A new key, which is shown once: only its hash is kept."""
        check_keys([name], "A key's name")
        key, id = new_key(), secrets.token_hex(4)
        with self.store.writing() as db:
            now = self.store.now(db)
            until = None if days is None else stamp(now + timedelta(days=days))
            row = {"role": role, "name": name, "hash": digest(key), "until": until}
            number = self.store.append(db, "key", id, row, by).number
            db.execute(sa.insert(keys).values(id=id, made=stamp(now), event=number, **row))
        return key

    def key_of(self, key: str) -> Caller | None:
        """Whoever shows a key, unless it is unknown, revoked or over."""
        with self.store.reading() as db:
            return self._key(db, KEY_BY_HASH, digest(key))

    def _key(self, db: sa.Connection, chosen: sa.Select[Any], by: str) -> Caller | None:
        row = db.execute(chosen, {"by": by}).first()
        if row is None or (row.until is not None and row.until < stamp(self.store.now(db))):
            return None
        self._believed(db, row, ("role", "name", "hash", "until"))
        return Caller(row.id, row.role, row.name)

    def _believed(self, db: sa.Connection, row: sa.Row[Any], names: tuple[str, ...]) -> None:
        """Refuse a row that is not as the event says with which it was written.

        An event says the same for good: what was believed once is not checked again.
        """
        if (held := (row.event, *(getattr(row, name) for name in names))) in self._known:
            return
        made = db.execute(sa.select(events).where(events.c.number == row.event)).first()
        said = {} if made is None else self.store.said(Event(*made))
        if any(said.get(name) != getattr(row, name) for name in names):
            raise LedgerChanged(f"{row[0]} in the tables of the service")
        self._known.add(held)

    def all_keys(self) -> list[dict[str, Any]]:
        """All keys, without their hashes."""
        names = ("id", "role", "name", "made", "revoked", "until")
        chosen = sa.select(*(keys.c[name] for name in names)).order_by("made")
        with self.store.reading() as db:
            return [dict(row) for row in db.execute(chosen).mappings()]

    def revoke(self, id: str, *, by: str) -> None:
        """End a key and its sessions at once."""
        with self.store.writing() as db:
            chosen = sa.update(keys).where(keys.c.id == id, keys.c.revoked.is_(None))
            if db.execute(chosen.values(revoked=stamp(self.store.now(db)))).rowcount != 1:
                raise NotFound(f"There is no key {id!r} that could be revoked.")
            self.store.append(db, "revoked", id, {}, by)
            db.execute(sa.delete(tokens).where(tokens.c.subject == id))

    def new_token(
        self, kind: str, subject: str, lasts: timedelta, person: str | None = None
    ) -> tuple[str, datetime]:
        """A link to a case or the session of a key, and until when it is good."""
        token = new_key("")
        with self.store.writing() as db:
            now = self.store.now(db)
            db.execute(sa.delete(tokens).where(tokens.c.until < stamp(now)))
            row = {"hash": digest(token), "kind": kind, "subject": subject, "person": person}
            db.execute(sa.insert(tokens).values(until=stamp(now + lasts), **row))
        return token, now + lasts

    def subject_of(self, kind: str, token: str) -> str | None:
        """The case of a link; None if it is unknown, was revoked, or is over."""
        with self.store.reading() as db:
            return self._subject(db, kind, token)

    def in_session(self, token: str) -> Caller | None:
        """Whoever has shown their key in a browser; None if they have left, or it was revoked."""
        with self.store.reading() as db:
            id = self._subject(db, "session", token)
            return None if id is None else self._key(db, KEY_BY_ID, id)

    def _subject(self, db: sa.Connection, kind: str, token: str) -> str | None:
        own = tokens.c.hash == digest(token), tokens.c.kind == kind
        lasts = tokens.c.until >= stamp(self.store.now(db))
        subject: str | None = db.scalar(sa.select(tokens.c.subject).where(*own, lasts))
        return subject

    def end_token(self, token: str) -> None:
        """End a session."""
        with self.store.writing() as db:
            db.execute(sa.delete(tokens).where(tokens.c.hash == digest(token)))

    def end_links(self, case: str) -> int:
        """Revoke the links to a case; how many there were."""
        with self.store.writing() as db:
            return int(db.execute(sa.delete(tokens).where(tokens.c.subject == case)).rowcount)

    def publish(self, content: bytes, *, by: str, **found: bool | int) -> int:
        """Make a model file the one that every worker process decides by; its number.

        ``found`` is what the guard said of it, and whether it was forced; it is kept.
        """
        with self.store.writing() as db:
            number = int(db.scalar(sa.select(sa.func.max(models.c.number))) or 0) + 1
            hash = _hash(content)
            row = {"number": number, "hash": hash, "forced": found["forced"]}
            made = self.store.append(db, "model", hash[:32], row | found, by)
            new = {"at": made.at, "content": content, "event": made.number}
            db.execute(sa.insert(models).values(row | new))
            db.execute(sa.update(models).where(models.c.number < number - 1).values(content=None))
            return number

    def model_number(self, content: bytes | None = None) -> int:
        """The number of the model that decides; 0 if there is none yet, or if it is another one."""
        with self.store.reading() as db:
            row = db.execute(NEWEST.with_only_columns(models.c.number, models.c.hash)).first()
        if row is None or (content is not None and _hash(content) != row.hash):
            return 0
        return int(row.number)

    def model(self) -> tuple[int, bytes]:
        """The model that decides: its number and its file."""
        with self.store.reading() as db:
            row = db.execute(NEWEST).first()
            if row is None:
                raise NotFound("There is no model yet.")
            self._believed(db, row, ("number", "hash", "forced"))
        if _hash(row.content) != row.hash:
            raise InvalidSpec(f"Model {row.number} is not as it was written.")
        return int(row.number), bytes(row.content)

    def add_job(self, id: str, key: str) -> None:
        """Keep that a job has begun."""
        with self.store.writing() as db:
            now = self.store.now(db)
            db.execute(sa.delete(jobs).where(jobs.c.at < stamp(now - FORGET)))
            row = {"id": id, "key": key, "state": "running", "said": "", "at": stamp(now)}
            db.execute(sa.insert(jobs).values(row))

    def mark_job(
        self, id: str, state: str, said: str = "", db: sa.Connection | None = None
    ) -> bool:
        """Say that a job which runs goes on, or how it has ended; False if it runs no more."""
        with self.store.writing() if db is None else nullcontext(db) as db:
            row = {"state": state, "said": said[:1000], "at": stamp(self.store.now(db))}
            chosen = sa.update(jobs).where(jobs.c.id == id, jobs.c.state == "running")
            return bool(db.execute(chosen.values(row)).rowcount)

    def job(self, id: str, key: str | None) -> tuple[str, str]:
        """How a job stands and what it said, for the key that has begun it, or any."""
        own = [jobs.c.id == id, *([] if key is None else [jobs.c.key == key])]
        with self.store.reading() as db:
            row = db.execute(sa.select(jobs).where(*own)).first()
            if row is None:
                raise NotFound("There is no such job.")
            lost = row.state == "running" and row.at < stamp(self.store.now(db) - SILENT)
        return "lost" if lost else row.state, row.said


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
