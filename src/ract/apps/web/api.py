"""The service for programs: JSON in and out. Types of values are those of the model."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer

from ract.apps import ledger
from ract.apps.ledger import Case, Promise
from ract.apps.ledger.cases import NotFound
from ract.apps.ledger.store import before_commit
from ract.apps.web import schemas
from ract.apps.web.edge import metrics_text
from ract.apps.web.gate import Gate
from ract.apps.web.keys import ADMIN, APPLICANT, AUDITOR, WORKER, Caller
from ract.apps.web.live import Rules
from ract.apps.web.work import Cancelled, Work

IDEMPOTENCY = "The same key gives the same answer, made once; with another body it is refused."
ASYNC = "respond-async"
# Notices and audits are whole pages with styles of their own, and without scripts.
LETTER_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Problem}
    for code in (400, 401, 403, 404, 408, 409, 413, 422, 429, 503, 504)
}
Once = Annotated[str | None, Header(max_length=100, description=IDEMPOTENCY)]


def api_routes(gate: Gate) -> APIRouter:
    """The routes for programs, typed by the model that decides now."""
    service = gate.service
    requests = schemas.Requests.of(service.live, service.settings)
    bearer = Depends(HTTPBearer(auto_error=False, description="A key, or an applicant's link."))
    router = APIRouter(dependencies=[bearer], responses=PROBLEMS)
    worker, anyone = gate.may(WORKER), gate.may(APPLICANT, WORKER, AUDITOR)

    @router.post("/decide", summary="Decide on people", dependencies=worker)
    @_typed(requests.decide)
    async def decide(request: Request, body: Any) -> schemas.Decisions:
        """Decide by the model, or by an open promise to the person, which is then named.

        With `keep` all decisions are kept as cases, or none, and promises are redeemed.
        """

        def work(caller: Caller) -> schemas.Decisions:
            people, rows = [one.person for one in body.people], _rows(body.people)
            found = service.decide(people, rows, body.keep, caller.name)
            return schemas.Decisions(model=service.live.fingerprint, decisions=found)

        return await gate(request, work)

    @router.post("/plans", summary="Find plans for people", dependencies=worker)
    @_typed(requests.plans)
    async def plans(request: Request, body: Any) -> schemas.Plans:
        """Find what people can do, each within what they say they can."""

        def work(caller: Caller) -> schemas.Plans:
            found = _found(body, n_alternatives=body.n_alternatives)
            each = [plan for part in found for plan in part]
            answers = [
                schemas.plan_answer(plan, one.person)
                for plan, one in zip(each, body.people, strict=True)
            ]
            return schemas.Plans(model=service.live.fingerprint, plans=answers)

        return await gate(request, work, "search", len(body.people))

    def _found(body: Any, **options: Any) -> Any:
        lasting = {} if body.lasting is None else {"lasting": body.lasting}
        options |= {"max_changes": body.max_changes} | lasting
        return service.plans(_rows(body.people), _rules(body.people), **options)

    @router.post(
        "/promises",
        summary="Promise plans to people",
        status_code=201,
        dependencies=worker,
        responses={202: {"model": schemas.JobAnswer}},
    )
    @_typed(requests.offers)
    async def promises(
        request: Request, body: Any, idempotency_key: Once = None, prefer: str = Header("")
    ) -> schemas.Offers:
        """Find plans and promise them; all are kept or none. With an Idempotency-Key once only.

        With `Prefer: respond-async` the answer is a job, which is asked for and can be cancelled.
        """
        people, once = [one.person for one in body.people], _once(request, idempotency_key, body)

        def work(caller: Caller, once: ledger.Request | None = once) -> schemas.Offers:
            found = _found(body, explain=False)
            made = service.offer(people, found, by=caller.name, days=body.days, request=once)
            return _offers(made, people)

        if ASYNC in prefer:
            return await _begin(request, work)  # type: ignore[return-value]
        return await gate(request, work, "search", len(people))

    async def _begin(request: Request, offer: Callable[..., Any]) -> JSONResponse:
        """Begin an offer as a job; what it makes is found by the job's number."""
        caller, id = request.state.who, secrets.token_hex(16)

        def run(work: Work) -> None:
            def keep(db: Any) -> None:
                work.keep()
                if not service.state.mark_job(id, "done", db=db):
                    raise Cancelled

            work.begin(lambda: service.state.job(id, None)[0] == "running")
            before_commit.set(keep)
            try:
                offer(caller, ledger.Request(f"job:{id}"))
            except Exception as error:
                before_commit.set(None)
                said = str(error) if isinstance(error, ValueError) else "Something went wrong here."
                is_over = isinstance(error, Cancelled)
                service.state.mark_job(id, "cancelled" if is_over else "failed", said)

        await gate(request, lambda caller: service.state.add_job(id, caller.id))
        gate.start(run)
        answer = schemas.JobAnswer(job=id, state="running", detail="")
        return JSONResponse(answer.model_dump(), 202, {"location": f"/jobs/{id}"})

    @router.get("/jobs/{id}", summary="How a job stands", dependencies=worker)
    async def job(request: Request, id: str) -> schemas.JobAnswer:
        """The promises that it has made, once it is done."""

        def work(caller: Caller) -> schemas.JobAnswer:
            state, said = service.state.job(id, None if caller.role == ADMIN else caller.id)
            made = service.ledger.made(ledger.Request(f"job:{id}")) or []
            answers = [schemas.promise_answer(promise) for promise in made]
            return schemas.JobAnswer(job=id, state=state, detail=said, promises=answers)

        return await gate(request, work)

    @router.delete("/jobs/{id}", summary="Cancel a job", status_code=204, dependencies=worker)
    async def cancel(request: Request, id: str) -> None:
        """Cancel a job that runs; nothing of it is kept."""

        def work(caller: Caller) -> None:
            service.state.job(id, None if caller.role == ADMIN else caller.id)
            if not service.state.mark_job(id, "cancelled"):
                raise ledger.Conflict("This job is over.")

        await gate(request, work)

    def own_promise(caller: Caller, id: str) -> Promise:
        promise = service.ledger.get(_number(id, "promise"))
        if caller.case is not None and service.cases.get(caller.case).person != promise.person:
            raise NotFound("There is no such promise.")
        return promise

    def own_case(caller: Caller, id: str) -> Case:
        if caller.case is not None and caller.case != id:
            raise NotFound("There is no such case.")
        return service.cases.get(_number(id, "case"))

    @router.post("/promises/{id}/redeem", summary="Redeem a promise", dependencies=worker)
    async def redeem(
        request: Request, id: str, body: schemas.RedeemRequest, idempotency_key: Once = None
    ) -> schemas.RedemptionAnswer:
        """Accept someone who stands where their promise says, whatever the model says.

        Values are those of the promise's own features, whatever features the model has now.
        """
        once = _once(request, idempotency_key, body, id)

        def work(caller: Caller) -> schemas.RedemptionAnswer:
            promise = own_promise(caller, id)
            found = service.redeem(promise, body.values, caller.name, body.evidence, once)
            if found is None:
                waits = ["A second person has to confirm this."]
                found = ledger.Redemption(False, promise, tuple(waits))
            return schemas.RedemptionAnswer(
                accepted=found.accepted,
                promise=schemas.promise_answer(found.promise or promise),
                faults=list(found.faults),
            )

        return await gate(request, work)

    @router.get("/promises/{id}", summary="Read a promise", dependencies=anyone)
    async def promise(request: Request, id: str) -> schemas.PromiseAnswer:
        """What was promised, and what became of it."""
        return await gate(request, lambda caller: schemas.promise_answer(own_promise(caller, id)))

    @router.get("/promises/{id}/receipt", summary="A signed receipt", dependencies=anyone)
    async def receipt(request: Request, id: str) -> dict[str, Any]:
        """The promise as it was signed, which can be checked without this service."""
        return await gate(
            request, lambda caller: service.ledger.receipt(own_promise(caller, id).id)
        )

    @router.get(
        "/notices/{id}",
        summary="Read the notice of a case",
        response_class=Response,
        dependencies=anyone,
    )
    async def notice(
        request: Request,
        id: str,
        form: Literal["html", "text", "json"] = "html",
        language: str = "en",
    ) -> Response:
        """Why someone was refused, and what would have changed it."""
        text = await gate(
            request, lambda caller: service.notice(own_case(caller, id), language, form), "search"
        )
        kinds = {"html": "text/html", "text": "text/plain", "json": "application/json"}
        policy = {"content-security-policy": LETTER_POLICY}
        return Response(text, media_type=kinds[form], headers=policy)

    @router.post("/cases/{id}/link", summary="Make a link for an applicant", dependencies=worker)
    async def link(request: Request, id: str) -> schemas.LinkAnswer:
        """A link that ends; whoever has it sees this case and nothing else."""

        def work(caller: Caller) -> schemas.LinkAnswer:
            address, until = service.link(own_case(caller, id))
            return schemas.LinkAnswer(link=address, expires=until)

        return await gate(request, work)

    @router.delete("/cases/{id}/link", summary="Revoke links", status_code=204, dependencies=worker)
    async def unlink(request: Request, id: str) -> None:
        """End every link to a case."""
        await gate(request, lambda caller: service.state.end_links(own_case(caller, id).id))

    @router.delete("/people/{person:path}", summary="Erase a person", dependencies=gate.may())
    async def erase(request: Request, person: str) -> schemas.ErasedAnswer:
        """Remove everything that is kept of a person; the ledger still verifies."""

        def work(caller: Caller) -> schemas.ErasedAnswer:
            found = service.ledger.erase(person, by=caller.name)
            return schemas.ErasedAnswer(**found._asdict())

        return await gate(request, work)

    @router.get("/audit", summary="Numbers for auditors", dependencies=gate.may(AUDITOR))
    async def audit(request: Request) -> schemas.AuditAnswer:
        """Verify the ledger and count what is kept."""
        return await gate(request, lambda caller: service.audit(), "long")

    @router.post("/reload", summary="Read the model file again", dependencies=gate.may())
    async def reload(request: Request, body: schemas.ReloadRequest) -> schemas.ReloadAnswer:
        """Decide by the model file as it is now, if it keeps every open promise or is forced."""
        return await gate(
            request, lambda caller: service.reload(by=caller.name, force=body.force), "long"
        )

    @router.get(
        "/metrics",
        summary="Counts for Prometheus",
        response_class=Response,
        dependencies=gate.may(AUDITOR),
    )
    async def metrics(request: Request) -> Response:
        """What all worker processes have counted."""
        text = await gate(
            request, lambda _: metrics_text(service.ledger.counts(), service.live.number)
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    @router.get("/openapi.json", include_in_schema=False, dependencies=gate.may(WORKER, AUDITOR))
    async def openapi(request: Request) -> dict[str, Any]:
        return await gate(request, lambda caller: request.app.openapi())

    return router


def _typed(body: Any) -> Callable[[Any], Any]:
    """Give a route's body a type that was made for the model."""

    def typed(route: Any) -> Any:
        route.__annotations__["body"] = body
        return route

    return typed


def _once(request: Request, key: str | None, body: Any, of: str = "") -> ledger.Request | None:
    """A request that is carried out once for each caller."""
    if key is None:
        return None
    return ledger.Request(f"{request.state.who.id}:{of}:{key}", body.model_dump_json())


def _offers(made: list[Promise], people: list[str]) -> schemas.Offers:
    promised = {promise.person for promise in made}
    return schemas.Offers(
        promises=[schemas.promise_answer(promise) for promise in made],
        without=[person for person in people if person not in promised],
    )


def _rows(people: list[Any]) -> list[dict[str, Any]]:
    return [one.values.model_dump(by_alias=True) for one in people]


def _rules(people: list[Any]) -> list[Rules]:
    return [Rules(one.locked, one.bounds) for one in people]


def _number(id: str, what: str) -> str:
    """A number of ours; anything else is not looked up."""
    if len(id) != 32 or not set(id) <= set("0123456789abcdef"):
        raise NotFound(f"There is no such {what}.")
    return id
