"""Who asks: random keys, links and sessions, of which only hashes are kept.

A key belongs to a case worker, an auditor or an administrator, a link to the applicant of one case,
a session to a browser in which somebody has shown a key.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal["case-worker", "auditor", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
APPLICANT, WORKER, AUDITOR, ADMIN = "applicant", "case-worker", "auditor", "admin"
PREFIX = "ract-"
LINK, SESSION = "link", "session"


@dataclass(frozen=True)
class Caller:
    """Whoever asks.

    Parameters
    ----------
    id : str
        Of their key or link.
    role : str
    name : str
        What is kept of them with what they do.
    case : str or None
        The only case that an applicant may see; None for others.
    """

    id: str
    role: str
    name: str
    case: str | None = None


class Denied(Exception):
    """Nobody may ask this, or not now, or so much; the sentence says what is missing.

    Parameters
    ----------
    sentence : str
    status : {401, 403, 413, 429, 503, 504}
    after : int
        Seconds after which to ask again, if that helps.
    """

    def __init__(self, sentence: str, status: int = 401, after: int = 0) -> None:
        super().__init__(sentence)
        self.status, self.after = status, after


class Busy(Denied):
    """Others are asking too much at the moment."""

    def __init__(self, after: int = 1, status: int = 503) -> None:
        super().__init__("Too much is being asked at once; try again.", status, after)


def new_key(prefix: str = PREFIX) -> str:
    """A random key.

    >>> len(new_key()), new_key() == new_key()
    (48, False)
    """
    return prefix + secrets.token_urlsafe(32)


def digest(key: str) -> str:
    """What is kept of a key. It is random and long, so that one round of hashing is enough."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
