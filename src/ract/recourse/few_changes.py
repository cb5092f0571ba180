"""Plans that people can carry out: few changes, strong where they can be, along reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.typing import TableLike
from ract._utils.validation import is_missing
from ract.recourse.find import find_recourse
from ract.recourse.options import Levels
from ract.recourse.plan import Plan
from ract.recourse.reasons.person import PersonReasons
from ract.recourse.result import Recourse

MAX_CHANGES = 3
# Shares of the way from what the decision needs to certainty: of these a plan has the highest that
# it can have within the limits of the person. Chosen on splits that no table of results reports.
STRONGER = (0.1, 0.2, 0.3, 0.45, 0.6)

# Options of ``recourse`` that say what plans are to be like; without any, they are as in letters.
OF_PLANS = ("max_changes", "at_least", "strength", "lasting", "margin", "ranges", "prefer", "by")
OF_SEARCH = ("method", "effects", "plausibility", "earned", "actions", "cost")
SHAPES_PLANS = frozenset((*OF_PLANS, *OF_SEARCH))


def recourse_of(model: Any, X: TableLike, options: dict[str, Any]) -> Recourse:
    """What ``recourse`` of a fitted model gives.

    Without options that shape plans, and where the action space limits changes, these are the
    plans that letters carry; else what ``find_recourse`` finds. An option that is None is none,
    but for ``max_changes``, where it lifts the limit.

    Parameters
    ----------
    model : estimator of ract, or imported
    X : frame or array
    options : dict
        Of ``find_recourse``.
    """
    given = {name for name, value in options.items() if value is not None or name == "max_changes"}
    for_people = given.isdisjoint(SHAPES_PLANS) and model.encoder_.space.is_limited
    options = with_lasting(model, options, {"at_least": True} if for_people else {})
    if for_people:
        return plans_for_people(partial(find_recourse, model), X, **options)
    return find_recourse(model, X, **options)


def with_lasting(
    model: Any, options: dict[str, Any], more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The options with what a model that was measured gives by default: plans that last.

    more: options that will be added. Levels say nothing of the strength.
    """
    curve = getattr(model, "lasting_", None)
    if curve is None:
        return options
    said = {k: value for k, value in options.items() if not isinstance(value, Levels)}
    default: dict[str, Any] = curve.default(said | dict(more or {}))
    return options | default


def few_changes(
    find: Callable[..., Recourse],
    X: pd.DataFrame,
    *,
    max_changes: int | None = MAX_CHANGES,
    smaller: bool = False,
    **options: Any,
) -> Recourse:
    """Plans that change few features; people who have none get one without that limit.

    If the action space limits changes relative to the person (``limits="size"``) and no strength is
    given, plans have the highest of several strengths (``STRONGER``) that the person can reach:
    models that are trained again accept such plans more often. If plans should last, people without
    a lasting plan of few changes get one of more changes, if there is one, and the other as its
    alternative.

    Parameters
    ----------
    find : callable
        ``model.recourse``, or ``ract.find_recourse`` with a model.
    X : pandas frame
        People.
    max_changes : int or None
        How many features a plan may change if that is enough.
    smaller : bool
        Keep the cheapest plan as a further one (``Plan.smaller``) where a stronger one is given.
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
    asked = options | {"max_changes": max_changes, "explain": False}
    if all(options.get(name) is None for name in ("strength", "lasting")):
        asked["strength"] = Levels(STRONGER, beside=smaller)
    # Who has no plan here is asked about again, and only then is it explained.
    found = find(X, **asked)
    enough = found.found if found.question.lasting is None else found.lasts
    rest = np.flatnonzero(~enough & ~found.accepted & ~found.invalid)
    if not len(rest):
        return found
    again = _asked_again(find, X, rest, options | {"max_changes": None, "n_alternatives": 0})
    better, answers = np.flatnonzero(~found.found[rest] | again.lasts), found.answers
    rows = rest[better].tolist()
    few = {row: answers.take(np.array([row])) for row in rows if answers.found[row]}
    answers.replace(rest[better], again.answers, better)
    answers.alternatives.update(few)
    return Recourse(found.question, answers, found.invalid_rows)


def plans_for_people(find: Callable[..., Recourse], X: TableLike, **options: Any) -> Recourse:
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


def _asked_again(
    find: Callable[..., Recourse], X: pd.DataFrame, rows: np.ndarray, options: dict[str, Any]
) -> Recourse:
    """Plans of some of the people, by their own overrides."""
    people, rules = X.iloc[rows], options.get("overrides") or {}
    rules = {person: rule for person, rule in rules.items() if person in people.index}
    return find(people, **options | {"overrides": rules})


def along_reasons(
    find: Callable[..., Recourse],
    X: pd.DataFrame,
    plans: Recourse,
    reasons: Iterable[PersonReasons | None],
    **options: Any,
) -> Recourse:
    """Replace the plans of people whose plans all contradict a reason for their refusal.

    For these people plans are searched for again, in the directions that their reasons allow.
    People without such a plan keep theirs, and so do those whose plan lasts while the new one does
    not.

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
    again.answers.alternatives.clear()
    plans.answers.replace(np.array(rows)[better], again.answers, better)
    return Recourse(plans.question, plans.answers, plans.invalid_rows)


def against(way: Plan, reasons: PersonReasons | None) -> list[str]:
    """The features that a plan moves away from where a reason says that they should be."""
    wrong = _wrong(reasons)
    return [
        change.feature
        for change in way.changes
        if not change.switch
        and not is_missing(change.before)
        and wrong.get(change.feature) == np.sign(float(change.after) - float(change.before))
    ]


def _wrong(reasons: PersonReasons | None) -> dict[str, int]:
    """By feature that is a number: the sign of a change for the worse."""
    signs = {"too low": -1, "too high": 1}
    principal = () if reasons is None else reasons.reasons
    return {r.feature: signs[r.direction] for r in principal if r.direction in signs}


def _right_way(change: str, wrong: int) -> str:
    """The direction that the rules and a reason leave."""
    right = "increase" if wrong < 0 else "decrease"
    return right if change in ("any", right) else "fixed"
