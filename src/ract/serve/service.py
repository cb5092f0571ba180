"""What the service does, without a word of HTTP: decide, plan, offer, redeem, notify, audit."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any, Literal

import numpy as np

from ract import report
from ract.errors import InvalidSpec
from ract.notices import Notices
from ract.notices.language import one_line
from ract.persist.load import from_bytes
from ract.promises import Check, Ledger, Promise, Redemption, Verification, check
from ract.promises.drafts import plain
from ract.recourse.plan import Plan
from ract.recourse.result import Recourse
from ract.serve.keys import LINK, SESSION, Signer
from ract.serve.live import Live, Rules
from ract.serve.settings import Settings
from ract.serve.state import Case, NotFound, State

SESSION_HOURS = 12
MOST_AUDITED = 1000  # newest cases
MOST_OPEN = 5  # promises that someone can take for themselves
N_WAYS = 3  # that people are shown


class Broken(InvalidSpec):
    """A model that would break promises, and was not forced."""

    def __init__(self, found: Check) -> None:
        super().__init__(f"{found} The model of before goes on; force it if that is meant.")
        self.found = found


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
        self.ledger = Ledger(settings.ledger)
        self.state = State(self.ledger.store)
        self.signer = Signer(self.state.secret)
        self._reading = threading.Lock()
        self.live = Live.of(*self.state.model(), settings.notices)

    def close(self) -> None:
        """Give the connections back."""
        self.ledger.close()

    def warm(self) -> None:
        """Compile, or read from the disk, what plans need; and see that the model answers."""
        rows = [self.live.example]
        self.live.plans(rows, [Rules()], 60.0, n_alternatives=N_WAYS - 1)
        if not self.live.accepted(rows)[0]:
            self.live.reasons(self.live.frame(rows), 60.0)

    def refresh(self) -> bool:
        """Read the model that decides now, if it is another one; requests under way go on."""
        with self._reading:
            if self.state.model_number() == self.live.number:
                return False
            self.live = Live.of(*self.state.model(), self.settings.notices)
        return True

    def decide(
        self, people: Sequence[str | None], rows: Sequence[Mapping[str, Any]], keep: bool, by: str
    ) -> list[dict[str, Any]]:
        """Decisions, by the model or by a promise; kept as cases on request."""
        live = self.live
        accepted = live.accepted(rows).tolist()
        desired, other = classes_of(live.model)
        found = []
        for person, values, by_model in zip(people, rows, accepted, strict=True):
            promise = None
            if not by_model and person is not None:
                promise = self._promise_for(person, values, redeem=keep)
            is_yes = by_model or promise is not None
            case = None
            if keep:
                if person is None:
                    raise InvalidSpec("A case is kept by the person's key, and one has none.")
                decision = {"accepted": is_yes, "promise": promise, "model": live.fingerprint}
                case = self.state.decide(person, values, decision, by)
            found.append({
                "person": person, "accepted": is_yes, "decision": desired if is_yes else other,
                "promise": promise, "case": case,
            })  # fmt: skip
        return found

    def plans(
        self,
        rows: Sequence[Mapping[str, Any]],
        rules: Sequence[Rules] | None = None,
        **options: Any,
    ) -> Recourse:
        """Plans for people, each under their own rules."""
        live, own = self.live, rules or [Rules()] * len(rows)
        return live.plans(rows, own, self.settings.time_limit, **options)

    def ways(self, case: Case, rules: Rules) -> Ways:
        """What the person of a case can do."""
        return Ways.of(self.plans([case.values], [rules], n_alternatives=N_WAYS - 1))

    def offer(
        self, people: Sequence[str], plans: Recourse, *, by: str, days: int | None = None,
        request: str | None = None,
    ) -> list[Promise]:  # fmt: skip
        """Promise plans; with the same request once only."""
        requests = None if request is None else _each(request, people)
        lasts = timedelta(days=self.settings.promise_days if days is None else days)
        return self.ledger.offer(plans, people=people, expires=lasts, by=by, requests=requests)

    def offered(self, people: Sequence[str], request: str | None) -> list[Promise]:
        """What an offer with the same request has promised already, whatever the model says now."""
        if request is None:
            return []
        return self.ledger.requested(_each(request, people), people)

    def accept(self, case: Case, rules: Rules, token: str, by: str) -> Promise:
        """Promise someone the way that they chose, which must still be one."""
        standing = [p for p in self.ledger.of(case.person) if p.status == "open"]
        if len(standing) >= MOST_OPEN:
            raise InvalidSpec(f"There are {len(standing)} open promises already.")
        chosen = self.ways(case, rules).each.get(token)
        if chosen is None:
            raise NotFound("This way is not there any more; please look again.")
        request = f"{case.id}:{case.at.timestamp()}:{token}"
        return self.offer([case.person], chosen, by=by, request=request)[0]

    def redeem(self, promise: Promise, values: Mapping[str, Any], by: str) -> Redemption:
        """Accept someone by a promise, and say so in their case if there is one."""
        found = self.ledger.redeem(promise.person, values, promise=promise.id)
        if found.promise is None:
            if self._unrecorded(promise.person, values) != promise.id:
                raise NotOpen(f"Promise {promise.id} is {promise.status}.")
            found = Redemption(True, promise)
        if found.accepted and self.state.case_of(promise.person) is not None:
            decision = {"accepted": True, "promise": promise.id, "model": self.live.fingerprint}
            self.state.decide(promise.person, values, decision, by)
        return found

    def _promise_for(self, person: str, values: Mapping[str, Any], *, redeem: bool) -> str | None:
        """The promise by which someone is accepted, if there is one."""
        found = (self.ledger.redeem if redeem else self.ledger.accepts)(person, values)
        if found.accepted and found.promise is not None:
            return found.promise.id
        return self._unrecorded(person, values) if redeem else None

    def _unrecorded(self, person: str, values: Mapping[str, Any]) -> str | None:
        """A promise that was redeemed with these values by a process that ended before it said so.

        Redeeming comes before the decision in the case: one that is newer was never answered.
        """
        case = self.state.case_of(person)
        if case is None:
            return None
        for row in self.ledger.history(person).to_dict("records"):
            is_new = row["event"] == "redeemed" and datetime.fromisoformat(row["at"]) > case.at
            if is_new and row["details"]["values"] == dict(values):
                return str(row["promise"])
        return None

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
        plan = (self.ways(case, Rules()) if ways is None else ways).plan
        reasons = self.live.reasons(self.live.frame([case.values]), self.settings.time_limit)
        notices = self.notices(case, language)
        values = notices.values(plan, reasons)
        values["record"]["person"] = case.person
        return values | {"person": one_line(case.person)}

    def notice(
        self, case: Case, language: str, form: Literal["html", "text", "json"] = "html"
    ) -> str:
        """The notice of a case."""
        values = self.notice_values(case, language)
        return self.notices(case, language).render_values(values, form)

    def audit(self) -> dict[str, Any]:
        """Numbers on the model, the cases and the ledger."""
        held = self.state.search(most=MOST_AUDITED)
        verified = self.ledger.verify()
        standing = self.ledger.open() if verified else []
        lasting = [promise.lasting is not None for promise in standing]
        return {
            "model": self.live.fingerprint,
            "cases": len(held),
            "accepted": sum(case.accepted for case in held),
            "promises": self.ledger.counts(),
            **_verified(verified),
            "lasting": float(np.mean(lasting)) if lasting else None,
            "earned": self._earned(held),
        }

    def _earned(self, held: Sequence[Case]) -> dict[str, int] | None:
        """Verdicts of the judge that the model file has kept on the plans of refused cases."""
        judge, refused = self.live.judge, [case.values for case in held if not case.accepted]
        if judge is None or not refused:
            return None
        found = self.plans(refused, explain=False)
        share = sum(case.accepted for case in held) / len(held)
        try:
            verdicts = judge.judged(found, accepted=share).summary().iloc[0]
        except InvalidSpec:  # too few are accepted for a bar
            return None
        return {str(name): int(verdicts[name]) for name in ("earned", "undecided", "granted")}

    def report(self) -> str:
        """The audit of the model on the newest cases, as a page of its own."""
        held = self.state.search(most=MOST_AUDITED)
        if not held:
            raise NotFound("There are no cases to audit yet.")
        live = self.live
        frame = live.frame([case.values for case in held])
        each = min(1.0, self.settings.time_limit / len(held))
        return report.audit(
            live.model, frame, judge=live.judge, time_limit=each, n_jobs=1,
            title=f"Audit of the newest {len(held)} cases",
        ).to_html()  # fmt: skip

    def reload(self, *, force: bool = False) -> dict[str, Any]:
        """Decide by the model file that the service was started with, as it is now."""
        if not self.settings.model:
            raise InvalidSpec("This service was started without a model file.")
        content = Path(self.settings.model).read_bytes()
        return publish(self.ledger, self.state, content, force=force)

    def link(self, case: str) -> tuple[str, datetime]:
        """A token for the applicant of a case, and until when it is good."""
        until = datetime.now(UTC) + timedelta(days=self.settings.link_days)
        return self.signer.sign(LINK, case, until.timestamp()), until

    def session(self, key_id: str) -> str:
        """A token for a browser in which someone has shown their key."""
        return self.signer.sign(SESSION, key_id, time() + SESSION_HOURS * 3600)


class NotOpen(InvalidSpec):
    """A promise that was redeemed, withdrawn or has ended."""


def publish(ledger: Ledger, state: State, content: bytes, *, force: bool = False) -> dict[str, Any]:
    """Let a model file decide, if it keeps every open promise or is forced.

    Raises
    ------
    Broken
        If it does not, and is not.
    """
    changed = not state.is_current(content)
    found = check(ledger, from_bytes(content).model)
    forced = changed and not found
    if forced and not force:
        raise Broken(found)
    number = state.publish(content, forced=forced) if changed else state.model_number()
    return {
        "model": number, "changed": changed, "forced": forced, "promises": found.n_promises,
        "kept": int(found.kept.sum()),
    }  # fmt: skip


def classes_of(model: Any) -> tuple[Any, Any]:
    """The class that people want, and the other one."""
    other = next(label for label in model.classes_ if label != model.desired_)
    return plain(model.desired_), plain(other)


def _each(request: str, people: Sequence[str]) -> list[str]:
    """A key of each person's offer, from that of the request."""
    return [f"{request}:{i}" for i in range(len(people))]


def _verified(found: Verification) -> dict[str, Any]:
    return {
        "verified": bool(found), "events": found.n_events, "head": found.head,
        "faults": list(found.faults),
    }  # fmt: skip
