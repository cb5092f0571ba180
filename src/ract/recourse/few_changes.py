"""Plans that people can carry out: few changes, more only where few would not do, along reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.validation import is_missing
from ract.recourse.plan import Plan
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
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest(600, n_estimators=10)
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
    enough = found.found if found.question.lasting is None else found.lasts
    rest = np.flatnonzero(~enough & ~found.accepted & ~found.invalid)
    if not len(rest):
        return found
    some = X.iloc[rest]
    rules = options.get("overrides") or {}
    own = {person: rule for person, rule in rules.items() if person in some.index}
    again = find(some, max_changes=None, **options | {"n_alternatives": 0, "overrides": own})
    better = np.flatnonzero(~found.found[rest] | again.lasts)
    answers, new = found.answers, again.answers
    rows = rest[better]
    few = {row: answers.take(np.array([row])) for row in rows.tolist() if answers.found[row]}
    answers.put(rows, new.take(better))
    for row, k in zip(rows.tolist(), better.tolist(), strict=True):
        for kept in (answers.obstacles, answers.alternatives):
            kept.pop(row, None)
        if k in new.obstacles:
            answers.obstacles[row] = new.obstacles[k]
    answers.alternatives.update(few)
    return Recourse(found.question, answers, found.invalid_rows)


def along_reasons(
    find: Callable[..., Recourse],
    X: pd.DataFrame,
    plans: Recourse,
    reasons: Iterable[Any],
    **options: Any,
) -> Recourse:
    """The same plans, with others for people all of whose plans go against a reason.

    They are asked about again with directions that their reasons leave them. Who has no such plan,
    or only one that does not last where the other does, keeps what they have.

    Parameters
    ----------
    find, X
        As in ``few_changes``.
    plans : Recourse
        Of these people; it is changed.
    reasons : iterable of PersonReasons
        Of those who are refused, in their order.
    options
        Of ``few_changes``, as they were for these plans.
    """
    space, rows, rules = plans.question.encoder.space, [], {}
    refused = np.flatnonzero(~plans.accepted & ~plans.invalid)
    for i, why in zip(refused.tolist(), reasons, strict=True):
        plan = plans[i]
        ways = [way for way in (plan, *plan.alternatives) if way.changes]
        if ways and all(against(way, why) for way in ways):
            rows.append(i)
            rules[plan.person] = {
                name: _right_way(space[name].change, wrong) for name, wrong in _wrong(why).items()
            }
    if not rows:
        return plans
    again = few_changes(find, X.iloc[rows], **options | {"overrides": rules, "explain": False})
    better = np.flatnonzero(again.found & (again.lasts | ~plans.lasts[rows]))
    where = np.array(rows)[better]
    for row in where.tolist():
        plans.answers.alternatives.pop(row, None)
    plans.answers.put(where, again.answers.take(better))
    return Recourse(plans.question, plans.answers, plans.invalid_rows)


def against(way: Plan, reasons: Any) -> list[str]:
    """The features that a plan moves away from where a reason says that they should be."""
    wrong = _wrong(reasons)
    return [
        change.feature
        for change in way.changes
        if not change.switch
        and not is_missing(change.before)
        and wrong.get(change.feature) == np.sign(float(change.after) - float(change.before))
    ]


def _wrong(reasons: Any) -> dict[str, int]:
    """By feature that is a number: the sign of a change for the worse."""
    signs = {"too low": -1, "too high": 1}
    given = () if reasons is None else reasons.reasons
    return {r.feature: signs[r.direction] for r in given if r.direction in signs}


def _right_way(change: str, wrong: int) -> str:
    """The direction that the rules and a reason leave."""
    right = "increase" if wrong < 0 else "decrease"
    return right if change in ("any", right) else "fixed"
