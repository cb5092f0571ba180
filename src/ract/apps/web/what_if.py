"""For an applicant who tries things: what is enough, and how far some values are from a yes."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ract._utils.status import Status
from ract.apps.ledger import Case
from ract.apps.web.views import View, templates
from ract.recourse.levers import Levers
from ract.recourse.plan import Plan


def tried_part(view: View, case: Case, values: dict[str, Any]) -> Markup:
    """How far some values are from a yes, as a part of a page."""
    live, t = view.live, view.t.applicant
    today, there = live.distances([case.values, values])
    said: dict[str, Any] = {"changes": [], "most": 0.0, "left": 0.0}
    if there.status == Status.ACCEPTED.word:
        said["text"] = t.tried_yes
    elif there.changes:
        far, now = (view.value(_short(plan.cost)) for plan in (there, today))
        proved = there.status == Status.OPTIMAL.word
        said["text"] = (t.tried_no if proved else t.tried_found).format(far, now)
        said["changes"] = changes_of(view, there)
        said["most"] = max(today.cost, there.cost)
        said["left"] = said["most"] - there.cost
    else:
        is_open = there.status == Status.UNKNOWN.word
        said["text"] = t.tried_open if is_open else t.tried_none
    return Markup(templates().render("tried.html", {"t": view.t, **said}))


def lever_lines(view: View, levers: Levers) -> list[dict[str, Any]]:
    """Which sets of few features are enough, and which single ones are not."""
    t = view.t.applicant
    lines = [_alone(view, levers, name) for name in view.live.actionable]
    for names, plan in zip(levers.sets, levers.plans, strict=True):
        if len(names) > 1:
            who = joined(view, [view.label(name) for name in names])
            text = t.lever_yes.format(who, joined(view, changes_of(view, plan)))
            lines.append({"text": text, "good": True})
    return lines


def _alone(view: View, levers: Levers, name: str) -> dict[str, Any]:
    t, label = view.t.applicant, view.label(name)
    enough = levers.enough(0, name)
    if not enough:
        text = t.lever_open if enough is None else t.lever_no
        return {"text": text.format(label), "good": False}
    (change,) = levers.plans[levers.sets.index((name,))].changes
    return {"text": t.lever_alone.format(label, view.value(change.goal)), "good": True}


def changes_of(view: View, plan: Plan) -> list[str]:
    """What a plan asks for, a line each."""
    return [f"{view.label(c.feature)}: {view.value(c.goal)}" for c in plan.changes]


def joined(view: View, parts: list[str]) -> str:
    """Some texts as one: "a, b and c"."""
    *first, last = parts
    return str(view.t.joined.format(", ".join(first), last)) if first else last


def _short(cost: float) -> float:
    """A distance with two digits, never 0 where there is one.

    >>> _short(0.12345), _short(0.00012345)
    (0.12, 0.00012)
    """
    return float(f"{cost:.2g}")
