"""The service for programs: JSON in and out. Types of values are those of the model."""

from __future__ import annotations

import secrets
from contextvars import Context
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from sqlalchemy import Connection

from ract._utils.errors import InvalidSpec
from ract.apps import ledger
from ract.apps.ledger import Case, Promise
from ract.apps.ledger.cases import NotFound
from ract.apps.ledger.store import before_commit
from ract.apps.web import schemas
from ract.apps.web.edge import metrics_text
from ract.apps.web.gate import LONG, Gate
from ract.apps.web.keys import ADMIN, APPLICANT, AUDITOR, WORKER, Denied
from ract.apps.web.routes import ASYNC, Routes, Visit
from ract.apps.web.work import Cancelled, RequestWork

IDEMPOTENCY = "The same key gives the same answer, made once; with another body it is refused."
# Notices and audits are whole pages with styles of their own, and without scripts.
LETTER_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.ProblemAnswer}
    for code in (400, 401, 403, 404, 408, 409, 413, 422, 429, 503, 504)
}
Form = Literal["html", "text", "json"]
FORMS: dict[Form, str] = {"html": "text/html", "text": "text/plain", "json": "application/json"}
Once = Annotated[str | None, Header(max_length=100, description=IDEMPOTENCY)]


def api_routes(gate: Gate) -> APIRouter:
    """The routes for programs, typed by the model that decides now."""
    service, anyone = gate.service, (APPLICANT, WORKER, AUDITOR)
    bearer = Depends(HTTPBearer(auto_error=False, description="A key, or an applicant's link."))
    router = APIRouter(dependencies=[bearer], responses=PROBLEMS)
    route = Routes(router, gate, schemas.typed_requests(service.live, gate.settings))

    @route("POST", "/decide", WORKER, summary="Decide on people")
    def decide(visit: Visit, body: schemas.DecideRequest) -> schemas.Decisions:
        """Decide by the model, or by an open promise to the person, which is then named.

        With `keep` all decisions are kept as cases, or none, and promises are redeemed.
        """
        people = [one.person for one in body.people]
        found = service.decide(people, _rows(body), body.keep, visit.caller.name)
        return schemas.Decisions(model=service.live.fingerprint, decisions=found)

    @route("POST", "/plans", WORKER, kind="search", summary="Find plans for people")
    def plans(visit: Visit, body: schemas.PlansRequest) -> schemas.PlansAnswer:
        """Find what people can do, each within what they say they can."""
        found = service.plans(_rows(body), n_alternatives=body.n_alternatives, **_options(body))
        each = zip((plan for part in found for plan in part), body.people, strict=True)
        answers = [schemas.plan_answer(plan, one.person) for plan, one in each]
        return schemas.PlansAnswer(model=service.live.fingerprint, plans=answers)

    offers: dict[str, Any] = {"status_code": 201, "response_model": schemas.Offers}
    offers["responses"] = {202: {"model": schemas.JobAnswer}}

    @route("POST", "/promises", WORKER, kind="search", summary="Promise plans to people", **offers)
    def promises(
        visit: Visit,
        body: schemas.OfferRequest,
        idempotency_key: Once = None,
        prefer: str = Header(""),
    ) -> schemas.Offers | Response:
        """Find plans and promise them; all are kept or none. With an Idempotency-Key once only.

        With `Prefer: respond-async` the answer is a job, which is asked for and can be cancelled.
        """
        if ASYNC in prefer and idempotency_key is not None:
            raise InvalidSpec("A job has a number; it takes no Idempotency-Key.")
        if ASYNC in prefer:
            return begin(visit, body)
        return offer(body, visit.caller.name, _once(visit, idempotency_key, body))

    def offer(
        body: schemas.OfferRequest,
        by: str,
        once: ledger.Request | None,
        seconds: float | None = None,
    ) -> schemas.Offers:
        people = [one.person for one in body.people]
        found = service.plans(_rows(body), seconds=seconds, explain=False, **_options(body))
        made = service.offer(people, found, by=by, days=body.days, request=once)
        promised = {promise.person for promise in made}
        return schemas.Offers(
            promises=[schemas.promise_answer(promise) for promise in made],
            without=[person for person in people if person not in promised],
        )

    def begin(visit: Visit, body: schemas.OfferRequest) -> Response:
        """Begin an offer as a job; what it makes is found by the job's number."""
        id, state = secrets.token_hex(16), service.state

        def run(work: RequestWork) -> None:
            def keep(db: Connection) -> None:
                work.keep()
                if not state.mark_job(id, "done", db=db):
                    raise Cancelled

            # In a context without this work, which is not kept by saying that it goes on.
            work.begin(lambda: Context().run(state.mark_job, id, "running"))
            before_commit.set(keep)
            try:
                offer(body, visit.caller.name, ledger.Request(f"job:{id}"), LONG)
            except Exception as error:
                before_commit.set(None)
                said = str(error) if isinstance(error, ValueError) else "Something went wrong here."
                is_over = isinstance(error, Cancelled)
                state.mark_job(id, "cancelled" if is_over else "failed", said)

        state.add_job(id, visit.caller.id)
        try:
            visit.gate.start(visit.caller, run, len(body.people))
        except Denied as denied:
            state.mark_job(id, "failed", str(denied))
            raise
        answer = schemas.JobAnswer(job=id, state="running", detail="")
        return JSONResponse(answer.model_dump(), 202, {"location": f"/jobs/{id}"})

    @route("GET", "/jobs/{id}", WORKER, summary="How a job stands")
    def job(visit: Visit, id: str) -> schemas.JobAnswer:
        """The promises that it has made, once it is done."""
        state, said = _standing(visit, id)
        made = service.ledger.made(ledger.Request(f"job:{id}")) or []
        answers = [schemas.promise_answer(promise) for promise in made]
        return schemas.JobAnswer(job=id, state=state, detail=said, promises=answers)

    @route("DELETE", "/jobs/{id}", WORKER, summary="Cancel a job", status_code=204)
    def cancel(visit: Visit, id: str) -> None:
        """Cancel a job that runs; nothing of it is kept."""
        _standing(visit, id)
        if not service.state.mark_job(id, "cancelled"):
            raise ledger.Conflict("This job is over.")

    @route("POST", "/promises/{id}/redeem", WORKER, summary="Redeem a promise")
    def redeem(
        visit: Visit, id: str, body: schemas.RedeemRequest, idempotency_key: Once = None
    ) -> schemas.RedemptionAnswer:
        """Accept someone who stands where their promise says, whatever the model says.

        Values are those of the promise's own features, whatever features the model has now.
        """
        promise, once = _promise(visit, id), _once(visit, idempotency_key, body, id)
        found = service.redeem(promise, body.values, visit.caller.name, body.evidence, once)
        if found is None:
            found = ledger.Redemption(False, promise, ("A second person has to confirm this.",))
        return schemas.RedemptionAnswer(
            accepted=found.accepted,
            promise=schemas.promise_answer(found.promise or promise),
            faults=list(found.faults),
        )

    @route("GET", "/promises/{id}", *anyone, summary="Read a promise")
    def promise(visit: Visit, id: str) -> schemas.PromiseAnswer:
        """What was promised, and what became of it."""
        return schemas.promise_answer(_promise(visit, id))

    @route("GET", "/promises/{id}/receipt", *anyone, summary="A signed receipt")
    def receipt(visit: Visit, id: str) -> dict[str, Any]:
        """The promise as it was signed, which can be checked without this service."""
        return service.ledger.receipt(_promise(visit, id).id)

    letter: dict[str, Any] = {"kind": "search", "response_class": Response}

    @route("GET", "/notices/{id}", *anyone, summary="Read the notice of a case", **letter)
    def notice(visit: Visit, id: str, form: Form = "html", language: str = "en") -> Response:
        """Why someone was refused, and what would have changed it."""
        text = service.notice(_case(visit, id), language, form)
        policy = {"content-security-policy": LETTER_POLICY}
        return Response(text, media_type=FORMS[form], headers=policy)

    @route("POST", "/cases/{id}/link", WORKER, summary="Make a link for an applicant")
    def link(visit: Visit, id: str) -> schemas.LinkAnswer:
        """A link that ends; whoever has it sees this case and nothing else."""
        address, until = service.link(_case(visit, id))
        return schemas.LinkAnswer(link=address, expires=until)

    @route("DELETE", "/cases/{id}/link", WORKER, summary="Revoke links", status_code=204)
    def unlink(visit: Visit, id: str) -> None:
        """End every link to a case."""
        service.state.end_links(_case(visit, id).id)

    @route("DELETE", "/people", summary="Erase a person whose key no path can hold, such as ..")
    @route("DELETE", "/people/{person:path}", summary="Erase a person")
    def erase(visit: Visit, person: str) -> schemas.ErasedAnswer:
        """Remove everything that is kept of a person; the ledger still verifies."""
        return schemas.ErasedAnswer(**service.ledger.erase(person, by=visit.caller.name)._asdict())

    @route("GET", "/audit", AUDITOR, kind="long", summary="Numbers for auditors")
    def audit(visit: Visit) -> schemas.AuditAnswer:
        """Verify the ledger and count what is kept."""
        return service.audit()

    @route("POST", "/reload", kind="long", summary="Read the model file again")
    def reload(visit: Visit, body: schemas.ReloadRequest) -> schemas.ReloadAnswer:
        """Decide by the model file as it is now, if it keeps every open promise or is forced."""
        return service.reload(by=visit.caller.name, force=body.force)

    @route("GET", "/metrics", AUDITOR, summary="Counts for Prometheus", response_class=Response)
    def metrics(visit: Visit) -> Response:
        """What all worker processes have counted."""
        text = metrics_text(service.ledger.counts(), service.live.number)
        return Response(text, media_type="text/plain; version=0.0.4")

    return router


