"""What holds for every request: who asks, its size, headers of its answer, the log, a count.

Nobody is listened to before it is known who they are: a body is read after that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from time import monotonic

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ract.apps.web.gate import Gate
from ract.apps.web.keys import Busy, Denied
from ract.apps.web.schemas import MOST_PEOPLE

log = logging.getLogger("ract.apps.web")

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
SECURE = {"strict-transport-security": "max-age=31536000"}
BUCKETS = (0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # seconds
OPEN = ("/health", "/login", "/")  # what is answered without a key
SMALL = 4096  # bytes of a request of someone who is not known yet
LARGE = 1_000_000  # and of everybody else
AT_ONCE = 4  # requests under way for each thread, before others are refused unread
FIELDS = 20  # that a person in a request may have beside their values

OWN = CollectorRegistry()  # of this process
REQUESTS = Counter("ract_requests", "Requests.", ["route", "status"], registry=OWN)
SECONDS = Histogram(
    "ract_request_seconds", "How long they took.", ["route"], buckets=BUCKETS, registry=OWN
)
PROMISES = Gauge(
    "ract_promises", "Promises.", ["status"], registry=OWN, multiprocess_mode="mostrecent"
)
MODEL = Gauge("ract_model", "The model that decides.", registry=OWN, multiprocess_mode="mostrecent")


def metrics_text(promises: Mapping[str, int], model: int) -> str:
    """What all worker processes have counted, as Prometheus reads it."""
    MODEL.set(model)
    for status, n in promises.items():
        PROMISES.labels(status).set(n)
    registry = OWN
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry).decode()


class Edge:
    """Wraps an application.

    Parameters
    ----------
    app : ASGI application
    gate : Gate
    refused : callable
        Makes an answer of a request and an error.
    """

    def __init__(
        self, app: ASGIApp, gate: Gate, refused: Callable[[Request, Exception], Response]
    ) -> None:
        self._app, self._gate, self._refused = app, gate, refused
        self.draining, self._under_way = False, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        started, status, begun = monotonic(), 500, False
        request = Request(scope, receive)
        scope.setdefault("state", {})["arrived"] = started

        async def dressed(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message = {**message, "headers": self._headers(message["headers"])}
            await send(message)

        try:
            body = await self._admitted(request)
            with self._working(request):
                await self._app(scope, _replayed(body, receive), dressed)
        except (ClientDisconnect, ConnectionError):
            status = 499  # nobody waits for an answer
        except Exception as error:
            if not isinstance(error, (Denied, OSError)):
                # Messages of errors may hold values of people; where they arose does not.
                where = "".join(traceback.format_tb(error.__traceback__)[-3:])
                log.error("%s at\n%s", type(error).__name__, where)
            if not begun:
                answer = self._refused(request, error)
                is_unread = isinstance(error, (TimeoutError, Denied))
                if is_unread and not (isinstance(error, Busy) and await _has_come(receive)):
                    answer.headers["connection"] = "close"
                await answer(scope, receive, dressed)
        seconds = monotonic() - started
        route = getattr(scope.get("route"), "path", "other")
        who = getattr(scope["state"].get("who"), "id", "-")
        REQUESTS.labels(route, str(status)).inc()
        SECONDS.labels(route).observe(seconds)
        log.info("%s %s %d %.1f ms %s", scope["method"], route, status, 1000 * seconds, who)

    async def _admitted(self, request: Request) -> bytes:
        """The body of a request, once it is known who asks."""
        path, most = request.url.path, LARGE
        is_link = request.method == "GET" and path.startswith("/my/")
        if path in OPEN or path.startswith("/static/"):
            most = SMALL
        elif not is_link or request.cookies or "authorization" in request.headers:
            with self._working(request), suppress(Denied) if is_link else nullcontext():
                request.state.who = await self._gate.identify(request)
        identified = monotonic()
        async with asyncio.timeout(self._gate.settings.time_limit):
            body = await _body(request, most)
        request.state.arrived += monotonic() - identified  # the time of whoever sent it
        self._check_fields(body)
        return body

    @contextmanager
    def _working(self, request: Request) -> Iterator[None]:
        """Count what is worked on, which waiting for a body is not; too much is refused unread."""
        is_full = self._under_way >= AT_ONCE * self._gate.settings.threads
        if is_full and request.url.path != "/health":
            raise Busy
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def _check_fields(self, body: bytes) -> None:
        """Refuse more fields than people can have, before they are looked at."""
        if body.count(b":") > 200:
            columns = len(self._gate.service.live.model.encoder_.feature_names)
            people = min(body.count(b'"values"'), MOST_PEOPLE)
            if body.count(b":") > 200 + people * (2 * columns + FIELDS):
                raise Denied("A request has no more fields than its people have features.", 413)

    def _headers(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Headers of an answer, with ours where it has none of its own."""
        own = {name.lower() for name, _ in given}
        more = HEADERS | (SECURE if self._gate.settings.secure else {})
        more |= {"connection": "close"} if self.draining else {}
        added = [(k.encode(), v.encode()) for k, v in more.items() if k.encode() not in own]
        return [*given, *added]


async def _body(request: Request, most: int) -> bytes:
    said, body = request.headers.get("content-length", ""), bytearray()
    is_large = said.isdigit() and int(said) > most
    if not is_large:
        async for part in request.stream():
            body += part
            if is_large := len(body) > most:
                break
    if is_large:
        raise Denied(f"A request has at most {most:,} bytes.", 413)
    return bytes(body)


async def _has_come(receive: Receive) -> bool:
    """Whether the rest of a body is there already, so that the next request can follow it."""
    try:
        async with asyncio.timeout(0):
            message = await receive()
    except TimeoutError:
        return False
    return message["type"] == "http.request" and not message.get("more_body")


def _replayed(body: bytes, receive: Receive) -> Receive:
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay
