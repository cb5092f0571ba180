"""The application: routes for the model that decides now, exchanged when it is another one."""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from ract._printable import printable
from ract._version import __version__
from ract.errors import InvalidData, InvalidFile, InvalidSpec
from ract.promises import LedgerUnavailable
from ract.serve.api import api_routes
from ract.serve.edge import Counters, Edge
from ract.serve.gate import Gate, TooSlow
from ract.serve.keys import Denied
from ract.serve.pages import PAGES, error_page, page_routes
from ract.serve.service import Broken, NotOpen, Service
from ract.serve.settings import Settings
from ract.serve.state import NotFound

log = logging.getLogger("ract.serve")

HERE = Path(__file__).parent
EVERY = 2.0  # seconds between looks at which model decides

AWAY = "The ledger does not answer. What it has acknowledged is kept; please try again."
BUG = "Something went wrong here; it is in the log."
# The first that fits. What an error says is for whoever asks, except where it names the ledger.
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (NotFound, 404), (NotOpen, 409), (Broken, 409), (InvalidFile, 500), (InvalidSpec, 422),
    (InvalidData, 422),
)  # fmt: skip


class App:
    """The ASGI application of one worker process.

    Parameters
    ----------
    settings : Settings

    Examples
    --------
    ``uvicorn --factory ract.serve.app:from_environment``, which is what ``ract serve`` runs.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.service = Service(settings)
        self.counters = Counters()
        self.worker = secrets.token_hex(8)
        self.gate = Gate(self.service)
        self.routes = self._routes()
        inner = Edge(self._current, self.counters, settings.max_bytes, settings.time_limit)
        self._edge = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the process."""
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        else:
            await self._edge(scope, receive, send)

    async def _current(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.routes(scope, receive, send)

    def _routes(self) -> FastAPI:
        """Routes for the model that decides now."""
        app = FastAPI(
            title="ract", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
            description="Decisions, plans, and promises that are kept.",
        )  # fmt: skip
        app.include_router(api_routes(self.gate))
        app.include_router(page_routes(self.gate))
        app.mount("/static", StaticFiles(directory=HERE / "static"))
        app.add_api_route("/", lambda: RedirectResponse("/login", 303), include_in_schema=False)
        app.add_api_route("/health", self._health, methods=["GET"], summary="Is it there?")
        for kind in (
            Denied, TooSlow, LedgerUnavailable, InvalidFile, InvalidSpec, InvalidData,
            RequestValidationError, HTTPException, Exception,
        ):  # fmt: skip
            app.add_exception_handler(kind, self._refused)
        return app

    async def _health(self) -> Response:
        try:
            await self.gate.in_thread(self.service.state.model_number)
        except (LedgerUnavailable, TooSlow):
            return JSONResponse({"status": "the ledger does not answer"}, 503)
        return JSONResponse({"status": "ok"})

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await asyncio.to_thread(self.service.warm)
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        watching = asyncio.create_task(self._watch())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        with suppress(LedgerUnavailable):
            self._keep_counts()
        self.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _watch(self) -> None:
        """Look every few seconds which model decides, and keep what was counted."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                if await asyncio.to_thread(self.service.refresh):
                    self.routes = await asyncio.to_thread(self._routes)
                    log.info("Model %d decides now.", self.service.live.number)
                await asyncio.to_thread(self._keep_counts)
            except LedgerUnavailable:
                log.warning("The ledger does not answer.")
            except (InvalidSpec, InvalidFile, InvalidData) as error:
                log.error("The new model cannot be used: %s", error)

    def _refused(self, request: Request, error: Exception) -> Response:
        """Why there is no answer: a sentence for programs, a page for people."""
        status, detail, headers = _reason(error)
        if request.url.path.startswith(PAGES):
            return error_page(request, self.service, status, detail)
        return JSONResponse({"detail": printable(detail)}, status, headers)

    def _keep_counts(self) -> None:
        if self.counters.changed:
            self.counters.changed = False
            self.service.state.count(self.worker, dict(self.counters.counts))


def from_environment() -> App:
    """The application of a worker process that ``ract serve`` has started."""
    return App(Settings.from_environment())


def _place(location: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in location[1:]) or "The request"


def _reason(error: Exception) -> tuple[int, str, dict[str, str]]:
    """Status, sentence and headers of a refusal."""
    if isinstance(error, Denied):
        more = {401: {"www-authenticate": "Bearer"}, 429: {"retry-after": "10"}}
        return error.status, str(error), more.get(error.status, {})
    if isinstance(error, TooSlow):
        return 504, "This took too long; ask for fewer people at once.", {}
    if isinstance(error, LedgerUnavailable):
        return 503, AWAY, {"retry-after": "5"}
    if isinstance(error, RequestValidationError):
        faults = [f"{_place(fault['loc'])}: {fault['msg']}" for fault in error.errors()]
        return 422, "; ".join(faults[:10]) + ".", {}
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail), {}
    for kind, code in STATUS:
        if isinstance(error, kind):
            return code, str(error), {}
    return 500, BUG, {}
