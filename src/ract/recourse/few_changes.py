"""Plans that people can carry out: few changes, strong where they can be, along reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.validation import is_missing
from ract.data.actions import ActionSpace
from ract.recourse.plan import Plan
from ract.recourse.result import Recourse

MAX_CHANGES = 3
# Shares of the way from what the decision needs to certainty: of these a plan has the highest that
# it can have within the limits of the person. Chosen on splits that no table of results reports.
STRONGER = (0.1, 0.2, 0.3, 0.45)


def few_changes(
    find: Callable[..., Recourse],
    X: pd.DataFrame,
    *,
    max_changes: int | None = MAX_CHANGES,
    **options: Any,
) -> Recourse:
    """Plans that change few features; who has none gets one without that limit.

    Where the action space limits changes relative to the person (``limits="size"``) and nothing is
    said of the strength, plans are as strong as ``STRONGER`` allows: models that are trained anew
    accept them more often. Where plans are to last, who has no lasting plan of few changes gets one
    of more, if there is one, and the other as its alternative.

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
    if _may_be_stronger(found, options):
        _strengthen(find, X, found, options | {"max_changes": max_changes, "explain": False})
    enough = found.found if found.question.lasting is None else found.lasts
    rest = np.flatnonzero(~enough & ~found.accepted & ~found.invalid)
    if not len(rest):
        return found
    some = X.iloc[rest]
    rules = _rules_of(some, options)
    again = find(some, max_changes=None, **options | {"n_alternatives": 0, "overrides": rules})
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


def plans_for_people(find: Callable[..., Recourse], X: Any, **options: Any) -> Recourse:
    """The plans that letters carry: short, and proved to hold for everyone who does more.

    Parameters
    ----------
    find, options
        As in ``few_changes``.
    X : frame or array
        People; of a table without labels of its own, who has no short plan has none here.
    """
    options["at_least"] = True
    if isinstance(X, pd.DataFrame) and X.index.is_unique:
        return few_changes(find, X, **options)
    return find(X, max_changes=MAX_CHANGES, **options)


def _may_be_stronger(found: Recourse, options: dict[str, Any]) -> bool:
    """Whether the strength of plans is left to us."""
    asked = options.get("strength") is not None or options.get("lasting") is not None
    question = found.question
    is_one = len(question.each) == 1
    return not asked and is_one and question.lasting is None and is_limited(question.encoder.space)


def is_limited(space: ActionSpace) -> bool:
    """Whether a space limits changes relative to the person, as plans that are sent need it."""
    return space.limits == "size"


def _strengthen(
    find: Callable[..., Recourse], X: pd.DataFrame, found: Recourse, options: dict[str, Any]
) -> None:
    """Give everyone with a plan the strongest that they can have, in a few steps of strength.

    A plan for everyone who does more is not given up for a stronger one.
    """
    answers, ensemble = found.answers, found.question.ensemble
    rows = np.flatnonzero(found.found)
    for share in STRONGER:
        if not len(rows):
            return
        some = X.iloc[rows]
        strength = ensemble.strength_above(share)
        again = find(
            some, **options | {"strength": strength, "overrides": _rules_of(some, options)}
        )
        better = again.found
        if answers.beyond is not None and again.answers.beyond is not None:
            better = better & (again.answers.beyond | ~answers.beyond[rows])
        at = np.flatnonzero(better)
        rows = rows[at]
        answers.put(rows, again.answers.take(at))
        for row, k in zip(rows.tolist(), at.tolist(), strict=True):
            answers.alternatives.pop(row, None)
            if k in again.answers.alternatives:
                answers.alternatives[row] = again.answers.alternatives[k]


def _rules_of(X: pd.DataFrame, options: dict[str, Any]) -> dict[Any, Any]:
    """The overrides of these people."""
    rules = options.get("overrides") or {}
    return {person: rule for person, rule in rules.items() if person in X.index}


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
