"""Plans: what one person can do, in plain words."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract._utils.printable import html_table, html_text
from ract._utils.status import Status
from ract._utils.typing import Label


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
        Every value between them is proved to be accepted too, together with the ranges of the
        plan's other changes. None: no limit on that side; both None: no other value is proved, or
        it is not a number.
    by_itself : bool
        Whether the change follows from the other changes, and is not asked for.
    switch : bool
        Whether there is nothing between the two values: categories, yes and no, 0 and 1.
    supplied : bool
        Whether a missing value is supplied; ``before`` is None.
    ordered : bool
        Whether it is an ordered category, with others beyond it.

    Examples
    --------
    >>> Change("Income", 41000, 46512.3, 0.2, 46512.3, 47210.8).describe()
    'raise Income from 41,000 to 46,600 (46,513 to 47,210 will do)'
    >>> Change("Income", 41000, 46500, 0.2).describe()
    'raise Income from 41,000 to exactly 46,500'
    >>> Change("Purpose", "car", "home", 0.1, switch=True).describe()
    "change Purpose from 'car' to 'home'"
    >>> Change("Income", None, 52000, 0.2, 44512.3, None, supplied=True).describe()
    'tell us your Income; 44,600 or more is needed'
    """

    feature: str
    before: Any
    after: Any
    effort: float
    low: float | None = None
    high: float | None = None
    by_itself: bool = False
    switch: bool = False
    supplied: bool = False
    ordered: bool = False

    @property
    def goal(self) -> Any:
        """The value to tell people: a short number in the proved range, close to ``after``.

        For a value that is supplied, the smallest (or largest) that is needed.
        """
        if self.switch or self.by_itself:
            return self.after
        if self.supplied:
            if self.low is not None:
                return least_number(self.low, self.high)
            return self.after if self.high is None else 0.0 - least_number(-self.high, None)
        goal = nice_number(float(self.before), float(self.after), self.low, self.high)
        return self.after if goal == self.after else goal

    @property
    def will_do(self) -> str:
        """Which other numbers lead to acceptance too, rounded inwards; "" if none is proved to.

        >>> Change("Debt", 900.0, 512.3, 0.1, None, 512.3).will_do
        '500 or less'
        """
        if self.ends is None:
            return ""
        low, high = self.ends
        if low is None:
            return f"{exact_number(high)} or less"
        if high is None:
            return f"{exact_number(low)} or more"
        return f"{exact_number(low)} to {exact_number(high)}"

    @property
    def ends(self) -> tuple[float | None, float | None] | None:
        """The ends of the proved range as short numbers inside it; None if no other is proved.

        >>> Change("Debt", 900.0, 512.3, 0.1, None, 512.3).ends
        (None, 500.0)
        """
        if self.switch or self.by_itself or self.low == self.high:
            return None
        goal = float(self.goal)
        if self.low is None:
            return None, goal
        if self.high is None:
            return goal, None
        low, high = (short_decimal(end, goal, digits=5) for end in (self.low, self.high))
        return (low, high) if low < high else None

    def describe(self) -> str:
        """The change as an instruction, with every other value that is proved to be accepted."""
        if self.supplied:
            needed = in_words(self.after) if self.switch else f"exactly {exact_number(self.after)}"
            return f"tell us your {self.feature}; {self.will_do or needed} is needed"
        if self.switch:
            return f"change {self.feature} from {in_words(self.before)} to {in_words(self.after)}"
        up = self.after > self.before
        if self.by_itself:
            verb = "rises" if up else "falls"
            return f"{self.feature} {verb} by itself to about {rounded_number(self.after)}"
        text = f"{'raise' if up else 'lower'} {self.feature} from {rounded_number(self.before)} to "
        if not self.will_do:
            return f"{text}exactly {exact_number(self.goal)}"
        if self.low is None or self.high is None:
            return text + self.will_do
        return f"{text}{exact_number(self.goal)} ({self.will_do} will do)"