def _standing(visit: Visit, id: str) -> tuple[str, str]:
    key = None if visit.caller.role == ADMIN else visit.caller.id
    return visit.service.state.job(id, key)


def _promise(visit: Visit, id: str) -> Promise:
    """A promise that the caller may see."""
    found, case = visit.service.ledger.get(_number(id, "promise")), visit.caller.case
    if case is not None and visit.service.cases.get(case).person != found.person:
        raise NotFound("There is no such promise.")
    return found


def _case(visit: Visit, id: str) -> Case:
    """A case that the caller may see."""
    if visit.caller.case not in (None, id):
        raise NotFound("There is no such case.")
    return visit.service.cases.get(_number(id, "case"))


def _once(visit: Visit, key: str | None, body: BaseModel, of: str = "") -> ledger.Request | None:
    """A request that is carried out once for each caller."""
    if key is None:
        return None
    return ledger.Request(f"{visit.caller.id}:{of}:{key}", body.model_dump_json())


def _rows(body: schemas.DecideRequest | schemas.SearchRequest) -> list[dict[str, Any]]:
    return [one.values.model_dump(by_alias=True) for one in body.people]


def _options(body: schemas.SearchRequest) -> dict[str, Any]:
    """Options of a search for plans, and what each person says that they can do."""
    lasting = {} if body.lasting is None else {"lasting": body.lasting}
    return {"rules": body.people, "max_changes": body.max_changes} | lasting


def _number(id: str, what: str) -> str:
    """A number of ours; anything else is not looked up."""
    if len(id) != 32 or not set(id) <= set("0123456789abcdef"):
        raise NotFound(f"There is no such {what}.")
    return id
