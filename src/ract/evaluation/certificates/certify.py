"""Certificates: how many people of a population are without recourse, and how sure that is.

A certificate rests on people who had no part in training. If ``k`` of ``n`` of them are without
recourse, the share in the population is, with the stated confidence, at most the Clopper-Pearson
bound of ``k`` in ``n``, whatever the model and whatever the search: people for whom a search ended
without an answer count as without. So do those who would have to supply a missing value, since
anyone could declare the best one. Bounds of several groups hold together, each at a confidence
that is raised for their number (Bonferroni).

The record is plain JSON with fingerprints of model and people. On request, an action of everyone
who has one is kept in a witness file, so that nobody needs to trust the search that found them:
``verify`` checks each action without a search. Without such a file it can only run the same
search again, and says so. How long the search took is no part of the record: a check has limits
of its own.
"""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

import numpy as np

from ract._utils.errors import InvalidData
from ract._utils.statistics import clopper_pearson_upper
from ract._utils.status import Status
from ract._utils.typing import Classifier, ColumnLike, TableLike
from ract._utils.validation import INNER_SHARE, NONE, check_value
from ract.data.encoder import Encoder
from ract.data.groups import group_masks
from ract.evaluation.certificates.record import Certificate, CertificateWarning, Count
from ract.evaluation.certificates.witnesses import write_witnesses
from ract.models.guarantee import sequence_people_needed
from ract.recourse.common.search import Batch, Limits
from ract.recourse.options import TIME_LIMIT
from ract.recourse.problem import KeywordsBesideBudget, RecourseProblem
from ract.recourse.reachable import reach, reaching
from ract.trees.fingerprint import cost_fingerprint, data_fingerprint, model_fingerprint
from ract.trees.training import different_rows, row_hashes

WEAK = 0.2  # a bound above this, if nobody fails, says little


def certify(
    model: Classifier | RecourseProblem,
    X: TableLike,
    budget: float | None = None,
    confidence: float = 0.95,
    groups: str | ColumnLike | None = None,
    *,
    max_risk: float | None = None,
    training: TableLike | None = None,
    max_changes: int | None = None,
    witnesses: str | Path | None = None,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    **problem: Unpack[KeywordsBesideBudget],
) -> Certificate:
    """Bound the share of a population that a model leaves without recourse.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
        As in ``ract.find_recourse``.
    X : frame or array
        People from the population who had no part in training.
    budget : float, optional
        Largest cost that an action may have. By default the model's own, or no limit.
    confidence : float
        The confidence with which the bound holds, over draws of such people.
    groups : str or array (people,), optional
        A column of X, or everyone's group; there is a bound for each group, and all hold
        simultaneously.
    max_risk : float, optional
        Raise an error if there are too few people to show this risk; it says how many are needed.
    training : frame or array, optional
        The training table, to see whether X overlaps it. Not needed for a model that was fitted
        by ract in this process.
    max_changes : int, optional
        As in ``ract.find_recourse``.
    witnesses : path, optional
        Write an action of everyone who has one to this file. It contains the values of single
        people. The cheapest actions are searched for, which takes several times as long as the
        count alone.
    time_limit : float or None
        Seconds per person; people who need more count as without recourse.
    max_nodes : int, optional
        Nodes per person, as in ``ract.find_recourse``; with the same effect.
    n_jobs, progress
        As in ``ract.find_recourse``.
    **problem
        The other keywords of ``RecourseProblem``, where a bare model is given.

    Examples
    --------
    >>> from ract import load_loans
    >>> from ract.models.examples import loans_forest
    >>> (model, _), held_out = loans_forest(), load_loans(500, random_state=1)
    >>> print(certify(model, held_out.frame))
    With 95% confidence at most ...% of people are without recourse within a budget of 0.3: ... of
    500 held-out people are.
    """
    check_certified(confidence, max_risk)
    inside = {} if groups is None else group_masks(X, groups)
    asked = RecourseProblem.of(model, {**problem, "budget": budget}, "certify")
    question = asked.encoded(X)
    question.refuse_several("A certificate")
    matrix = question.matrix
    overlap = overlap_of(asked.model, question.encoder, matrix, training)
    if overlap:
        warnings.warn(
            f"{overlap} of {len(matrix)} people are in the training table; a bound holds only for "
            "people who were not used in training.",
            CertificateWarning,
            stacklevel=2,
        )
    limits = Limits(max_changes, time_limit, n_jobs, progress, max_nodes)
    status = reach(question, limits, supply=False)
    after = np.full(matrix.shape, np.nan)
    if witnesses is not None:
        served = np.flatnonzero(status == Status.FOUND)
        search = reaching(question, question.axes_without_supply)
        answers = search.answers(Batch.of(matrix[served], question.budget, limits))
        after[served[answers.found]] = answers.values[answers.found]
        status[served[~answers.found]] = Status.UNKNOWN
    each = confidence_of_each(confidence, len(inside))
    counts = [Count.of(group, status[rows], each) for group, rows in inside.items()]
    everyone = Count.of(None, status, confidence)
    check_size([everyone, *counts], max_risk)
    sha256 = None
    if witnesses is not None:
        rows = np.flatnonzero(np.isin(status, (Status.FOUND, Status.UNKNOWN)))
        sha256 = write_witnesses(witnesses, rows, after[rows])
    return Certificate(
        model=model_fingerprint(question.tree),
        cost=cost_fingerprint(question.cost),
        data=data_fingerprint(X),
        budget=question.budget,
        confidence=confidence,
        everyone=everyone,
        groups=tuple(counts),
        max_changes=max_changes,
        overlap=overlap,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        witnesses=sha256,
    )


def check_certified(confidence: float, max_risk: float | None) -> None:
    """Refuse a confidence or a risk that does not lie between 0 and 1."""
    check_value("confidence", confidence, INNER_SHARE)
    check_value("max_risk", max_risk, NONE, INNER_SHARE)


def confidence_of_each(confidence: float, n_groups: int) -> float:
    """The confidence of a group's bound, if all of them are to hold together (Bonferroni)."""
    return 1 - (1 - confidence) / max(n_groups, 1)


def check_size(counts: list[Count], max_risk: float | None) -> None:
    """Refuse fewer people than a risk takes, and warn if their bound cannot say much."""
    for count in counts:
        who = "held-out people" if count.group is None else f"people in group {count.group!r}"
        best = clopper_pearson_upper(0, count.n_people, count.confidence)
        if max_risk is not None and best > max_risk:
            needed = sequence_people_needed(max_risk, count.confidence)
            raise InvalidData(
                f"{count.n_people} {who} are too few to show a risk of at most {max_risk:g} with "
                f"confidence {count.confidence:.4g}: {needed} are needed even if all of them have "
                "recourse."
            )
        if best > WEAK:
            warnings.warn(
                f"{count.n_people} {who} are too few for a bound below {best:.2f}, even if "
                "everyone has recourse.",
                CertificateWarning,
                stacklevel=4,
            )


def overlap_of(
    model: Classifier, encoder: Encoder, matrix: np.ndarray, training: TableLike | None
) -> int | None:
    """How many encoded people are also in the training table; None if it is not known."""
    known = getattr(model, "training_rows_", None)
    if training is not None:
        known = different_rows(encoder.matrix(training).T)
    return None if known is None else int(np.isin(row_hashes(matrix.T), known).sum())
