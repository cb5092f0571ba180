"""Requests that are carried out once, however often they are sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from ract._utils.errors import InvalidSpec
from ract.apps.ledger import tables
from ract.apps.ledger.entries import check_keys


class Conflict(InvalidSpec):
    """A request's key that was used with another body, or a promise that has ended."""


class Request(NamedTuple):
    """A request that is carried out once: its key, and what it asks for."""

    key: str
    body: str = ""

    @property
    def digest(self) -> str:
        """The hash of the body, which is stored."""
        return hashlib.sha256(self.body.encode("utf-8", "surrogatepass")).hexdigest()

    def made(self, db: Connection) -> list[str] | None:
        """The promises that it has made; None if it was not carried out yet."""
        check_keys([self.key], "A request's key")
        table = tables.requests
        row = db.execute(select(table).where(table.c.key == self.key)).first()
        if row is None:
            return None
        if row.digest != self.digest:
            raise Conflict(f"The request {self.key!r} was used before, for something else.")
        return [str(id) for id in json.loads(row.made)]

    def remember(self, db: Connection, made: Sequence[str]) -> None:
        """Record which promises it has made."""
        new = {"key": self.key, "digest": self.digest, "made": json.dumps(made)}
        db.execute(insert(tables.requests).values(new))
