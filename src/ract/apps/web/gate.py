"""The gate: who asks, whether they may, how much, and for how long."""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, thread_time, time
from typing import Any, Literal, TypeVar

from fastapi import Depends, Request
from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerMonth
from limits.strategies import FixedWindowRateLimiter

from ract.apps.ledger import LedgerUnavailable
from ract.apps.web.keys import ADMIN, APPLICANT, LINK, PREFIX, Busy, Caller, Denied
from ract.apps.web.limiter import SharedCounts
from ract.apps.web.service import Service
from ract.apps.web.settings import Settings
from ract.apps.web.work import Cancelled, RequestWork

Answer = TypeVar("Answer")
Kind = Literal["quick", "search", "long", "job"]

LINK_COOKIE, SESSION_COOKIE = "ract_link", "ract_session"
WRONG_PER_MINUTE = 30  # keys that one address may try
SEARCHING = 4  # one in so many threads may look for plans
LONG = 600.0  # seconds for what an auditor or an administrator asks
LINK_REQUESTS = 50  # of a key's requests, a link has one in so many
LINK_SHARE = 5  # of a key's seconds of searches, a link has one in so many
LINK_AT_ONCE = 2  # searches of one link, under way or waiting
TRIES = 100  # sets of values that one link may try in 30 days: SECURITY.md says why
TOO_SLOW = "This took too long, and nothing was kept; ask for fewer people, or a job."
WAIT = 0.3  # seconds that a request may wait for others
LATELY = 0.3  # weight of the newest call in the time that calls took lately


@dataclass
class Queue:
    """Threads, and how long one waits for them.

    Parameters
    ----------
    threads : int
    wait : float
        Seconds after which nobody who arrived is begun with any more.
    """

    threads: int
    wait: float
    running: dict[Future[Any], tuple[RequestWork, int]] = field(default_factory=dict)
    each: float = 0.02  # seconds that one person took, lately

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.threads)

    def submit(
        self,
        call: Callable[[], Answer],
        work: RequestWork,
        units: int,
        arrived: float | None = None,
    ) -> Future[Answer]:
        """Begin a call, or let it wait; refused at once if that would take too long.

        Calls before it may take longer than lately. Then it is refused when a thread is free,
        instead of being answered late. Where a thread was free at once, it is always begun.
        """
        due = self.wait + (monotonic() if arrived is None else arrived)
        waits = sum(n for _, n in list(self.running.values())) * self.each / self.threads
        must_wait = len(self.running) >= self.threads
        if must_wait and monotonic() + waits > due:
            raise Busy(max(1, math.ceil(waits)))

        def timed() -> Answer:
            begun = monotonic()
            if must_wait and begun > due:
                raise Busy
            try:
                return call()
            finally:
                self.each += LATELY * ((monotonic() - begun) / units - self.each)

        future: Future[Answer] = self._pool.submit(contextvars.copy_context().run, timed)
        self.running[future] = work, units
        future.add_done_callback(lambda done: self.running.pop(done, None))
        return future

    def cancel(self) -> None:
        """Cancel what waits, and what has not begun to be kept."""
        for future, (work, _) in list(self.running.items()):
            future.cancel()
            work.cancel()

    def close(self) -> None:
        """Cancel what can be, and wait for the rest."""
        self.cancel()
        self._pool.shutdown()


