"""Pages for people: applicants by a link, case workers and auditors by their key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ract.promises import Promise
from ract.promises.promise import OPEN
from ract.serve.api import LETTER_POLICY
from ract.serve.gate import LINK_COOKIE, LONG, SESSION_COOKIE, Gate
from ract.serve.keys import APPLICANT, AUDITOR, LINK, WORKER, Caller, Denied
from ract.serve.live import Rules
from ract.serve.service import SESSION_HOURS, Service
from ract.serve.state import Case
from ract.serve.views import View, best_language, rules_of, values_of

LANGUAGE_COOKIE = "ract_language"
PAGES = ("/my", "/desk", "/auditor", "/login", "/logout")
MOST_LISTED = 200  # promises on the page of the auditor

Form = dict[str, list[str]]


def page_routes(gate: Gate) -> APIRouter:
    """The routes for people."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    _applicant(router, gate)
    _worker(router, gate)
    _others(router, gate)
    return router


def language_of(request: Request) -> str:
    """The language that someone chose, or that their browser asks for."""
    chosen = request.query_params.get("language") or request.cookies.get(LANGUAGE_COOKIE)
    return best_language(f"{chosen or ''},{request.headers.get('accept-language', '')}")


def _view(request: Request, service: Service) -> View:
    return View(service, language_of(request), str(request.base_url))


def error_page(request: Request, service: Service, status: int, detail: str) -> Response:
    """Why a page is not there, in the words of whoever reads it."""
    view, applicant = _view(request, service), request.url.path.startswith("/my")
    if status == 401 and not applicant:
        return RedirectResponse("/login", 303)
    said = vars(view.t.error).get(f"s{status}")
    back = None if status == 401 else "/my" if applicant else "/desk"
    # What was wrong with a form is said in full; all else is for the log.
    text = view.page(
        "error.html", heading=view.t.error.title, sentence=said or view.t.error.title, back=back,
        detail=detail if status in (409, 422) else "", staff=False,
    )  # fmt: skip
    return HTMLResponse(text, status)


def _applicant(router: APIRouter, gate: Gate) -> None:
    service = gate.service

    async def own(request: Request, work: Callable[[View, Case], Any]) -> Any:
        view = _view(request, service)
        return await gate(
            request, (APPLICANT,), lambda caller: work(view, service.state.case(str(caller.case))),
            searches=True,
        )  # fmt: skip

    @router.get("/my/letter")
    async def letter(request: Request) -> Response:
        return _letter(await own(request, lambda view, case: service.notice(case, view.language)))

    @router.get("/my/{token}")
    async def open_link(request: Request, token: str) -> Response:
        service.signer.read(token, LINK)
        answer = RedirectResponse("/my", 303)
        _set_cookie(request, answer, LINK_COOKIE, token, path="/my")
        return answer

    @router.get("/my")
    async def my(request: Request) -> Response:
        return _page(request, await own(request, lambda view, case: _my(view, case, Rules())))

    @router.post("/my/plans")
    async def plans(request: Request) -> Response:
        form = await _form(request)
        is_part = request.headers.get("x-fragment") == "1"

        def work(view: View, case: Case) -> str:
            rules = rules_of(view.live, form)
            return str(_my_ways(view, case, rules)[0]) if is_part else _my(view, case, rules)

        return HTMLResponse(await own(request, work))

    @router.post("/my/accept")
    async def accept(request: Request) -> Response:
        form = await _form(request)
        await own(
            request,
            lambda view, case: service.accept(
                case, rules_of(view.live, form), _one(form, "way"), APPLICANT
            ),
        )
        return RedirectResponse("/my", 303)

    @router.post("/my/report")
    async def report(request: Request) -> Response:
        form = await _form(request)
        await own(
            request,
            lambda view, case: service.state.report(case, values_of(view.live, _flat(form))),
        )
        return RedirectResponse("/my", 303)


def _my(view: View, case: Case, rules: Rules) -> str:
    """The page of an applicant."""
    service, t = view.service, view.t.applicant
    if case.accepted or service.live.accepted([case.values])[0]:
        lines = [t.yes.format(view.day(case.at))] if case.accepted else [t.now_yes]
        lines += [t.yes_promise] if case.accepted and case.decision["promise"] else []
        heading = t.yes_title if case.accepted else t.now_yes_title
        return view.page("yes.html", person=case.person, lines=lines, heading=heading)
    standing = _standing(service, case)
    ways, values = _my_ways(view, case, rules)
    return view.page(
        f"{view.language}.jinja",
        **values
        | {
            "layout": "my.html", "ways": ways, "person": case.person,
            "promises": [view.promise(promise) for promise in standing],
            "limits": view.limits(case, rules), "inputs": view.inputs(case.reported or case.values),
            "reported": _reported(view, case, standing),
        },
    )  # fmt: skip


