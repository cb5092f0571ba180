"""Statements on a whole population from counts of its parts, which add up.

The counts of a certificate, and of every metric that is a share, are those of the whole table to
the last person; means agree up to rounding. Rows that cannot be read are set aside and counted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from ract._fingerprint import cost_fingerprint, data_fingerprint, model_fingerprint
from ract._serialize import canonical
from ract._unread import without_unread
from ract.certificates.certify import check_certified, check_size, confidence_of_each
from ract.certificates.record import Certificate, Count, numbers_of
from ract.errors import InvalidData, InvalidSpec
from ract.groups import MOST, groups_of
from ract.metrics import intervals
from ract.metrics.intervals import Estimate
from ract.metrics.report import EVERYONE, Column, columns_of, row_of
from ract.recourse.find import find_recourse
from ract.recourse.question import Question, own_budget
from ract.recourse.reachable import reach
from ract.scale.job import Job

# Scores are distinguished up to so many different ones; beyond, neighbours count as equal.
MOST_SCORES = 65_536

_LIMITS = ("max_changes", "time_limit", "max_nodes")


@dataclass(frozen=True)
class Sums:
    """What is known of one metric of some people; two of them add up.

    Parameters
    ----------
    n : int
        People who count.
    mean : float
    squares : float
        Of the distances from the mean, summed.
    scores : float (3, scores), optional
        Of an AUC: ascending scores, and how many desired and other people have each.
    is_share : bool
    """

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    scores: np.ndarray | None = None
    is_share: bool = False

    @classmethod
    def of(cls, column: Column, inside: np.ndarray) -> Sums:
        """Those of some people."""
        here = inside & column.counts
        values, is_share = column.values[here], column.values.dtype == np.bool_
        if column.desired is not None:
            score, at = np.unique(values, return_inverse=True)
            desired = np.bincount(at, column.desired[here], len(score))
            scores = np.stack([score, desired, np.bincount(at, minlength=len(score)) - desired])
            return cls(len(values), scores=scores)
        if not len(values):
            return cls(is_share=bool(is_share))
        mean = float(values.mean())
        return cls(len(values), mean, float(((values - mean) ** 2).sum()), is_share=bool(is_share))

    def __add__(self, other: Sums) -> Sums:
        n = self.n + other.n
        if self.scores is not None and other.scores is not None:
            return replace(self, n=n, scores=_joined(self.scores, other.scores))
        if not self.n or not other.n:
            return self if self.n or other == Sums() else other
        apart, share = other.mean - self.mean, other.n / n
        squares = self.squares + other.squares + apart * apart * self.n * share
        return replace(self, n=n, mean=self.mean + apart * share, squares=squares)

    def estimate(self, confidence: float) -> Estimate:
        """The metric with its interval."""
        if self.scores is not None:
            _, desired, others = self.scores
            n, m = desired.sum(), others.sum()
            if n == 0 or m == 0:
                return intervals.NOTHING
            below = np.cumsum(others) - others / 2
            return intervals.area(float((desired * below).sum() / (n * m)), n, m, confidence)
        if self.is_share:
            return intervals.share(round(self.mean * self.n), self.n, confidence)
        spread = math.sqrt(self.squares / (self.n - 1)) if self.n > 1 else math.inf
        return intervals.mean_of(self.n, self.mean, spread, confidence)


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Counts by score of both, with at most so many different scores."""
    scores, at = np.unique(np.append(one[0], other[0]), return_inverse=True)
    counts = [
        np.bincount(at, np.append(a, b), len(scores))
        for a, b in zip(one[1:], other[1:], strict=True)
    ]
    if len(scores) > MOST_SCORES:
        reached = np.cumsum(counts[0] + counts[1])
        place = (reached * (MOST_SCORES // 2) / reached[-1]).astype(int)
        first = np.flatnonzero(np.diff(place, prepend=-1))
        scores, counts = scores[first], [np.add.reduceat(count, first) for count in counts]
    return np.stack([scores, *counts])


@dataclass(frozen=True)
class Population:
    """Counts of some people; those of two parts add up.

    Parameters
    ----------
    statuses : dict
        By group: people, and how many are accepted, have an action and are unknown.
    metrics : dict
        By group and name of the metric.
    data : tuple of str
        Fingerprints of the parts, in their order.
    n_invalid : int
        Rows that cannot be read, which count nowhere else.
    """

    statuses: dict[Any, np.ndarray] = field(default_factory=dict)
    metrics: dict[tuple[Any, str], Sums] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    n_invalid: int = 0

    @classmethod
    def counted(cls, job: Job, people: pd.DataFrame, groups: str | None = None) -> Population:
        """What a certificate needs to know of a part."""
        X, read = _read(job, people)
        if not len(X):
            return cls(n_invalid=len(people))
        question = Question.of(job.model, X, budget=job.options.get("budget"))
        limits = {name: job.options.get(name) for name in (*_LIMITS, "n_jobs")}
        status = reach(question, supply=False, **limits)
        statuses = {
            group: np.array([int(inside.sum()), *numbers_of(status[inside])])
            for group, inside in _members(people, groups, read).items()
        }
        return cls(statuses, {}, (data_fingerprint(X),), len(people) - len(X))

    @classmethod
    def measured(
        cls, job: Job, people: pd.DataFrame, target: str | None = None, groups: str | None = None
    ) -> Population:
        """What a report needs to know of a part."""
        X, read = _read(job, people)
        if not len(X):
            return cls(n_invalid=len(people))
        plans = find_recourse(
            job.model, X, **{**job.options, "explain": False, "strict": True, "budget": np.inf}
        )
        budget = own_budget(job.model, job.options.get("budget"))
        y = None if target is None else people[target].to_numpy()[read]
        metrics = {
            (group, column.name): Sums.of(column, inside)
            for column in columns_of(plans, y, budget, plausibility=False)
            for group, inside in _members(people, groups, read).items()
        }
        return cls({}, metrics, (), len(people) - len(X))

    def __add__(self, other: Population) -> Population:
        return Population(
            _added(self.statuses, other.statuses), _added(self.metrics, other.metrics),
            self.data + other.data, self.n_invalid + other.n_invalid,
        )  # fmt: skip

    @classmethod
    def of_parts(cls, parts: Iterable[Population]) -> Population:
        """All of them together, in their order."""
        return reduce(cls.__add__, parts, cls())

    def certificate(self, job: Job, confidence: float = 0.95) -> Certificate:
        """The statement of ``ract.certify`` on everyone who was counted.

        Its fingerprint of the people is one of all parts in their order; of a single part, that
        of the table.
        """
        check_certified(confidence, None, 0, 0)
        if not self.statuses:
            raise InvalidData("There is nobody to count.")
        groups = _in_order(self.statuses)
        each = confidence_of_each(confidence, len(groups))
        counts = [
            Count.from_numbers(group, self.statuses[group].tolist(), each) for group in groups
        ]
        total = np.sum(list(self.statuses.values()), axis=0)
        everyone = Count.from_numbers(None, total.tolist(), confidence)
        check_size([everyone, *counts], None)
        limits = {name: job.options.get(name) for name in _LIMITS}
        return Certificate(
            model=model_fingerprint(job.model),
            cost=cost_fingerprint(job.model.cost_),
            data=self.fingerprint,
            budget=own_budget(job.model, job.options.get("budget")),
            confidence=confidence,
            everyone=everyone,
            groups=tuple(counts),
            search={"method": "exact", **limits},
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def report(self, confidence: float = 0.95) -> pd.DataFrame:
        """The table of ``ract.metrics.recourse_report``, without plausibility."""
        if not 0 < confidence < 1:
            raise InvalidSpec(f"confidence must lie between 0 and 1, got {confidence!r}.")
        names = list(dict.fromkeys(name for _, name in self.metrics))
        found = list(dict.fromkeys(group for group, _ in self.metrics))
        rows = []
        for group in (EVERYONE, *_in_order(found)):
            for name in names:
                inside = [g for g in found if group in (EVERYONE, g)]
                own = self._sum(name, inside)
                rest = None
                if group != EVERYONE:
                    rest = self._sum(name, [g for g in found if g != group]).estimate(confidence)
                rows.append(row_of(group, name, own.n, own.estimate(confidence), rest))
        return pd.DataFrame(rows)

    def _sum(self, name: str, groups: list[Any]) -> Sums:
        return reduce(Sums.__add__, (self.metrics[group, name] for group in groups), Sums())

    @property
    def fingerprint(self) -> str:
        """That of the table if it is one part, else one of all parts in their order."""
        if len(self.data) == 1:
            return self.data[0]
        return f"parts-1-{hashlib.sha256(canonical(list(self.data))).hexdigest()}"


def _read(job: Job, people: pd.DataFrame) -> tuple[Any, np.ndarray]:
    """The people who can be read, in the columns of the model, and their positions."""
    job.check(people.columns)
    X, everyone = people[list(job.features)].reset_index(drop=True), np.arange(len(people))
    if not len(X):
        return X, everyone
    try:
        job.model.encoder_.encode(X)
        return X, everyone
    except InvalidData:
        X, unread = without_unread(X, job.model.encoder_)
        if not unread.messages:
            raise
        return X, unread.rows


def _members(people: pd.DataFrame, groups: str | None, read: np.ndarray) -> dict[Any, np.ndarray]:
    """Who of those who were read is in which group; all are in one if there are none."""
    if groups is None:
        return {None: np.ones(len(read), bool)}
    return groups_of(people.iloc[read], groups)


def _in_order(groups: Iterable[Any]) -> list[Any]:
    named = sorted((g for g in groups if g is not None), key=lambda g: (str(type(g)), g))
    if len(named) > MOST:
        raise InvalidData(
            f"groups has {len(named)} different values, more than {MOST}; cut them into fewer."
        )
    return named


def _added(one: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    both = {key: one[key] + other[key] for key in one.keys() & other.keys()}
    return {**one, **other, **both}
