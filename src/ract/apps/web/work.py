"""What a thread works on for a request: it can be cancelled until it begins to be kept.

A request that is refused because it took too long has changed nothing. Whoever works asks between
two people whether the answer is still wanted; a transaction asks before it is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar

from ract.apps.ledger.store import before_commit

_current: ContextVar[RequestWork | None] = ContextVar("work", default=None)


class Cancelled(Exception):
    """Nobody waits for this work any more."""


class RequestWork:
    """Work that is open, then either kept or cancelled.

    Examples
    --------
    >>> work = RequestWork()
    >>> work.keep(), work.cancel()
    (None, False)
    """

    def __init__(self) -> None:
        self._lock, self._kept, self._cancelled = threading.Lock(), False, False
        self._asked: Callable[[], bool] | None = None

    def begin(self, wanted: Callable[[], bool] | None = None) -> None:
        """Make it the work of this thread; ``wanted`` says whether someone has cancelled it."""
        _current.set(self)
        self._asked = wanted
        before_commit.set(self.keep)
        self.check()

    def cancel(self) -> bool:
        """Cancel it; False if it is being kept already."""
        with self._lock:
            self._cancelled = not self._kept
            return self._cancelled

    def keep(self, _: object = None) -> None:
        """Keep what it writes from now on, unless it was cancelled."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self._kept = True

    def check(self) -> None:
        """Stop if it was cancelled."""
        if self._cancelled or (self._asked is not None and not self._asked()):
            raise Cancelled


def still_wanted() -> None:
    """Stop here if nobody waits for what this thread works on."""
    if (work := _current.get()) is not None:
        work.check()
