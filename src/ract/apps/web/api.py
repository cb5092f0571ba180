"""The service for programs: JSON in and out. Types of values are those of the model."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from sqlalchemy import Connection

from ract.apps import ledger
from ract.apps.ledger import Case, Promise
from ract.apps.ledger.cases import NotFound
from ract.apps.ledger.store import before_commit
from ract.apps.web import schemas
from ract.apps.web.edge import metrics_text
from ract.apps.web.gate import Gate
from ract.apps.web.keys import ADMIN, APPLICANT, AUDITOR, WORKER, Caller
from ract.apps.web.routes import Routes
from ract.apps.web.work import Cancelled, RequestWork

IDEMPOTENCY = "The same key gives the same answer, made once; with another body it is refused."
ASYNC = "respond-async"
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
    service = gate.service
    requests = schemas.Requests.of(service.live, service.settings)
    bearer = Depends(HTTPBearer(auto_error=False, description="A key, or an applicant's link."))
    router = APIRouter(dependencies=[bearer], responses=PROBLEMS)
    route, anyone = Routes(router, gate).api, (APPLICANT, WORKER, AUDITOR)

    @route("POST", "/decide", WORKER, summary="Decide on people", body=requests.decide)
    def decide(caller: Caller, body: schemas.DecideRequest) -> schemas.Decisions:
        """Decide by the model, or by an open promise to the person, which is then named.

        With `keep` all decisions are kept as cases, or none, and promises are redeemed.
        """
        people = [one.person for one in body.people]
        found = service.decide(people, _rows(body), body.keep, caller.name)
        return schemas.Decisions(model=service.live.fingerprint, decisions=found)

    search: dict[str, Any] = {"kind": "search", "body": requests.plans}

    @route("POST", "/plans", WORKER, summary="Find plans for people", **search)
    def plans(caller: Caller, body: schemas.PlansRequest) -> schemas.PlansAnswer:
        """Find what people can do, each within what they say they can."""
        found = service.plans(_rows(body), n_alternatives=body.n_alternatives, **_options(body))
        each = zip((plan for part in found for plan in part), body.people, strict=True)
        answers = [schemas.plan_answer(plan, one.person) for plan, one in each]
        return schemas.PlansAnswer(model=service.live.fingerprint, plans=answers)

    async def promises(
        request: Request,
        body: schemas.OfferRequest,
        idempotency_key: Once = None,
        prefer: str = Header(""),
    ) -> schemas.Offers:
        """Find plans and promise them; all are kept or none. With an Idempotency-Key once only.

        With `Prefer: respond-async` the answer is a job, which is asked for and can be cancelled.
        """
        if ASYNC in prefer:
            return await gate(request, lambda caller: begin(caller, body))  # type: ignore
        once = _once(request.state.who, idempotency_key, body)
        return await gate(
            request, lambda caller: offer(caller, body, once), "search", len(body.people)
        )

    promises.__annotations__["body"] = requests.offers
    router.add_api_route(
        "/promises",
        promises,
        methods=["POST"],
        summary="Promise plans to people",
        status_code=201,
        dependencies=gate.may(WORKER),
        responses={202: {"model": schemas.JobAnswer}},
    )

    def offer(
        caller: Caller, body: schemas.OfferRequest, once: ledger.Request | None
    ) -> schemas.Offers:
        people = [one.person for one in body.people]
        found = service.plans(_rows(body), explain=False, **_options(body))
        made = service.offer(people, found, by=caller.name, days=body.days, request=once)
        promised = {promise.person for promise in made}
        return schemas.Offers(
            promises=[schemas.promise_answer(promise) for promise in made],
            without=[person for person in people if person not in promised],
        )

    def begin(caller: Caller, body: schemas.OfferRequest) -> JSONResponse:
        """Begin an offer as a job; what it makes is found by the job's number."""
        id = secrets.token_hex(16)

        def run(work: RequestWork) -> None:
            def keep(db: Connection) -> None:
                work.keep()
                if not service.state.mark_job(id, "done", db=db):
                    raise Cancelled

            work.begin(lambda: service.state.job(id, None)[0] == "running")
            before_commit.set(keep)
            try:
                offer(caller, body, ledger.Request(f"job:{id}"))
            except Exception as error:
                before_commit.set(None)
                said = str(error) if isinstance(error, ValueError) else "Something went wrong here."
                is_over = isinstance(error, Cancelled)
                service.state.mark_job(id, "cancelled" if is_over else "failed", said)

        service.state.add_job(id, caller.id)
        gate.start(run)
        answer = schemas.JobAnswer(job=id, state="running", detail="")
        return JSONResponse(answer.model_dump(), 202, {"location": f"/jobs/{id}"})

    def standing(caller: Caller, id: str) -> tuple[str, str]:
        return service.state.job(id, None if caller.role == ADMIN else caller.id)

    @route("GET", "/jobs/{id}", WORKER, summary="How a job stands")
    def job(caller: Caller, id: str) -> schemas.JobAnswer:
        """The promises that it has made, once it is done."""
        state, said = standing(caller, id)
        made = service.ledger.made(ledger.Request(f"job:{id}")) or []
        answers = [schemas.promise_answer(promise) for promise in made]
        return schemas.JobAnswer(job=id, state=state, detail=said, promises=answers)

    @route("DELETE", "/jobs/{id}", WORKER, summary="Cancel a job", status_code=204)
    def cancel(caller: Caller, id: str) -> None:
        """Cancel a job that runs; nothing of it is kept."""
        standing(caller, id)
        if not service.state.mark_job(id, "cancelled"):
            raise ledger.Conflict("This job is over.")

    def own_promise(caller: Caller, id: str) -> Promise:
        promise = service.ledger.get(_number(id, "promise"))
        if caller.case is not None and service.cases.get(caller.case).person != promise.person:
            raise NotFound("There is no such promise.")
        return promise

    def own_case(caller: Caller, id: str) -> Case:
        if caller.case is not None and caller.case != id:
            raise NotFound("There is no such case.")
        return service.cases.get(_number(id, "case"))

    @route("POST", "/promises/{id}/redeem", WORKER, summary="Redeem a promise")
    def redeem(
        caller: Caller, id: str, body: schemas.RedeemRequest, idempotency_key: Once = None
    ) -> schemas.RedemptionAnswer:
        """Accept someone who stands where their promise says, whatever the model says.

        Values are those of the promise's own features, whatever features the model has now.
        """
        promise, once = own_promise(caller, id), _once(caller, idempotency_key, body, id)
        found = service.redeem(promise, body.values, caller.name, body.evidence, once)
        if found is None:
            waits = "A second person has to confirm this."
            found = ledger.Redemption(False, promise, (waits,))
        return schemas.RedemptionAnswer(
            accepted=found.accepted,
            promise=schemas.promise_answer(found.promise or promise),
            faults=list(found.faults),
        )

    @route("GET", "/promises/{id}", *anyone, summary="Read a promise")
    def promise(caller: Caller, id: str) -> schemas.PromiseAnswer:
        """What was promised, and what became of it."""
        return schemas.promise_answer(own_promise(caller, id))

    @route("GET", "/promises/{id}/receipt", *anyone, summary="A signed receipt")
    def receipt(caller: Caller, id: str) -> dict[str, Any]:
        """The promise as it was signed, which can be checked without this service."""
        return service.ledger.receipt(own_promise(caller, id).id)

    letter: dict[str, Any] = {"kind": "search", "response_class": Response}

    @route("GET", "/notices/{id}", *anyone, summary="Read the notice of a case", **letter)
    def notice(caller: Caller, id: str, form: Form = "html", language: str = "en") -> Response:
        """Why someone was refused, and what would have changed it."""
        text = service.notice(own_case(caller, id), language, form)
        policy = {"content-security-policy": LETTER_POLICY}
        return Response(text, media_type=FORMS[form], headers=policy)

    @route("POST", "/cases/{id}/link", WORKER, summary="Make a link for an applicant")
    def link(caller: Caller, id: str) -> schemas.LinkAnswer:
        """A link that ends; whoever has it sees this case and nothing else."""
        address, until = service.link(own_case(caller, id))
        return schemas.LinkAnswer(link=address, expires=until)

    @route("DELETE", "/cases/{id}/link", WORKER, summary="Revoke links", status_code=204)
    def unlink(caller: Caller, id: str) -> None:
        """End every link to a case."""
        service.state.end_links(own_case(caller, id).id)

    @route("DELETE", "/people", summary="Erase a person whose key no path can hold, such as ..")
    @route("DELETE", "/people/{person:path}", summary="Erase a person")
    def erase(caller: Caller, person: str) -> schemas.ErasedAnswer:
        """Remove everything that is kept of a person; the ledger still verifies."""
        return schemas.ErasedAnswer(**service.ledger.erase(person, by=caller.name)._asdict())

    @route("GET", "/audit", AUDITOR, kind="long", summary="Numbers for auditors")
    def audit(caller: Caller) -> schemas.AuditAnswer:
        """Verify the ledger and count what is kept."""
        return service.audit()

    @route("POST", "/reload", kind="long", summary="Read the model file again")
    def reload(caller: Caller, body: schemas.ReloadRequest) -> schemas.ReloadAnswer:
        """Decide by the model file as it is now, if it keeps every open promise or is forced."""
        return service.reload(by=caller.name, force=body.force)

    @route("GET", "/metrics", AUDITOR, summary="Counts for Prometheus", response_class=Response)
    def metrics(caller: Caller) -> Response:
        """What all worker processes have counted."""
        text = metrics_text(service.ledger.counts(), service.live.number)
        return Response(text, media_type="text/plain; version=0.0.4")

    return router


def _once(caller: Caller, key: str | None, body: BaseModel, of: str = "") -> ledger.Request | None:
    """A request that is carried out once for each caller."""
    if key is None:
        return None
    return ledger.Request(f"{caller.id}:{of}:{key}", body.model_dump_json())


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
