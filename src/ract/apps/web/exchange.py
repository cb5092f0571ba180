"""What pages read of a request: its language, its form; and how they answer it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from ract.apps.web.service import Service
from ract.apps.web.views import View, best_language

LANGUAGE_COOKIE = "ract_language"

Form = dict[str, list[str]]


def language_of(request: Request) -> str:
    """The language that someone chose, or that their browser asks for."""
    chosen = request.query_params.get("language") or request.cookies.get(LANGUAGE_COOKIE)
    return best_language(f"{chosen or ''},{request.headers.get('accept-language', '')}")


def view_of(request: Request, service: Service) -> View:
    """Pages in the language of whoever asks."""
    return View(service, language_of(request))


def page_of(request: Request, service: Service, text: str) -> Response:
    """A page, in the language that was chosen from now on."""
    answer = HTMLResponse(text)
    if "language" in request.query_params:
        set_cookie(service, answer, LANGUAGE_COOKIE, language_of(request))
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


def flat(form: Form) -> dict[str, str]:
    """The last value of every field."""
    return {name: values[-1] for name, values in form.items()}


def one(form: Form, name: str) -> str:
    """The last value of a field, or nothing."""
    return form.get(name, [""])[-1]
