"""Reasons for people: from a model and a table to what hurt each of them."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract._utils.validation import AT_LEAST_ONE, COUNT, NONE, check_value
from ract.data.actions.names import protected_feature
from ract.data.frames import read_table, take_rows
from ract.recourse.common.search import Limits
from ract.recourse.options import TIME_LIMIT
from ract.recourse.problem import ModelLike, ProblemKeywords, RecourseProblem
from ract.recourse.reasons.mending import mend
from ract.recourse.reasons.result import Reasons
from ract.recourse.reasons.shapley import (
    N_REFERENCE,
    Against,
    check_kept,
    choose_reference,
    cutoff_of,
    kept_reference,
    principal_reasons,
    score_of,
    shapley_values,
)
from ract.trees.readers.model import FittedTrees, used_features

MAX_REASONS = 4
MOST_PEOPLE = 500  # who are asked about for protected attributes


def find_reasons(
    model: ModelLike,
    X: TableLike,
    *,
    against: Against = "margin",
    n_reference: int | None = N_REFERENCE,
    max_reasons: int = MAX_REASONS,
    responsiveness: bool = True,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    strict: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> Reasons:
    """Why each refused person was refused, and whether changing the feature would help.

    How much each feature moved the score that decides (the share of votes, the mean probability, or
    the sum of scores) is its interventional Shapley value against reference people: exact, and all
    values of a person add up to their score minus the mean score of the reference. The features
    that lowered it most are the principal reasons. All columns of a category are one feature.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
        Not a list of models.
    X : frame or array
        People, in the columns of the training table.
    against : {"margin", "accepted", "mean"}
        Which reference people to compare with: the tenth of the accepted with the lowest scores (20
        at least), all who are accepted, or everyone.
    n_reference : int, optional
        The largest number of people to compare with, evenly spread over their scores; None for all.
    max_reasons : int
        How many principal reasons to give at most. A feature is no reason if it did not lower the
        score, or if less than a hundredth of what lowered it is due to the feature.
    responsiveness : bool
        Find out for each reason whether changing its feature is enough alone, with other features,
        or not at all.
    time_limit : float or None
        Seconds for the searches of each person; what is not decided by then is unknown.
    max_nodes : int, optional
        Nodes of each of their questions, as in ``ract.find_recourse``.
    n_jobs : int, optional
        Threads.
    progress : bool
        Show a bar with the time left.
    strict : bool
        Refuse the whole table if a row cannot be read, as in ``ract.find_recourse``.
    **problem
        The keywords of ``RecourseProblem``, where a bare model is given. ``reference`` is a table
        of people to compare with, such as the training table; without one, those that the model
        has kept (``save_model(..., keep_reference=people)``).

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> reasons = find_reasons(model, loans.frame.head(20), reference=loans.frame)
    >>> reasons
    Reasons of 20 people: 13 accepted, 7 refused
    >>> [reason.feature for reason in reasons[2].reasons]
    ['LatePayments', 'Debt', 'ExistingLoans', 'YearsEmployed']
    """
    check_value("max_reasons", max_reasons, COUNT)
    check_value("n_reference", n_reference, NONE, AT_LEAST_ONE)
    asked = RecourseProblem.of(model, problem, "find_reasons")
    if isinstance(asked.model, (list, tuple)):
        raise InvalidSpec(f"Reasons are those of one model, got a list of {len(asked.model)}.")
    limits = Limits(None, time_limit, n_jobs, progress, max_nodes)
    if asked.reference is None:
        check_kept(asked.model, against)
    question, invalid = asked.encoded_valid(X, strict=strict)
    question.refuse_several("What speaks against a person")
    if question.reference is None:
        compared = kept_reference(question.model, question.ensemble, against)
    else:
        compared = choose_reference(question.ensemble, question.known, against, n_reference)
    ensemble, axes = question.ensemble, question.encoder.axes
    parts = shapley_values(
        ensemble, axes, question.matrix, compared.matrix, n_jobs=n_jobs, progress=progress
    )
    refused = np.flatnonzero(~question.decide(n_jobs=n_jobs)).tolist()
    found = {row: principal_reasons(parts[row], max_reasons) for row in refused}
    mendings = {}
    if responsiveness:
        pairs = [(row, one.axis, one.larger) for row, few in found.items() for one in few]
        mended = mend(question, pairs, limits) if pairs else []
        mendings = {(row, a): one for (row, a, _), one in zip(pairs, mended, strict=True)}
    score = score_of(ensemble, question.matrix, n_jobs)
    return Reasons(question, compared, parts, score, cutoff_of(ensemble), found, mendings, invalid)


def protected_reasons(
    model: FittedTrees, X: TableLike, *, n_jobs: int | None = None
) -> dict[str, float]:
    """Of the refused, the share with a protected attribute among their principal reasons.

    Attributes are recognised by the names of features: age, sex, family, nationality and the like.

    Parameters
    ----------
    model : fitted classifier of ract
    X : frame or array
        People, such as the training table; at most 500 of them, evenly spaced, are asked about.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    dict
        By feature that is a protected attribute and that some tree asks about.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> list(protected_reasons(model, loans.frame))
    ['Age']
    """
    names = [f.name for f in used_features(model) if protected_feature(f) is not None]
    if not names:
        return {}
    n_rows = read_table(X).n_rows
    step = -(-n_rows // MOST_PEOPLE)
    people = take_rows(X, np.arange(0, n_rows, step))
    found = find_reasons(model, people, reference=X, responsiveness=False, n_jobs=n_jobs)
    refused = [person for person in found if person.status == "refused"]
    given = [{reason.feature for reason in person.reasons} for person in refused]
    return {name: float(np.mean([name in few for few in given] or [False])) for name in names}
