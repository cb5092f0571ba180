"""Pages for people: applicants by a link, case workers and auditors by their key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from markupsafe import Markup

from ract._utils.status import Status
from ract.apps.ledger import Case, Promise
from ract.apps.ledger.cases import MOST_FOUND
from ract.apps.ledger.promise import WITHDRAWN
from ract.apps.web.api import LETTER_POLICY
from ract.apps.web.gate import LINK_COOKIE, SESSION_COOKIE, Gate
from ract.apps.web.keys import APPLICANT, AUDITOR, WORKER, Denied
from ract.apps.web.live import PersonalRules
from ract.apps.web.routes import EVERYBODY, Function, Routes, Visit, view_of
from ract.apps.web.service import SESSION_HOURS, Service
from ract.apps.web.views import View, promised_values, rules_from_form, templates, values_from_form
from ract.recourse.levers import Levers
from ract.recourse.plan import Plan

PAGES = ("/my", "/desk", "/auditor", "/login", "/logout")
MOST_LISTED = 200  # promises on the page of the auditor
MOST_LEVERS = 3  # features of a set

Route = Callable[..., Callable[[Function], Function]]


def page_routes(gate: Gate) -> APIRouter:
    """The routes for people."""
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    route = partial(Routes(router, gate), kind="search", response_model=None)
    for some in (_trying, _applicant, _worker, _auditor, _doors):  # /my/try before /my/{token}
        some(route)
    return router


def error_page(request: Request, service: Service, status: int, detail: str) -> Response:
    """Why a page is not there, in the words of whoever reads it."""
    view, applicant = view_of(request, service), request.url.path.startswith("/my")
    if status == 401 and not applicant:
        return RedirectResponse("/login", 303)
    shown = {
        "heading": view.t.error.title,
        "sentence": vars(view.t.error).get(f"s{status}") or view.t.error.title,
        "back": None if status == 401 else "/my" if applicant else "/desk",
        # What was wrong with a form is said in full; all else is for the log.
        "detail": detail if status in (409, 422) else "",
    }
    return HTMLResponse(view.page("error.html", **shown), status)


def _applicant(route: Route) -> None:
    @route("GET", "/my/letter", APPLICANT)
    def letter(visit: Visit) -> Response:
        return _letter(visit.service.notice(visit.case, visit.view.language))

    @route("GET", "/my/receipt/{id}", APPLICANT)
    def receipt(visit: Visit, id: str) -> Response:
        found = visit.service.ledger.receipt(_promise(visit.service, visit.case, id).id)
        return JSONResponse(found, headers={"content-disposition": "attachment"})

    @route("GET", "/my/{token}", EVERYBODY, kind="quick")
    def open_link(visit: Visit, token: str) -> Response:
        visit.gate.applicant(token)
        answer = RedirectResponse("/my", 303)
        visit.set_cookie(answer, LINK_COOKIE, token, path="/my")
        return answer

    @route("GET", "/my", APPLICANT)
    def my(visit: Visit) -> str:
        return _my(visit.view, visit.case, PersonalRules())

    @route("POST", "/my/plans", APPLICANT)
    def plans(visit: Visit) -> str:
        rules = rules_from_form(visit.view.live, visit.form)
        if visit.is_part:
            return str(_my_ways(visit.view, visit.case, rules)[0])
        return _my(visit.view, visit.case, rules)

    @route("POST", "/my/accept", APPLICANT)
    def accept(visit: Visit) -> Response:
        rules = rules_from_form(visit.view.live, visit.form)
        visit.service.accept(visit.case, rules, visit["way"], APPLICANT)
        return RedirectResponse("/my", 303)

    @route("POST", "/my/report", APPLICANT)
    def report(visit: Visit) -> Response:
        values = values_from_form(visit.view.live, visit.fields)
        visit.gate.count_try(visit.caller)  # their page says what the model says of it
        visit.service.cases.report(visit.case, values, APPLICANT)
        return RedirectResponse("/my", 303)


def _trying(route: Route) -> None:
    """Trying values; nothing that is tried is kept."""

    @route("GET", "/my/try", APPLICANT)
    def look(visit: Visit) -> str | Response:
        if visit.service.live.accepted([visit.case.values])[0]:
            return RedirectResponse("/my", 303)
        return page(visit.view, visit.case)

    @route("POST", "/my/try", APPLICANT)
    def try_values(visit: Visit) -> str:
        view, values = visit.view, values_from_form(visit.view.live, visit.fields)
        visit.gate.count_try(visit.caller)
        return _tried(view, visit.case, values) if visit.is_part else page(view, visit.case, values)

    def page(view: View, case: Case, values: dict[str, Any] | None = None) -> str:
        if view.live.accepted([case.values])[0]:
            return ""
        t, levers = view.t.applicant, view.live.levers(case.values, MOST_LEVERS)
        shown = {
            "heading": t.try_title,
            "person": case.person,
            "levers": _lever_lines(view, levers),
            "lead": t.levers_open if levers.undecided else t.levers_lead,
            "inputs": view.inputs(values or case.values),
            "tried": "" if values is None else _tried(view, case, values),
        }
        return view.page("try.html", **shown)


def _tried(view: View, case: Case, values: dict[str, Any]) -> Markup:
    """How far some values are from a yes, as a part of a page."""
    live, t = view.live, view.t.applicant
    today, there = live.distances([case.values, values])
    said: dict[str, Any] = {"changes": [], "most": 0.0, "left": 0.0}
    if there.status == Status.ACCEPTED.word:
        said["text"] = t.tried_yes
    elif there.changes:
        far, now = (view.value(_two_digits(plan.cost)) for plan in (there, today))
        proved = there.status == Status.OPTIMAL.word
        said["text"] = (t.tried_no if proved else t.tried_found).format(far, now)
        said["changes"] = _changes(view, there)
        said["most"] = max(today.cost, there.cost)
        said["left"] = said["most"] - there.cost
    else:
        is_open = there.status == Status.UNKNOWN.word
        said["text"] = t.tried_open if is_open else t.tried_none
    return Markup(templates().render("tried.html", {"t": view.t, **said}))


def _lever_lines(view: View, levers: Levers) -> list[dict[str, Any]]:
    """Which sets of few features are enough, and which single ones are not."""
    t = view.t.applicant
    lines = [_alone(view, levers, name) for name in view.live.actionable]
    for names, plan in zip(levers.sets, levers.plans, strict=True):
        if len(names) > 1:
            who = _joined(view, [view.label(name) for name in names])
            text = t.lever_yes.format(who, _joined(view, _changes(view, plan)))
            lines.append({"text": text, "good": True})
    return lines


def _alone(view: View, levers: Levers, name: str) -> dict[str, Any]:
    t, label = view.t.applicant, view.label(name)
    enough = levers.enough(0, name)
    if not enough:
        text = t.lever_open if enough is None else t.lever_no
        return {"text": text.format(label), "good": False}
    (change,) = levers.plans[levers.sets.index((name,))].changes
    return {"text": t.lever_alone.format(label, view.value(change.goal)), "good": True}


def _changes(view: View, plan: Plan) -> list[str]:
    """What a plan asks for, a line each."""
    return [f"{view.label(c.feature)}: {view.value(c.goal)}" for c in plan.changes]


def _joined(view: View, parts: list[str]) -> str:
    """Some texts as one: "a, b and c"."""
    *first, last = parts
    return str(view.t.joined.format(", ".join(first), last)) if first else last


def _two_digits(cost: float) -> float:
    """A distance with two digits, never 0 where there is one.

    >>> _two_digits(0.12345), _two_digits(0.00012345)
    (0.12, 0.00012)
    """
    return float(f"{cost:.2g}")


def _my(view: View, case: Case, rules: PersonalRules) -> str:
    """The page of an applicant."""
    service, t = view.service, view.t.applicant
    if case.accepted or service.live.accepted([case.values])[0]:
        lines = [t.yes.format(view.day(case.at))] if case.accepted else [t.now_yes]
        lines += [t.yes_promise] if case.accepted and case.decision["promise"] else []
        heading = t.yes_title if case.accepted else t.now_yes_title
        return view.page("yes.html", person=case.person, lines=lines, heading=heading)
    promises = service.ledger.of(case.person)
    standing = service.standing(promises)
    ways, values = _my_ways(view, case, rules)
    more = {
        "layout": "my.html",
        "ways": ways,
        "person": case.person,
        "promises": [view.promise(promise) for promise in standing],
        "withdrawn": [view.promise(one) for one in promises if one.status == WITHDRAWN],
        "limits": view.limits(case, rules),
        "inputs": view.inputs(case.reported or case.values),
        "reported": _reported(view, case, standing),
        "contact": view.contact,
    }
    return view.page(f"{view.language}.jinja", **values | more)


def _my_ways(view: View, case: Case, rules: PersonalRules) -> tuple[Markup, dict[str, Any]]:
    """What an applicant can do, as a part of their page, and what their notice says."""
    t, until = view.t.applicant, view.service.last_day()
    lead = t.offer_lead.format(view.day(until))
    texts = {"take_text": t.accept, "promised_text": t.promised, "offer_lead": lead}
    return _ways(view, case, rules, may_lock=True, take="/my/accept", **texts)


def _ways(
    view: View, case: Case, rules: PersonalRules, **how: object
) -> tuple[Markup, dict[str, Any]]:
    """What the person of a case can do, as a part of a page, and what their notice says."""
    service = view.service
    found = service.ways(case, rules)
    values = service.notice_values(case, view.language, found)
    standing = service.standing(service.ledger.of(case.person))
    return view.ways(values, found, rules, standing, **how), values


def _reported(view: View, case: Case, standing: list[Promise]) -> dict[str, Any] | None:
    """What someone has reported, and what it would mean."""
    if case.reported is None:
        return None
    service, t, values = view.service, view.t.applicant, case.reported
    back, missing = service.ledger.accepts(case.person, values), list[str]()
    if back.accepted:
        text = t.reported_promise
    elif service.live.accepted([values])[0]:
        text = t.reported_yes
    elif back.promise is not None and standing:
        text, missing = t.reported_no, view.missing(back.promise, values)
    else:
        text = t.reported_no_promise
    return {"lines": view.differences(case.values, values), "text": text, "missing": missing}


def _worker(route: Route) -> None:
    @route("GET", "/desk", WORKER)
    def desk(visit: Visit, search: str = "", page: int = 1) -> str:
        view, cases, text = visit.view, visit.service.cases, search[:200]
        n_cases = cases.count(text)
        n_pages = max(1, -(-n_cases // MOST_FOUND))
        at = min(max(page, 1), n_pages)
        found = cases.search(text, skip=(at - 1) * MOST_FOUND)
        shown = {"search": text, "n_cases": n_cases, "page": at, "n_pages": n_pages}
        shown["cases"] = [
            {"id": one.id, "person": one.person, "reported": one.reported is not None}
            | {"decision": _decision(view, one), "date": view.day(one.at)}
            for one in found
        ]
        heading, inputs = view.t.staff.desk, view.inputs({})
        return view.page("desk.html", heading=heading, staff=True, inputs=inputs, **shown)

    @route("POST", "/desk", WORKER)
    def decide_new(visit: Visit) -> Response | str:
        id, shown = _decide(visit, visit["person"])
        return RedirectResponse(f"/desk/{id}", 303) if shown is None else shown

    @route("GET", "/desk/{id}", WORKER)
    def case(visit: Visit, id: str) -> str:
        return _case(visit.view, visit.service.cases.get(id))

    @route("GET", "/desk/{id}/notice", WORKER)
    def notice(visit: Visit, id: str) -> Response:
        return _letter(visit.service.notice(visit.service.cases.get(id), visit.view.language))

    @route("POST", "/desk/{id}/{what}", WORKER)
    def act(visit: Visit, id: str, what: str) -> Response | str:
        shown = _act(visit, visit.service.cases.get(id), what)
        return RedirectResponse(f"/desk/{id}", 303) if shown is None else shown


def _act(visit: Visit, case: Case, what: str) -> str | None:
    """What a case worker does with a case; a page to show, or None for that of the case."""
    service, view, by = visit.service, visit.view, visit.caller.name
    if what == "decide":
        return _decide(visit, case.person)[1]
    elif what == "redeem":
        return _redeem(visit, case, _promise(service, case, visit["promise"]))
    elif what == "offer":
        service.accept(case, PersonalRules(), visit["way"], by)
    elif what == "withdraw":
        promise = _promise(service, case, visit["promise"])
        if not service.withdraw(promise, visit["reason"], by):
            return _case(view, case, said=view.t.staff.second)
    elif what == "note":
        service.cases.add_note(case, by, visit["text"])
    elif what == "link":
        address, until = service.link(case)
        return _case(view, case, link={"address": address, "until": view.day(until)})
    elif what == "unlink":
        service.state.end_links(case.id)
        return _case(view, case, said=view.t.staff.unlinked)
    else:
        raise Denied("There is no such thing to do.", 403)
    return None


def _decide(visit: Visit, person: str) -> tuple[str, str | None]:
    """Decide by the model; the number of the case, and its page if a promise can be redeemed."""
    view, service = visit.view, visit.service
    values = values_from_form(view.live, visit.fields)
    (made,) = service.decide([person], [values], True, visit.caller.name, redeem=False)
    id = str(made.case)
    if made.promise is None:
        return id, None
    return id, _case(view, service.cases.get(id), values, said=view.t.staff.by_redeeming)


def _redeem(visit: Visit, case: Case, promise: Promise) -> str | None:
    """Redeem a promise with values for each change of which somebody has seen evidence."""
    view, t = visit.view, visit.view.t
    values = promised_values(promise, visit.fields)
    changed = [name for name, value in values.items() if value != promise.before.get(name)]
    evidence = {name: visit[f"evidence:{name}"].strip()[:400] for name in changed}
    if unseen := [view.label(name) for name, text in evidence.items() if not text]:
        return _case(view, case, values, said=t.staff.no_evidence.format(", ".join(unseen)))
    back = visit.service.redeem(promise, values, visit.caller.name, evidence)
    if back is None:
        return _case(view, case, said=t.staff.second)
    if back.accepted:
        return None
    missing = view.missing(promise, values)
    if any(fault.startswith("It expired") for fault in back.faults):
        missing.insert(0, t.applicant.promise_over.format(view.day(promise.expires)))
    return _case(view, case, values, missing=missing)


def _case(view: View, case: Case, values: dict[str, Any] | None = None, **more: object) -> str:
    """The page of a case worker on one case."""
    service, t, ways = view.service, view.t.staff, Markup()
    if not case.accepted and not service.live.accepted([case.values])[0]:
        how = {"take": f"/desk/{case.id}/offer", "take_text": t.offer, "promised_text": t.promised}
        ways, _ = _ways(view, case, PersonalRules(), may_lock=False, **how)
    now = values or case.reported or case.values
    shown = {
        "heading": t.case_title.format(case.person),
        "id": case.id,
        "date": view.day(case.at),
        "accepted": case.accepted,
        "decision": _decision(view, case),
        "ways": ways,
        "reported": view.differences(case.values, case.reported) if case.reported else None,
        "inputs": view.inputs(case.reported or case.values),
        "promises": [view.promise(promise, now) for promise in service.ledger.of(case.person)],
        "notes": [
            {"at": f"{note.at:%Y-%m-%d %H:%M}", "by": note.by, "text": note.text}
            for note in service.cases.notes(case.id)
        ],
        "missing": None,
        "link": None,
        "said": "",
    }
    return view.page("case.html", **shown | more)


def _auditor(route: Route) -> None:
    @route("GET", "/auditor", AUDITOR, kind="long")
    def auditor(visit: Visit) -> str:
        view, t, service = visit.view, visit.view.t.staff, visit.service
        found = service.audit()
        standing = islice(service.ledger.each_open(), MOST_LISTED) if found.verified else ()
        measured = getattr(service.live.model, "lasting_", None) is not None
        shown = {
            "heading": t.audit_title,
            "audit": found,
            "counts": [(getattr(t, name), n) for name, n in found.promises.items()],
            "earned": [(getattr(t, k), n) for k, n in (found.earned or {}).items()],
            "lasting": f"{found.lasting:.0%}" if measured and found.lasting is not None else "",
            "promises": [view.promise(promise) for promise in standing],
        }
        return view.page("auditor.html", **shown)

    @route("GET", "/auditor/report", AUDITOR, kind="long")
    def report(visit: Visit) -> Response:
        return _letter(visit.service.report())


def _doors(route: Route) -> None:
    """Logging in and out."""

    def page(visit: Visit, wrong: str = "") -> str:
        heading = visit.view.t.staff.login_title
        return visit.view.page("login.html", heading=heading, wrong=wrong)

    @route("GET", "/login", EVERYBODY, kind="quick")
    def login(visit: Visit) -> str:
        return page(visit)

    @route("POST", "/login", EVERYBODY, kind="quick")
    def sign_in(visit: Visit) -> Response:
        visit.gate.check_origin(visit.request)
        try:
            caller = visit.gate.key(visit.request, visit["key"].strip())
        except Denied as denied:
            return visit.page(page(visit, visit.view.t.staff.wrong_key), denied.status)
        answer = RedirectResponse("/auditor" if caller.role == AUDITOR else "/desk", 303)
        token, lasts = visit.service.session(caller.id), SESSION_HOURS * 3600
        visit.set_cookie(answer, SESSION_COOKIE, token, max_age=lasts)
        return answer

    @route("POST", "/logout", WORKER, AUDITOR, kind="quick")
    def sign_out(visit: Visit) -> Response:
        visit.service.state.end_token(visit.request.cookies.get(SESSION_COOKIE, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(SESSION_COOKIE)
        return answer


def _decision(view: View, case: Case) -> str:
    t = view.t.staff
    return str((t.by_promise if case.decision["promise"] else t.yes) if case.accepted else t.no)


def _promise(service: Service, case: Case, id: str) -> Promise:
    promises = {promise.id: promise for promise in service.ledger.of(case.person)}
    if id not in promises:
        raise Denied("This is not a promise to this person.", 403)
    return promises[id]


def _letter(text: str) -> Response:
    return HTMLResponse(text, headers={"content-security-policy": LETTER_POLICY})
