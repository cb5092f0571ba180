"""Events of a ledger, the hashes that bind each to the one before it, and the keys that sign them.

Keys are kept outside of the database: whoever can write to it cannot forge events without them. A
ring of keys is a file of JSON that only its owner may read, or the text of one in an environment
variable. Its newest key signs. Those before it verify what they have signed, and sign on for a week
in processes that have not read the newer one yet.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ract._utils.errors import InvalidFile, InvalidSpec

FIRST = "0" * 64  # what the first event holds of the one before it
ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
VARIABLE = "RACT_LEDGER_KEY"  # path of a ring, or its text
OVERLAP = timedelta(days=7)
SECONDS = 3  # that an address has to take a head; a service that ends waits for it


class Event(NamedTuple):
    """One event as it is kept."""

    number: int
    at: str
    kind: str
    subject: str
    by: str | None
    digest: str
    previous: str
    hash: str
    key: str | None
    signature: str | None
    salt: str | None
    details: str | None


def hash_of(event: Event) -> str:
    """What the next event holds of this event."""
    chained = [event.number, event.at, event.kind, event.subject, event.digest, event.previous]
    if event.by is not None:
        chained.append(event.by)
    return hashlib.sha256(canonical_json(chained).encode()).hexdigest()


def details_digest(salt: str, details: str) -> str:
    """A digest of details that cannot be guessed without the salt."""
    return hashlib.sha256(bytes.fromhex(salt) + details.encode()).hexdigest()


def is_intact(event: Event) -> bool:
    """Whether an event and its details are those that were hashed."""
    if event.salt is None or event.details is None:
        return False
    return (
        hash_of(event) == event.hash and details_digest(event.salt, event.details) == event.digest
    )


def canonical_json(value: object) -> str:
    """JSON that is equal for equal values."""
    return ENCODER.encode(value)


def stamp(at: datetime) -> str:
    """A time as text that sorts as times do.

    >>> stamp(datetime(2026, 11, 16, tzinfo=UTC))
    '2026-11-16T00:00:00.000000Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Head(NamedTuple):
    """The end of a ledger at some time, signed: what a lender publishes."""

    number: int
    hash: str
    at: str
    key: str
    signature: str


@dataclass(frozen=True)
class SigningKey:
    """One key: its public and private bytes in hexadecimal, when it was made and when it ends."""

    public: str
    private: str | None
    made: str
    until: str | None = None

    @cached_property
    def id(self) -> str:
        """What events call it."""
        return hashlib.sha256(bytes.fromhex(self.public)).hexdigest()[:16]

    @cached_property
    def signer(self) -> Ed25519PrivateKey:
        """What signs."""
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self.private or ""))

    @cached_property
    def verifier(self) -> Ed25519PublicKey:
        """What verifies."""
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public))


class KeyRing:
    """The keys of a ledger, the newest last.

    Parameters
    ----------
    keys : tuple of SigningKey
    path : Path, optional
        File of the keys; it is read again when an unknown key occurs.

    Examples
    --------
    >>> ring = KeyRing.new()
    >>> key, signature = ring.sign(1, "ab")
    >>> ring.signed(1, "ab", "2026-11-16", key, signature)
    True
    >>> ring.rotated().signed(1, "ac", "2026-11-16", key, signature)
    False
    """

    def __init__(self, keys: tuple[SigningKey, ...], path: Path | None = None) -> None:
        self.keys, self.path = keys, path

    @classmethod
    def new(cls, path: Path | None = None) -> KeyRing:
        """A ring of one new key."""
        return cls((_new_key(),), path)

    @classmethod
    def read(cls, text: str, path: Path | None = None) -> KeyRing:
        """From the text of a file."""
        try:
            keys = tuple(SigningKey(**key) for key in json.loads(text)["keys"])
            assert keys and all(key.verifier for key in keys)
        except (ValueError, KeyError, TypeError, AssertionError):
            where = VARIABLE if path is None else str(path)
            raise InvalidFile(f"{where} does not hold the keys of a ledger.") from None
        return cls(keys, path)

    @classmethod
    def found(cls, path: Path) -> KeyRing | None:
        """The ring at a path, or that of the environment; None if there is no such file."""
        if (given := os.environ.get(VARIABLE, "")).lstrip().startswith("{"):
            return cls.read(given)
        try:
            return cls.read(path.read_text(encoding="utf-8"), path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidFile(f"{path} cannot be read: {error.strerror}.") from None

    def text(self, *, private: bool = True) -> str:
        """As JSON; without private keys for those who only verify."""
        keys = [key if private else replace(key, private=None) for key in self.keys]
        return json.dumps({"keys": [asdict(key) for key in keys]}, indent=1) + "\n"

    def save(self) -> None:
        """Write the file, which only its owner may read."""
        if self.path is None:
            raise InvalidSpec(f"The keys lie in {VARIABLE} itself, and cannot be changed there.")
        beside = self.path.with_name(f"{self.path.name}.new")
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(self.text())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)

    def rotated(self, at: datetime | None = None) -> KeyRing:
        """The same with a new key; the one before ends in a week, and those before it now."""
        now = datetime.now(UTC) if at is None else at
        ends = (now + OVERLAP).isoformat()
        old = [replace(key, private=None) for key in self.keys[:-1]]
        last = replace(self.keys[-1], until=ends)
        return KeyRing((*old, last, _new_key()), self.path)

    def sign(self, number: int, hash: str) -> tuple[str, str]:
        """Key and signature of an event."""
        newest = self.keys[-1]
        if newest.private is None:
            raise InvalidSpec("These keys can verify a ledger, but not write to it.")
        return newest.id, newest.signer.sign(_message(number, hash)).hex()

    def signed(self, number: int, hash: str, at: str, key: str | None, signature: str) -> bool:
        """Whether a key of the ring, which had not ended then, has signed an event."""
        known = self._known(key)
        if known is None or (known.until is not None and at > known.until):
            return False
        try:
            known.verifier.verify(bytes.fromhex(signature), _message(number, hash))
        except (InvalidSignature, ValueError, TypeError):
            return False
        return True

    def _known(self, id: str | None) -> SigningKey | None:
        known = next((key for key in self.keys if key.id == id), None)
        if known is None and self.path is not None and (ring := KeyRing.found(self.path)):
            self.keys = ring.keys
            known = next((key for key in self.keys if key.id == id), None)
        return known


def read_heads(path: str | Path) -> list[Head]:
    """The heads of a file to which they were published, a line each; a receipt holds one too."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        return [Head(*(row[name] for name in Head._fields)) for row in rows]
    except (LookupError, ValueError, TypeError, OSError) as error:
        raise InvalidFile(f"{path} cannot be read as published heads: {error}.") from None


def publish_head(head: Head, where: str) -> None:
    """Append a head to a file, or send it to an address."""
    line = json.dumps(head._asdict())
    if where.startswith(("http://", "https://")):
        from urllib.request import Request, urlopen

        kind = {"content-type": "application/json"}
        urlopen(Request(where, line.encode(), kind, method="POST"), timeout=SECONDS).close()
        return
    with open(where, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def _new_key() -> SigningKey:
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw().hex()
    return SigningKey(public, private.private_bytes_raw().hex(), datetime.now(UTC).isoformat())


def _message(number: int, hash: str) -> bytes:
    return f"ract {number} {hash}".encode()
