"""Who asks: random keys of which only hashes are kept, and signed tokens that end.

A key belongs to a case worker, an auditor or an administrator. A link to one case, for its
applicant, and the session of a browser are tokens: what they are for and until when, signed with a
secret that lies in the database of the ledger.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal["case-worker", "auditor", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
APPLICANT, WORKER, AUDITOR, ADMIN = "applicant", "case-worker", "auditor", "admin"
PREFIX = "ract-"
LINK, SESSION = "link", "session"


@dataclass(frozen=True)
class Key:
    """A key that was shown: whose it is, and what they may do."""

    id: str
    role: str
    name: str


@dataclass(frozen=True)
class Caller:
    """Whoever asks.

    Parameters
    ----------
    id : str
        Of their key, or of the case that an applicant's link is for.
    role : str
    name : str
        What is kept of them with what they do.
    """

    id: str
    role: str
    name: str

    @property
    def case(self) -> str | None:
        """The only case that an applicant may see; None for others."""
        return self.id if self.role == APPLICANT else None


class Denied(Exception):
    """Nobody may ask this, or not with this key; the sentence says what is missing.

    Parameters
    ----------
    sentence : str
    status : {401, 403, 429}
    """

    def __init__(self, sentence: str, status: int = 401) -> None:
        super().__init__(sentence)
        self.status = status


def new_key() -> str:
    """A random key.

    >>> len(new_key()), new_key() == new_key()
    (48, False)
    """
    return PREFIX + secrets.token_urlsafe(32)


def digest(key: str) -> str:
    """What is kept of a key. It is random and long, so that one round of hashing is enough."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Signer:
    """Makes and reads tokens.

    Examples
    --------
    >>> signer = Signer(b"secret")
    >>> token = signer.sign(LINK, "17", until=time.time() + 60)
    >>> signer.read(token, LINK)
    '17'
    """

    secret: bytes

    def sign(self, kind: str, subject: str, until: float) -> str:
        """A token for one thing until a time in seconds since 1970."""
        payload = _text(json.dumps([kind, subject, int(until)]).encode())
        return f"{payload}.{_text(self._mac(payload))}"

    def read(self, token: str, kind: str) -> str:
        """What a token is for; refused if it was changed, is of another kind, or has ended."""
        payload, _, mac = token.partition(".")
        try:
            given = _bytes(mac)
        except ValueError:
            given = b""
        if not hmac.compare_digest(given, self._mac(payload)):
            raise Denied("This link is not one of ours, or was changed on its way.")
        found, subject, until = json.loads(_bytes(payload))
        if found != kind:
            raise Denied("This link is not one of ours, or was changed on its way.")
        if time.time() > until:
            raise Denied("This link has expired. Please ask for a new one.")
        return str(subject)

    def _mac(self, payload: str) -> bytes:
        return hmac.digest(self.secret, payload.encode("utf-8", "surrogatepass"), "sha256")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
