"""One person's reasons, in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ract._utils.printable import html_text
from ract._utils.typing import Label
from ract.recourse.plan import class_in_words, exact_number, in_words, rounded_number, short_decimal

Direction = Literal["too low", "too high", "category", "missing"]
MendingWord = Literal["alone", "with others", "not at all", "unknown"]

_GROUPS = {
    "margin": "people at the margin of acceptance",
    "accepted": "accepted people",
    "mean": "all people of the reference",
}


@dataclass(frozen=True)
class Reason:
    """A feature that lowered the score, and whether changing it would be enough.

    Parameters
    ----------
    feature : str
    value, typical : value
        The person's value, and the usual value among the reference people: the median, or the most
        frequent category. None for a missing value.
    contribution : float
        How much the feature moved the score; below 0.
    share : float
        The share of this feature in everything that lowered the score.
    direction : {"too low", "too high", "category", "missing"}
        Whether it lowered the score by comparison with people whose number is larger, or smaller;
        "category" for categories, for yes or no, and for a number that lowered it only by
        comparison with people whose value is missing; "missing" if the person has no value.
    tied_with : tuple of str
        Features that lowered the score as much, or nearly as much (within a twentieth), whether or
        not they are principal reasons.
    changeable : bool
        Whether the rules let anybody change it or, if it is missing, supply it.
    alone : bool or None
        Whether changing only this feature, in the direction that mends it and within the
        budget, leads to the desired class: proved either way; None if it is not known.
    with_others : bool or None
        Whether an action within the budget does that changes it in that direction, perhaps with
        other features.
    from_value : value or None
        If changing it alone is enough: the value from which on that is so, for all allowed values
        beyond (up to ``until`` if that is not None), or a category that is enough. For a number
        that is supplied, the smallest that is enough.
    until : value or None
        The last value that is enough, if not all beyond ``from_value`` are. For a category that is
        supplied, ``from_value`` again.
    accepted_share : float or None
        The share of the values that the rules allow for this feature with which the person would be
        accepted, whatever they cost: by length, or by number for whole numbers and categories. None
        if there are no such values, or no bounds.
    asked : bool
        Whether the answers above were computed.

    Examples
    --------
    >>> reason = Reason("Income", 31_000, 45_000, -0.2, 0.6, "too low", alone=True,
    ...                 with_others=True, from_value=43_500, accepted_share=0.4, asked=True)
    >>> reason.describe()
    'Income is too low (31,000; usual is 45,000). Raising it to 43,500 or more would be enough.'
    """

    feature: str
    value: Any
    typical: Any
    contribution: float
    share: float
    direction: Direction
    tied_with: tuple[str, ...] = ()
    changeable: bool = True
    alone: bool | None = None
    with_others: bool | None = None
    from_value: Any = None
    until: Any = None
    accepted_share: float | None = None
    asked: bool = False

    @property
    def mending(self) -> MendingWord:
        """Whether changing it helps: alone, with other features, not at all, or not known."""
        if self.alone:
            return "alone"
        if not self.changeable:
            return "not at all"
        if self.with_others:
            return "with others"
        if self.alone is None or self.with_others is None:
            return "unknown"
        return "not at all"

    def describe(self) -> str:
        """The reason in words, and whether changing the feature would be enough."""
        text = f"{self.feature} {self._what()}."
        if self.tied_with:
            text += f" {' and '.join(self.tied_with)} mattered as much, or nearly so."
        return text + (f" {self._mended()}" if self.asked or not self.changeable else "")

    def _what(self) -> str:
        value = in_words(self.value)
        usual = "not given" if self.typical is None else in_words(self.typical)
        if self.direction == "missing":
            return "was not given" + ("" if self.typical is None else f" (usual is {usual})")
        if self.direction == "category":
            return f"is {value}" + ("" if self.value == self.typical else f" (usual is {usual})")
        low = self.direction == "too low"
        fits = self.typical is not None and (
            self.typical > self.value if low else self.typical < self.value
        )
        return f"is {self.direction} ({value}{f'; usual is {usual}' if fits else ''})"

    def _mended(self) -> str:
        missing = self.direction == "missing"
        if not self.changeable:
            return "It cannot be supplied." if missing else "Nobody can change it."
        doing = "handing it in" if missing else "changing it"
        if self.mending == "unknown":
            return f"Whether {doing} helps is not known: the search ended early."
        if self.mending == "with others":
            return (
                f"Within the budget, {doing} alone is not enough; together with other changes "
                "it is."
            )
        if self.mending == "not at all":
            what = "No value that could be supplied" if missing else "No allowed change of it"
            return f"{what} within the budget helps, not even with others."
        verb = {"too low": "Raising it to", "too high": "Lowering it to", "missing": "Supplying"}
        return f"{verb.get(self.direction, 'Changing it to')} {self._goal()} would be enough."

    def _goal(self) -> str:
        """The values that would be enough, in words."""
        is_number = isinstance(self.from_value, (int, float, np.number))
        if isinstance(self.from_value, bool) or not is_number:
            return in_words(self.from_value)
        first = exact_number(self.from_value)
        if self.direction == "category":
            return first
        if self.until is None:
            return f"{first} or {'less' if self.direction == 'too high' else 'more'}"
        last = short_decimal(float(self.until), float(self.from_value), digits=5)
        return f"{first} to {exact_number(last)}" if last != self.from_value else first


@dataclass(frozen=True)
class PersonReasons:
    """Why one person was refused.

    Parameters
    ----------
    person : label
    desired : label
        The class that people want.
    status : {"accepted", "refused", "invalid"}
    score, cutoff, base : float
        The person's score, the score that is needed, and the mean score of the reference people.
    against : {"margin", "accepted", "mean"}
        Who the reference people are.
    reasons : tuple of Reason
        The principal reasons, the most important first; empty for people who are accepted.
    message : str
        What is wrong with a row that cannot be read.
    """

    person: Hashable
    desired: Label
    status: str
    score: float
    cutoff: float
    base: float
    against: str
    reasons: tuple[Reason, ...] = ()
    message: str = ""

    def describe(self) -> str:
        """The reasons in words, one line each."""
        if self.status == "accepted":
            return f"Already {class_in_words(self.desired)}: there are no reasons for a refusal."
        if self.status == "invalid":
            return f"This row cannot be read. {self.message}"
        if not self.reasons:
            return f"No feature hurt in comparison with {_GROUPS[self.against]}."
        score, cutoff = rounded_number(self.score), rounded_number(self.cutoff)
        head = (
            f"Refused with a score of {score}, where {cutoff} is needed. "
            f"In comparison with {_GROUPS[self.against]}:"
        )
        lines = [f"{k}. {reason.describe()}" for k, reason in enumerate(self.reasons, start=1)]
        return "\n".join([head, *lines])

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        return html_text(self.describe())
