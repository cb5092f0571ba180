"""Letters: one page for each person who is refused, with what they can do, in plain words."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from html import escape
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote

import numpy as np

from ract._files import write_whole
from ract._printable import printable
from ract.cli.failures import BadInput
from ract.errors import listing
from ract.recourse.plan import Change, Plan, nice_number, number
from ract.recourse.result import Recourse
from ract.status import Status

WriteLetters = Callable[[Recourse], int]

WAITING = ".letters-"
LONGEST_NAME = 200  # bytes of a file's name; longer ones end in a hash

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
def letter_writer(folder: Path | None, model: Any, *, replace: bool) -> Iterator[WriteLetters]:
    """A function that writes the letters of a batch into a folder and says how many.

    The folder gets all letters or none: until the end they wait in a folder inside it.

    Parameters
    ----------
    folder : path or None
        None writes nothing. It must not hold anything, so that nobody gets a letter of another run.
    model : fitted classifier
    replace : bool
        Remove letters that the folder holds.
    """
    if folder is None:
        yield lambda found: 0
        return
    old = _letters_in(folder, replace)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    waiting = Path(tempfile.mkdtemp(prefix=WAITING, dir=folder))
    classes = [label.item() if isinstance(label, np.generic) else label for label in model.classes_]
    (other,) = [label for label in classes if label != model.desired_]

    def write(found: Recourse) -> int:
        refused = np.flatnonzero(~found.accepted).tolist()
        for i in refused:
            plan = found[i]
            target = waiting / _file_name(str(plan.person))
            if target.exists():
                raise BadInput(
                    f"--id names more than one person {str(plan.person)!r}, and each letter needs "
                    "a name of its own."
                )
            write_whole(target, letter(plan, str(other)))
        return len(refused)

    try:
        yield write
        for letter_file in old:
            letter_file.unlink()
        for letter_file in waiting.iterdir():
            letter_file.replace(folder / letter_file.name)
    finally:
        rmtree(waiting)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _letters_in(folder: Path, replace: bool) -> list[Path]:
    """Letters that a folder holds; refused are other things in it, and without replace letters."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file; --letters takes a folder.")
    held = list(folder.iterdir())
    for interrupted in [path for path in held if path.name.startswith(WAITING)]:
        held.remove(interrupted)
        rmtree(interrupted)
    others = [path.name for path in held if not (path.suffix == ".html" and path.is_file())]
    if others:
        raise BadInput(f"{folder} holds {listing(others)}; --letters takes a folder of its own.")
    if held and not replace:
        raise BadInput(
            f"{folder} holds {len(held)} letter(s) already; name another folder, or remove them "
            "with --replace."
        )
    return held


def _file_name(person: str) -> str:
    """A file's name for a person's own: harmless letters, and no two alike."""
    name = quote(person, safe=" ")
    if len(name) > LONGEST_NAME:
        name = name[:LONGEST_NAME] + "-" + sha256(person.encode()).hexdigest()[:16]
    return f"{name}.html"


