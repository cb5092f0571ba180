"""The application: routes for the model that decides now, exchanged when it is another one."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract._utils.printable import printable
from ract._utils.version import __version__
from ract.apps.ledger import Conflict, LedgerUnavailable
from ract.apps.ledger.cases import NotFound
from ract.apps.web.api import api_routes
from ract.apps.web.connections import trust
from ract.apps.web.edge import Edge
from ract.apps.web.gate import Gate
from ract.apps.web.keys import AUDITOR, WORKER, Denied
from ract.apps.web.pages import PAGES, error_page, page_routes
from ract.apps.web.service import Broken, Service
from ract.apps.web.settings import Settings

log = logging.getLogger("ract.apps.web")

HERE = Path(__file__).parent
EVERY = 2.0  # seconds between looks at which model decides
DRAIN = 0.5  # seconds in which connections are told to close before they are closed
TURN = 0.0005  # seconds of a thread's turn: whoever answers waits for whoever searches
MOST_FAULTS = 10  # of a request that are listed

AWAY = "The ledger does not answer. What it has acknowledged is kept; please try again."
BUG = "Something went wrong here; it is in the log."
# The first that fits. What an error says is for whoever asks, except where it names the ledger.
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (Broken, 409),
    (InvalidFile, 500),
    (InvalidSpec, 422),
    (InvalidData, 422),
)


class App:
    """The ASGI application of one worker process.

    Parameters
    ----------
    settings : Settings

    Examples
    --------
    ``uvicorn --factory ract.apps.web.app:from_environment``, which is what ``ract serve`` runs.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.gate = settings, Gate(settings)
        self.routes: FastAPI | None = None
        self._edge = Edge(self._current, self.gate, self._refused)

    @property
    def service(self) -> Service:
        """What answers requests, as soon as the ledger is open."""
        return self.gate.service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end with the process."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._edge(scope, receive, send)

    async def _current(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.routes is None:
            raise LedgerUnavailable
        await self.routes(scope, receive, send)

    def _routes(self) -> FastAPI:
        """Routes for the model that decides now."""
        app = FastAPI(
            title="ract",
            version=__version__,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            description="Decisions, plans, and promises that are kept.",
        )
        app.include_router(api_routes(self.gate))
        app.include_router(page_routes(self.gate))
        app.mount("/static", StaticFiles(directory=HERE / "static"))
        described = self.gate.may(WORKER, AUDITOR)
        app.add_api_route(
            "/openapi.json", app.openapi, include_in_schema=False, dependencies=described
        )
        app.add_api_route("/", lambda: RedirectResponse("/login", 303), include_in_schema=False)
        app.add_api_route("/health", self._health, methods=["GET"], summary="Is it there?")
        kinds = Denied, LedgerUnavailable, RequestValidationError, HTTPException
        for kind in (*kinds, InvalidFile, InvalidSpec, InvalidData, Exception):
            app.add_exception_handler(kind, self._refused)
        return app

    async def _health(self) -> dict[str, str]:
        await self.gate.in_thread(self.service.state.model_number)
        return {"status": "ok"}

    def connect(self) -> None:
        """Open the ledger and read the model; until that is possible every answer is 503."""
        service = Service(self.settings)
        try:
            service.warm()
            self.gate.opened = service
            self.routes = self._routes()
        except BaseException:
            self.gate.opened = None
            service.close()
            raise

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await asyncio.to_thread(self.connect)
        except LedgerUnavailable:
            log.warning("The ledger does not answer yet; the service waits for it.")
        except Exception as error:
            self.gate.close()
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        self._drain_first()
        watching = asyncio.create_task(self._watch())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await asyncio.to_thread(self.gate.close)
        await send({"type": "lifespan.shutdown.complete"})

    def _drain_first(self) -> None:
        """Tell connections to close, and jobs to stop, a little before the server does so."""
        usual = signal.getsignal(signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread() or not callable(usual):
            return
        loop = asyncio.get_running_loop()

        def drain(number: int, frame: FrameType | None) -> None:
            self._edge.draining = True
            loop.call_soon_threadsafe(self.gate.cancel_jobs)
            loop.call_soon_threadsafe(loop.call_later, DRAIN, usual, number, frame)

        signal.signal(signal.SIGTERM, drain)

    async def _watch(self) -> None:
        """Look every few seconds which model decides, and publish the head of the ledger."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                if self.routes is None:
                    await asyncio.to_thread(self.connect)
                    log.info("The ledger answers.")
                elif await asyncio.to_thread(self.service.refresh):
                    self.routes = await asyncio.to_thread(self._routes)
                    log.info("Model %d decides now.", self.service.live.number)
                await asyncio.to_thread(self.service.publish_head)
            except LedgerUnavailable:
                log.warning("The ledger does not answer.")
            except OSError as error:
                log.error("The head of the ledger could not be published: %s", error)
            except (InvalidSpec, InvalidFile, InvalidData) as error:
                log.error("The new model cannot be used: %s", error)
            except Exception:  # this task must not end before the process
                log.exception("Looking at the ledger failed.")

    def _refused(self, request: Request, error: Exception) -> Response:
        """Why there is no answer: a sentence for programs, a page for people."""
        status, detail, headers = _reason(error)
        if self.routes is not None and request.url.path.startswith(PAGES):
            page = error_page(request, self.service, status, detail)
            page.headers.update(headers)
            return page
        return JSONResponse({"detail": printable(detail)}, status, headers)


def from_environment() -> App:
    """The application of a worker process that ``ract serve`` has started."""
    settings = Settings.from_environment()
    sys.setswitchinterval(TURN)
    trust(settings.proxies)
    return App(settings)


def _place(location: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in location[1:]) or "The request"


def _reason(error: Exception) -> tuple[int, str, dict[str, str]]:
    """Status, sentence and headers of a refusal."""
    if isinstance(error, Denied):
        headers = {"www-authenticate": "Bearer"} if error.status == 401 else {}
        headers |= {"retry-after": str(error.after)} if error.after else {}
        return error.status, str(error), headers
    if isinstance(error, TimeoutError):
        return 408, "The request did not arrive in time.", {}
    if isinstance(error, LedgerUnavailable):
        return 503, AWAY, {"retry-after": "5"}
    if isinstance(error, RequestValidationError):
        faults = [f"{_place(one['loc'])}: {one['msg']}" for one in error.errors()[:MOST_FAULTS]]
        return 422, "; ".join(faults) + ".", {}
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail), {}
    for kind, code in STATUS:
        if isinstance(error, kind):
            return code, str(error), {}
    return 500, BUG, {}