@dataclass(frozen=True)
class Obstacle:
    """Why a person has no plan.

    Parameters
    ----------
    features : tuple of str
        Of the smallest set of features whose release would give a plan within the budget, those
        that the action space fixes, or lets change in one direction only.
    proved : bool
        Whether it is proved that no smaller set is enough or, if there is no such set, that no
        release is. A search that ended early proves neither.
    budget : float
        The smallest budget found that would be enough without releasing features; inf if no budget
        would, NaN if that is not known.
    options : tuple of str
        The features of that set that are excluded only by options of the call: ``features``,
        ``forbidden`` or ``overrides``. If removing these options is enough, ``features`` is empty.
    """

    features: tuple[str, ...]
    proved: bool
    budget: float
    options: tuple[str, ...] = ()


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
        "none within budget" or "none" (both proved), "unknown" (the search ended early), or
        "invalid" (the row cannot be read).
    cost, bound : float
        The cost of the plan, and a lower bound on the cost of all plans.
    budget : float
    changes : tuple of Change
    obstacle : Obstacle or None
        Why there is no plan.
    alternatives : tuple of Plan
        Other plans, which do not change all the features of any plan before them.
    strength : float
        The strength of the plan, as ``ract.find_recourse`` measures it; NaN without a plan.
    needed : float or None
        The strength that was asked for, if more than the decision needs.
    lasting : float or None
        The probability with which the same learner, trained again on other people, accepts the
        plan; None without such a promise.
    at_least : bool
        Whether everyone who does more than the plan asks is proved to get the class too: more of
        a number, and every later (or earlier) category of one that may only rise (or fall).
    message : str
        What is wrong with a row that cannot be read.
    month : float or None
        The month in which the plan is done, if a time was given.
    until : float or None
        The last month up to which it is accepted if nothing more is done; None without an end.
    by : int or None
        The months that plans may take.
    smaller : bool
        Whether it is a further plan that asks for less, and is weaker, than the first one.
    """

    person: Hashable
    desired: Label
    status: str
    cost: float
    bound: float
    budget: float
    changes: tuple[Change, ...] = ()
    obstacle: Obstacle | None = None
    alternatives: tuple[Plan, ...] = ()
    strength: float = math.nan
    needed: float | None = None
    lasting: float | None = None
    at_least: bool = False
    message: str = ""
    month: float | None = None
    until: float | None = None
    by: int | None = None
    smaller: bool = False

    @property
    def waits(self) -> bool:
        """Whether the person only has to wait."""
        return bool(self.changes) and all(change.by_itself for change in self.changes)

    @property
    def only_supplied(self) -> bool:
        """Whether it only supplies missing values."""
        return bool(self.changes) and all(change.supplied for change in self.changes)

    @property
    def has_recourse(self) -> bool:
        """Whether the person has a plan or is accepted already."""
        return self.status in {s.word for s in (Status.ACCEPTED, Status.OPTIMAL, Status.FOUND)}

    def describe(self) -> str:
        """The plan in words; numbers with the range that is proved to be accepted too."""
        if self.status == Status.ACCEPTED.word:
            return f"Already {class_in_words(self.desired)}: nothing to change."
        if self.status == Status.UNKNOWN.word:
            return (
                "The search found neither a plan nor a proof that there is none; a longer or "
                "another search may."
            )
        if self.status == Status.INVALID.word:
            return f"This row cannot be read. {self.message}"
        if not self.changes:
            return self._why_none()
        handed = [change.describe() for change in self.changes if change.supplied]
        others = sorted((c for c in self.changes if not c.supplied), key=lambda c: c.by_itself)
        text = "; ".join(change.describe() for change in others)
        sentences = [*handed, *([text] if text else []), *self._when()]
        return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)

    def _when(self) -> list[str]:
        """What is said about time."""
        if self.month is None:
            return []
        months = f"{self.month:.0f} month{'' if self.month == 1 else 's'}"
        said = [f"this takes {months}"] if self.month else []
        if self.waits:
            said = [f"if nothing else changes, you would meet today's criteria in {months}"]
        if self.until is not None:
            said += [f"acceptance is proved from month {self.month:.0f} to month {self.until:.0f}"]
        return said

    def _why_none(self) -> str:
        text = f"No allowed change leads to {class_in_words(self.desired)}"
        if self.needed:
            text += f" with a strength of {exact_number(self.needed)}"
        if self.by is not None:
            text += f" within {self.by} months"
        if self.status == Status.NONE_WITHIN_BUDGET.word and self.budget != self.by:
            text += f" within the budget of {exact_number(self.budget)}"
        obstacle = self.obstacle
        if obstacle is None:
            return text + "."
        ways = []
        if obstacle.options:
            ways.append(f"the options of this call let {' and '.join(obstacle.options)} change")
        if obstacle.features:
            ways.append(f"{' and '.join(obstacle.features)} could change freely")
        if ways:
            text += f"; it would if {' and '.join(ways)}"
        if math.isfinite(obstacle.budget):
            text += f"; a budget of {enough(obstacle.budget)} would do"
        return text + "."

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        if not self.changes:
            return html_text(self.describe())
        now = ["" if change.supplied else in_words(change.before) for change in self.changes]
        rows = [
            (c.feature, before, in_words(c.goal), c.will_do, c.effort)
            for c, before in zip(self.changes, now, strict=True)
        ]
        caption = f"Person {self.person}: {self.status}, cost {self.cost:.3g}"
        return html_table(caption, ("feature", "now", "goal", "also accepted", "effort"), rows)


def class_in_words(label: object) -> str:
    """A class in a sentence: a word as it is, a number or a truth value called a class.

    >>> class_in_words("approved"), class_in_words(1)
    ('approved', 'class 1')
    """
    return label if isinstance(label, str) else f"class {label}"


def enough(value: float) -> str:
    """The least number of three digits or more that is no less than a value.

    >>> enough(0.30000001), enough(0.5)
    ('0.301', '0.5')
    """
    return exact_number(short_decimal(value, value + abs(value), digits=3))


def rounded_number(value: float | np.number, *, up: bool | None = None) -> str:
    """A number as people write it; rounded up or down if asked, never across.

    >>> rounded_number(46500.0), rounded_number(0.12345, up=True)
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
    rounded = round(scaled) if up is None else math.ceil(scaled) if up else math.floor(scaled)
    return f"{rounded / scale:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{rounded:,}"


