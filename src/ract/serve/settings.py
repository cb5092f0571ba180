"""What a service is started with; its worker processes read it from their environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

VARIABLE = "RACT_SERVE"


@dataclass(frozen=True)
class Settings:
    """How a service runs.

    Parameters
    ----------
    ledger : str
        File or address of the ledger, which holds keys, cases and the model too.
    model : str
        Model file that an administrator may have read again; "" for none.
    notices : tuple of str
        Files of ``ract notice init``, one for each language at most.
    promise_days, link_days : int
        How long promises and applicants' links last.
    time_limit : float
        Seconds for a request.
    max_bytes : int
        Size of a request.
    max_people : int
        People in a request.
    per_minute : int
        Requests a minute of one key or link, in each worker process.
    threads : int
        Requests that a worker process works on at once.

    Examples
    --------
    >>> settings = Settings("promises.db", promise_days=90)
    >>> Settings.from_text(settings.to_text()) == settings
    True
    """

    ledger: str
    model: str = ""
    notices: tuple[str, ...] = ()
    promise_days: int = 180
    link_days: int = 30
    time_limit: float = 10.0
    max_bytes: int = 1_000_000
    max_people: int = 1000
    per_minute: int = 6000
    threads: int = 8

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Settings:
        """From JSON."""
        given = json.loads(text)
        return cls(**given | {"notices": tuple(given["notices"])})

    @classmethod
    def from_environment(cls) -> Settings:
        """What the process that started this one has left."""
        return cls.from_text(os.environ[VARIABLE])
