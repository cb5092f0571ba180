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
from sklearn.base import clone

from ract._frames import take_rows
from ract.ensemble import sigmoid
from ract.errors import InvalidSpec, listing
from ract.promises.ledger import Ledger
from ract.promises.promise import MONTH, Promise
from ract.promises.region import Boxes
from ract.recourse.question import Question
from ract.status import Status

KEPT, BROKEN, UNKNOWN = "kept", "broken", "unknown"
ROUNDS = 8  # of raising weights
N_BETWEEN = 2  # rows of a promise between what it asks for and the far end


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


@dataclass(frozen=True)
class Refit:
    """A model that was trained to keep promises.

    Parameters
    ----------
    model : classifier
        Fitted on the people and the promised rows.
    check : Check
        The open promises before it.
    plain : Check
        The same before a model of the people alone.
    weights : float (promises,)
        What the rows of each promise weighed together in the end.
    auc, plain_auc : float
        On held-out people, of models trained alike; NaN if it was not measured.
    """

    model: Any
    check: Check
    plain: Check
    weights: np.ndarray
    auc: float
    plain_auc: float

    @property
    def n_exceptions(self) -> int:
        """Number of promises that the model does not keep; they are honoured all the same."""
        return int((~self.check.kept).sum())

    def __str__(self) -> str:
        if not self.check.n_promises:
            return str(self.check)
        text = (
            f"Of {self.check.n_promises} open promises the model keeps "
            f"{int(self.check.kept.sum())}; trained on the people alone it keeps "
            f"{int(self.plain.kept.sum())}. Exceptions that remain: {self.n_exceptions}."
        )
        if not np.isnan(self.auc):
            text += (
                f" AUC on held-out people: {self.auc:.4f} with promises, {self.plain_auc:.4f} "
                f"without ({self.auc - self.plain_auc:+.4f})."
            )
        return text


def refit(
    estimator: Any,
    X: Any,
    y: Any,
    ledger: Ledger | Sequence[Promise],
    *,
    share: float = 1.0,
    sample_weight: Any = None,
    held_out: float = 0.2,
    random_state: int = 0,
) -> Refit:
    """Train a model again so that open promises are kept.

    Promised people enter as rows that have carried out their plan, with the promised class: as the
    plan asks, at the far end of its ranges and between, since whoever does more is promised the
    same. Rows of promises that are not kept weigh twice as much in the next round, until the share
    is reached or eight rounds are over; the model of the round that kept the most is given. A
    weight of recourse that the learner chooses by itself is chosen on the people alone; what lasts
    is measured for the model in the end.

    Parameters
    ----------
    estimator : classifier of ract's, not fitted
        A tree, forest or booster.
    X : frame
    y : array (people,)
    ledger : Ledger, or sequence of Promise
    share : float
        Of open promises that must be kept.
    sample_weight : array (people,), optional
    held_out : float
        Share of the people on whom the AUC with and without promised rows is measured, by models
        of the others; 0 to leave that out.
    random_state : int
        Of who is held out, and of rows between.

    Examples
    --------
    >>> from datetime import timedelta
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> old, new = load_loans(n_people=600), load_loans(n_people=600, random_state=1)
    >>> forest = RecourseForestClassifier(old.actions, n_estimators=10, random_state=0)
    >>> model = forest.fit(old.frame, old.target)
    >>> refused = old.frame[model.predict(old.frame) == "refused"].head(10)
    >>> ledger = Ledger("sqlite://")
    >>> offered = ledger.offer(model.recourse(refused), expires=timedelta(days=90))
    >>> found = refit(forest, new.frame, new.target, ledger)
    >>> found.check.share > found.plain.share
    True
    """
    if not 0 <= share <= 1:
        raise InvalidSpec(f"share must lie between 0 and 1, got {share!r}.")
    promises = ledger.open() if isinstance(ledger, Ledger) else list(ledger)
    people = _People.of(X, y, sample_weight)
    plain = clone(estimator).fit(people.X, people.y, sample_weight=people.weight)
    _check_desired(plain, promises)
    before = check(promises, plain)
    weights, model, found = np.ones(len(promises)), plain, before
    if before.share < share:
        learner, raised = plain._as_chosen(), weights
        rows, owner = promised_rows(promises, people.X, random_state)
        promised = np.array([promise.desired for promise in promises])[owner]
        share_of_row = 1 / np.bincount(owner)[owner]
        for _ in range(ROUNDS):
            both = people.with_rows(rows, promised, raised[owner] * share_of_row)
            trial = clone(learner).fit(both.X, both.y, sample_weight=both.weight)
            kept = check(promises, trial)
            if kept.share > found.share:
                weights, model, found = raised, trial, kept
            if kept.share >= share:
                break
            raised = np.where(kept.kept, raised, 2 * raised)
        if model is not plain:
            both = people.with_rows(rows, promised, weights[owner] * share_of_row)
            model.set_params(lasting=estimator.lasting)._calibrate(both.X, both.y, both.weight)
    auc, plain_auc = np.nan, np.nan
    if held_out and model is not plain:
        added = rows, promised, weights[owner] * share_of_row
        auc, plain_auc = _aucs(learner, people, added, held_out, random_state)
    return Refit(model, found, before, weights, auc, plain_auc)