def _my_ways(view: View, case: Case, rules: Rules) -> tuple[Any, dict[str, Any]]:
    """What an applicant can do, as a part of their page, and what their notice says."""
    t, until = view.t.applicant, datetime.now(UTC) + timedelta(view.service.settings.promise_days)
    return _ways(
        view, case, rules, may_lock=True, take="/my/accept", take_text=t.accept,
        promised_text=t.promised, offer_lead=t.offer_lead.format(view.day(until)),
    )  # fmt: skip


def _ways(view: View, case: Case, rules: Rules, **how: Any) -> tuple[Any, dict[str, Any]]:
    """What the person of a case can do, as a part of a page, and what their notice says."""
    service = view.service
    found = service.ways(case, rules)
    values = service.notice_values(case, view.language, found)
    return view.ways(values, found, rules, _standing(service, case), **how), values


def _reported(view: View, case: Case, standing: list[Promise]) -> dict[str, Any] | None:
    """What someone has reported, and what it would mean."""
    if case.reported is None:
        return None
    service, t = view.service, view.t.applicant
    values, missing = case.reported, []
    lines = [
        f"{view.label(name)}: {view.value(values.get(name))}"
        for name in view.live.model.encoder_.feature_names
        if values.get(name) != case.values.get(name)
    ]
    back = service.ledger.accepts(case.person, values)
    if back.accepted:
        text = t.reported_promise
    elif service.live.accepted([values])[0]:
        text = t.reported_yes
    elif back.promise is not None and standing:
        text, missing = t.reported_no, view.missing(back.promise, values)
    else:
        text = t.reported_no_promise
    return {"lines": lines, "text": text, "missing": missing}


def _worker(router: APIRouter, gate: Gate) -> None:
    service = gate.service

    async def staff(request: Request, work: Callable[[View, Caller], Any]) -> Any:
        view = _view(request, service)
        return await gate(request, (WORKER,), lambda caller: work(view, caller), searches=True)

    @router.get("/desk")
    async def desk(request: Request, search: str = "") -> Response:
        def work(view: View, caller: Caller) -> str:
            found = service.state.search(search[:200])
            return view.page(
                "desk.html", heading=view.t.staff.desk, staff=True, search=search[:200],
                cases=[_listed(view, case) for case in found],
                inputs=view.inputs(service.live.example),
            )  # fmt: skip

        return _page(request, await staff(request, work))

    @router.post("/desk")
    async def decide_new(request: Request) -> Response:
        form = _flat(await _form(request))

        def work(view: View, caller: Caller) -> str:
            values = values_of(view.live, form)
            (made,) = service.decide([form.get("person", "")], [values], True, caller.name)
            return str(made["case"])

        return RedirectResponse(f"/desk/{await staff(request, work)}", 303)

    @router.get("/desk/{id}")
    async def case(request: Request, id: str) -> Response:
        return _page(
            request,
            await staff(request, lambda view, caller: _case(view, service.state.case(id))),
        )

    @router.get("/desk/{id}/notice")
    async def notice(request: Request, id: str) -> Response:
        def work(view: View, caller: Caller) -> str:
            return service.notice(service.state.case(id), view.language)

        return _letter(await staff(request, work))

    @router.post("/desk/{id}/{what}")
    async def act(request: Request, id: str, what: str) -> Response:
        form = await _form(request)

        def work(view: View, caller: Caller) -> str | None:
            return _act(view, caller, service.state.case(id), what, form)

        shown = await staff(request, work)
        return RedirectResponse(f"/desk/{id}", 303) if shown is None else HTMLResponse(shown)


def _act(view: View, caller: Caller, case: Case, what: str, form: Form) -> str | None:
    """What a case worker does with a case; a page to show, or None for that of the case."""
    service = view.service
    if what == "decide":
        service.decide([case.person], [values_of(view.live, _flat(form))], True, caller.name)
    elif what == "redeem":
        values = values_of(view.live, _flat(form))
        promise = _promise(service, case, _one(form, "promise"))
        back = service.redeem(promise, values, caller.name)
        if not back.accepted:
            missing = view.missing(promise, values)
            if datetime.now(UTC) > promise.expires:
                missing.insert(0, view.t.applicant.promise_over.format(view.day(promise.expires)))
            return _case(view, case, values=values, missing=missing)
    elif what == "offer":
        service.accept(case, Rules(), _one(form, "way"), caller.name)
    elif what == "withdraw":
        service.ledger.withdraw(
            _promise(service, case, _one(form, "promise")).id, _one(form, "reason")
        )
    elif what == "note":
        service.state.add_note(case, caller.name, _one(form, "text"))
    elif what == "link":
        token, until = service.link(case.id)
        return _case(view, case, link={"token": token, "until": view.day(until)})
    else:
        raise Denied("There is no such thing to do.", 403)
    return None


