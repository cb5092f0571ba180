"""Plans that people can carry out: few changes, and more only where few would not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ract.recourse.result import Recourse

MAX_CHANGES = 3


def few_changes(
    find: Callable[..., Recourse],
    X: pd.DataFrame,
    *,
    max_changes: int | None = MAX_CHANGES,
    **options: Any,
) -> Recourse:
    """Plans that change few features; who has none gets one without that limit.

    Where plans are to last, who has no lasting plan of few changes gets one of more, if there is
    one, and the other as its alternative.

    Parameters
    ----------
    find : callable
        ``model.recourse``, or ``ract.find_recourse`` with a model.
    X : pandas frame
        People.
    max_changes : int or None
        How many features a plan may change if that is enough.
    options
        Of ``find``. Plans without the limit come without alternatives.

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=600)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    >>> model.fit(loans.frame, loans.target)
    RecourseForestClassifier(...)
    >>> found = few_changes(model.recourse, loans.frame.head(50), max_changes=1)
    >>> usual = model.recourse(loans.frame.head(50))
    >>> bool((found.found == usual.found).all())
    True
    >>> bool(found.n_changes.sum() < usual.n_changes.sum())
    True
    """
    if max_changes is None:
        return find(X, max_changes=None, **options)
    # Who has no plan here is asked about again, and only then is it explained.
    found = find(X, max_changes=max_changes, **options | {"explain": False})
    enough = found.found if found.question.lasting is None else found.promised
    rest = np.flatnonzero(~enough & ~found.accepted & ~found.invalid)
    if not len(rest):
        return found
    some = X.iloc[rest]
    rules = options.get("overrides") or {}
    own = {person: rule for person, rule in rules.items() if person in some.index}
    again = find(some, max_changes=None, **options | {"n_alternatives": 0, "overrides": own})
    better = np.flatnonzero(~found.found[rest] | again.promised)
    answers, new = found.answers, again.answers
    rows = np.flatnonzero(~found.invalid).searchsorted(rest[better])
    few = {row: answers.take(np.array([row])) for row in rows.tolist() if answers.found[row]}
    answers.put(rows, new.take(better))
    for row, k in zip(rows.tolist(), better.tolist(), strict=True):
        for kept in (answers.obstacles, answers.alternatives):
            kept.pop(row, None)
        if k in new.obstacles:
            answers.obstacles[row] = new.obstacles[k]
    answers.alternatives.update(few)
    return Recourse(found.question, answers)
