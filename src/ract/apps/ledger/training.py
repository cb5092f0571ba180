"""Training a model again so that what was promised is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from ract._utils.errors import InvalidSpec
from ract.apps.ledger.guard import Check, check
from ract.apps.ledger.ledger import Ledger
from ract.apps.ledger.promise import Promise
from ract.data.frames import take_rows
from ract.models.base import RecourseClassifierMixin

if TYPE_CHECKING:
    from ract._utils.typing import ColumnLike, TableLike

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
        Which open promises the model keeps.
    plain : Check
        Which open promises a model of the people alone keeps.
    weights : float (promises,)
        Total weight of the rows of each promise in the last round.
    auc, plain_auc : float
        On held-out people, by models trained in the same way; NaN if it was not measured.
    """

    model: RecourseClassifierMixin
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
    estimator: RecourseClassifierMixin,
    X: TableLike,
    y: ColumnLike,
    ledger: Ledger | Sequence[Promise],
    *,
    share: float = 1.0,
    sample_weight: ColumnLike | None = None,
    held_out: float = 0.2,
    random_state: int = 0,
) -> Refit:
    """Train a model again so that open promises are kept.

    Promised people are added to the table as rows after their plan, with the promised class:
    exactly as the plan asks, at the far end of its ranges, and between, since people who do more
    are promised the same. Rows of promises that are not kept get twice the weight in the next
    round, until the share is reached or eight rounds are over; the model of the round that kept the
    most is returned. A weight of recourse that the learner chooses itself is chosen on the people
    alone; what lasts is measured for the final model.

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
        trained on the others; 0 to skip this.
    random_state : int
        For choosing held-out people, and for the rows between.

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
    people = _samples(X, y, sample_weight)
    alone = people.fitted(estimator)
    if hasattr(alone, "estimator_"):  # of a weight that was tuned: the learner with that weight
        alone = alone.estimator_
    _check_desired(alone, promises)
    before = check(promises, alone)
    weights, auc, plain_auc = np.ones(len(promises)), np.nan, np.nan
    if before.share >= share:
        return Refit(alone, before, before, weights, auc, plain_auc)
    learner = clone(alone).set_params(lasting=None)
    rows, owner = promised_rows(promises, people.X, random_state)
    promised = np.array([promise.desired for promise in promises])[owner]
    share_of_row = 1 / np.bincount(owner)[owner]

    def added(weights: np.ndarray) -> _Samples:
        return _Samples(rows, promised, weights[owner] * share_of_row)

    model, found, raised = alone, before, weights
    for _ in range(ROUNDS):
        trial = people.with_rows(added(raised)).fitted(learner)
        kept = check(promises, trial)
        if kept.share > found.share:
            weights, model, found = raised, trial, kept
        if kept.share >= share:
            break
        raised = np.where(kept.kept, raised, 2 * raised)
    if model is not alone:
        both = people.with_rows(added(weights))
        model.set_params(lasting=alone.lasting).calibrate(both.X, both.y, both.weight)
        if held_out:
            how = {"test_size": held_out, "stratify": people.y, "random_state": random_state}
            seen, unseen = map(people.take, train_test_split(np.arange(len(people.y)), **how))
            auc = _auc(seen.with_rows(added(weights)).fitted(learner), unseen)
            plain_auc = _auc(seen.fitted(learner), unseen)
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
            row, part = dict(promise.after), np.broadcast_to(share, len(room))
            for (name, (start, end, whole)), t in zip(room.items(), part, strict=True):
                value = start + t * (end - start)
                row[name] = np.round(value) if whole else value
            rows.append(row)
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
class _Samples:
    """Rows, classes and weights of a table."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray

    def with_rows(self, more: _Samples) -> _Samples:
        """The same with more rows, in the same types where they can hold them."""
        added = more.X.apply(lambda column: _in_type(column, self.X[column.name].dtype))
        return _Samples(
            pd.concat([self.X, added], ignore_index=True),
            np.concatenate([self.y, more.y.astype(self.y.dtype)]),
            np.concatenate([self.weight, more.weight]),
        )

    def take(self, rows: np.ndarray) -> _Samples:
        """Some of the rows."""
        return _Samples(take_rows(self.X, rows), self.y[rows], self.weight[rows])

    def fitted(self, estimator: RecourseClassifierMixin) -> RecourseClassifierMixin:
        """A copy of a learner, trained on these rows."""
        return clone(estimator).fit(self.X, self.y, sample_weight=self.weight)


def _samples(X: TableLike, y: ColumnLike, weight: ColumnLike | None) -> _Samples:
    if not isinstance(X, pd.DataFrame):
        raise InvalidSpec(f"X must be a pandas frame, with named columns, got {type(X).__name__}.")
    labels = np.asarray(y)
    weights = np.ones(len(labels)) if weight is None else np.asarray(weight, float)
    return _Samples(X, labels, weights)


def _in_type(column: pd.Series, kind: np.dtype) -> pd.Series:
    """A column in a type; numbers that whole ones cannot hold stay as they are."""
    is_whole = kind.kind not in "iu" or (column.astype(float) % 1 == 0).all()
    return column.astype(kind if is_whole else float)


def _auc(model: RecourseClassifierMixin, samples: _Samples) -> float:
    """The AUC of a model on samples that it has not seen."""
    score = model.predict_proba(samples.X)[:, list(model.classes_).index(model.desired_)]
    return float(roc_auc_score(samples.y == model.desired_, score))


def _check_desired(model: RecourseClassifierMixin, promises: Sequence[Promise]) -> None:
    other = next((p.desired for p in promises if p.desired != model.desired_), None)
    if other is not None:
        raise InvalidSpec(
            f"A promise is of the class {other!r}, but the model's desired class is "
            f"{str(model.desired_)!r}."
        )
