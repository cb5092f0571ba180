"""What became of people who redeemed their promises, against what a judge had expected of them.

Outcomes come in one after the other and are looked at whenever one likes, so that intervals and
warnings must hold at all times at once:

    share that repaid    the beta mixture of Robbins: all shares that a fair bettor with a uniform
                         prior has not grown rich against, by a factor of 1 / (1 - confidence)
    the judge's word     bets on and against the judge, each outcome at the probability that it was
                         given; whoever multiplies the stake by that factor has refuted the judge
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy
from sqlalchemy import select

from ract._utils.errors import InvalidSpec
from ract.apps.ledger.chain import Event
from ract.apps.ledger.ledger import Ledger
from ract.apps.ledger.promise import OPEN, REDEEMED, WITHDRAWN
from ract.apps.ledger.shelf import Conflict
from ract.apps.ledger.tables import events

if TYPE_CHECKING:
    from ract.models.judge import OutcomeJudge

OUTCOME = "outcome"
REPAID, DEFAULTED = "repaid", "defaulted"
OUTCOMES = (REPAID, DEFAULTED, OPEN)
STAKES = np.concatenate([-np.arange(1, 10), np.arange(1, 10)]) / 10


@dataclass(frozen=True, repr=False)
class PromiseOutcomes:
    """The outcomes of redeemed promises.

    Parameters
    ----------
    counts : dict
        Numbers of redeemed and withdrawn promises; of the redeemed also those repaid, defaulted and
        open.
    table : DataFrame
        For everyone and, with a judge, by verdict ("earned", "undecided", "granted"): ``ended``,
        ``repaid``, their ``share`` with ``low`` and ``high``, and with a judge the share that was
        ``predicted``, the ``evidence`` against the judge (the stake of a bettor who began with 1),
        and a ``warning``, empty if there is none.
    confidence : float
        The confidence with which the intervals hold at all times, and no warning is false.
    """

    counts: dict[str, int]
    table: pd.DataFrame
    confidence: float

    @property
    def kept(self) -> float:
        """Share of promises that were redeemed, of those that were redeemed or withdrawn."""
        ended = self.counts[REDEEMED] + self.counts[WITHDRAWN]
        return self.counts[REDEEMED] / ended if ended else float("nan")

    @property
    def warnings(self) -> list[str]:
        """Warnings about wrong predictions of the judge, one sentence each."""
        return [] if "warning" not in self.table else [w for w in self.table["warning"] if w]

    def __str__(self) -> str:
        counts, row = self.counts, self.table.iloc[0]
        kept = "" if np.isnan(self.kept) else f" ({self.kept:.0%} kept)"
        text = (
            f"{counts[REDEEMED]} promises redeemed, {counts[WITHDRAWN]} withdrawn{kept}; of the "
            f"redeemed {counts[REPAID]} repaid, {counts[DEFAULTED]} defaulted, {counts[OPEN]} open."
        )
        if row["ended"]:
            text += f" Repaid: {row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%}"
            text += f" at all times, at a confidence of {self.confidence:.0%})"
            text += f", predicted {row['predicted']:.1%}." if "predicted" in row else "."
        return " ".join([text, *self.warnings])


def record_outcomes(ledger: Ledger, outcomes: Mapping[str, str], *, by: str | None = None) -> None:
    """Record the outcomes of redeemed promises as signed events: all of them, or none.

    Parameters
    ----------
    ledger : Ledger
    outcomes : mapping
        By number of a promise: "repaid", "defaulted" or "open". The last one counts.
    by : str, optional
        Who says so.
    """
    for outcome in outcomes.values():
        if outcome not in OUTCOMES:
            raise InvalidSpec(f"An outcome is one of {', '.join(OUTCOMES)}, got {outcome!r}.")
    with ledger.store.writing() as db:
        for id, outcome in outcomes.items():
            promise = ledger._shelf.get(db, id)
            if promise.status != REDEEMED:
                raise Conflict(
                    f"Promise {id!r} is {promise.status}; only a redeemed one has an outcome."
                )
            details = {"person": promise.person, "outcome": outcome}
            ledger.store.append(db, OUTCOME, id, details, ledger._actor(by))


def promise_outcomes(
    ledger: Ledger,
    judge: OutcomeJudge | None = None,
    *,
    accepted: float | None = None,
    confidence: float = 0.95,
) -> PromiseOutcomes:
    """Shares of redeemed promises that were repaid, beside what a judge predicts.

    Parameters
    ----------
    ledger : Ledger
    judge : OutcomeJudge, optional
        A judge of other people, such as the one in the model's file. It predicts for people as they
        were when they redeemed their promise.
    accepted : float, optional
        Share of people whom the model accepts, for the judge's bar; not needed for a judge from a
        model file.
    confidence : float
    """
    if not 0 < confidence < 1:
        raise InvalidSpec(f"confidence must lie between 0 and 1, got {confidence!r}.")
    if accepted is None and judge is not None:
        accepted = getattr(judge, "accepted_", None)
        if accepted is None:
            raise InvalidSpec("This judge needs accepted, the share of people who are accepted.")
    values, last = _events(ledger)
    known = {id: last.get(id, OPEN) for id in values}
    by_status = ledger.counts()
    counts = {name: by_status[name] for name in (REDEEMED, WITHDRAWN)}
    counts |= {name: list(known.values()).count(name) for name in OUTCOMES}
    ended = [id for id, outcome in known.items() if outcome != OPEN]
    repaid = np.array([known[id] == REPAID for id in ended], bool)
    groups: list[tuple[str, np.ndarray]] = [("everyone", np.ones(len(ended), bool))]
    predicted, bar = None, float("nan")
    if judge is not None and accepted is not None and ended:
        judged = judge.probability(pd.DataFrame([values[id] for id in ended]))
        predicted = judged["probability"].to_numpy()
        bar = judge.bar(accepted)
        earned, granted = judged["low"].to_numpy() > bar, judged["high"].to_numpy() < bar
        groups += [("earned", earned), ("undecided", ~earned & ~granted), ("granted", granted)]
    rows = [
        _row(name, repaid[who], None if predicted is None else predicted[who], bar, confidence)
        for name, who in groups
    ]
    return PromiseOutcomes(counts, pd.DataFrame(rows), confidence)


def _events(ledger: Ledger) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """By redeemed promise: the values it was redeemed with, and the last known outcome."""
    chosen = select(events).where(
        events.c.kind.in_((REDEEMED, OUTCOME)), events.c.details.is_not(None)
    )
    values: dict[str, dict[str, Any]] = {}
    last: dict[str, str] = {}
    with ledger.store.reading() as db:
        for event in map(Event._make, db.execute(chosen.order_by(events.c.number))):
            details = ledger.store.said(event)
            if event.kind == REDEEMED:
                values[event.subject] = details["values"]
            else:
                last[event.subject] = details["outcome"]
    return values, last


def _row(
    name: str, repaid: np.ndarray, predicted: np.ndarray | None, bar: float, confidence: float
) -> dict[str, Any]:
    n, hits = len(repaid), int(repaid.sum())
    low, high = confidence_sequence(hits, n, confidence)
    share = hits / n if n else float("nan")
    row = {"group": name, "ended": n, "repaid": hits, "share": share, "low": low, "high": high}
    if predicted is None:
        return row
    evidence = evidence_against(repaid, predicted)
    warning = ""
    if n and evidence >= 1 / (1 - confidence):
        less = "less" if hits < predicted.sum() else "more"
        warning = f"People of {name} repaid {less} often than the judge predicted."
    if name == "earned" and high < bar:
        warning = f"Earned plans were repaid less often than the bar of {bar:.1%}."
    if name == "granted" and low > bar:
        warning = f"Granted plans were repaid more often than the bar of {bar:.1%}."
    mean = float(predicted.mean()) if n else float("nan")
    return row | {"predicted": mean, "evidence": evidence, "warning": warning}


def confidence_sequence(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """An interval of a share that holds at all times at once, however often one looks.

    Examples
    --------
    >>> [round(end, 3) for end in confidence_sequence(45, 50, 0.95)]
    [0.712, 0.984]
    """
    if n == 0:
        return 0.0, 1.0
    won = float(betaln(1 + hits, 1 + n - hits) + np.log1p(-confidence))

    def ahead(share: float) -> float:
        """How far beyond the limit a bettor against a share has come, in logarithms."""
        return won - float(xlogy(hits, share) + xlog1py(n - hits, -share))

    # The share itself is inside, and 0 and 1 are outside unless it is one of them.
    low, high = (
        outside if ahead(outside) <= 0 else float(brentq(ahead, outside, hits / n))
        for outside in (0.0, 1.0)
    )
    return low, high


def evidence_against(happened: Iterable[bool], predicted: Iterable[float]) -> float:
    """What stakes on and against predictions have become, on average, from 1.

    If every prediction is right, it ever reaches 1 / a with a probability of a at most (Ville).

    Examples
    --------
    >>> evidence_against([False] * 12, [0.9] * 12) > 20, evidence_against([True], [1.0])
    (True, 1.0)
    """
    gaps = np.asarray(list(happened), float) - np.asarray(list(predicted), float)
    return float(np.exp(np.log1p(STAKES[:, None] * gaps[None]).sum(axis=1)).mean())
