"""A notice as data, for programs and for the file of the case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ract._utils.validation import json_scalar
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
        "person": json_scalar(plan.person),
        "date": notices.date.isoformat(),
        "language": notices.language.tag,
        "desired": json_scalar(plan.desired),
        "status": plan.status,
        "reasons": None if reasons is None else [
            {
                "feature": reason.feature, "direction": reason.direction,
                "code": text["code"], "hmda": text["hmda"] or None, "sentence": text["sentence"],
                "value": json_scalar(reason.value), "typical": json_scalar(reason.typical),
                "share": reason.share, "tied_with": list(reason.tied_with),
                "mending": text["mending"] or None,
                "from": json_scalar(reason.from_value), "until": json_scalar(reason.until),
            }
            for reason, text in zip(given, said, strict=True)
        ],
        "plans": [
            {
                "cost": way.cost, "strength": json_scalar(way.strength), "lasting": way.lasting,
                "at_least": way.at_least,
                "changes": [
                    {
                        "feature": change.feature, "from": json_scalar(change.before),
                        "to": json_scalar(change.after), "goal": json_scalar(change.goal),
                        "low": json_scalar(change.low), "high": json_scalar(change.high),
                        "by_itself": change.by_itself,
                    }
                    for change in way.changes
                ],
            }
            for way in ways
        ],
        "obstacle": None if plan.obstacle is None else {
            "features": list(plan.obstacle.features), "options": list(plan.obstacle.options),
            "budget": json_scalar(plan.obstacle.budget),
        },
        "considered": [feature.name for feature in notices.used],
        "details": details.filled(),
        "model": notices.fingerprint,
        "version": __version__,
    }  # fmt: skip
