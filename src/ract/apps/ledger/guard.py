"""The guard: whether a model that may replace the one of today keeps what was promised.

A promise is kept by a model that accepts everyone who does what the plan asks: the plan's own range
for what it changes, the rest as it was when the promise was made, and every month until it ends for
what moves by itself. Whoever a candidate does not keep is accepted all the same when they come, as
an exception to it; the check counts those before the candidate goes live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.apps.ledger.entries import plain_value
from ract.apps.ledger.ledger import Ledger
from ract.apps.ledger.promise import MONTH, Promise
from ract.apps.ledger.proving import BoxCertifier, drifted
from ract.recourse.problem import RecourseProblem
from ract.recourse.question import Question
from ract.trees.log_odds import sigmoid

KEPT, BROKEN, UNKNOWN = "kept", "broken", "unknown"
COLUMNS = ["promise", "person", "expires", "verdict", "accepted", "strength", "needed", "short"]
PART = 1000  # promises that are put to a candidate at once


@dataclass(frozen=True)
class Check:
    """Which open promises a candidate keeps.

    Parameters
    ----------
    table : DataFrame
        One row per promise: promise, person, expires, verdict ("kept", "broken" or "unknown"),
        accepted (whether the candidate accepts the plan itself), strength (of the plan), needed
        (the strength that the candidate requires) and short (the difference, if it is too weak).
    """

    table: pd.DataFrame

    @property
    def n_promises(self) -> int:
        """Number of open promises."""
        return len(self.table)

    @property
    def kept(self) -> np.ndarray:
        """Which are kept."""
        return self.table["verdict"].to_numpy() == KEPT

    @property
    def share(self) -> float:
        """Share of the promises that are kept; 1 if there are none."""
        return float(self.kept.mean()) if self.n_promises else 1.0

    def __bool__(self) -> bool:
        return bool(self.kept.all())

    def __str__(self) -> str:
        if not self.n_promises:
            return "There are no open promises."
        counts = self.table["verdict"].value_counts()
        text = f"Of {self.n_promises} open promises the candidate keeps {counts.get(KEPT, 0)}"
        others = [f"{counts[name]} {name}" for name in (BROKEN, UNKNOWN) if name in counts]
        if not others:
            return f"{text}."
        refused = int((~self.table["accepted"].astype(bool)).sum())
        return (
            f"{text} ({', '.join(others)}); it refuses {refused} plans as they stand. These people "
            "are accepted all the same when they come, as exceptions."
        )


def check(ledger: Ledger | Sequence[Promise], candidate: Any) -> Check:
    """Check which open promises a candidate model keeps.

    Parameters
    ----------
    ledger : Ledger, or sequence of Promise
    candidate : fitted classifier of ract's, or imported model

    Examples
    --------
    >>> from datetime import timedelta
    >>> from ract import RecourseForestClassifier, load_loans
    >>> loans = load_loans(n_people=600)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> model = forest.fit(loans.frame, loans.target)
    >>> refused = loans.frame[model.predict(loans.frame) == "refused"].head(10)
    >>> with Ledger("sqlite://") as ledger:
    ...     offered = ledger.offer(model.recourse(refused), expires=timedelta(days=90))
    ...     check(ledger, model).share
    1.0
    """
    if getattr(candidate, "encoder_", None) is None:
        raise InvalidSpec(
            "The candidate must be a fitted model of ract's, or one that ract.import_model made; "
            f"got {type(candidate).__name__}."
        )
    promises = ledger.each_open() if isinstance(ledger, Ledger) else iter(ledger)
    parts = [pd.DataFrame(columns=COLUMNS)]
    boxes: BoxCertifier | None = None
    while part := list(islice(promises, PART)):
        verdicts, boxes = _verdicts(part, candidate, boxes)
        rows = [(p.id, p.person, p.expires, *said) for p, said in zip(part, verdicts, strict=True)]
        parts.append(pd.DataFrame(rows, columns=COLUMNS))
    return Check(pd.concat(parts[1:] or parts, ignore_index=True))


def _verdicts(
    promises: Sequence[Promise], candidate: Any, boxes: BoxCertifier | None
) -> tuple[list[tuple[Any, ...]], BoxCertifier | None]:
    """Verdict, accepted, strength, needed and short of each promise; boxes are made once.

    Without the promised class a candidate keeps nothing. Where it asks for a feature that a
    promise does not hold, or does not know its category, nothing can be said.
    """
    names, desired = list(candidate.encoder_.feature_names), plain_value(candidate.desired_)
    same = [p.desired == desired for p in promises]
    unasked = False, np.nan, np.nan, np.nan
    found: list[tuple[Any, ...]] = [(UNKNOWN if one else BROKEN, *unasked) for one in same]
    asked = [k for k, p in enumerate(promises) if same[k] and p.after.keys() >= {*names}]
    if not asked:
        return found, boxes
    frame = pd.DataFrame([promises[k].after for k in asked], columns=names)
    question, invalid = RecourseProblem(candidate).encoded_valid(frame)
    places = np.array(asked) if invalid is None else np.array(asked)[invalid.valid]
    boxes = boxes or BoxCertifier(question)
    wins, needed = question.wins(question.matrix), _needed(question)
    points = boxes.points(question.matrix)
    for i, (k, accepted) in enumerate(zip(places.tolist(), question.decide(), strict=True)):
        verdict = BROKEN
        if accepted:
            status = boxes.status(points[i], *_ends(promises[k], question, i))
            verdict = {Status.NONE: KEPT, Status.FOUND: BROKEN}.get(status, UNKNOWN)
        short = 0.0 if accepted else needed - wins[i]
        found[k] = verdict, bool(accepted), wins[i], needed, short
    return found, boxes


def _needed(question: Question) -> float:
    """The strength that the decision asks for; NaN for a single tree, whose leaves decide."""
    ensemble = question.ensemble
    if ensemble.combine == "sum":
        return float(sigmoid(ensemble.cutoff))
    if ensemble.combine == "mean":
        return float(ensemble.cutoff)
    return ensemble.cutoff / ensemble.n_trees if ensemble.n_trees > 1 else np.nan


def _ends(promise: Promise, question: Question, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of what a promise asks for, by feature; what it leaves alone stays where it was."""
    axes, row = question.encoder.axes, question.matrix[k]
    low = np.array([row[axis.columns[0]] for axis in axes])
    high = low.copy()
    months = (promise.expires - promise.offered) / MONTH
    for a, axis in enumerate(axes):
        name = axis.feature.name
        if name in promise.region.asked and not axis.is_categorical:
            limit = promise.region.limits[name]
            if limit.missing:
                continue
            low[a] = -np.inf if limit.low is None else limit.low
            high[a] = np.inf if limit.high is None else limit.high
        elif axis.feature.drift and not axis.is_categorical:
            then = drifted(axis.feature, low[a], months)
            low[a], high[a] = min(low[a], then), max(high[a], then)
    return low, high
