"""How often a protected attribute is among the principal reasons of a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract._utils.typing import TableLike
from ract.data.actions.names import protected_feature
from ract.data.frames import read_table, take_rows
from ract.recourse.reasons.find import find_reasons

MOST_PEOPLE = 500


def protected_reasons(model: Any, X: TableLike, *, n_jobs: int | None = None) -> dict[str, float]:
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
    asked = set(np.unique(model.ensemble_.feature).tolist())
    names = [
        axis.feature.name
        for axis in model.encoder_.axes
        if asked & set(axis.columns) and protected_feature(axis.feature) is not None
    ]
    if not names:
        return {}
    n_rows = read_table(X).n_rows
    step = -(-n_rows // MOST_PEOPLE)
    people = take_rows(X, np.arange(0, n_rows, step))
    found = find_reasons(model, people, reference=X, responsiveness=False, n_jobs=n_jobs)
    refused = [person for person in found if person.status == "refused"]
    given = [{reason.feature for reason in person.reasons} for person in refused]
    return {name: float(np.mean([name in few for few in given] or [False])) for name in names}