def letter(plan: Plan, decided: str) -> str:
    """The page of one person.

    A number to reach is never alone: it comes with the range that is proved to serve as well.

    Parameters
    ----------
    plan : Plan
    decided : str
        The class that they have now.

    Examples
    --------
    >>> from ract.recourse.plan import Change
    >>> change = Change("Income", 41000, 46500, 0.2, 46120.5, 52000)
    >>> page = letter(Plan(7, "approved", "optimal", 0.2, 0.2, 0.3, (change,)), "refused")
    >>> "raise it to <strong>46,500</strong> (anything from 46,121 to 52,000 will do)" in page
    True
    """
    desired = _text(plan.desired)
    body = [
        "<h1>What you can do</h1>",
        f"<p>Reference: {_text(plan.person)}</p>",
        f"<p>Thank you for your application. At the moment the decision is "
        f"<strong>{_text(decided)}</strong>. Decisions follow from what we know about you today, "
        f"and they can change.{' This page tells you how.' if plan.changes else ''}</p>",
        *(_steps(plan, desired) if plan.changes else _no_plan(plan, desired)),
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


def _steps(plan: Plan, desired: str) -> list[str]:
    many = len([c for c in plan.changes if not c.by_itself]) > 1
    optimal = plan.status == Status.OPTIMAL.word
    surely = " No other way takes less effort by our measure." if optimal else ""
    lines = [
        f"<h2>Your way to <em>{desired}</em></h2>",
        f"<p>If you make {'these changes' if many else 'this change'}, and nothing else changes, "
        f"the decision will be <strong>{desired}</strong>.{surely}</p>",
        _table(plan),
    ]
    for k, other in enumerate(plan.alternatives):
        lines += [f"<h2>{'Another way' if k == 0 else 'One more way'}</h2>", _table(other)]
    if any(_has_range(change) for way in (plan, *plan.alternatives) for change in way.changes):
        lines.append(
            "<p>Please stay within the values that will do. We have checked all of them, and none "
            "beyond: doing more than that may lead to another decision.</p>"
        )
    return lines


def _table(plan: Plan) -> str:
    rows = "".join(
        f"<tr><td>{_text(change.feature)}</td><td>{_word(change.before)}</td>"
        f"<td>{_goal(change)}</td></tr>"
        for change in plan.changes
    )
    return f"<table><tr><th></th><th>Now</th><th>What to do</th></tr>{rows}</table>"


def _goal(change: Change) -> str:
    after = change.after
    if not _is_number(after):
        return f"change it to <strong>{_word(after)}</strong>"
    if change.by_itself:
        return f"follows by itself: about {number(after)}"
    verb = "raise" if after > change.before else "lower"
    if not _has_range(change):
        return f"{verb} it to exactly <strong>{_inside(after, after, after)}</strong>"
    low, high = (
        end if given is None else given
        for given, end in ((change.low, -math.inf), (change.high, math.inf))
    )
    goal = nice_number(float(change.before), float(after), change.low, change.high)
    first, last = _inside(low, low, high, up=True), _inside(high, low, high, up=False)
    if math.isinf(high):
        will_do = f"{first} or more"
    else:
        will_do = f"{last} or less" if math.isinf(low) else f"anything from {first} to {last}"
    return f"{verb} it to <strong>{_inside(goal, low, high)}</strong> ({will_do} will do)"


def _has_range(change: Change) -> bool:
    """Whether other numbers than the plan's own are proved to serve."""
    if change.by_itself or not _is_number(change.after):
        return False
    return (change.low, change.high) != (None, None) and change.low != change.high


def _inside(value: float, low: float, high: float, *, up: bool | None = None) -> str:
    """A number as people write it; in full if rounding would leave the range."""
    if math.isinf(value):
        return ""
    text = number(value, up=up)
    return text if low <= float(text.replace(",", "")) <= high else f"{value:,}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def _no_plan(plan: Plan, desired: str) -> list[str]:
    """What to write to people without a plan."""
    if plan.status == Status.UNKNOWN.word:
        return [
            "<p>We have not found a way yet, and we have not shown that there is none. Please ask "
            "us to look again.</p>"
        ]
    obstacle = plan.obstacle
    held = () if obstacle is None else obstacle.features
    barred = () if obstacle is None else obstacle.options
    text = (
        f"We looked at every change that {'this search allows' if barred else 'is within reach'}, "
        f"and none of them leads to <em>{desired}</em>. This is "
        f"{'' if barred else 'a limit of the rules in use and '}not a judgement of you."
    )
    if held:
        text += (
            f" What holds the decision is {_names(held)}, which nobody can be asked to change in "
            "the way that it would take."
        )
    if barred:
        text += (
            f" Changes of {_names(barred)} were left out of this search, and with them there may "
            "be a way. Please ask us to look again."
        )
    if obstacle is not None and np.isfinite(obstacle.budget):
        text += " There is a way that takes more effort than we would ask of you; ask us about it."
    return [f"<p>{text}</p>", "<p>You may ask for a person to decide on your case.</p>"]


def _names(features: tuple[str, ...]) -> str:
    return " and ".join(f"<strong>{_text(name)}</strong>" for name in features)


def _word(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return number(value) if _is_number(value) else _text(value)


def _text(value: Any) -> str:
    """People's own text in a page."""
    return escape(printable(str(value)))
