"""Who has recourse, without searching for the cheapest action."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ract._utils.signature import takes_keywords_of
from ract._utils.status import Status, status_words
from ract._utils.typing import TableLike
from ract.data.encoder import Axis
from ract.recourse.common.search import UNLIMITED, Limits
from ract.recourse.dispatch import exact_search, ruled_search
from ract.recourse.exact.search import ExactSearch
from ract.recourse.options import TIME_LIMIT
from ract.recourse.problem import PROBLEM_KEYWORDS, ModelLike, ProblemKeywords, RecourseProblem
from ract.recourse.question import Question
from ract.recourse.rules.search import RuledSearch


def recourse_status(
    model: ModelLike,
    X: TableLike,
    *,
    strength: float | None = None,
    max_changes: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    strict: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> np.ndarray:
    """Whether each person is accepted, has an action within the budget, or has none.

    One exact question per person is asked, which is several times as fast as ``find_recourse``,
    which also finds the cheapest action.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
    X, strength, max_changes, time_limit, max_nodes, n_jobs, progress, strict
        As in ``ract.find_recourse``; the strength is a number.
    **problem
        The keywords of ``RecourseProblem``, where a bare model is given.

    Returns
    -------
    array of str (people,)
        "accepted", "found" (there is an action, even if it only supplies missing values), "none
        within budget" or "none" (without a budget), both proved, "unknown" where a limit was
        reached, or "invalid" for a row that cannot be read.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> recourse_status(model, loans.frame.head(3)).tolist()
    ['accepted', 'accepted', 'none within budget']
    """
    asked = RecourseProblem.of(model, problem, "recourse_status")
    question, invalid = asked.encoded_valid(X, strict=strict)
    limits = Limits(max_changes, time_limit, n_jobs, progress, max_nodes)
    status = reach(question.at_strength(strength), limits)
    return status_words(status if invalid is None else invalid.scatter(status, Status.INVALID))


@takes_keywords_of(recourse_status, PROBLEM_KEYWORDS)
def has_recourse(model: ModelLike, X: TableLike, **options: Any) -> np.ndarray:
    """Whether each person is accepted or has an action within the budget.

    False also for people whom the search could not decide within its limits, and for invalid rows;
    ``recourse_status`` tells these apart.

    Parameters
    ----------
    model, X, **options
        As in ``recourse_status``.

    Returns
    -------
    array of bool (people,)

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> has_recourse(model, loans.frame.head(3)).tolist()
    [True, True, False]
    """
    return np.isin(recourse_status(model, X, **options), ("accepted", "found"))


def reach(question: Question, limits: Limits = UNLIMITED, *, supply: bool = True) -> np.ndarray:
    """Status of everyone in a question, as numbers of ``Status``.

    supply: whether supplying a missing value is an action where the features allow it.
    """
    axes = question.encoder.axes if supply else question.axes_without_supply
    status = np.full(len(question.matrix), Status.ACCEPTED, np.int8)
    refused = ~question.decide(n_jobs=limits.n_jobs)
    search = reaching(question, axes)
    found = search.attains(question.matrix[refused], question.budget, limits)
    if question.tree.compares_rounded:  # who may have recourse by a rounding only is unknown
        certain = reaching(question.without_roundings, axes)
        rows = np.flatnonzero(found == Status.FOUND)
        found[rows] = certain.attains(question.matrix[refused][rows], question.budget, limits)
        found[rows[found[rows] == Status.NONE]] = Status.UNKNOWN
    if np.isfinite(question.budget):
        found[found == Status.NONE] = Status.NONE_WITHIN_BUDGET
    status[refused] = found
    return status


def reaching(question: Question, axes: tuple[Axis, ...]) -> ExactSearch | RuledSearch:
    """The search that says what people of a question can reach, and how."""
    if question.joint_rules or question.also:
        return ruled_search(question, axes)
    return exact_search(question.goal, axes, question.cost)
