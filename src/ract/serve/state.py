"""What worker processes share, beside the ledger and in its database: keys, cases, models.

A case is a person on whom was decided: their values, the decision, what they have reported since,
and notes. Every table with people in it has a column ``person``, by which ``Ledger.erase`` finds
and removes them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from ract.errors import InvalidSpec
from ract.promises.drafts import LONGEST, check_keys
from ract.promises.store import Store, canonical, migrate, stamp
from ract.serve.keys import Key, Role, digest, new_key

MOST_FOUND = 50  # cases that a search lists
MOST_NOTE = 4000  # characters

schema = MetaData()
version = Table("ract_serve_version", schema, Column("version", Integer, nullable=False))
secret = Table("ract_serve_secret", schema, Column("value", String(64), nullable=False))
keys = Table(
    "ract_serve_keys",
    schema,
    Column("id", String(16), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("name", String(LONGEST), nullable=False),
    Column("made", String(27), nullable=False),
    Column("revoked", String(27)),
)
models = Table(
    "ract_serve_models",
    schema,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(27), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("forced", Boolean, nullable=False),
    Column("content", LargeBinary),
)
cases = Table(
    "ract_serve_cases",
    schema,
    Column("id", String(32), primary_key=True),
    Column("person", String(LONGEST), nullable=False, unique=True),
    Column("at", String(27), nullable=False, index=True),
    Column("held", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("reported", Text),
)
notes = Table(
    "ract_serve_notes",
    schema,
    Column("number", Integer, primary_key=True),
    Column("case", String(32), nullable=False, index=True),
    Column("person", String(LONGEST), nullable=False, index=True),
    Column("at", String(27), nullable=False),
    Column("by", String(LONGEST), nullable=False),
    Column("text", Text, nullable=False),
)
counters = Table(
    "ract_serve_counters",
    schema,
    Column("worker", String(32), primary_key=True),
    Column("counts", Text, nullable=False),
)


def _create(db: Connection) -> None:
    schema.create_all(db)
    db.execute(insert(secret).values(value=secrets.token_hex(32)))


STEPS = (_create,)


@dataclass(frozen=True)
class Case:
    """A person on whom was decided.

    Parameters
    ----------
    id, person : str
    at : datetime
        Of the last decision.
    values : dict
        That were decided on.
    decision : dict
        "accepted", "model" (fingerprint) and "promise" (number of the one that decided, or None).
    reported : dict or None
        Values that the person has reported since.
    """

    id: str
    person: str
    at: datetime
    values: dict[str, Any]
    decision: dict[str, Any]
    reported: dict[str, Any] | None = None

    @property
    def accepted(self) -> bool:
        """Whether they got what they asked for."""
        return bool(self.decision["accepted"])


@dataclass(frozen=True)
class Note:
    """What someone wrote on a case."""

    at: datetime
    by: str
    text: str


class NotFound(InvalidSpec):
    """Something that is not there, or not for whoever asks."""


@dataclass
class State:
    """Keys, cases, notes and models in the database of a ledger.

    Parameters
    ----------
    store : Store
        That of the ledger.

    Examples
    --------
    >>> from ract.promises import Ledger
    >>> state = State(Ledger("sqlite://").store)
    >>> key = state.add_key("auditor", "J. Doe")
    >>> state.key_of(key).name, state.key_of("guessed")
    ('J. Doe', None)
    """

    store: Store
    secret: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        with self.store.writing() as db:
            migrate(db, version, STEPS)
            self.secret = bytes.fromhex(str(db.execute(select(secret.c.value)).scalar()))

    def add_key(self, role: Role, name: str) -> str:
        """A new key, which is shown once: only its hash is kept."""
        check_keys([name], "A key's name")
        key = new_key()
        with self.store.writing() as db:
            db.execute(insert(keys).values(
                id=secrets.token_hex(4), hash=digest(key), role=role, name=name, made=_now(),
            ))  # fmt: skip
        return key

    def key_of(self, key: str) -> Key | None:
        """The key that someone shows, unless it is unknown or revoked."""
        return self._key(keys.c.hash == digest(key))

    def key_by_id(self, id: str) -> Key | None:
        """The key of a session, unless it was revoked."""
        return self._key(keys.c.id == id)

    def _key(self, condition: Any) -> Key | None:
        with self.store.reading() as db:
            row = db.execute(select(keys).where(condition, keys.c.revoked.is_(None))).first()
        return None if row is None else Key(row.id, row.role, row.name)

    def all_keys(self) -> list[dict[str, Any]]:
        """All keys, without their hashes."""
        columns = [keys.c[name] for name in ("id", "role", "name", "made", "revoked")]
        with self.store.reading() as db:
            return [dict(row._mapping) for row in db.execute(select(*columns).order_by("made"))]

    def revoke(self, id: str) -> None:
        """End a key at once."""
        with self.store.writing() as db:
            chosen = update(keys).where(keys.c.id == id, keys.c.revoked.is_(None))
            if db.execute(chosen.values(revoked=_now())).rowcount != 1:
                raise NotFound(f"There is no key {id!r} that could be revoked.")

    def publish(self, content: bytes, *, forced: bool) -> int:
        """Make a model file the one that every worker process decides by; its number."""
        with self.store.writing() as db:
            number = (db.execute(select(func.max(models.c.number))).scalar() or 0) + 1
            db.execute(insert(models).values(
                number=number, at=_now(), hash=_hash(content), forced=forced, content=content,
            ))  # fmt: skip
            old = update(models).where(models.c.number < number - 1)
            db.execute(old.values(content=None))
            return int(number)

    def model_number(self) -> int:
        """The number of the model that decides; 0 if there is none yet."""
        with self.store.reading() as db:
            return int(db.execute(select(func.max(models.c.number))).scalar() or 0)

    def model(self) -> tuple[int, bytes]:
        """The model that decides: its number and its file."""
        newest = select(models).order_by(models.c.number.desc()).limit(1)
        with self.store.reading() as db:
            row = db.execute(newest).first()
        if row is None:
            raise NotFound("There is no model yet.")
        if _hash(row.content) != row.hash:
            raise InvalidSpec(f"Model {row.number} is not as it was written.")
        return int(row.number), bytes(row.content)

    def is_current(self, content: bytes) -> bool:
        """Whether a model file is the one that decides already."""
        newest = select(models.c.hash).order_by(models.c.number.desc()).limit(1)
        with self.store.reading() as db:
            return db.execute(newest).scalar() == _hash(content)

    def decide(
        self, person: str, values: Mapping[str, Any], decision: Mapping[str, Any], by: str
    ) -> str:
        """Keep a decision on a person; the number of their case."""
        check_keys([person], "A person's key")
        text = "accepted" if decision["accepted"] else "refused"
        with self.store.writing() as db:
            id = db.execute(select(cases.c.id).where(cases.c.person == person)).scalar()
            row = {
                "at": _now(), "held": canonical(values), "decision": canonical(decision),
                "reported": None,
            }  # fmt: skip
            if id is None:
                id = secrets.token_hex(16)
                db.execute(insert(cases).values(id=id, person=person, **row))
            else:
                db.execute(update(cases).where(cases.c.id == id).values(row))
            promise = decision.get("promise")
            _note(db, id, person, by, f"{text}, by promise {promise}" if promise else text)
        return str(id)

    def report(self, case: Case, values: Mapping[str, Any]) -> None:
        """Keep what a person reports of themselves."""
        with self.store.writing() as db:
            chosen = update(cases).where(cases.c.id == case.id)
            db.execute(chosen.values(reported=canonical(values)))

    def case(self, id: str) -> Case:
        """A case by its number."""
        with self.store.reading() as db:
            row = db.execute(select(cases).where(cases.c.id == id)).first()
        if row is None:
            raise NotFound("There is no such case.")
        return _case(row)

    def case_of(self, person: str) -> Case | None:
        """The case of a person, if they have one."""
        with self.store.reading() as db:
            row = db.execute(select(cases).where(cases.c.person == person)).first()
        return None if row is None else _case(row)

    def search(self, text: str = "", most: int = MOST_FOUND) -> list[Case]:
        """Cases whose person's key has a text in it, newest first."""
        chosen = select(cases).order_by(cases.c.at.desc()).limit(most)
        if text:
            chosen = chosen.where(cases.c.person.contains(text, autoescape=True))
        with self.store.reading() as db:
            return [_case(row) for row in db.execute(chosen)]

    def add_note(self, case: Case, by: str, text: str) -> None:
        """Write a note on a case."""
        text = text.replace("\x00", "").strip()
        if not 0 < len(text) <= MOST_NOTE:
            raise InvalidSpec(f"A note has 1 to {MOST_NOTE} characters, got {len(text)}.")
        with self.store.writing() as db:
            _note(db, case.id, case.person, by, text)

    def notes(self, case: Case) -> list[Note]:
        """The notes on a case, oldest first."""
        chosen = select(notes).where(notes.c.case == case.id).order_by(notes.c.number)
        with self.store.reading() as db:
            return [
                Note(datetime.fromisoformat(row.at), row.by, row.text) for row in db.execute(chosen)
            ]

    def count(self, worker: str, counts: Mapping[str, float]) -> None:
        """Keep what a worker process has counted so far."""
        with self.store.writing() as db:
            db.execute(delete(counters).where(counters.c.worker == worker))
            db.execute(insert(counters).values(worker=worker, counts=canonical(counts)))

    def counted(self) -> list[dict[str, float]]:
        """What each worker process has counted."""
        with self.store.reading() as db:
            return [json.loads(text) for text in db.execute(select(counters.c.counts)).scalars()]


def _note(db: Connection, case: str, person: str, by: str, text: str) -> None:
    db.execute(insert(notes).values(case=case, person=person, at=_now(), by=by, text=text))


def _case(row: Any) -> Case:
    reported = None if row.reported is None else json.loads(row.reported)
    at = datetime.fromisoformat(row.at)
    return Case(row.id, row.person, at, json.loads(row.held), json.loads(row.decision), reported)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _now() -> str:
    return stamp(datetime.now(UTC))
