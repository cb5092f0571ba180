"""Which plans a notice offers, in which order, and where a reason is found in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ract.recourse.few_changes import MAX_CHANGES, against, few_changes
from ract.recourse.plan import Change, Plan
from ract.recourse.reasons import Reasons
from ract.recourse.reasons.person import PersonReasons
from ract.recourse.result import Recourse

MOST_PLANS = 3
# Who goes three quarters of the way to each value of a plan, and changes more, has no other plan.
NEARLY_ALL = 0.75


def ways_of(plan: Plan, reasons: PersonReasons | None = None) -> list[Plan]:
    """What a notice offers: at most three plans, in their order.

    First comes a change that a reason says is enough alone, then few changes, then little effort.
    The plan that is only just enough today comes first of those with as many changes, and else
    second, so that it stands beside a stronger one. Left out, if there are others, are plans that
    go against a reason, that have more than three changes, or of which it is not proved that doing
    more is fine; and plans that ask for nearly all of one before them.

    Parameters
    ----------
    plan : Plan
        With its alternatives.
    reasons : PersonReasons, optional
    """
    ways = [way for way in (plan, *plan.alternatives) if way.changes]
    ways = [way for way in ways if not against(way, reasons)] or ways
    ways = [way for way in ways if is_safe(way)] or ways
    ways = [way for way in ways if len(asked_of(way)) <= MAX_CHANGES] or ways
    first = {name: k for k, name in enumerate(sufficient(reasons))}

    def order(way: Plan) -> tuple[bool, int, bool, int, float]:
        asked = asked_of(way)
        rank = first.get(asked[0], len(first)) if len(asked) == 1 else len(first)
        return rank == len(first), len(asked), not way.smaller, rank, way.cost

    usual = _without_needless(sorted((way for way in ways if not way.smaller), key=order))
    usual = usual[:MOST_PLANS]
    smaller = [way for way in ways if way.smaller and all(_is_less(way, one) for one in usual)]
    usual = usual[: MOST_PLANS - len(smaller)]
    ahead = bool(smaller and usual and order(usual[0]) < order(smaller[0]))
    return [*usual[:ahead], *smaller, *usual[ahead:]]


def asked_of(way: Plan) -> list[str]:
    """The features that a plan asks to change; others may follow from them."""
    return [change.feature for change in way.changes if not change.by_itself]


def _is_less(way: Plan, other: Plan) -> bool:
    """Whether a plan costs clearly less than another one, and wins less."""
    less = way.cost < other.cost and way.strength < other.strength
    return less and not _asks_for_all(way, other)


def is_safe(way: Plan) -> bool:
    """Whether doing more than a plan asks is proved to be fine, or there is no more to do."""
    ends = ((c.switch and not c.ordered) or c.supplied or c.by_itself for c in way.changes)
    return way.at_least or all(ends)


def sufficient(reasons: PersonReasons | None) -> list[str]:
    """Features of which a reason says that changing them alone is enough."""
    given = () if reasons is None else reasons.reasons
    return [reason.feature for reason in given if reason.alone and reason.changeable]


def only_change(way: Plan, feature: str) -> bool:
    """Whether a plan asks for a change of this feature and nothing else."""
    return asked_of(way) == [feature]


def with_sufficient(
    find: Callable[..., Recourse],
    X: pd.DataFrame,
    plans: Sequence[Plan],
    reasons: Reasons,
    **options: Any,
) -> list[Plan]:
    """Add the single change that a reason calls sufficient, where no plan consists of it.

    Parameters
    ----------
    find : callable
        ``model.recourse``.
    X : pandas frame
        The people of these plans, in their order.
    plans : sequence of Plan
    reasons : Reasons
        Of these people, in their order.
    options
        Of ``find``, as they were for these plans.
    """
    offered, given = list(plans), list(reasons)
    features = [axis.feature for axis in reasons.question.encoder.axes]
    actionable = [feature.name for feature in features if feature.actionable or feature.may_supply]
    for rank in range(MOST_PLANS):
        sought: dict[int, str] = {}
        rules = {}
        for k, (plan, why) in enumerate(zip(offered, given, strict=True)):
            for name in sufficient(why)[rank : rank + 1]:
                if not any(only_change(way, name) for way in (plan, *plan.alternatives)):
                    sought[k] = name
                    rules[plan.person] = {other: "fixed" for other in actionable if other != name}
        if not sought:
            continue
        one_change = {"overrides": rules, "max_changes": 1, "n_alternatives": 0, "explain": False}
        found = few_changes(find, X.iloc[list(sought)], **options | one_change)
        for way, (k, name) in zip(found, sought.items(), strict=True):
            if only_change(way, name):
                plan = offered[k]
                also = replace(plan, alternatives=(*plan.alternatives, way))
                offered[k] = also if plan.changes else way
    return offered


def _without_needless(ways: Sequence[Plan]) -> list[Plan]:
    """Ways in their order, but none that asks for nearly all of an earlier one and is no better."""
    different: list[Plan] = []
    for way in ways:
        if not any(
            _asks_for_all(way, other)
            and (way.lasting or 0.0) <= (other.lasting or 0.0)
            and (way.month or 0.0) >= (other.month or 0.0)
            for other in different
        ):
            different.append(way)
    return different


def _asks_for_all(way: Plan, other: Plan) -> bool:
    """Whether who goes a way does nearly all that another one asks for."""
    changes = {change.feature: change for change in way.changes}
    return all(
        needed.feature in changes and _does(changes[needed.feature], needed)
        for needed in other.changes
        if not needed.by_itself
    )


def _does(change: Change, needed: Change) -> bool:
    """Whether a change is nearly as much as another one of the same feature."""
    if needed.switch or change.by_itself:
        return bool(change.after == needed.after)
    if needed.supplied:
        (low, high), (least, most) = (_proved(one) for one in (change, needed))
        return least <= low and high <= most
    start, goal, least = (float(v) for v in (needed.before, change.goal, needed.goal))
    return (goal - start) / (least - start) >= NEARLY_ALL if least != start else True


def _proved(change: Change) -> tuple[float, float]:
    """The ends of a change's range, infinite where there is none."""
    low, high = change.low, change.high
    return -math.inf if low is None else low, math.inf if high is None else high
