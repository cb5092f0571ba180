"""What a service is started with; its worker processes read it from their environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

VARIABLE = "RACT_SERVE"


@dataclass(frozen=True)
class Settings:
    """How a service runs.

    Parameters
    ----------
    ledger : str
        File or address of the ledger, which also contains keys, cases and the model.
    model : str
        Model file that is read again on an administrator's request; "" for none.
    notices : tuple of str
        Files of ``ract notice init``, one for each language at most.
    public_url : str
        Address by which people reach the service, whatever host a request names.
    proxies : tuple of str
        Addresses of reverse proxies that are trusted.
    shared : str
        Folder for counts that worker processes share; "" for one process alone.
    heads : str
        File or address to which signed heads of the ledger are published; "" for none.
    zone : str
        The lender's time zone.
    pinned : tuple of str
        Features that promises do not allow to change, unless the plan changes them.
    promise_days, link_days : int
        How long promises and applicants' links last.
    time_limit : float
        Seconds for a request.
    per_minute : int
        Requests a minute of one key; a link has a fiftieth of them.
    search_seconds : float
        Seconds of searches a minute of one key; a link has a fifth of it.
    threads : int
        Requests that a worker process works on at once.
    four_eyes : bool
        Whether a second person must confirm what redeems or withdraws a promise.

    Examples
    --------
    >>> settings = Settings("promises.db", public_url="https://loans.example.org")
    >>> settings.secure, settings.promise_days
    (True, 180)
    """

    ledger: str
    model: str = ""
    notices: tuple[str, ...] = ()
    public_url: str = "http://127.0.0.1"
    proxies: tuple[str, ...] = ()
    shared: str = ""
    heads: str = ""
    zone: str = "UTC"
    pinned: tuple[str, ...] = ()
    promise_days: int = 180
    link_days: int = 30
    time_limit: float = 10.0
    per_minute: int = 6000
    search_seconds: float = 30.0
    threads: int = 8
    four_eyes: bool = False

    @property
    def secure(self) -> bool:
        """Whether people reach the service by HTTPS."""
        return self.public_url.startswith("https://")

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the settings that the parent process passed on."""
        return TypeAdapter(cls).validate_json(os.environ[VARIABLE])
