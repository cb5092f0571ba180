"""Routes as plain functions: they run in a thread, once it is known who asks and whether they may.

The first parameter of such a function is the caller (of the API) or the visit (of a page); FastAPI
reads the others from the path, the query, the headers and the body.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from ract.apps.ledger import Case
from ract.apps.web.gate import Gate, Kind
from ract.apps.web.keys import Caller
from ract.apps.web.service import Service
from ract.apps.web.views import View, best_language

LANGUAGE_COOKIE = "ract_language"

Form = dict[str, list[str]]
Function = Callable[..., Any]
_NAMED = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class Visit:
    """One request for a page.

    Parameters
    ----------
    view : View
        Pages in the language of whoever asks.
    caller : Caller
    form : dict
        Values of each field.
    is_part : bool
        Whether a script asks for a part of the page only.
    """

    view: View
    caller: Caller
    form: Form
    is_part: bool = False

    @property
    def service(self) -> Service:
        """What answers."""
        return self.view.service

    @property
    def case(self) -> Case:
        """The case of an applicant."""
        return self.service.cases.get(str(self.caller.case))

    def __getitem__(self, field: str) -> str:
        return self.form.get(field, [""])[-1]

    @property
    def fields(self) -> dict[str, str]:
        """The last value of every field."""
        return {name: values[-1] for name, values in self.form.items()}


@dataclass(frozen=True)
class Routes:
    """Adds plain functions to a router.

    Parameters
    ----------
    router : APIRouter
    gate : Gate
    """

    router: APIRouter
    gate: Gate

    def api(
        self, method: str, path: str, *roles: str, kind: Kind = "quick", **how: Any
    ) -> Callable[[Function], Function]:
        """Add a function to the API; ``body`` is its body's type if that is made for the model."""
        body, how["dependencies"] = how.pop("body", None), self.gate.may(*roles)

        def add(function: Function) -> Function:
            async def endpoint(request: Request, **given: Any) -> Any:
                n_people = len(getattr(given.get("body"), "people", [None]))

                def work(caller: Caller) -> Any:
                    answer = function(caller, **given)
                    if isinstance(answer, BaseModel):  # which need not be checked again
                        return Response(answer.model_dump_json(), media_type="application/json")
                    return answer

                return await self.gate(request, work, kind, n_people)

            _as_endpoint(endpoint, function, body)
            self.router.add_api_route(path, endpoint, methods=[method], **how)
            return function

        return add

    def page(
        self, method: str, path: str, role: str, kind: Kind = "search"
    ) -> Callable[[Function], Function]:
        """Add a function that makes a page for a role, as a text or as an answer."""
        how: dict[str, Any] = {"dependencies": self.gate.may(role), "response_model": None}

        def add(function: Function) -> Function:
            async def endpoint(request: Request, **given: Any) -> Response:
                form, view = await form_of(request), view_of(request, self.gate.service)
                is_part = request.headers.get("x-fragment") == "1"

                def work(caller: Caller) -> str | Response:
                    return function(Visit(view, caller, form, is_part), **given)

                answer = await self.gate(request, work, kind)
                return page_of(request, view, answer) if isinstance(answer, str) else answer

            _as_endpoint(endpoint, function)
            self.router.add_api_route(path, endpoint, methods=[method], **how)
            return function

        return add


def _as_endpoint(
    endpoint: Callable[..., Awaitable[Any]], function: Function, body: type | None = None
) -> None:
    """Give an endpoint the name, the description and the parameters of a plain function."""
    signature = inspect.signature(function, eval_str=True)
    _, *parameters = signature.parameters.values()
    typed = [inspect.Parameter("request", _NAMED, annotation=Request)]
    for one in parameters:
        kind = body if body is not None and one.name == "body" else one.annotation
        typed.append(one.replace(kind=_NAMED, annotation=kind))
    endpoint.__name__, endpoint.__doc__ = function.__name__, function.__doc__
    vars(endpoint)["__signature__"] = signature.replace(parameters=typed)


def view_of(request: Request, service: Service) -> View:
    """Pages in the language that someone chose, or that their browser asks for."""
    chosen = request.query_params.get("language") or request.cookies.get(LANGUAGE_COOKIE)
    asked = request.headers.get("accept-language", "")
    role = getattr(getattr(request.state, "who", None), "role", "")
    return View(service, best_language(f"{chosen or ''},{asked}"), role)


def page_of(request: Request, view: View, text: str) -> Response:
    """A page, in the language that was chosen from now on."""
    answer = HTMLResponse(text)
    if "language" in request.query_params:
        set_cookie(view.service, answer, LANGUAGE_COOKIE, view.language)
    return answer


def set_cookie(service: Service, answer: Response, name: str, value: str, **how: Any) -> None:
    """Set a cookie that no script reads."""
    how |= {"httponly": True, "samesite": "lax", "secure": service.settings.secure}
    answer.set_cookie(name, value, **how)


async def form_of(request: Request) -> Form:
    """The fields of a form."""
    try:
        text = (await request.body()).decode()
        return parse_qs(text, keep_blank_values=True, max_num_fields=10_000)
    except ValueError:
        return {}
