"""What holds for every request: its size, headers of its answer, a line in the log, a count."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections import defaultdict
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ract.serve.state import State

log = logging.getLogger("ract.serve")

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


class Counters:
    """Requests by route and status, and how long they took, of one worker process."""

    def __init__(self) -> None:
        self.counts: dict[str, float] = defaultdict(float)
        self.changed = False

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.changed = True
        self.counts[f'ract_requests_total{{route="{route}",status="{status}"}}'] += 1
        for bound in (*BUCKETS, "+Inf"):
            if bound == "+Inf" or seconds <= float(bound):
                self.counts[f'ract_request_seconds_bucket{{route="{route}",le="{bound}"}}'] += 1
        self.counts[f'ract_request_seconds_sum{{route="{route}"}}'] += seconds
        self.counts[f'ract_request_seconds_count{{route="{route}"}}'] += 1


def metrics_text(state: State, promises: Mapping[str, int]) -> str:
    """What all worker processes have counted, as Prometheus reads it."""
    total: dict[str, float] = defaultdict(float)
    for counts in state.counted():
        for name, value in counts.items():
            total[name] += value
    lines = ["# TYPE ract_requests_total counter", "# TYPE ract_request_seconds histogram"]
    lines += [f"{name} {value:.10g}" for name, value in sorted(total.items())]
    lines += ["# TYPE ract_promises gauge"]
    lines += [f'ract_promises{{status="{name}"}} {n}' for name, n in promises.items()]
    lines += ["# TYPE ract_model gauge", f"ract_model {state.model_number()}"]
    return "\n".join(lines) + "\n"


class Edge:
    """Wraps an application.

    Parameters
    ----------
    app : ASGI application
    counters : Counters
    max_bytes : int
        Of a request's body, which is read before the application is asked.
    time_limit : float
        Seconds in which it must have come.
    """

    def __init__(self, app: ASGIApp, counters: Counters, max_bytes: int, time_limit: float) -> None:
        self._app, self._counters = app, counters
        self._max_bytes, self._time_limit = max_bytes, time_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, begun = perf_counter(), 500, False

        async def dressed(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message = {**message, "headers": _with_headers(scope, message["headers"])}
            await send(message)

        try:
            async with asyncio.timeout(self._time_limit):
                body = await self._body(scope, receive)
        except TimeoutError:
            await _sentence(dressed, 408, "The request did not arrive in time.")
        except ConnectionError:
            status = 499  # nobody waits for an answer
        else:
            if body is None:
                most = f"{self._max_bytes:,} bytes"
                await _sentence(dressed, 413, f"A request has at most {most}.")
            else:
                try:
                    await self._app(scope, _replayed(body, receive), dressed)
                except Exception as error:
                    # Messages of errors may hold values of people; where they arose does not.
                    where = "".join(traceback.format_tb(error.__traceback__)[-3:])
                    log.error("%s at\n%s", type(error).__name__, where)
                    if not begun:
                        await _sentence(dressed, 500, "Something went wrong here; we look at it.")
        seconds = perf_counter() - started
        route = getattr(scope.get("route"), "path", "other")
        who = scope.get("state", {}).get("caller", "-")
        self._counters.add(route, status, seconds)
        log.info("%s %s %d %.1f ms %s", scope["method"], route, status, 1000 * seconds, who)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None if it is too large."""
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if said.isdigit() and int(said) > self._max_bytes:
            return None
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > self._max_bytes:
                return None
        return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(scope: Scope, given: Any) -> list[tuple[bytes, bytes]]:
    """Headers of an answer, with ours where it has none of its own."""
    own = {name.lower() for name, _ in given}
    more = HEADERS | (SECURE if scope.get("scheme") == "https" else {})
    added = [(k.encode(), v.encode()) for k, v in more.items() if k.encode() not in own]
    return [*given, *added]


async def _sentence(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
