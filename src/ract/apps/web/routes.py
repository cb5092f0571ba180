"""Routes as plain functions: they run in a thread, once it is known who asks and whether they may.

The first parameter of such a function is the visit; FastAPI reads the others from the path, the
query, the headers and the body. A text that it returns is a page.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
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
ASYNC = "respond-async"
EVERYBODY = "everybody"  # in the place of a role: no key is needed

Function = Callable[..., Any]
_NAMED = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class Visit:
    """One request, what it holds, and what answers it.

    Parameters
    ----------
    request : Request
    gate : Gate
    body : bytes
    """

    request: Request
    gate: Gate
    body: bytes = b""

    @property
    def caller(self) -> Caller:
        """Who asks; not known where a route is open."""
        caller: Caller = self.request.state.who
        return caller

    @property
    def service(self) -> Service:
        """What answers."""
        return self.gate.service

    @property
    def case(self) -> Case:
        """The case of an applicant."""
        return self.service.cases.get(str(self.caller.case))

    @cached_property
    def view(self) -> View:
        """Pages in the language of whoever asks."""
        return view_of(self.request, self.service)

    @property
    def is_part(self) -> bool:
        """Whether a script asks for a part of the page only."""
        return self.request.headers.get("x-fragment") == "1"

    @cached_property
    def form(self) -> dict[str, list[str]]:
        """Values of each field of a form."""
        try:
            return parse_qs(self.body.decode(), keep_blank_values=True, max_num_fields=10_000)
        except ValueError:
            return {}

    def __getitem__(self, field: str) -> str:
        return self.form.get(field, [""])[-1]

    @property
    def fields(self) -> dict[str, str]:
        """The last value of every field."""
        return {name: values[-1] for name, values in self.form.items()}

    def page(self, text: str, status: int = 200) -> Response:
        """A page, in the language that was chosen from now on."""
        answer = HTMLResponse(text, status)
        if "language" in self.request.query_params:
            self.set_cookie(answer, LANGUAGE_COOKIE, self.view.language)
        return answer

    def set_cookie(self, answer: Response, name: str, value: str, **how: Any) -> None:
        """Set a cookie that no script reads."""
        how |= {"httponly": True, "samesite": "lax", "secure": self.gate.settings.secure}
        answer.set_cookie(name, value, **how)


@dataclass(frozen=True)
class Routes:
    """Adds plain functions to a router.

    Parameters
    ----------
    router : APIRouter
    gate : Gate
    bodies : mapping of type to type
        Types of bodies that are made for the model, by those that functions name.
    """

    router: APIRouter
    gate: Gate
    bodies: Mapping[type, type] = field(default_factory=dict)

    def __call__(
        self, method: str, path: str, *roles: str, kind: Kind = "quick", **how: Any
    ) -> Callable[[Function], Function]:
        """Add a function for some roles, and administrators, or for ``EVERYBODY``."""
        how["dependencies"] = [] if EVERYBODY in roles else self.gate.may(*roles)
        status = how.get("status_code", 200)

        def add(function: Function) -> Function:
            async def endpoint(request: Request, **given: Any) -> Any:
                visit = Visit(request, self.gate, await request.body())
                is_begun = ASYNC in given.get("prefer", "")  # and not waited for
                n_people = len(getattr(given.get("body"), "people", [None]))

                def work() -> Any:
                    answer = function(visit, **given)
                    if isinstance(answer, str):
                        return visit.page(answer)
                    if isinstance(answer, BaseModel):  # which need not be checked again
                        text = answer.model_dump_json()
                        return Response(text, status, media_type="application/json")
                    return answer

                return await self.gate(request, work, "quick" if is_begun else kind, n_people)

            self.describe(endpoint, function)
            self.router.add_api_route(path, endpoint, methods=[method], **how)
            return function

        return add

    def describe(self, endpoint: Callable[..., Awaitable[Any]], function: Function) -> None:
        """Give an endpoint the name, the description and the parameters of a plain function."""
        signature = inspect.signature(function, eval_str=True)
        _, *parameters = signature.parameters.values()
        typed = [inspect.Parameter("request", _NAMED, annotation=Request)]
        for one in parameters:
            given = one.annotation
            kind = self.bodies.get(given, given) if one.name == "body" else given
            typed.append(one.replace(kind=_NAMED, annotation=kind))
        endpoint.__name__, endpoint.__doc__ = function.__name__, function.__doc__
        vars(endpoint)["__signature__"] = signature.replace(parameters=typed)


def view_of(request: Request, service: Service) -> View:
    """Pages in the language that someone chose, or that their browser asks for."""
    chosen = request.query_params.get("language") or request.cookies.get(LANGUAGE_COOKIE)
    asked = request.headers.get("accept-language", "")
    role = getattr(getattr(request.state, "who", None), "role", "")
    return View(service, best_language(f"{chosen or ''},{asked}"), role)
