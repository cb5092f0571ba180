"""Letters: one page for each person who is refused, with what they can do, in plain words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ract._files import write_whole
from ract.cli.failures import BadInput
from ract.recourse.plan import Change, Plan, nice_number, number
from ract.recourse.result import Recourse
from ract.status import Status

WriteLetters = Callable[[Recourse, Any, bool], int]

STYLE = """
body { font: 17px/1.55 Georgia, serif; color: #222; max-width: 40em; margin: 3em auto }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; width: 100%; margin: 1em 0 }
th, td { text-align: left; padding: .45em .8em .45em 0; border-bottom: 1px solid #ccc }
footer { margin-top: 2.5em; font-size: .88em; color: #555 }
@media print { body { margin: 0 auto } }
@media (max-width: 44em) { body { margin: 1em } }
"""


@contextmanager
def letter_writer(folder: Path | None, model: Any) -> Iterator[WriteLetters]:
    """A function that writes the letters of a batch into a folder and says how many."""
    if folder is None:
        yield lambda found, rows, ranges: 0
        return
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; --letters takes a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    classes = [label.item() if isinstance(label, np.generic) else label for label in model.classes_]
    (other,) = [label for label in classes if label != model.desired_]

    def write(found: Recourse, rows: Any, ranges: bool) -> int:
        n = 0
        for i in np.flatnonzero(~found.accepted):
            plan = found[int(i)]
            name = f"{int(rows[i]):07d}{_safe(plan.person, rows[i])}.html"
            write_whole(folder / name, letter(plan, str(other), ranges=ranges))
            n += 1
        return n

    yield write


def _safe(person: Any, row: Any) -> str:
    """A person's own name for a file, of harmless letters; nothing for people without one."""
    if str(person) == str(row):
        return ""
    return "-" + re.sub(r"[^A-Za-z0-9_-]+", "_", str(person))[:60]


def letter(plan: Plan, decided: str, *, ranges: bool = False) -> str:
    """The page of one person.

    Parameters
    ----------
    plan : Plan
    decided : str
        The class that they have now.
    ranges : bool
        Say how far each value may differ.

    Examples
    --------
    >>> from ract.recourse.plan import Change
    >>> plan = Plan(7, "approved", "optimal", 0.2, 0.2, 0.3, (Change("Income", 41000, 46500, 0.2),))
    >>> page = letter(plan, "refused")
    >>> "raise it to <strong>46,500</strong>" in page
    True
    """
    desired = escape(str(plan.desired))
    body = [
        "<h1>What you can do</h1>",
        f"<p>Reference: {escape(str(plan.person))}</p>",
        f"<p>Thank you for your application. At the moment the decision is "
        f"<strong>{escape(decided)}</strong>. Decisions follow from what we know about you today, "
        f"and they can change.{' This page tells you how.' if plan.changes else ''}</p>",
        *(_steps(plan, desired, ranges) if plan.changes else _no_plan(plan, desired)),
        "<footer>Everything on this page holds for the rules in use today and for your other "
        "details as they are now. Please speak with us before you take a costly step, and tell us "
        "if something we know about you is wrong: you may ask for a person to look at your "
        "case again.</footer>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>What you can do</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _steps(plan: Plan, desired: str, ranges: bool) -> list[str]:
    many = len([c for c in plan.changes if not c.by_itself]) > 1
    optimal = plan.status == Status.OPTIMAL.word
    surely = " No other way takes less effort by our measure." if optimal else ""
    lines = [
        f"<h2>Your way to <em>{desired}</em></h2>",
        f"<p>If you make {'these changes' if many else 'this change'}, and nothing else changes, "
        f"the decision will be <strong>{desired}</strong>.{surely}</p>",
        _table(plan, ranges),
    ]
    for k, other in enumerate(plan.alternatives):
        lines += [f"<h2>{'Another way' if k == 0 else 'One more way'}</h2>", _table(other, ranges)]
    return lines


def _table(plan: Plan, ranges: bool) -> str:
    rows = "".join(
        f"<tr><td>{escape(change.feature)}</td><td>{_word(change.before)}</td>"
        f"<td>{_goal(change, ranges)}</td></tr>"
        for change in plan.changes
    )
    return f"<table><tr><th></th><th>Now</th><th>What to do</th></tr>{rows}</table>"


def _goal(change: Change, ranges: bool) -> str:
    after = change.after
    if isinstance(after, (bool, np.bool_)) or not isinstance(after, (int, float, np.number)):
        return f"change it to <strong>{_word(after)}</strong>"
    if change.by_itself:
        return f"follows by itself: about {number(after)}"
    goal = nice_number(float(change.before), float(after), change.low, change.high)
    text = f"{'raise' if after > change.before else 'lower'} it to <strong>{number(goal)}</strong>"
    if ranges and change.low is not None and change.high is not None:
        text += (
            f" (anything from {number(change.low, up=True)} to {number(change.high, up=False)} "
            "will do)"
        )
    return text


def _no_plan(plan: Plan, desired: str) -> list[str]:
    """What to write to people without a plan."""
    if plan.status == Status.UNKNOWN.word:
        return [
            "<p>We have not found a way yet, and we have not shown that there is none. Please ask "
            "us to look again.</p>"
        ]
    text = (
        f"We looked at every change that is within reach, and none of them leads to "
        f"<em>{desired}</em>. This is a limit of the rules in use and not a judgement of you."
    )
    obstacle = plan.obstacle
    if obstacle is not None and obstacle.features:
        names = " and ".join(escape(name) for name in obstacle.features)
        text += (
            f" What holds the decision is <strong>{names}</strong>, which nobody can be asked to "
            "change in the way that it would take."
        )
    if obstacle is not None and np.isfinite(obstacle.budget):
        text += " There is a way that takes more effort than we would ask of you; ask us about it."
    return [f"<p>{text}</p>", "<p>You may ask for a person to decide on your case.</p>"]


def _word(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, float, np.number)):
        return number(value)
    return escape(str(value))