def _case(
    view: View, case: Case, *, values: dict[str, Any] | None = None,
    missing: list[str] | None = None, link: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """The page of a case worker on one case."""
    service, t, ways = view.service, view.t.staff, ""
    if not case.accepted and not service.live.accepted([case.values])[0]:
        ways, _ = _ways(
            view, case, Rules(), may_lock=False, take=f"/desk/{case.id}/offer", take_text=t.offer,
            promised_text=t.promised,
        )  # fmt: skip
    if link is not None:
        link = {**link, "address": f"{view.base}my/{link['token']}"}
    return view.page(
        "case.html", heading=t.case_title.format(case.person), staff=True, id=case.id,
        date=view.day(case.at), accepted=case.accepted, decision=_decision(view, case), ways=ways,
        reported=case.reported is not None, missing=missing, link=link,
        inputs=view.inputs(values or case.reported or case.values),
        promises=[view.promise(promise) for promise in service.ledger.of(case.person)],
        notes=[
            {"at": f"{note.at:%Y-%m-%d %H:%M}", "by": note.by, "text": note.text}
            for note in service.state.notes(case)
        ],
    )  # fmt: skip


def _others(router: APIRouter, gate: Gate) -> None:
    service = gate.service

    @router.get("/login")
    async def login(request: Request) -> Response:
        return _page(request, _login(_view(request, service)))

    @router.post("/login")
    async def sign_in(request: Request) -> Response:
        form = await _form(request)
        view = _view(request, service)
        try:
            caller = await gate.in_thread(lambda: gate.key(request, _one(form, "key").strip()))
        except Denied as denied:
            return HTMLResponse(_login(view, view.t.staff.wrong_key), denied.status)
        answer = RedirectResponse("/auditor" if caller.role == AUDITOR else "/desk", 303)
        token = service.session(caller.id)
        _set_cookie(request, answer, SESSION_COOKIE, token, max_age=SESSION_HOURS * 3600)
        return answer

    @router.post("/logout")
    async def sign_out(request: Request) -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(SESSION_COOKIE)
        return answer

    @router.get("/auditor")
    async def auditor(request: Request) -> Response:
        view = _view(request, service)

        def work(caller: Caller) -> str:
            found, t = service.audit(), view.t.staff
            standing = service.ledger.open()[:MOST_LISTED] if found["verified"] else []
            measured = getattr(service.live.model, "lasting_", None) is not None
            share = found["lasting"]
            return view.page(
                "auditor.html", heading=t.audit_title, staff=True, audit=found,
                counts=[(getattr(t, name), n) for name, n in found["promises"].items()],
                earned=[(getattr(t, k), n) for k, n in (found["earned"] or {}).items()],
                lasting=f"{share:.0%}" if measured and share is not None else "",
                promises=[view.promise(promise) for promise in standing],
            )  # fmt: skip

        return _page(request, await gate(request, (AUDITOR,), work, LONG))

    @router.get("/auditor/report")
    async def report(request: Request) -> Response:
        return _letter(await gate(request, (AUDITOR,), lambda caller: service.report(), LONG))


def _login(view: View, wrong: str = "") -> str:
    return view.page("login.html", heading=view.t.staff.login_title, wrong=wrong)


def _listed(view: View, case: Case) -> dict[str, Any]:
    return {
        "id": case.id, "person": case.person, "decision": _decision(view, case),
        "date": view.day(case.at), "reported": case.reported is not None,
    }  # fmt: skip


def _decision(view: View, case: Case) -> str:
    t = view.t.staff
    return str((t.by_promise if case.decision["promise"] else t.yes) if case.accepted else t.no)


def _promise(service: Service, case: Case, id: str) -> Promise:
    own = {promise.id: promise for promise in service.ledger.of(case.person)}
    if id not in own:
        raise Denied("This is not a promise to this person.", 403)
    return own[id]


def _standing(service: Service, case: Case) -> list[Promise]:
    """The promises that a person can redeem."""
    now = datetime.now(UTC)
    return [p for p in service.ledger.of(case.person) if p.status == OPEN and p.expires >= now]


def _page(request: Request, text: str) -> Response:
    """A page, in the language that was chosen from now on."""
    answer = HTMLResponse(text)
    if "language" in request.query_params:
        _set_cookie(request, answer, LANGUAGE_COOKIE, language_of(request))
    return answer


def _letter(text: str) -> Response:
    return HTMLResponse(text, headers={"content-security-policy": LETTER_POLICY})


def _set_cookie(
    request: Request, answer: Response, name: str, value: str, *, path: str = "/",
    max_age: int | None = None,
) -> None:  # fmt: skip
    answer.set_cookie(
        name, value, max_age=max_age, path=path, httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip


async def _form(request: Request) -> Form:
    """The fields of a form."""
    try:
        text = (await request.body()).decode()
        return parse_qs(text, keep_blank_values=True, max_num_fields=10_000)
    except ValueError:
        return {}


def _flat(form: Form) -> dict[str, str]:
    return {name: values[-1] for name, values in form.items()}


def _one(form: Form, name: str) -> str:
    return form.get(name, [""])[-1]
