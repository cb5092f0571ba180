"""The guard: whether a model that may replace the one of today keeps what was promised.

A promise is kept by a model that accepts everyone who does what the plan asks: the plan's own range
for what it changes, the rest as it was when the promise was made, and every month until it ends for
what moves by itself. Whoever a candidate does not keep is accepted all the same when they come, as
an exception to it; the check counts those before the candidate goes live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract.ensemble import sigmoid
from ract.errors import InvalidSpec, listing
from ract.promises.ledger import Ledger
from ract.promises.promise import MONTH, Promise
from ract.promises.region import Boxes
from ract.recourse.question import Question
from ract.status import Status

KEPT, BROKEN, UNKNOWN = "kept", "broken", "unknown"


@dataclass(frozen=True)
class Check:
    """Open promises before a candidate.

    Parameters
    ----------
    table : DataFrame
        One row per promise: promise, person, expires, verdict ("kept", "broken" or "unknown"),
        accepted (whether the candidate accepts the plan itself), strength (what the plan wins),
        needed (what it has to win) and short (the difference, where it is missed).
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
    """Put every open promise before a candidate.

    Parameters
    ----------
    ledger : Ledger, or sequence of Promise
    candidate : fitted classifier of ract's, or imported model

    Examples
    --------
    >>> from datetime import timedelta
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=600)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> model = forest.fit(loans.frame, loans.target)
    >>> refused = loans.frame[model.predict(loans.frame) == "refused"].head(10)
    >>> ledger = Ledger("sqlite://")
    >>> offered = ledger.offer(model.recourse(refused), expires=timedelta(days=90))
    >>> check(ledger, model).share
    1.0
    """
    promises = ledger.open() if isinstance(ledger, Ledger) else list(ledger)
    rows = []
    if promises:
        _check_columns(candidate, promises)
        after = pd.DataFrame([promise.after for promise in promises])
        question = Question.of(candidate, after[list(candidate.encoder_.feature_names)])
        boxes, wins = Boxes(question), question.wins(question.matrix)
        accepted, needed = question.decide(), _needed(question)
        for k, promise in enumerate(promises):
            status = boxes.status(question.matrix[k], *_ends(promise, question, k))
            verdict = {Status.NONE: KEPT, Status.FOUND: BROKEN}.get(status, UNKNOWN)
            verdict = verdict if accepted[k] else BROKEN
            rows.append((
                promise.id, promise.person, promise.expires, verdict, bool(accepted[k]), wins[k],
                needed, 0.0 if accepted[k] else needed - wins[k],
            ))  # fmt: skip
    columns = [
        "promise", "person", "expires", "verdict", "accepted", "strength", "needed", "short",
    ]  # fmt: skip
    return Check(pd.DataFrame(rows, columns=columns))


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
        elif axis.feature.per_month and not axis.is_categorical:
            then = low[a] + axis.feature.per_month * months
            low[a], high[a] = min(low[a], then), max(high[a], then)
    return low, high


def _check_columns(candidate: Any, promises: Sequence[Promise]) -> None:
    encoder = getattr(candidate, "encoder_", None)
    if encoder is None:
        raise InvalidSpec(
            "The candidate must be a fitted model of ract's, or one that ract.import_model made; "
            f"got {type(candidate).__name__}."
        )
    held = set(promises[0].after)
    lacking = [name for name in encoder.feature_names if name not in held]
    if lacking:
        raise InvalidSpec(
            f"The candidate takes {listing(lacking)}, which the promises do not hold."
        )