class Gate:
    """Lets callers through to a service, in threads of its own.

    Parameters
    ----------
    settings : Settings
    """

    opened: Service | None = None  # as soon as the ledger is open

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        shared = f"{settings.shared}/limits" if settings.shared else ":memory:"
        self._counts, seconds = SharedCounts(shared), 1000 * settings.search_seconds
        self._limiter = FixedWindowRateLimiter(self._counts)
        most = {
            "requests": settings.per_minute,
            "requests by link": settings.per_minute / LINK_REQUESTS,
            "wrong": WRONG_PER_MINUTE,
            "search": seconds,
            "search by link": seconds / LINK_SHARE,
        }
        self._most: dict[str, RateLimitItem] = {
            name: RateLimitItemPerMinute(max(1, int(n)), namespace=name) for name, n in most.items()
        }
        self._most["tries"] = RateLimitItemPerMonth(TRIES, namespace="tries")
        self._at_once: Counter[str] = Counter()
        # Searches keep a core busy: more of them at once only take longer each.
        searching = max(1, settings.threads // SEARCHING)
        self._queues = {
            "quick": Queue(settings.threads, WAIT),
            "search": Queue(searching, WAIT),
            "long": Queue(1, LONG),
            "job": Queue(1, LONG),
        }

    @property
    def service(self) -> Service:
        """What answers."""
        if self.opened is None:
            raise LedgerUnavailable("The ledger has not answered yet.")
        return self.opened

    def may(self, *roles: str) -> list[Any]:
        """What lets only some roles through to a route, and administrators; before its body."""

        async def check(request: Request) -> None:  # FastAPI runs others in a thread of their own
            caller = getattr(request.state, "who", None)
            if caller is None:
                raise Denied("A key is needed.")
            if caller.role != ADMIN and caller.role not in roles:
                raise Denied(f"This is not for the role {caller.role!r}.", 403)

        return [Depends(check)]

    async def __call__(
        self,
        request: Request,
        work: Callable[[], Answer],
        kind: Kind = "quick",
        units: int = 1,
    ) -> Answer:
        """The answer to a request of someone who may ask.

        Parameters
        ----------
        request : Request
        work : callable
            What makes the answer, in a thread.
        kind : {"quick", "search", "long"}
        units : int
            How many people are searched for.
        """
        if kind != "search":
            return await self.in_thread(work, kind, arrived=request.state.arrived)
        caller: Caller = request.state.who
        if caller.case is not None and self._at_once[caller.id] >= LINK_AT_ONCE:
            raise Busy(status=429)
        self._at_once[caller.id] += 1
        try:
            searched, arrived = partial(self._searched, caller, work), request.state.arrived
            return await self.in_thread(searched, kind, units, arrived)
        finally:
            self._at_once[caller.id] -= 1
            self._at_once += Counter()  # without those who have none left

    def _searched(self, caller: Caller, work: Callable[[], Answer]) -> Answer:
        """Work whose seconds count, for someone who has some left."""
        what = "search" if caller.case is None else "search by link"
        self._count(what, caller.id, 0)
        return self._charged(what, caller, work)

    def _charged(self, what: str, caller: Caller, work: Callable[[], Answer]) -> Answer:
        begun = thread_time()
        try:
            return work()
        finally:
            used = math.ceil(1000 * (thread_time() - begun))
            self._limiter.hit(self._most[what], caller.id, cost=used)

    def count_try(self, caller: Caller) -> None:
        """Count values that an applicant tries, which say something of the model each time."""
        self._count("tries", caller.id)

    def _count(self, what: str, who: str, cost: int = 1) -> None:
        """Count something, and refuse it if that is more than there may be, or was already."""
        most, limiter = self._most[what], self._limiter
        if not (limiter.hit(most, who, cost=cost) if cost else limiter.test(most, who)):
            left = limiter.get_window_stats(most, who).reset_time - time()
            raise Denied("Too many requests; please wait a little.", 429, max(1, round(left)))

    async def in_thread(
        self,
        call: Callable[[], Answer],
        kind: Kind = "quick",
        units: int = 1,
        arrived: float | None = None,
    ) -> Answer:
        """The answer of a thread, or no answer and nothing kept if it takes too long."""
        seconds, work = LONG if kind == "long" else self.settings.time_limit, RequestWork()

        def run() -> Answer:
            work.begin()
            return call()

        future = asyncio.wrap_future(self._queues[kind].submit(run, work, units, arrived))
        # Of work that is not waited for any more, nobody asks why it ended.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait([future], timeout=seconds)
            if not future.done() and work.cancel():
                raise Denied(TOO_SLOW, 504)
            return await future
        except (Cancelled, asyncio.CancelledError):
            work.cancel()
            raise Denied("The service is being stopped; try again.", 503, 1) from None

    def start(self, caller: Caller, call: Callable[[RequestWork], None], units: int) -> None:
        """Begin a job that nobody waits for; its seconds count as those of a search."""
        self._count("search", caller.id, 0)
        work = RequestWork()
        charged = partial(self._charged, "search", caller, partial(call, work))
        self._queues["job"].submit(charged, work, units)

    async def identify(self, request: Request) -> Caller:
        """Whoever asks, by a key or a link in the header, or by a cookie of this service."""
        return await self.in_thread(partial(self._identify, request), arrived=request.state.arrived)

    def _identify(self, request: Request) -> Caller:
        caller = self._shown(request)
        self._count("requests" if caller.case is None else "requests by link", caller.id)
        return caller

    def _shown(self, request: Request) -> Caller:
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            shown = shown.strip()
            return self.key(request, shown) if shown.startswith(PREFIX) else self.applicant(shown)
        self.check_origin(request)
        link, session = (request.cookies.get(name) for name in (LINK_COOKIE, SESSION_COOKIE))
        if session and not request.url.path.startswith("/my"):
            caller = self.service.state.in_session(session)
            if caller is None:
                raise Denied("This session has ended.")
            return caller
        if link:
            return self.applicant(link)
        raise Denied("A key is needed.")

    def key(self, request: Request, shown: str) -> Caller:
        """Whoever shows a key; wrong ones are counted by address."""
        address = request.client.host if request.client else ""
        caller = self.service.state.key_of(shown) if shown.startswith(PREFIX) else None
        if caller is None:
            self._count("wrong", address)
            raise Denied("This key is not known.")
        return caller

    def applicant(self, token: str) -> Caller:
        """Whoever has a link to a case."""
        case = self.service.state.subject_of(LINK, token)
        if case is None:
            raise Denied("This link is not one of ours, was revoked, or has ended.")
        return Caller(case, APPLICANT, APPLICANT, case)

    def check_origin(self, request: Request) -> None:
        """Take forms from pages of this service only, which browsers say."""
        site, origin = (request.headers.get(name) for name in ("sec-fetch-site", "origin"))
        here = origin in (None, self.settings.public_url)
        if site is not None:
            here = site in ("same-origin", "none")
        if request.method not in ("GET", "HEAD") and not here:
            raise Denied("Forms are taken from pages of this service only.", 403)

    def cancel_jobs(self) -> None:
        """Cancel what nobody waits for."""
        self._queues["job"].cancel()

    def close(self) -> None:
        """Cancel what is under way, wait for what is being kept, and close the ledger."""
        for queue in self._queues.values():  # all at once, before one is waited for
            queue.cancel()
        for queue in self._queues.values():
            queue.close()
        self._counts.close()
        if self.opened is not None:
            self.opened.close()