def promised_rows(
    promises: Sequence[Promise], people: pd.DataFrame, random_state: int = 0
) -> tuple[pd.DataFrame, np.ndarray]:
    """People who have done what they were asked to, and whose promise each of them is.

    One has done so to the letter; where there is room for more, one has done as much as there is,
    and some have done as much of it in each feature as chance would have it.

    Parameters
    ----------
    promises : sequence of Promise
    people : DataFrame
        In the columns of the rows; where a range has no end, room is as far as they go.
    random_state : int
    """
    rows, owner, rng = [], [], np.random.default_rng(random_state)
    for k, promise in enumerate(promises):
        room = _room(promise, people)
        shares = [0.0, 1.0, *rng.random((N_BETWEEN, len(room)))] if room else [0.0]
        for share in shares:
            part = np.broadcast_to(share, len(room))
            more = {
                name: np.round(start + t * (end - start)) if whole else start + t * (end - start)
                for (name, (start, end, whole)), t in zip(room.items(), part, strict=True)
            }
            rows.append({**promise.after, **more})
            owner.append(k)
    return pd.DataFrame(rows)[list(people.columns)], np.array(owner)


def _room(promise: Promise, people: pd.DataFrame) -> dict[str, tuple[float, float, bool]]:
    """By feature: from what a plan asks for to the far end, and whether in whole numbers."""
    room = {}
    for name in promise.region.asked:
        limit, before = promise.region.limits[name], promise.before[name]
        if limit.missing or limit.category is not None or before is None:
            continue
        after = float(promise.after[name])
        up = after > before
        end = limit.high if up else limit.low
        if end is None:
            end = people[name].max() if up else people[name].min()
        if (end > after) == up and end != after:
            room[name] = after, float(end), people[name].dtype.kind in "iub"
    return room


@dataclass(frozen=True)
class _People:
    """Rows, classes and weights of a table."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any) -> _People:
        if not isinstance(X, pd.DataFrame):
            raise InvalidSpec(
                f"Promises are kept by column: a pandas frame, got {type(X).__name__}."
            )
        labels = np.asarray(y)
        given = np.ones(len(labels)) if weight is None else np.asarray(weight, float)
        return cls(X, labels, given)

    def with_rows(self, rows: pd.DataFrame, y: np.ndarray, weight: np.ndarray) -> _People:
        """The same with more rows, in the same types where they can hold them."""
        added = rows.apply(lambda column: _in_type(column, self.X[column.name].dtype))
        return _People(
            pd.concat([self.X, added], ignore_index=True),
            np.concatenate([self.y, y.astype(self.y.dtype)]),
            np.concatenate([self.weight, weight]),
        )

    def take(self, some: np.ndarray) -> _People:
        """Some of the rows."""
        return _People(take_rows(self.X, some), self.y[some], self.weight[some])


def _in_type(column: pd.Series, kind: Any) -> pd.Series:
    """A column in a type; numbers that whole ones cannot hold stay as they are."""
    if kind.kind in "iu":
        numbers = column.astype(float)
        if not (numbers == np.floor(numbers)).all():
            return numbers
    return column.astype(kind)


def _aucs(
    estimator: Any, people: _People, added: tuple[pd.DataFrame, np.ndarray, np.ndarray],
    held_out: float, random_state: int,
) -> tuple[float, float]:  # fmt: skip
    """AUC on held-out people of a model with promised rows, and of one without."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    grow_on, held = train_test_split(
        np.arange(len(people.y)), test_size=held_out, stratify=people.y, random_state=random_state
    )
    some, rest = people.take(grow_on), people.take(held)
    found = []
    for part in (some.with_rows(*added), some):
        model = clone(estimator).fit(part.X, part.y, sample_weight=part.weight)
        score = model.predict_proba(rest.X)[:, list(model.classes_).index(model.desired_)]
        found.append(float(roc_auc_score(rest.y == model.desired_, score)))
    return found[0], found[1]


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


def _check_desired(model: Any, promises: Sequence[Promise]) -> None:
    for promise in promises:
        if promise.desired != model.desired_:
            raise InvalidSpec(
                f"A promise is of the class {promise.desired!r}, but the model's desired class is "
                f"{str(model.desired_)!r}."
            )


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
