"""Who has recourse, without looking for the cheapest action."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract.costs import Cost, FittedCost, require_max_norm
from ract.interop import TreeModel, read_model
from ract.recourse import plan as plans
from ract.recourse.exact.search import NO, UNKNOWN, YES, ExactSearch
from ract.recourse.find import TIME_LIMIT, budget_of, cost_of


def has_recourse(
    model: Any,
    X: Any,
    *,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    cost: str | Cost | None = None,
    budget: float | None = None,
    max_changes: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    n_jobs: int | None = None,
    progress: bool = False,
) -> np.ndarray:
    """Whether each person is accepted or has an action within the budget.

    One exact question per person, several times as fast as ``find_recourse``, which also finds
    the cheapest action. Parameters are the same as there.

    Returns
    -------
    array of str (people,)
        "accepted", "found" (there is an action), "none within budget" or "none" (without a
        budget), both proved, or "unknown" where the time was up.

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> model.fit(loans.frame, loans.target)
    RecourseForestClassifier(...)
    >>> has_recourse(model, loans.frame.head(3)).tolist()
    ['accepted', 'accepted', 'found']
    """
    tree = read_model(
        model, X if reference is None else reference, actions, desired=desired, threshold=threshold
    )
    matrix = tree.encoder.matrix(X)
    fitted = cost_of(model, cost, tree.encoder, matrix, reference)
    return statuses(
        tree, fitted, matrix, budget_of(budget, model), max_changes=max_changes,
        time_limit=time_limit, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip


def statuses(
    tree: TreeModel,
    cost: FittedCost,
    matrix: np.ndarray,
    budget: float,
    *,
    max_changes: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    n_jobs: int | None = None,
    progress: bool = False,
) -> np.ndarray:
    """What ``has_recourse`` tells of encoded people, for a model that was read."""
    require_max_norm(cost)
    status = np.full(len(matrix), plans.ACCEPTED, dtype=object)
    refused = ~tree.ensemble.decide(matrix, n_jobs=n_jobs)
    answers = ExactSearch(tree.ensemble, tree.encoder.axes, cost).attains(
        matrix[refused], budget, max_changes=max_changes, time_limit=time_limit, n_jobs=n_jobs,
        progress=progress,
    )  # fmt: skip
    none = plans.NONE_WITHIN_BUDGET if np.isfinite(budget) else plans.NONE
    words = {YES: plans.FOUND, NO: none, UNKNOWN: plans.UNKNOWN}
    status[refused] = [words[answer] for answer in answers.tolist()]
    return status
