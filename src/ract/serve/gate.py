"""The gate: who asks, whether they may, how often, and for how long."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TypeVar

import anyio
from fastapi import Request

from ract.serve.keys import ADMIN, APPLICANT, LINK, PREFIX, SESSION, Caller, Denied
from ract.serve.service import Service

Answer = TypeVar("Answer")

LINK_COOKIE, SESSION_COOKIE = "ract_link", "ract_session"
WRONG_PER_MINUTE = 30  # keys that one address may try
MOST_COUNTED = 10_000  # callers whose requests are counted at once
SEARCHING = 4  # one in so many threads may look for plans
LONG = 600.0  # seconds for what an administrator asks


@dataclass
class Limit:
    """So many requests a minute of each caller, on average.

    Examples
    --------
    >>> limit = Limit(2)
    >>> [limit.allows("a", at=0.0) for _ in range(3)], limit.allows("a", at=30.0)
    ([True, True, False], True)
    """

    per_minute: float
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def allows(self, who: str, *, at: float | None = None) -> bool:
        """Whether one more is within the limit; counts it if so."""
        now = monotonic() if at is None else at
        left, since = self._left.pop(who, (self.per_minute, now))
        left = min(self.per_minute, left + (now - since) * self.per_minute / 60)
        self._left[who] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > MOST_COUNTED:
            self._left.popitem(last=False)
        return left >= 1


class TooSlow(Exception):
    """A request took longer than it may."""


class Gate:
    """Lets callers through to a service, in threads of its own.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._limit = Limit(service.settings.per_minute)
        self._wrong = Limit(WRONG_PER_MINUTE)
        threads = service.settings.threads
        self._quick = anyio.CapacityLimiter(threads)
        # Searches keep a core busy: more of them at once only take longer each. They wait in line
        # outside of the threads, so that decisions never wait behind them.
        self._searching = anyio.CapacityLimiter(max(1, threads // SEARCHING))

    async def __call__(
        self, request: Request, roles: tuple[str, ...], work: Callable[[Caller], Answer],
        seconds: float | None = None, *, searches: bool = False,
    ) -> Answer:  # fmt: skip
        """The answer to a request of someone who may ask.

        Parameters
        ----------
        request : Request
        roles : tuple of str
            Who may ask; administrators always may.
        work : callable
            What makes the answer, in a thread.
        seconds : float, optional
            That it may take.
        searches : bool
            Whether it looks for plans.
        """

        def answer() -> Answer:
            caller = self.caller(request)
            request.state.caller = caller.id
            if not self._limit.allows(caller.id):
                raise Denied("Too many requests; please wait a little.", 429)
            if caller.role != ADMIN and caller.role not in roles:
                raise Denied(f"This is not for the role {caller.role!r}.", 403)
            return work(caller)

        return await self.in_thread(answer, seconds, searches=searches)

    async def in_thread(
        self, work: Callable[[], Answer], seconds: float | None = None, *, searches: bool = False
    ) -> Answer:
        """The answer of a thread, or no answer if it takes too long."""
        try:
            with anyio.fail_after(seconds or self.service.settings.time_limit):
                limiter = self._searching if searches else self._quick
                return await anyio.to_thread.run_sync(
                    partial(work), abandon_on_cancel=True, limiter=limiter
                )
        except TimeoutError:
            raise TooSlow from None

    def caller(self, request: Request) -> Caller:
        """Whoever asks, by a key or a link in the header, or by a cookie of this service."""
        header = request.headers.get("authorization", "")
        scheme, _, shown = header.partition(" ")
        if scheme.lower() == "bearer":
            return self._shown(request, shown.strip())
        if request.method != "GET" and not _from_here(request):
            raise Denied("Forms are taken from pages of this service only.", 403)
        link, session = (request.cookies.get(name) for name in (LINK_COOKIE, SESSION_COOKIE))
        if session and not request.url.path.startswith("/my"):
            key = self.service.state.key_by_id(self.service.signer.read(session, SESSION))
            if key is None:
                raise Denied("This key was revoked.")
            return Caller(key.id, key.role, key.name)
        if link:
            return self._applicant(link)
        raise Denied("A key is needed.")

    def key(self, request: Request, shown: str) -> Caller:
        """Whoever shows a key; wrong ones are counted by address."""
        address = request.client.host if request.client else ""
        key = self.service.state.key_of(shown) if shown.startswith(PREFIX) else None
        if key is None:
            if not self._wrong.allows(address):
                raise Denied("Too many wrong keys; please wait a little.", 429)
            raise Denied("This key is not known.")
        return Caller(key.id, key.role, key.name)

    def _shown(self, request: Request, shown: str) -> Caller:
        return self.key(request, shown) if shown.startswith(PREFIX) else self._applicant(shown)

    def _applicant(self, token: str) -> Caller:
        return Caller(self.service.signer.read(token, LINK), APPLICANT, APPLICANT)


def _from_here(request: Request) -> bool:
    """Whether a form was sent by a page of ours, which browsers say."""
    site, origin = (request.headers.get(name) for name in ("sec-fetch-site", "origin"))
    if site is not None:
        return site in ("same-origin", "none")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")
