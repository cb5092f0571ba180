"""The service for programs: JSON in and out. Types of values are those of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.security import HTTPBearer

from ract.promises import Promise
from ract.serve import schemas
from ract.serve.edge import metrics_text
from ract.serve.gate import LONG, Gate
from ract.serve.keys import ADMIN, APPLICANT, AUDITOR, WORKER, Caller
from ract.serve.live import Rules
from ract.serve.state import Case, NotFound

IDEMPOTENCY = "The same key gives the same promises, made once."
# Notices and audits are whole pages with styles of their own, and without scripts.
LETTER_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": schemas.Problem} for code in (401, 403, 404, 409, 413, 422, 429, 503, 504)
}


def api_routes(gate: Gate) -> APIRouter:
    """The routes for programs, typed by the model that decides now."""
    service = gate.service
    live = service.live
    requests = schemas.Requests.of(live, service.settings)
    bearer = Depends(HTTPBearer(auto_error=False, description="A key, or an applicant's link."))
    router = APIRouter(dependencies=[bearer], responses=PROBLEMS)

    @router.post("/decide", summary="Decide on people")
    @_typed(requests.decide)
    async def decide(request: Request, body: Any) -> schemas.Decisions:
        """Decide by the model, or by an open promise to the person, which is then named.

        With `keep` the decision is kept as a case and the promise is redeemed.
        """

        def work(caller: Caller) -> schemas.Decisions:
            people, rows = [one.person for one in body.people], _rows(body.people)
            found = service.decide(people, rows, body.keep, caller.name)
            return schemas.Decisions(
                model=service.live.fingerprint,
                decisions=[schemas.Decision(**decision) for decision in found],
            )

        return await gate(request, (WORKER,), work)

    @router.post("/plans", summary="Find plans for people")
    @_typed(requests.plans)
    async def plans(request: Request, body: Any) -> schemas.Plans:
        """Find what people can do, each within what they say they can."""

        def work(caller: Caller) -> schemas.Plans:
            found = service.plans(
                _rows(body.people), _rules(body.people), max_changes=body.max_changes,
                n_alternatives=body.n_alternatives, **_lasting(body),
            )  # fmt: skip
            answers = [
                schemas.plan_answer(plan, one.person)
                for plan, one in zip(found, body.people, strict=True)
            ]
            return schemas.Plans(model=service.live.fingerprint, plans=answers)

        return await gate(request, (WORKER,), work, searches=True)

    @router.post("/promises", summary="Promise plans to people", status_code=201)
    @_typed(requests.offers)
    async def promises(
        request: Request,
        body: Any,
        idempotency_key: Annotated[
            str | None, Header(max_length=100, description=IDEMPOTENCY)
        ] = None,
    ) -> schemas.Offers:
        """Find plans and promise them; all are kept or none. With an Idempotency-Key once only."""

        def work(caller: Caller) -> schemas.Offers:
            people = [one.person for one in body.people]
            request_key = None if idempotency_key is None else f"{caller.id}:{idempotency_key}"
            made = service.offered(people, request_key)
            if not made:
                found = service.plans(
                    _rows(body.people), _rules(body.people), max_changes=body.max_changes,
                    explain=False, **_lasting(body),
                )  # fmt: skip
                made = service.offer(
                    people, found, by=caller.name, days=body.days, request=request_key
                )
            promised = {promise.person for promise in made}
            return schemas.Offers(
                promises=[schemas.promise_answer(promise) for promise in made],
                without=[person for person in people if person not in promised],
            )

        return await gate(request, (WORKER,), work, searches=True)

    def own_promise(caller: Caller, id: str) -> Promise:
        promise = service.ledger.get(_number(id, "promise"))
        if caller.case is not None and service.state.case(caller.case).person != promise.person:
            raise NotFound("There is no such promise.")
        return promise

    def own_case(caller: Caller, id: str) -> Case:
        if caller.case is not None and caller.case != id:
            raise NotFound("There is no such case.")
        return service.state.case(_number(id, "case"))

    @router.post("/promises/{id}/redeem", summary="Redeem a promise")
    @_typed(requests.redeem)
    async def redeem(request: Request, id: str, body: Any) -> schemas.RedemptionAnswer:
        """Accept someone who stands where their promise says, whatever the model says."""

        def work(caller: Caller) -> schemas.RedemptionAnswer:
            promise = own_promise(caller, id)
            found = service.redeem(promise, body.values.model_dump(by_alias=True), caller.name)
            return schemas.RedemptionAnswer(
                accepted=found.accepted,
                promise=schemas.promise_answer(found.promise or promise),
                faults=list(found.faults),
            )

        return await gate(request, (WORKER,), work)

    @router.get("/promises/{id}", summary="Read a promise")
    async def promise(request: Request, id: str) -> schemas.PromiseAnswer:
        """What was promised, and what became of it."""
        return await gate(
            request, (APPLICANT, WORKER, AUDITOR),
            lambda caller: schemas.promise_answer(own_promise(caller, id)),
        )  # fmt: skip

    @router.get("/notices/{id}", summary="Read the notice of a case", response_class=Response)
    async def notice(
        request: Request,
        id: str,
        form: Literal["html", "text", "json"] = "html",
        language: str = "en",
    ) -> Response:
        """Why someone was refused, and what would have changed it."""
        text = await gate(
            request, (APPLICANT, WORKER, AUDITOR),
            lambda caller: service.notice(own_case(caller, id), language, form), searches=True,
        )  # fmt: skip
        kinds = {"html": "text/html", "text": "text/plain", "json": "application/json"}
        return Response(
            text, media_type=kinds[form], headers={"content-security-policy": LETTER_POLICY}
        )

    @router.post("/cases/{id}/link", summary="Make a link for the applicant of a case")
    async def link(request: Request, id: str) -> schemas.LinkAnswer:
        """A signed link that ends; whoever has it sees this case and nothing else."""

        def work(caller: Caller) -> schemas.LinkAnswer:
            token, until = service.link(own_case(caller, id).id)
            return schemas.LinkAnswer(link=f"{request.base_url}my/{token}", expires=until)

        return await gate(request, (WORKER,), work)

    @router.delete("/people/{person}", summary="Erase a person", status_code=204)
    async def erase(request: Request, person: str) -> None:
        """Remove everything that is kept of a person; the ledger still verifies."""
        await gate(request, (ADMIN,), lambda caller: service.ledger.erase(person))

    @router.get("/audit", summary="Numbers on the model, the cases and the ledger")
    async def audit(request: Request) -> schemas.AuditAnswer:
        """Verify the ledger and count what is kept."""
        return await gate(
            request, (AUDITOR,), lambda caller: schemas.AuditAnswer(**service.audit()), LONG
        )

    @router.post("/reload", summary="Read the model file again")
    async def reload(request: Request, body: schemas.ReloadRequest) -> schemas.ReloadAnswer:
        """Decide by the model file as it is now, if it keeps every open promise or is forced."""
        return await gate(
            request, (ADMIN,),
            lambda caller: schemas.ReloadAnswer(**service.reload(force=body.force)), LONG,
        )  # fmt: skip

    @router.get("/metrics", summary="Counts for Prometheus", response_class=Response)
    async def metrics(request: Request) -> Response:
        """What all worker processes have counted, a few seconds late."""
        text = await gate(
            request, (AUDITOR,), lambda caller: metrics_text(service.state, service.ledger.counts())
        )
        return Response(text, media_type="text/plain; version=0.0.4")

    @router.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> dict[str, Any]:
        described: dict[str, Any] = await gate(
            request, (WORKER, AUDITOR), lambda caller: request.app.openapi()
        )
        return described

    return router


def _typed(body: Any) -> Callable[[Any], Any]:
    """Give a route's body a type that was made for the model."""

    def typed(route: Any) -> Any:
        route.__annotations__["body"] = body
        return route

    return typed


def _rows(people: list[Any]) -> list[dict[str, Any]]:
    return [one.values.model_dump(by_alias=True) for one in people]


def _rules(people: list[Any]) -> list[Rules]:
    return [Rules(one.locked, one.bounds) for one in people]


def _lasting(body: Any) -> dict[str, Any]:
    return {} if body.lasting is None else {"lasting": body.lasting}


def _number(id: str, what: str) -> str:
    """A number of ours; anything else is not looked up."""
    if len(id) != 32 or not set(id) <= set("0123456789abcdef"):
        raise NotFound(f"There is no such {what}.")
    return id
