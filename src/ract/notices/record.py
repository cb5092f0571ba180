"""A notice as data, for programs and for the file of the case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ract._utils.version import __version__
from ract.recourse.plan import Plan
from ract.recourse.reasons.person import PersonReasons

if TYPE_CHECKING:
    from ract.notices.notice import Notices


def notice_record(
    notices: Notices,
    plan: Plan,
    ways: Sequence[Plan],
    reasons: PersonReasons | None,
    said: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Everything on a notice with numbers as numbers, and which model decided.

    Parameters
    ----------
    notices : Notices
    plan : Plan
    ways : sequence of Plan
        In the order of the notice.
    reasons : PersonReasons or None
    said : sequence of dict
        Code and sentence of each reason.
    """
    given = () if reasons is None else reasons.reasons
    details = notices.settings.details
    return {
        "person": _plain(plan.person),
        "date": notices.date.isoformat(),
        "language": notices.language.tag,
        "desired": _plain(plan.desired),
        "status": plan.status,
        "reasons": None if reasons is None else [
            {
                "feature": reason.feature, "direction": reason.direction,
                "code": text["code"], "hmda": text["hmda"] or None, "sentence": text["sentence"],
                "value": _plain(reason.value), "typical": _plain(reason.typical),
                "share": reason.share, "tied_with": list(reason.tied_with),
                "mending": text["mending"] or None,
                "from": _plain(reason.from_value), "until": _plain(reason.until),
            }
            for reason, text in zip(given, said, strict=True)
        ],
        "plans": [
            {
                "cost": way.cost, "strength": _plain(way.strength), "lasting": way.lasting,
                "at_least": way.at_least,
                "changes": [
                    {
                        "feature": change.feature, "from": _plain(change.before),
                        "to": _plain(change.after), "goal": _plain(change.goal),
                        "low": _plain(change.low), "high": _plain(change.high),
                        "by_itself": change.by_itself,
                    }
                    for change in way.changes
                ],
            }
            for way in ways
        ],
        "obstacle": None if plan.obstacle is None else {
            "features": list(plan.obstacle.features), "options": list(plan.obstacle.options),
            "budget": _plain(plan.obstacle.budget),
        },
        "considered": [feature.name for feature in notices.used],
        "details": details.filled(),
        "model": notices.fingerprint,
        "version": __version__,
    }  # fmt: skip


def _plain(value: object) -> bool | float | str | None:
    """A value that JSON has; what is not finite is null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
