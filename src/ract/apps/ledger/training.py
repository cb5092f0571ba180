"""Training a model again so that what was promised is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ract._utils.errors import InvalidSpec
from ract.apps.ledger.guard import Check, check
from ract.apps.ledger.ledger import Ledger
from ract.apps.ledger.promise import Promise
from ract.data.frames import take_rows

ROUNDS = 8  # of raising weights
N_BETWEEN = 2  # rows of a promise between what it asks for and the far end


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
    >>> from ract import RecourseForestClassifier, load_loans
    >>> old, new = load_loans(n_people=600), load_loans(n_people=600, random_state=1)
    >>> forest = RecourseForestClassifier(old.actions, n_estimators=10, random_state=0)
    >>> model = forest.fit(old.frame, old.target)
    >>> refused = old.frame[model.predict(old.frame) == "refused"].head(10)
    >>> with Ledger("sqlite://") as ledger:
    ...     offered = ledger.offer(model.recourse(refused), expires=timedelta(days=90))
    ...     found = refit(forest, new.frame, new.target, ledger)
    >>> found.check.share > found.plain.share
    True
    """
    if not 0 <= share <= 1:
        raise InvalidSpec(f"share must lie between 0 and 1, got {share!r}.")
    promises = ledger.open() if isinstance(ledger, Ledger) else list(ledger)
    people = _People.of(X, y, sample_weight)
    plain = clone(estimator).fit(people.X, people.y, sample_weight=people.weight)
    plain = getattr(plain, "estimator_", plain)  # of a weight that was tuned, with that weight
    _check_desired(plain, promises)
    before = check(promises, plain)
    weights, model, found = np.ones(len(promises)), plain, before
    if before.share < share:
        learner, raised = clone(plain).set_params(lasting=None), weights
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
            model.set_params(lasting=plain.lasting).calibrate(both.X, both.y, both.weight)
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


def _check_desired(model: Any, promises: Sequence[Promise]) -> None:
    for promise in promises:
        if promise.desired != model.desired_:
            raise InvalidSpec(
                f"A promise is of the class {promise.desired!r}, but the model's desired class is "
                f"{str(model.desired_)!r}."
            )
