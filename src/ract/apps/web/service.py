"""What the service does, without a word of HTTP: decide, plan, offer, redeem, notify, audit."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sqlalchemy import select

from ract._utils.errors import InvalidSpec
from ract.apps.ledger import (
    Case,
    Conflict,
    Head,
    Ledger,
    Promise,
    Redemption,
    Request,
    check,
    publish_head,
)
from ract.apps.ledger.cases import NotFound
from ract.apps.ledger.chain import Event
from ract.apps.ledger.entries import check_distinct, plain_value, until_of, zone_of
from ract.apps.ledger.promise import MONTH, OPEN
from ract.apps.ledger.tables import events
from ract.apps.web.keys import LINK, SESSION
from ract.apps.web.live import Live, PersonalRules, Rows
from ract.apps.web.schemas import AuditAnswer, Decision, ReloadAnswer
from ract.apps.web.settings import Settings
from ract.apps.web.state import ServiceState
from ract.apps.web.work import still_wanted
from ract.evaluation import report
from ract.io.load import from_bytes
from ract.notices import Notices
from ract.notices.language import single_line
from ract.recourse.plan import Plan
from ract.recourse.result import Recourse

SESSION_HOURS = 12
MOST_AUDITED = 1000  # newest cases
MOST_OPEN = 5  # promises that someone can take for themselves
ANY = PersonalRules()  # of someone who has said nothing
N_WAYS = 3  # that people are shown
PART = 8  # people between whom a search can be cancelled


class Broken(InvalidSpec):
    """A model that would break promises, and was not forced."""


@dataclass(frozen=True)
class Ways:
    """What one person can do: a plan and its alternatives, as one result for each of them."""

    plan: Plan
    each: Mapping[str, Recourse]

    @classmethod
    def of(cls, found: Recourse) -> Ways:
        """From the result of one person."""
        answers = found.answers
        others = answers.alternatives.get(0)
        parts = [answers.take(np.array([0]))]
        if others is not None:
            parts += [others.take(np.array([k])) for k in range(len(others.cost))]
        each = [Recourse(found.question, part) for part in parts if found.found[0]]
        return cls(found[0], {token_of(one[0]): one for one in each})


def token_of(plan: Plan) -> str:
    """A plan by what it asks for, so that someone accepts what they were shown and nothing else."""
    said = [(c.feature, str(c.after), str(c.low), str(c.high)) for c in plan.changes]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


class Service:
    """A model, a ledger and cases, for any number of threads.

    Parameters
    ----------
    settings : Settings
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = Ledger(settings.ledger, mode="write", zone=settings.zone, by="service")
        try:
            self.state = ServiceState(self.ledger.store)
            self.live = self._read()
        except BaseException:
            self.close()
            raise
        self.cases = self.ledger.cases
        self._reading = threading.Lock()
        self._published: Head | None = None

    def close(self) -> None:
        """Close the connections."""
        self.ledger.close()

    def warm(self) -> None:
        """Compile, or read from the disk, what plans need; and see that the model answers."""
        rows = [self.live.example]
        self.live.plans(rows, [ANY], 60.0, n_alternatives=N_WAYS - 1)
        if not self.live.accepted(rows)[0]:
            self.live.reasons(self.live.frame(rows), 60.0)

    def refresh(self) -> bool:
        """Read the model that decides now, if it is another one; requests under way go on."""
        with self._reading:
            if self.state.model_number() == self.live.number:
                return False
            self.live = self._read()
        return True

    def _read(self) -> Live:
        months = timedelta(days=self.settings.promise_days) // MONTH
        return Live.of(*self.state.model(), self.settings.notices, months)

    def publish_head(self) -> None:
        """Publish the signed head of the ledger, if there is a newer one and a place for it."""
        head = self.ledger.head() if self.settings.heads else None
        if head is not None and head != self._published:
            publish_head(head, self.settings.heads)
            self._published = head

    def decide(
        self,
        people: Sequence[str | None],
        rows: Rows,
        keep: bool,
        by: str,
        redeem: bool = True,
    ) -> list[Decision]:
        """Decisions, by the model or by a promise; all kept as cases on request, or none.

        A promise that others have to look at first is only named: with four eyes, and wherever
        ``redeem`` is False, nobody is accepted by it here.
        """
        live, redeems = self.live, redeem and not self.settings.four_eyes
        accepted = live.accepted(rows).tolist()
        desired = live.model.desired_
        refused = next(label for label in live.model.classes_ if label != desired)
        labels = {True: plain_value(desired), False: plain_value(refused)}
        known = [person for person in people if person is not None]
        if keep and len(known) < len(people):
            raise InvalidSpec("A case needs the person's key, and one person has none.")
        if keep:
            check_distinct(known)
            how: dict[str, Any] = {"model": live.fingerprint, "by": by, "redeem": redeems}
            kept = self.ledger.decide(known, rows, accepted, **how)
        found = []
        for i, person in enumerate(people):
            is_yes, case, promise = accepted[i], None, None
            if keep:
                case, promise = kept[i]
            if not (is_yes or promise) and person is not None:
                promise = self.ledger.accepts(person, rows[i]).decided_by
            said: dict[str, Any] = {"person": person, "case": case, "promise": promise}
            is_yes = is_yes or (promise is not None and redeems)
            found.append(Decision(accepted=is_yes, decision=labels[is_yes], **said))
        return found

    def plans(
        self,
        rows: Rows,
        rules: Sequence[PersonalRules] | None = None,
        part: int = PART,
        seconds: float | None = None,
        **options: Any,
    ) -> Iterator[Recourse]:
        """Plans for people, each under their own rules, for a few at a time.

        In the seconds of a request, if there are not more.
        """
        live, own = self.live, rules or [ANY] * len(rows)
        each = (seconds or self.settings.time_limit) / len(rows)
        for first in range(0, len(rows), part):
            still_wanted()
            some = slice(first, first + part)
            yield live.plans(rows[some], own[some], each, **options)

    def ways(self, case: Case, rules: PersonalRules = ANY) -> Ways:
        """What the person of a case can do."""
        (found,) = self.plans([case.values], [rules], n_alternatives=N_WAYS - 1)
        return Ways.of(found)

    def offer(
        self,
        people: Sequence[str],
        plans: Iterator[Recourse],
        *,
        by: str,
        days: int | None = None,
        request: Request | None = None,
    ) -> list[Promise]:
        """Promise plans to people, all of them or none; with the same request once only."""
        check_distinct(people)
        made = None if request is None else self.ledger.made(request)
        if made is not None:
            return made
        lasts = timedelta(days=days or self.settings.promise_days)
        how: dict[str, Any] = {"expires": lasts, "pinned": self.settings.pinned}
        keys, drafted = iter(people), []
        for part in plans:
            drafted += self.ledger.draft(part, people=[*islice(keys, len(part))], **how)
        still_wanted()
        return self.ledger.keep(drafted, by=by, request=request)

    def accept(self, case: Case, rules: PersonalRules, token: str, by: str) -> Promise:
        """Promise someone the way that they chose, which must still be one."""
        request = Request(f"{case.id}:{case.at.timestamp()}:{token}")
        if made := self.ledger.made(request):
            return made[0]
        standing = [p for p in self.ledger.of(case.person) if p.status == OPEN]
        if len(standing) >= MOST_OPEN:
            raise InvalidSpec(f"There are {len(standing)} open promises already.")
        chosen = self.ways(case, rules).each.get(token)
        if chosen is None:
            raise NotFound("This way is not there any more; please look again.")
        return self.offer([case.person], iter([chosen]), by=by, request=request)[0]

    def redeem(
        self,
        promise: Promise,
        values: Mapping[str, Any],
        by: str,
        evidence: Mapping[str, str] | None = None,
        request: Request | None = None,
    ) -> Redemption | None:
        """Accept someone by a promise, and say so in their case if there is one.

        None if a second person has to confirm it first.
        """
        if self._waits(promise, "redeem", dict(values), by):
            return None
        found = self.ledger.redeem(
            promise.person, values, promise=promise.id, evidence=evidence, by=by, request=request
        )
        if found.promise is None:
            raise Conflict(f"Promise {promise.id} is {promise.status}.")
        return found

    def withdraw(self, promise: Promise, reason: str, by: str) -> bool:
        """Take back a promise; False if a second person has to confirm it first."""
        if self._waits(promise, "withdraw", {"reason": reason}, by):
            return False
        self.ledger.withdraw(promise.id, reason, by=by)
        return True

    def _waits(self, promise: Promise, what: str, said: dict[str, Any], by: str) -> bool:
        """With four eyes: keep what someone proposes, unless somebody else has done so before."""
        if not self.settings.four_eyes:
            return False
        asked = {"what": what, **said}
        with self.ledger.store.writing() as db:
            own = events.c.subject == promise.id, events.c.kind == "proposed"
            before = [Event(*row) for row in db.execute(select(events).where(*own))]
            if any(one.by != by and self.ledger.store.said(one) == asked for one in before):
                return False
            self.ledger.store.append(db, "proposed", promise.id, asked, by)
        return True

    def standing(self, promises: Sequence[Promise]) -> list[Promise]:
        """Those that can be redeemed, by the clock of the database."""
        with self.ledger.store.reading() as db:
            now = self.ledger.store.now(db)
        return [p for p in promises if p.status == OPEN and p.expires >= now]

    def notices(self, case: Case, language: str) -> Notices:
        """The notices of a language, as of the day of a decision."""
        chosen = self.live.notices
        dated = copy.copy(chosen.get(language) or chosen["en"])
        dated.date = case.at.date()
        return dated

    def notice_values(self, case: Case, language: str, ways: Ways | None = None) -> dict[str, Any]:
        """What a notice says of a case."""
        if case.accepted:
            raise NotFound("This person is accepted; a notice is for someone who is refused.")
        if self.live.accepted([case.values])[0]:
            raise NotFound("The model of today accepts this person; decide again.")
        plan = (ways or self.ways(case)).plan
        still_wanted()
        reasons = self.live.reasons(self.live.frame([case.values]), self.settings.time_limit)
        notices = self.notices(case, language)
        values = notices.values(plan, reasons)
        values["record"]["person"] = case.person
        return values | {"person": single_line(case.person)}

    def notice(
        self, case: Case, language: str, form: Literal["html", "text", "json"] = "html"
    ) -> str:
        """The notice of a case."""
        values = self.notice_values(case, language)
        return self.notices(case, language).render_values(values, form)

    def audit(self) -> AuditAnswer:
        """Numbers on the model, the cases and the ledger."""
        verified = self.ledger.verify()
        held = self.cases.search(most=MOST_AUDITED) if verified else []
        lasting = [p.lasting is not None for p in self.ledger.each_open()] if verified else []
        return AuditAnswer(
            model=self.live.fingerprint,
            cases=len(held),
            accepted=sum(case.accepted for case in held),
            promises=self.ledger.counts(),
            verified=bool(verified),
            events=verified.n_events,
            head=verified.head,
            signature=verified.signed.signature if verified.signed else "",
            key=verified.signed.key if verified.signed else "",
            faults=list(verified.faults),
            lasting=float(np.mean(lasting)) if lasting else None,
            earned=self._earned(held),
        )

    def _earned(self, held: Sequence[Case]) -> dict[str, int] | None:
        """Verdicts of the judge that the model file has kept on the plans of refused cases."""
        judge, refused = self.live.judge, [case.values for case in held if not case.accepted]
        if judge is None or not refused:
            return None
        (found,) = self.plans(refused, part=len(refused), explain=False)
        share = sum(case.accepted for case in held) / len(held)
        try:
            verdicts = judge.judged(found, accepted=share).summary().iloc[0]
        except InvalidSpec:  # too few are accepted for a bar
            return None
        return {str(name): int(verdicts[name]) for name in ("earned", "undecided", "granted")}

    def report(self) -> str:
        """The audit of the model on the newest cases, as a page of its own."""
        held = self.cases.search(most=MOST_AUDITED)
        if not held:
            raise NotFound("There are no cases to audit yet.")
        live = self.live
        frame = live.frame([case.values for case in held])
        each = min(1.0, self.settings.time_limit / len(held))
        title = f"Audit of the newest {len(held)} cases"
        how: dict[str, Any] = {"judge": live.judge, "time_limit": each, "n_jobs": 1}
        return report.audit(live.model, frame, title=title, **how).to_html()

    def reload(self, *, by: str, force: bool = False) -> ReloadAnswer:
        """Decide by the model file that the service was started with, as it is now."""
        if not self.settings.model:
            raise InvalidSpec("This service was started without a model file.")
        content = Path(self.settings.model).read_bytes()
        return publish_model(self.ledger, self.state, content, by=by, force=force)

    def link(self, case: Case) -> tuple[str, datetime]:
        """The address of a case for its applicant, and until when it is good."""
        lasts = timedelta(days=self.settings.link_days)
        token, until = self.state.new_token(LINK, case.id, lasts, case.person)
        return f"{self.settings.public_url}/my/{token}", until

    def session(self, key_id: str) -> str:
        """A token for a browser in which someone has shown their key."""
        return self.state.new_token(SESSION, key_id, timedelta(hours=SESSION_HOURS))[0]

    def last_day(self) -> datetime:
        """Until when a promise of today lasts."""
        lasts = timedelta(days=self.settings.promise_days)
        return until_of(lasts, datetime.now(UTC), zone_of(self.settings.zone))


def publish_model(
    ledger: Ledger, state: ServiceState, content: bytes, *, by: str, force: bool = False
) -> ReloadAnswer:
    """Let a model file decide, if it keeps every open promise or is forced.

    Raises
    ------
    Broken
        If it does not, and is not.
    """
    changed = not state.model_number(content)
    found = check(ledger, from_bytes(content).model)
    forced, kept = changed and not found, int(found.kept.sum())
    if forced and not force:
        raise Broken(f"{found} The model of before goes on; force it if that is meant.")
    counts: dict[str, Any] = {"forced": forced, "promises": found.n_promises, "kept": kept}
    number = state.publish(content, by=by, **counts) if changed else state.model_number()
    return ReloadAnswer(model=number, changed=changed, **counts)
