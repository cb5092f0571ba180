"""What requests and answers look like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, create_model

from ract.apps.ledger import Promise
from ract.apps.ledger.entries import LONGEST, Plain, plain_value
from ract.apps.web.live import Live, PersonalRules
from ract.apps.web.settings import Settings
from ract.recourse.few_changes import MAX_CHANGES
from ract.recourse.plan import Plan

MOST_PEOPLE = 1000  # of a request
Finite = Annotated[
    float | None, BeforeValidator(lambda x: x if x is None or math.isfinite(x) else None)
]

Text = Annotated[str, Field(max_length=400)]
Person = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST, description="Key that you choose.", examples=["A-17"]),
]


class Strict(BaseModel):
    """A request, in which nothing unknown stands."""

    model_config = ConfigDict(extra="forbid")


class PersonToDecide(Strict):
    """A person and their values, of a type that is made for the model."""

    person: Person | None = None
    values: BaseModel


class PersonToPlan(PersonToDecide, PersonalRules):
    """The same with what the person can do."""


class PersonToPromise(PersonToPlan):
    """The same with a key, to which something is promised."""

    person: Person


class DecideRequest(Strict):
    """People to decide on."""

    people: Sequence[PersonToDecide]
    keep: bool = Field(False, description="Keep a case for each person, who then needs a key.")


class SearchRequest(Strict):
    """People to find plans for."""

    people: Sequence[PersonToPlan]
    max_changes: int = Field(
        MAX_CHANGES, ge=1, le=1000, description="Features that a plan may change."
    )
    lasting: float | None = Field(
        None, gt=0, lt=1, description="Probability that plans outlast retraining."
    )


class PlansRequest(SearchRequest):
    """People to find plans and alternatives for."""

    n_alternatives: int = Field(0, ge=0, le=2)


class OfferRequest(SearchRequest):
    """People to promise plans to."""

    people: Sequence[PersonToPromise]
    days: int


def typed_requests(live: Live, settings: Settings) -> dict[type, type]:
    """Types of requests with values of the model that decides, by those without."""
    days = int, Field(settings.promise_days, ge=1, le=settings.promise_days)
    most = Field(min_length=1, max_length=MOST_PEOPLE)
    made: dict[type, type] = {}
    for request, person, more in (
        (DecideRequest, PersonToDecide, {}),
        (PlansRequest, PersonToPlan, {}),
        (OfferRequest, PersonToPromise, {"days": days}),
    ):
        kind = create_model(person.__name__, __base__=person, values=(live.values, ...))
        people: Any = Annotated[list[kind], FailFast(), most], ...  # type: ignore[valid-type]
        fields: dict[str, Any] = {"people": people, **more}
        made[request] = create_model(request.__name__, __base__=request, **fields)
    return made


class RedeemRequest(Strict):
    """Values of someone who comes back, for the features of their promise, and what was seen."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    values: dict[str, bool | int | float | Text | None] = Field(max_length=1000)
    evidence: dict[str, Text] = Field({}, max_length=1000)


class Decision(BaseModel):
    """What was decided on one person."""

    person: str | None
    accepted: bool
    decision: Plain = Field(description="The class.", examples=["refused"])
    promise: str | None = Field(
        description="The promise by which they are accepted, or would be once it is redeemed."
    )
    case: str | None = Field(description="Number of the case, if it is kept.")


class Decisions(BaseModel):
    """Decisions on people, and the fingerprint of the model."""

    model: str
    decisions: list[Decision]


class ChangeAnswer(BaseModel):
    """One change of a plan."""

    feature: str
    before: Plain
    after: Plain
    goal: Plain = Field(description="A short number to say, proved as well.")
    low: float | None
    high: float | None
    text: str


class PlanAnswer(BaseModel):
    """What one person can do."""

    person: str | None
    status: str = Field(description="accepted, optimal, found, none or unknown.")
    text: str
    cost: Finite
    strength: Finite
    lasting: Finite
    at_least: bool = Field(description="Whether doing more is proved to be fine.")
    changes: list[ChangeAnswer]
    alternatives: list[PlanAnswer] = []


class PlansAnswer(BaseModel):
    """Plans for people, and the fingerprint of the model."""

    model: str
    plans: list[PlanAnswer]


class PromiseAnswer(BaseModel):
    """A promise."""

    id: str
    person: str
    status: str
    offered: datetime
    expires: datetime
    by: str
    decision: Plain
    plan: str
    asked: dict[str, str] = Field(description="What is needed of the features of the plan.")
    others: dict[str, str] = Field(description="Where the other features must have stayed.")
    strength: Finite
    lasting: float | None
    model: str


class Offers(BaseModel):
    """Promises that were made, and who got none."""

    promises: list[PromiseAnswer]
    without: list[str]


class RedemptionAnswer(BaseModel):
    """Result of redeeming a promise."""

    accepted: bool
    promise: PromiseAnswer
    faults: list[str] = Field(description="What keeps them from being accepted.")


class JobAnswer(BaseModel):
    """How an offer stands that was begun and is not waited for."""

    job: str
    state: str = Field(description="running, done, failed, cancelled or lost.")
    detail: str = Field("", description="Why it failed.")
    promises: list[PromiseAnswer] = []


class ErasedAnswer(BaseModel):
    """What was removed of a person."""

    promises: int
    cases: int
    everywhere: bool = Field(description="False if SQLite's journal still holds it for now.")


class LinkAnswer(BaseModel):
    """A link to one case for its applicant."""

    link: str
    expires: datetime


class ReloadRequest(Strict):
    """Whether to use a model although it breaks promises."""

    force: bool = False


class ReloadAnswer(BaseModel):
    """What the guard said of a model, and whether it decides now."""

    model: int
    changed: bool
    forced: bool
    promises: int
    kept: int


class AuditAnswer(BaseModel):
    """Numbers on the model, the cases and the ledger."""

    model: str
    cases: int
    accepted: int
    promises: dict[str, int]
    verified: bool
    events: int
    head: str
    signature: str
    key: str = Field(description="The key that has signed the head.")
    faults: list[str]
    lasting: float | None = Field(description="Share of the promised plans that last as measured.")
    earned: dict[str, int] | None = Field(description="Verdicts on plans of refused cases.")


class ProblemAnswer(BaseModel):
    """Why there is no answer, in a sentence."""

    detail: str


CHANGE = ("feature", "before", "after", "goal", "low", "high")
PLAN = ("status", "cost", "strength", "lasting", "at_least")
PROMISE = ("id", "person", "status", "offered", "expires", "by", "plan", *PLAN[2:4], "model")


def plan_answer(plan: Plan, person: str | None) -> PlanAnswer:
    """A plan as data."""
    changes = []
    for change in plan.changes:
        said: dict[str, Any] = {name: plain_value(getattr(change, name)) for name in CHANGE}
        changes.append(ChangeAnswer(text=change.describe(), **said))
    return PlanAnswer(
        person=person,
        text=plan.describe(),
        changes=changes,
        alternatives=[plan_answer(other, person) for other in plan.alternatives],
        **{name: getattr(plan, name) for name in PLAN},
    )


def promise_answer(promise: Promise) -> PromiseAnswer:
    """A promise as data, without the person's values."""
    limits = {name: str(limit) for name, limit in promise.region.limits.items()}
    asked = {name: limits.pop(name) for name in promise.region.asked}
    same = {name: getattr(promise, name) for name in PROMISE}
    return PromiseAnswer(decision=promise.desired, asked=asked, others=limits, **same)
