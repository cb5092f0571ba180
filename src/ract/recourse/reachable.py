"""Who has recourse, without looking for the cheapest action."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract.costs import require_max_norm
from ract.recourse.exact.search import ExactSearch
from ract.recourse.question import TIME_LIMIT, Question
from ract.status import Status, words


def has_recourse(
    model: Any,
    X: Any,
    *,
    max_changes: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    strict: bool = False,
    strength: float | None = None,
    **question: Any,
) -> np.ndarray:
    """Whether each person is accepted or has an action within the budget.

    One exact question per person, several times as fast as ``find_recourse``, which also finds
    the cheapest action.

    Parameters
    ----------
    model, X, max_changes, time_limit, max_nodes, n_jobs, progress, strict, strength
        As in ``ract.find_recourse``; the strength is a number.
    **question
        ``actions``, ``desired``, ``threshold``, ``reference``, ``cost`` and ``budget``, as there.

    Returns
    -------
    array of str (people,)
        "accepted", "found" (there is an action, be it only to hand in missing values), "none
        within budget" or "none" (without a budget), both proved, "unknown" where a limit was
        reached, or "invalid" for a row that cannot be read.

    Examples
    --------
    >>> from ract.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> has_recourse(model, loans.frame.head(3)).tolist()
    ['accepted', 'accepted', 'none within budget']
    """
    limits: dict[str, Any] = {
        "max_changes": max_changes, "time_limit": time_limit, "n_jobs": n_jobs,
        "progress": progress, "max_nodes": max_nodes,
    }  # fmt: skip
    asked = Question.of(model, X, strict=strict, **question).at_strength(strength)
    status = reach(asked, **limits)
    return words(status if asked.unread is None else asked.unread.among_all(status, Status.INVALID))


def reach(question: Question, *, supply: bool = True, **limits: Any) -> np.ndarray:
    """Status of everyone in a question, as numbers of ``Status``; limits as ``has_recourse``.

    supply: whether handing in a missing value is an action where the features allow it.
    """
    require_max_norm(question.cost)
    axes = question.encoder.axes if supply else question.axes_without_supply
    status = np.full(len(question.matrix), Status.ACCEPTED, np.int8)
    refused = ~question.ensemble.decide(question.matrix, n_jobs=limits.get("n_jobs"))
    search = ExactSearch.prepared(question.goal, axes, question.cost)
    found = search.attains(question.matrix[refused], question.budget, **limits)
    if np.isfinite(question.budget):
        found[found == Status.NONE] = Status.NONE_WITHIN_BUDGET
    status[refused] = found
    return status
