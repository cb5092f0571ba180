"""Pages for people: applicants by a link, case workers and auditors by their key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from ract.apps.ledger import Case, Promise
from ract.apps.ledger.cases import MOST_FOUND
from ract.apps.ledger.promise import OPEN, WITHDRAWN
from ract.apps.web.api import LETTER_POLICY
from ract.apps.web.exchange import (
    Form,
    flat,
    form_of,
    one,
    page_of,
    set_cookie,
    view_of,
)
from ract.apps.web.gate import LINK_COOKIE, SESSION_COOKIE, Gate
from ract.apps.web.keys import APPLICANT, AUDITOR, WORKER, Caller, Denied
from ract.apps.web.live import Rules
from ract.apps.web.service import SESSION_HOURS, Service
from ract.apps.web.views import View, promised_values, rules_of, values_of
from ract.apps.web.what_if import what_if_routes

PAGES = ("/my", "/desk", "/auditor", "/login", "/logout")
MOST_LISTED = 200  # promises on the page of the auditor


def page_routes(gate: Gate) -> APIRouter:
    """The routes for people."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    what_if_routes(router, gate)  # before /my/{token}
    _applicant(router, gate)
    _worker(router, gate)
    _others(router, gate)
    return router


def error_page(request: Request, service: Service, status: int, detail: str) -> Response:
    """Why a page is not there, in the words of whoever reads it."""
    view, applicant = view_of(request, service), request.url.path.startswith("/my")
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
    service, only = gate.service, gate.may(APPLICANT)

    async def own(request: Request, work: Callable[[View, Case], Any]) -> Any:
        view = view_of(request, service)
        return await gate(
            request, lambda caller: work(view, service.cases.get(str(caller.case))), "search"
        )

    @router.get("/my/letter", dependencies=only)
    async def letter(request: Request) -> Response:
        return _letter(await own(request, lambda view, case: service.notice(case, view.language)))

    @router.get("/my/receipt/{id}", dependencies=only)
    async def receipt(request: Request, id: str) -> Response:
        found = await own(request, lambda view, case: _receipt(service, case, id))
        return JSONResponse(found, headers={"content-disposition": "attachment"})

    @router.get("/my/{token}")
    async def open_link(request: Request, token: str) -> Response:
        await gate.in_thread(lambda: gate.applicant(token))
        answer = RedirectResponse("/my", 303)
        set_cookie(service, answer, LINK_COOKIE, token, path="/my")
        return answer

    @router.get("/my", dependencies=only)
    async def my(request: Request) -> Response:
        shown = await own(request, lambda view, case: _my(view, case, Rules()))
        return page_of(request, service, shown)

    @router.post("/my/plans", dependencies=only)
    async def plans(request: Request) -> Response:
        form = await form_of(request)
        is_part = request.headers.get("x-fragment") == "1"

        def work(view: View, case: Case) -> str:
            rules = rules_of(view.live, form)
            return str(_my_ways(view, case, rules)[0]) if is_part else _my(view, case, rules)

        return HTMLResponse(await own(request, work))

    @router.post("/my/accept", dependencies=only)
    async def accept(request: Request) -> Response:
        form = await form_of(request)
        await own(
            request,
            lambda view, case: service.accept(
                case, rules_of(view.live, form), one(form, "way"), APPLICANT
            ),
        )
        return RedirectResponse("/my", 303)

    @router.post("/my/report", dependencies=only)
    async def report(request: Request) -> Response:
        form = await form_of(request)
        await own(
            request,
            lambda view, case: service.cases.report(
                case, values_of(view.live, flat(form)), APPLICANT
            ),
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
    held = service.ledger.of(case.person)
    standing = _standing(view, held)
    ways, values = _my_ways(view, case, rules)
    more = {
        "layout": "my.html",
        "ways": ways,
        "person": case.person,
        "promises": [view.promise(promise) for promise in standing],
        "withdrawn": [view.promise(promise) for promise in held if promise.status == WITHDRAWN],
        "limits": view.limits(case, rules),
        "inputs": view.inputs(case.reported or case.values),
        "reported": _reported(view, case, standing),
        "contact": view.contact,
    }
    return view.page(f"{view.language}.jinja", **values | more)


def _my_ways(view: View, case: Case, rules: Rules) -> tuple[Any, dict[str, Any]]:
    """What an applicant can do, as a part of their page, and what their notice says."""
    t, until = view.t.applicant, view.service.last_day()
    return _ways(
        view, case, rules, may_lock=True, take="/my/accept", take_text=t.accept,
        promised_text=t.promised, offer_lead=t.offer_lead.format(view.day(until)),
    )  # fmt: skip


def _ways(view: View, case: Case, rules: Rules, **how: Any) -> tuple[Any, dict[str, Any]]:
    """What the person of a case can do, as a part of a page, and what their notice says."""
    service = view.service
    found = service.ways(case, rules)
    values = service.notice_values(case, view.language, found)
    standing = _standing(view, service.ledger.of(case.person))
    return view.ways(values, found, rules, standing, **how), values


def _reported(view: View, case: Case, standing: list[Promise]) -> dict[str, Any] | None:
    """What someone has reported, and what it would mean."""
    if case.reported is None:
        return None
    service, t = view.service, view.t.applicant
    values, missing = case.reported, []
    lines = view.differences(case.values, values)
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
    service, only = gate.service, gate.may(WORKER)

    async def staff(request: Request, work: Callable[[View, Caller], Any]) -> Any:
        view = view_of(request, service)
        return await gate(request, lambda caller: work(view, caller), "search")

    @router.get("/desk", dependencies=only)
    async def desk(request: Request, search: str = "", page: int = 1) -> Response:
        def work(view: View, caller: Caller) -> str:
            text, n_cases = search[:200], service.cases.count(search[:200])
            n_pages = max(1, -(-n_cases // MOST_FOUND))
            at = min(max(page, 1), n_pages)
            found = service.cases.search(text, skip=(at - 1) * MOST_FOUND)
            return view.page(
                "desk.html", heading=view.t.staff.desk, staff=True, search=text, n_cases=n_cases,
                page=at, n_pages=n_pages, cases=[_listed(view, case) for case in found],
                inputs=view.inputs({}),
            )  # fmt: skip

        return page_of(request, service, await staff(request, work))

    @router.post("/desk", dependencies=only)
    async def decide_new(request: Request) -> Response:
        form = flat(await form_of(request))

        def work(view: View, caller: Caller) -> str:
            values = values_of(view.live, form)
            (made,) = service.decide([form.get("person", "")], [values], True, caller.name)
            return str(made.case)

        return RedirectResponse(f"/desk/{await staff(request, work)}", 303)

    @router.get("/desk/{id}", dependencies=only)
    async def case(request: Request, id: str) -> Response:
        shown = await staff(request, lambda view, caller: _case(view, service.cases.get(id)))
        return page_of(request, service, shown)

    @router.get("/desk/{id}/notice", dependencies=only)
    async def notice(request: Request, id: str) -> Response:
        def work(view: View, caller: Caller) -> str:
            return service.notice(service.cases.get(id), view.language)

        return _letter(await staff(request, work))

    @router.post("/desk/{id}/{what}", dependencies=only)
    async def act(request: Request, id: str, what: str) -> Response:
        form = await form_of(request)

        def work(view: View, caller: Caller) -> str | None:
            return _act(view, caller, service.cases.get(id), what, form)

        shown = await staff(request, work)
        return RedirectResponse(f"/desk/{id}", 303) if shown is None else HTMLResponse(shown)


def _act(view: View, caller: Caller, case: Case, what: str, form: Form) -> str | None:
    """What a case worker does with a case; a page to show, or None for that of the case."""
    service = view.service
    if what == "decide":
        service.decide([case.person], [values_of(view.live, flat(form))], True, caller.name)
    elif what == "redeem":
        promise = _promise(service, case, one(form, "promise"))
        return _redeem(view, caller, case, promise, flat(form))
    elif what == "offer":
        service.accept(case, Rules(), one(form, "way"), caller.name)
    elif what == "withdraw":
        promise, reason = _promise(service, case, one(form, "promise")), one(form, "reason")
        if not service.withdraw(promise, reason, caller.name):
            return _case(view, case, said=view.t.staff.second)
    elif what == "note":
        service.cases.add_note(case, caller.name, one(form, "text"))
    elif what == "link":
        address, until = service.link(case)
        return _case(view, case, link={"address": address, "until": view.day(until)})
    elif what == "unlink":
        service.state.end_links(case.id)
        return _case(view, case, said=view.t.staff.unlinked)
    else:
        raise Denied("There is no such thing to do.", 403)
    return None


def _redeem(
    view: View, caller: Caller, case: Case, promise: Promise, form: dict[str, str]
) -> str | None:
    """Redeem a promise with values for each change of which somebody has seen evidence."""
    values, t = promised_values(promise, form), view.t.staff
    changed = [name for name, value in values.items() if value != promise.before.get(name)]
    evidence = {name: form.get(f"evidence:{name}", "").strip()[:400] for name in changed}
    unseen = [view.label(name) for name, text in evidence.items() if not text]
    if unseen:
        said = t.no_evidence.format(", ".join(unseen))
        return _case(view, case, values=values, said=said)
    back = view.service.redeem(promise, values, caller.name, evidence)
    if back is None:
        return _case(view, case, said=t.second)
    if back.accepted:
        return None
    missing = view.missing(promise, values)
    if any(fault.startswith("It expired") for fault in back.faults):
        missing.insert(0, view.t.applicant.promise_over.format(view.day(promise.expires)))
    return _case(view, case, values=values, missing=missing)


def _case(view: View, case: Case, *, values: dict[str, Any] | None = None, **more: Any) -> str:
    """The page of a case worker on one case."""
    service, t, ways = view.service, view.t.staff, ""
    if not case.accepted and not service.live.accepted([case.values])[0]:
        how = {"take": f"/desk/{case.id}/offer", "take_text": t.offer, "promised_text": t.promised}
        ways, _ = _ways(view, case, Rules(), may_lock=False, **how)
    held, now = service.ledger.of(case.person), values or case.reported or case.values
    shown = {
        "heading": t.case_title.format(case.person),
        "staff": True,
        "id": case.id,
        "date": view.day(case.at),
        "accepted": case.accepted,
        "decision": _decision(view, case),
        "ways": ways,
        "reported": view.differences(case.values, case.reported) if case.reported else None,
        "inputs": view.inputs(case.reported or case.values),
        "promises": [view.promise(promise, now) for promise in held],
        "notes": [
            {"at": f"{note.at:%Y-%m-%d %H:%M}", "by": note.by, "text": note.text}
            for note in service.cases.notes(case.id)
        ],
        "missing": None,
        "link": None,
        "said": "",
    }
    return view.page("case.html", **shown | more)


def _others(router: APIRouter, gate: Gate) -> None:
    service = gate.service

    @router.get("/login")
    async def login(request: Request) -> Response:
        return page_of(request, service, _login(view_of(request, service)))

    @router.post("/login")
    async def sign_in(request: Request) -> Response:
        gate.check_origin(request)
        form, view = await form_of(request), view_of(request, service)
        try:
            caller = await gate.in_thread(lambda: gate.key(request, one(form, "key").strip()))
        except Denied as denied:
            return HTMLResponse(_login(view, view.t.staff.wrong_key), denied.status)
        token = await gate.in_thread(lambda: service.session(caller.id))
        answer = RedirectResponse("/auditor" if caller.role == AUDITOR else "/desk", 303)
        set_cookie(service, answer, SESSION_COOKIE, token, max_age=SESSION_HOURS * 3600)
        return answer

    @router.post("/logout", dependencies=gate.may(WORKER, AUDITOR))
    async def sign_out(request: Request) -> Response:
        token = request.cookies.get(SESSION_COOKIE, "")
        await gate(request, lambda caller: service.state.end_token(token))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(SESSION_COOKIE)
        return answer

    @router.get("/auditor", dependencies=gate.may(AUDITOR))
    async def auditor(request: Request) -> Response:
        view = view_of(request, service)
        shown = await gate(request, lambda caller: _auditor(view), "long")
        return page_of(request, service, shown)

    @router.get("/auditor/report", dependencies=gate.may(AUDITOR))
    async def report(request: Request) -> Response:
        return _letter(await gate(request, lambda caller: service.report(), "long"))


def _auditor(view: View) -> str:
    """The page of an auditor."""
    service, t = view.service, view.t.staff
    found = service.audit()
    standing = islice(service.ledger.each_open(), MOST_LISTED) if found.verified else ()
    measured = getattr(service.live.model, "lasting_", None) is not None
    shown = {
        "heading": t.audit_title,
        "staff": True,
        "audit": found,
        "counts": [(getattr(t, name), n) for name, n in found.promises.items()],
        "earned": [(getattr(t, k), n) for k, n in (found.earned or {}).items()],
        "lasting": f"{found.lasting:.0%}" if measured and found.lasting is not None else "",
        "promises": [view.promise(promise) for promise in standing],
    }
    return view.page("auditor.html", **shown)


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


def _standing(view: View, held: list[Promise]) -> list[Promise]:
    """The promises that a person can redeem."""
    now = view.service.now()
    return [p for p in held if p.status == OPEN and p.expires >= now]


def _receipt(service: Service, case: Case, id: str) -> dict[str, Any]:
    return service.ledger.receipt(_promise(service, case, id).id)


def _letter(text: str) -> Response:
    return HTMLResponse(text, headers={"content-security-policy": LETTER_POLICY})