def exact_number(value: Any) -> str:
    """A number with all its digits, so that it means the same when it is typed in.

    >>> exact_number(46500.0), exact_number(0.1 + 0.2)
    ('46,500', '0.30000000000000004')
    """
    value = float(value)
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:,}"


def nice_number(before: float, after: float, low: float | None, high: float | None) -> float:
    """A short decimal that is a little further than a goal, and between two ends.

    Further by a twentieth of the way at most, so that it asks for hardly more; the goal itself if
    neither end is known.

    >>> nice_number(0.2, 0.4000000001, 0.4000000001, 0.6)
    0.41
    >>> nice_number(41000.0, 46512.3, 46512.3, 46990.0)
    46600.0
    """
    if after.is_integer() or (low is None and high is None):
        return after
    limit = after + (after - before) / 20
    if high is not None:
        limit = min(limit, high)
    if low is not None:
        limit = max(limit, low)
    return short_decimal(after, limit, digits=1)


def least_number(low: float, high: float | None) -> float:
    """A short decimal that is hardly more than the least that serves, of all up to a highest one.

    >>> least_number(44512.3, None), least_number(44512.3, 44560.0)
    (44600.0, 44520.0)
    """
    limit = low + abs(low) / 20
    return short_decimal(low, limit if high is None else min(limit, high), digits=3)


def short_decimal(value: float, limit: float, *, digits: int) -> float:
    """The decimal of fewest digits, but no fewer than some, from a value up or down to a limit.

    >>> short_decimal(0.1234123, 0.1234181, digits=2), short_decimal(5.53, 5.2, digits=1)
    (0.123413, 5.5)
    """
    toward = math.ceil if limit > value else math.floor
    first = digits - 1 - math.floor(math.log10(max(abs(value), abs(limit), 1e-300)))
    for places in range(first, first + 17):
        try:
            short = toward(value * 10.0**places) / 10.0**places
        except OverflowError:
            break
        short = round(short, max(places, 0))
        if min(value, limit) <= short <= max(value, limit):
            return short
    return value


def in_words(value: object) -> str:
    """A value as people read it: yes or no, a number, or a category in quotation marks.

    >>> in_words(True), in_words(46500.0), in_words("car")
    ('yes', '46,500', "'car'")
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return rounded_number(value) if isinstance(value, (int, float, np.number)) else repr(value)
