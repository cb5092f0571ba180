"""Plans: what one person can do, in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract.status import Status


@dataclass(frozen=True)
class Change:
    """One feature of a plan.

    Parameters
    ----------
    feature : str
    before, after : value
        In the user's own terms.
    effort : float
        What this change alone costs.
    low, high : float or None
        Every value between them serves as well (None: no limit on that side, or not a number).
    by_itself : bool
        Whether it follows from the other changes rather than being asked for.

    Examples
    --------
    >>> Change("Income", 41000, 46500, 0.2).describe()
    'raise Income from 41,000 to 46,500'
    >>> Change("Purpose", "car", "home", 0.1).describe()
    "change Purpose from 'car' to 'home'"
    """

    feature: str
    before: Any
    after: Any
    effort: float
    low: float | None = None
    high: float | None = None
    by_itself: bool = False

    def describe(self, *, ranges: bool = False) -> str:
        """The change as an instruction."""
        if isinstance(self.after, (bool, np.bool_)):
            return f"change {self.feature} from {_yes(self.before)} to {_yes(self.after)}"
        if not isinstance(self.after, (int, float, np.number)):
            return f"change {self.feature} from {self.before!r} to {self.after!r}"
        up = self.after > self.before
        if self.by_itself:
            verb = "rises" if up else "falls"
            return f"{self.feature} {verb} by itself to about {number(self.after)}"
        if self.low is None and self.high is None:  # no other value is known to do
            goal = exact_number(self.after)
        else:
            nice = nice_number(float(self.before), float(self.after), self.low, self.high)
            goal = number(nice)
        verb = "raise" if up else "lower"
        text = f"{verb} {self.feature} from {number(self.before)} to {goal}"
        return text + (self._range(up) if ranges else "")

    def _range(self, up: bool) -> str:
        if self.low is not None and self.high is not None:
            return f" (anything from {number(self.low, up=True)} to {number(self.high, up=False)})"
        if self.low is None and self.high is None:
            return ""
        return " (or more)" if up else " (or less)"


@dataclass(frozen=True)
class Obstacle:
    """Why a person has no plan.

    Parameters
    ----------
    features : tuple of str
        The smallest set of fixed or one-way features whose release would give a plan within the
        budget; empty if no release would.
    proved : bool
        Whether no smaller set would do.
    budget : float
        The smallest budget that would do with the features as they are; inf if none would, NaN if
        that is not known.
    """

    features: tuple[str, ...]
    proved: bool
    budget: float


@dataclass(frozen=True)
class Plan:
    """What one person can do to get the desired class.

    Parameters
    ----------
    person : label
        The person's label in the user's table.
    desired : label
    status : str
        "accepted" (already), "optimal" (proved cheapest), "found" (a cheaper one may exist),
        "none within budget" or "none" (both proved), or "unknown" (the search ended early).
    cost, bound : float
        What the plan costs, and what no plan can cost less than.
    budget : float
    changes : tuple of Change
    obstacle : Obstacle or None
        Why there is no plan.
    alternatives : tuple of Plan
        Other plans, which do not change all the features of any plan before them.
    """

    person: Any
    desired: Any
    status: str
    cost: float
    bound: float
    budget: float
    changes: tuple[Change, ...] = ()
    obstacle: Obstacle | None = None
    alternatives: tuple[Plan, ...] = ()

    @property
    def has_recourse(self) -> bool:
        """Whether there is something that the person can do, or nothing that they have to."""
        return self.status in {s.word for s in (Status.ACCEPTED, Status.OPTIMAL, Status.FOUND)}

    def describe(self, *, ranges: bool = False) -> str:
        """The plan in words.

        Parameters
        ----------
        ranges : bool
            Say how far each value may differ.
        """
        if self.status == Status.ACCEPTED.word:
            return f"Already {self.desired}: nothing to change."
        if self.status == Status.UNKNOWN.word:
            return (
                "The search ended before it found a plan or proved that there is none; "
                "more time may decide it."
            )
        if not self.changes:
            return self._why_none()
        texts = [c.describe(ranges=ranges) for c in self.changes if not c.by_itself]
        texts += [c.describe() for c in self.changes if c.by_itself]
        text = "; ".join(texts)
        return text[0].upper() + text[1:] + "."

    def _why_none(self) -> str:
        text = f"No allowed change leads to {self.desired}"
        if self.status == Status.NONE_WITHIN_BUDGET.word:
            text += f" within the budget of {self.budget:g}"
        obstacle = self.obstacle
        if obstacle is None:
            return text + "."
        if obstacle.features:
            names = " and ".join(obstacle.features)
            text += f"; it would if {names} could change freely"
        if math.isfinite(obstacle.budget):
            text += f"; a budget of {obstacle.budget:.3g} would do"
        return text + "."

    def __str__(self) -> str:
        return self.describe()


def number(value: Any, *, up: bool | None = None) -> str:
    """A number as people write it; rounded up or down if asked, never across.

    >>> number(46500.0), number(0.12345, up=True)
    ('46,500', '0.1235')
    """
    value = float(value)
    if value.is_integer():
        return f"{value:,.0f}"
    if abs(value) >= 1e15 or (value != 0 and abs(value) < 1e-6):
        return f"{value:g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    scale = 10.0**digits
    scaled = value * scale
    rounding: Any = round if up is None else math.ceil if up else math.floor
    rounded = rounding(scaled)
    return f"{rounded / scale:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{rounded:,}"


def exact_number(value: Any) -> str:
    """The shortest decimal that reads back as the same number.

    >>> exact_number(46500.0), exact_number(1234.567891)
    ('46,500', '1,234.567891')
    """
    value = float(value)
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 2**53 else f"{value:,}"


def nice_number(before: float, after: float, low: float | None, high: float | None) -> float:
    """A short decimal that is a little further than a goal, and between two ends.

    Further by a twentieth of the way at most, so that it asks for hardly more.

    >>> nice_number(0.2, 0.4000000001, 0.4000000001, 0.6)
    0.41
    >>> nice_number(41000.0, 46512.3, 46512.3, 46990.0)
    46600.0
    """
    if after.is_integer():
        return after
    room = (after - before) / 20
    least, most = min(after, after + room), max(after, after + room)
    least = least if low is None else max(least, low)
    most = most if high is None else min(most, high)
    digits = -math.floor(math.log10(max(abs(least), abs(most), 1e-300)))
    toward = math.ceil if after > before else math.floor
    for places in range(digits, digits + 17):
        short = round(toward(after * 10.0**places) / 10.0**places, max(places, 0))
        if least <= short <= most:
            return short
    return after


def _yes(value: Any) -> str:
    return "yes" if value else "no"
