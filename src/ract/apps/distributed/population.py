"""Statements on a whole population from counts of its parts, which add up.

The counts of a certificate, and of every metric that is a share, are those of the whole table to
the last person; means agree up to rounding. Rows that cannot be read are set aside and counted.
Engines differ in how they call a function on each part and put the results together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract.apps.distributed.job import Job
from ract.data.groups import Metrics, add_by_key, members_of, sorted_groups
from ract.data.invalid_rows import set_aside_invalid
from ract.evaluation.certificates.certify import check_certified, check_size, confidence_of_each
from ract.evaluation.certificates.record import Certificate, Count, numbers_of
from ract.evaluation.metrics.report import columns_of
from ract.evaluation.report.audit import Audit, audit_of
from ract.evaluation.report.counts import Counts
from ract.models.judge import OutcomeJudge
from ract.recourse.common.search import Limits
from ract.recourse.find import find_recourse
from ract.recourse.problem import RecourseProblem, own_budget
from ract.recourse.reachable import reach
from ract.trees.fingerprint import PeopleSum, cost_fingerprint, model_fingerprint

_LIMITS = ("max_changes", "time_limit", "max_nodes", "n_jobs")


@dataclass(frozen=True)
class Tally:
    """What was counted of some people; that of two parts adds up.

    Parameters
    ----------
    n_rows, n_invalid : int
        Of these, how many cannot be read, which count nowhere else.
    counts : any or None
        What adds up; None if nobody can be read.
    """

    n_rows: int
    n_invalid: int
    counts: Any = None

    @classmethod
    def of(
        cls, job: Job, count: Callable[..., Any], columns: dict[str, str | None], people: Any
    ) -> Tally:
        """That of a part; the counting function is given people who can be read, and columns."""
        X, read = _read(job, people)
        n_invalid = len(people) - len(X)
        if not len(X):
            return cls(len(people), n_invalid)
        given = {
            role: None if name is None else np.asarray(people[name])[read]
            for role, name in columns.items()
        }
        return cls(len(people), n_invalid, count(job, X, **given))

    def __add__(self, other: Tally) -> Tally:
        known = [part.counts for part in (self, other) if part.counts is not None]
        both = known[0] + known[1] if len(known) == 2 else [*known, None][0]
        return Tally(self.n_rows + other.n_rows, self.n_invalid + other.n_invalid, both)


@dataclass(frozen=True)
class Statuses:
    """What a certificate needs to know of some people; that of two parts adds up.

    Parameters
    ----------
    by_group : dict
        Under None if there are none: people, and how many are accepted, have an action and are
        unknown.
    people : PeopleSum
    """

    by_group: dict[Any, np.ndarray]
    people: PeopleSum

    @classmethod
    def of(cls, job: Job, X: pd.DataFrame, groups: np.ndarray | None) -> Statuses:
        """Those of a part."""
        question = RecourseProblem(job.model, budget=job.options.get("budget")).encoded(X)
        limits: dict[str, Any] = {name: job.options.get(name) for name in _LIMITS}
        status = reach(question, Limits(**limits), supply=False)
        by_group = {
            group: np.array([int(inside.sum()), *numbers_of(status[inside])])
            for group, inside in members_of(X, groups).items()
        }
        return cls(by_group, PeopleSum.of(X))

    def __add__(self, other: Statuses) -> Statuses:
        return Statuses(add_by_key(self.by_group, other.by_group), self.people + other.people)

    def certificate(self, job: Job, confidence: float) -> Certificate:
        """The statement of ``ract.certify`` on everyone who was counted."""
        groups = sorted_groups(self.by_group)
        each = confidence_of_each(confidence, len(groups))
        counts = [
            Count.from_numbers(group, self.by_group[group].tolist(), each) for group in groups
        ]
        total = np.sum(list(self.by_group.values()), axis=0)
        everyone = Count.from_numbers(None, total.tolist(), confidence)
        check_size([everyone, *counts], None)
        return Certificate(
            model=model_fingerprint(job.model),
            cost=cost_fingerprint(job.model.cost_),
            data=self.people.fingerprint,
            budget=own_budget(job.model, job.options.get("budget")),
            confidence=confidence,
            everyone=everyone,
            groups=tuple(counts),
            max_changes=job.options.get("max_changes"),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True)
class Statements:
    """Statements on everyone in the frame of an engine.

    Parameters
    ----------
    gather : callable
        Calls a function with each part of a frame, of which it needs some columns, and returns
        the sum of what it returns.
    has_index : bool
        Whether rows have names without a key.
    """

    gather: Callable[[Any, list[str], Callable[[pd.DataFrame], Tally]], Tally]
    has_index: bool = True

    def certify(
        self,
        model: Any,
        people: Any,
        *,
        groups: str | None = None,
        confidence: float = 0.95,
        **options: Any,
    ) -> Certificate:
        """``ract.certify`` on everyone in a frame of an engine, from counts of its parts.

        Its fingerprint of the people does not depend on parts and order, so that ``ract.verify``
        can compare it with a table in memory.

        Parameters
        ----------
        model : path or fitted model
        people : Dask or Spark frame
        groups : str, optional
            A column.
        confidence : float
        **options
            ``budget``, ``max_changes`` and ``max_nodes``.
        """
        check_certified(confidence, None)
        job = _job(model, "has_recourse", None, options, ("budget", "max_changes", "max_nodes"))
        counted: Statuses = self._counts(job, people, Statuses.of, groups=groups)
        return counted.certificate(job, confidence)

    def report(
        self,
        model: Any,
        people: Any,
        target: str | None = None,
        *,
        groups: str | None = None,
        confidence: float = 0.95,
        **options: Any,
    ) -> pd.DataFrame:
        """``ract.evaluation.recourse_report`` on everyone in a frame of an engine.

        Plausibility is left out unless people to learn it from are given as ``reference``.

        Parameters
        ----------
        model : path or fitted model
        people : Dask or Spark frame
        target, groups : str, optional
            Columns of the true classes and of groups.
        confidence : float
        **options
            Those of ``ract.find_recourse``.
        """
        job = Job.of(model, "plans", **options)
        counted: Metrics = self._counts(job, people, _metrics, y=target, groups=groups)
        return counted.table(confidence)

    def audit(
        self,
        model: Any,
        people: Any,
        target: str | None = None,
        *,
        key: str | None = None,
        groups: str | None = None,
        confidence: float = 0.95,
        judge: OutcomeJudge | None = None,
        title: str = "Recourse audit",
        **options: Any,
    ) -> Audit:
        """``audit`` on everyone in a frame of an engine, from counts of its parts.

        Plans are searched for everyone. The people are read twice: first for the certificate, which
        also gives a judge the share of accepted people, then for plans. The first people without
        recourse are explained in the calling process.

        Parameters
        ----------
        model : path or fitted model
        people : Dask or Spark frame
        target, groups : str, optional
            Columns of the true classes and of groups.
        key : str, optional
            A column whose values name people without recourse; the index by default, which rows
            of Spark do not have.
        confidence : float
        judge : OutcomeJudge, optional
            For which plans are earned and which are granted.
        title : str
            Of the page.
        **options
            ``budget`` and ``max_nodes``.
        """
        if key is None and not self.has_index:
            raise InvalidSpec("Rows have no names here: give key, a column that names people.")
        certificate = self.certify(model, people, groups=groups, confidence=confidence, **options)
        job = _job(model, "plans", key, options, ("budget", "max_nodes"))
        count = partial(_audited, judge=judge, accepted=certificate.share_accepted)
        counted: Counts = self._counts(job, people, count, y=target, groups=groups)
        return audit_of(counted, job.model, certificate, confidence, title, judge, **_how(job))

    def _counts(
        self, job: Job, people: Any, count: Callable[..., Any], **columns: str | None
    ) -> Any:
        also = [name for name in columns.values() if name is not None]
        if hasattr(people, "columns"):  # else the engine says what it takes
            job.check(people.columns)
            lacking = [name for name in also if name not in people.columns]
            if lacking:
                raise InvalidSpec(f"The people have no column {listing(lacking)}.")
        needed = list(dict.fromkeys([*job.columns, *also]))
        tally = self.gather(people, needed, partial(Tally.of, job, count, columns))
        if tally.counts is None:
            raise InvalidData("There is nobody to count.")
        if tally.n_invalid:
            warnings.warn(
                f"{tally.n_invalid} of {tally.n_rows} rows cannot be read and are set aside.",
                stacklevel=3,
            )
        return tally.counts


def _job(
    model: Any, what: Any, key: str | None, options: dict[str, Any], taken: tuple[str, ...]
) -> Job:
    unknown = [name for name in options if name not in taken]
    if unknown:
        raise InvalidSpec(
            f"There is no option {listing(unknown)} here; the options are {listing(taken)}."
        )
    return Job.of(model, what, key=key, **options)


def _how(job: Job) -> dict[str, Any]:
    return {name: value for name, value in job.options.items() if name != "budget"}


def _metrics(job: Job, X: pd.DataFrame, y: Any, groups: Any) -> Metrics:
    how = {**_how(job), "explain": False, "strict": True}
    plans = find_recourse(job.model, X, **how, budget=np.inf)
    budget, learned = own_budget(job.model, job.options.get("budget")), how.get("reference")
    columns = columns_of(plans, y, budget, plausibility=learned is not None)
    return Metrics.of(columns, X, groups)


def _audited(job: Job, X: pd.DataFrame, y: Any, groups: Any, **judged: Any) -> Counts:
    budget = own_budget(job.model, job.options.get("budget"))
    return Counts.of(
        job.model, X, y, budget, groups=groups, plausibility=False, **judged, **_how(job)
    )


def _read(job: Job, people: pd.DataFrame) -> tuple[Any, np.ndarray]:
    """The people who can be read, in the columns of the model, and their positions."""
    job.check(people.columns)
    everyone = np.arange(len(people))
    X = people[list(job.features)]
    X = X if job.key is None else X.set_axis(pd.Index(people[job.key]), axis=0)
    if not len(X):
        return X, everyone
    try:
        job.model.encoder_.encode(X)
        return X, everyone
    except InvalidData:
        X, invalid = set_aside_invalid(X, job.model.encoder_)
        if not invalid.messages:
            raise
        return X, invalid.valid
