"""What is promised: a region of values, proved before the model that makes the promise.

A region has an interval for every number and one category for every other feature. Those that the
plan changes have the plan's own range. The others begin at the person's value and are widened as
far as everyone inside is proved to be accepted, so that a small change elsewhere does not cost
the promise. Fixed features, and those that the lender pins, stay at the person's value. Features
that move by themselves (``Feature.drift``), such as an age, must have room for every month
until the promise ends; where that cannot be proved, it ends earlier. No interval goes further than
the bounds that were declared or, where none were, than the middle 98% of the training table:

    Income    44,600 to 181,000       asked for, proved for everyone who does more
    Savings   2,100 to 95,000         stays: 3,000 when the promise was made
    Age       31 to 32                moves by itself: 31 then, 32 a year later
    Purpose   car                     stays
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.status import Status
from ract.data.actions import Feature
from ract.data.costs.fitted import LevelCost
from ract.data.encoder import Axis
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.ranges import Certifier
from ract.recourse.plan import exact_number, number
from ract.recourse.question import Question
from ract.recourse.result import Recourse

MAX_NODES = 20_000  # of one question; what needs more is not proved
WIDEN_NODES = 500  # the same where a region is widened, which asks dozens of questions
TAIL = 0.01  # share of the training table beyond either end of what is promised


class Limit(NamedTuple):
    """The values of one feature: from ``low`` to ``high`` (None: no limit), one category, or none.

    Examples
    --------
    >>> Limit(low=44_600).holds(50_000), Limit(low=44_600).holds(44_000)
    (True, False)
    >>> str(Limit(low=44_600)), str(Limit(low=31, high=34)), str(Limit(category="car"))
    ('44,600 or more', '31 to 34', "'car'")
    """

    low: float | None = None
    high: float | None = None
    category: Any = None
    missing: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a value is inside."""
        if self.missing:
            return bool(pd.isna(value))
        if self.category is not None:
            return bool(value == self.category)
        if isinstance(value, str):
            return False
        try:
            number = float(value)
        except (TypeError, ValueError):
            return False
        above = self.low is None or number >= self.low
        return math.isfinite(number) and above and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        if self.missing:
            return "no value"
        if self.category is not None:
            return repr(self.category)
        if self.low is None and self.high is None:
            return "any"
        if self.low == self.high:
            return exact_number(self.low)
        # Rounded inside, so that whoever does what is said is inside too.
        low = "" if self.low is None else number(self.low, up=True)
        high = "" if self.high is None else number(self.high, up=False)
        if not high:
            return f"{low} or more"
        return f"{low} to {high}" if low else f"{high} or less"


@dataclass(frozen=True)
class Region:
    """Where a person must stand to be accepted.

    Parameters
    ----------
    limits : mapping of str to Limit
        By feature.
    asked : tuple of str
        The features that the plan changes.
    """

    limits: Mapping[str, Limit]
    asked: tuple[str, ...]

    def faults(self, values: Mapping[str, Any]) -> list[str]:
        """What keeps values from being inside, a sentence each; empty if they are."""
        found = []
        for name, limit in self.limits.items():
            if name not in values:
                found.append(f"{name} is not given.")
            elif not limit.holds(values[name]):
                found.append(f"{name} is {values[name]}; promised for {limit}.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        unset = Limit()._asdict()
        limits = {
            name: {key: value for key, value in limit._asdict().items() if value != unset[key]}
            for name, limit in self.limits.items()
        }
        return {"limits": limits, "asked": list(self.asked)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Region:
        """From plain data."""
        limits = {name: Limit(**limit) for name, limit in data["limits"].items()}
        return cls(limits, tuple(data["asked"]))


class Regions:
    """Regions of the plans of a result, proved before every model that was asked.

    Parameters
    ----------
    recourse : Recourse
        Plans with ranges (``at_least=True`` or ``ranges=True``) have wider regions.
    pinned : names
        Features that stay at the person's value unless their plan changes them.
    """

    def __init__(self, recourse: Recourse, pinned: Collection[str] = ()) -> None:
        if recourse.answers.outcomes is not None:
            raise InvalidSpec(
                "Plans with effects, or by a month that features drift to, cannot be promised: "
                "people end at other values; ActionSpace.within has plans of a time from today's."
            )
        axes = recourse.encoder.axes
        names = [axis.feature.name for axis in axes]
        if unknown := [name for name in pinned if name not in names]:
            raise InvalidSpec(
                f"{listing(unknown)} cannot be pinned: the features are {listing(names, 30)}."
            )
        self._recourse = recourse
        self._stays = np.array(
            [axis.feature.change == "fixed" or axis.feature.name in pinned for axis in axes]
        )
        question = recourse.question
        declared = {f.name: f for f in getattr(question.model, "actions", None) or ()}
        self._span = np.array(
            [_span(axis, declared.get(axis.feature.name), question.cost) for axis in axes]
        ).T
        deciding = [one for one in recourse.question.each if one.decides]
        self._boxes = [Boxes(one) for one in deciding]
        self._quick = [Boxes(one, WIDEN_NODES) for one in deciding]

    def of(self, i: int, months: float) -> tuple[Region, float]:
        """The region of person i's plan, and for how many of some months it is proved.

        Parameters
        ----------
        i : int
            Position of someone who has a plan.
        months : float
            How long features that move by themselves go on.
        """
        recourse, axes = self._recourse, self._recourse.encoder.axes
        before, after = recourse.before[i], recourse.after[i]
        columns = [axis.columns[0] for axis in axes]
        low, high = after[columns].copy(), after[columns].copy()
        asked = recourse.changed[i]
        numbers = np.array([not axis.is_categorical for axis in axes])
        for a in np.flatnonzero(asked & numbers).tolist():
            ends = recourse.low[i, a], recourse.high[i, a]
            if not all(np.isnan(ends)):
                low[a], high[a] = ends
        first, last = np.fmin(self._span[0], low), np.fmax(self._span[1], high)
        first[asked] = np.fmin(self._span[0], after[columns])[asked]
        last[asked] = np.fmax(self._span[1], after[columns])[asked]
        low, high = np.fmax(low, first), np.fmin(high, last)
        if not self._hold(after, low, high):
            low[asked], high[asked] = (after[columns][asked],) * 2
        proved = self._drift(before, after, low, high, axes, asked, months)
        for a in np.flatnonzero(~asked & ~self._stays & numbers & ~np.isnan(low)).tolist():
            self._widen(after, low, high, a, (first[a], last[a]))
        limits: dict[str, Limit] = {}
        for a, axis in enumerate(axes):
            limits |= _limits(axis, low[a], high[a], after)
        names = [_limits(axes[a], 0.0, 0.0, after) for a in np.flatnonzero(asked)]
        return Region(limits, tuple(name for own in names for name in own)), proved

    def _hold(
        self, after: np.ndarray, low: np.ndarray, high: np.ndarray, quick: bool = False
    ) -> bool:
        each = self._quick if quick else self._boxes
        return all(
            boxes.status(boxes.points(after[None])[0], low, high) == Status.NONE for boxes in each
        )

    def _drift(
        self, before: np.ndarray, after: np.ndarray, low: np.ndarray, high: np.ndarray,
        axes: tuple[Axis, ...], asked: np.ndarray, months: float,
    ) -> float:  # fmt: skip
        """Make room for what moves by itself; returns for how many months it is proved."""
        moving = [
            a
            for a, axis in enumerate(axes)
            if axis.feature.drift and not asked[a] and not np.isnan(low[a])
        ]
        if not moving:
            return months
        start_low, start_high = low.copy(), high.copy()

        def grow(time: float) -> None:
            for a in moving:
                own = before[axes[a].columns[0]]
                then = drifted(axes[a].feature, own, time)
                low[a], high[a] = min(start_low[a], then), max(start_high[a], then)

        good, bad = 0.0, months
        grow(months)
        if self._hold(after, low, high):
            return months
        for _ in range(12):  # months are found to a few days
            middle = (good + bad) / 2
            grow(middle)
            good, bad = (middle, bad) if self._hold(after, low, high) else (good, middle)
        grow(good)
        return good

    def _widen(
        self, after: np.ndarray, low: np.ndarray, high: np.ndarray, a: int, span: tuple[Any, Any]
    ) -> None:
        """Move the ends of a feature that stays as far apart as can be proved, within a span."""
        edges = np.unique(np.concatenate([boxes.edges(a) for boxes in self._boxes]))
        edges = edges[(edges >= span[0]) & (edges <= span[1])]
        for end, outward in ((low, edges[edges < low[a]][::-1]), (high, edges[edges >= high[a]])):
            own = end[a]
            end[a] = span[0] if end is low else span[1]  # the first try is the whole side
            if self._hold(after, low, high, quick=True):
                continue
            end[a] = own
            good, bad, step = 0, len(outward), 1
            while good < bad:
                trial = min(good + step, bad)
                end[a] = _inside(outward[trial - 1], end is low)
                if self._hold(after, low, high, quick=True):
                    good, step = trial, 2 * step
                elif trial == good + 1:
                    break
                else:
                    bad, step = trial - 1, max(1, step // 2)
            end[a] = own if good == 0 else _inside(outward[good - 1], end is low)


class Boxes:
    """Boxes of values before one model, which may accept everyone inside.

    Parameters
    ----------
    question : Question
        Whose model and features they are.
    max_nodes : int
        Of the search for someone inside who is refused.
    """

    def __init__(self, question: Question, max_nodes: int = MAX_NODES) -> None:
        search = ExactSearch.prepared(question.ensemble, question.encoder.axes, question.cost)
        self._problem = search.problem
        self._certifier = Certifier(search.refusing, max_nodes)
        problem, n = self._problem, len(question.encoder.axes)
        numbers = np.flatnonzero(~problem.categorical[:n]).tolist()
        self._numbers = [a for a in numbers if not problem.folded[a]]

    def edges(self, a: int) -> np.ndarray:
        """Thresholds of a feature: up to and including each, nothing changes."""
        return self._problem.grid.thresholds[a]

    def points(self, values: np.ndarray) -> np.ndarray:
        """The cells of encoded values, a row for each person."""
        return self._problem.cells(values)

    def status(self, point: np.ndarray, low: np.ndarray, high: np.ndarray) -> Status:
        """NONE if nobody in the box is refused, FOUND if somebody is, else UNKNOWN.

        Parameters
        ----------
        point : int (features,)
            Cells of someone in it; what holds for categories.
        low, high : float (features,)
            Ends of the numbers; infinite where there is none.
        """
        problem = self._problem
        lowest, highest = point.copy(), point.copy()
        for a in self._numbers:
            if low[a] == low[a]:  # who has no value keeps none
                lowest[a], highest[a] = problem.grid.thresholds[a].searchsorted((low[a], high[a]))
        return self._certifier.refused_within(lowest, highest)


def drifted(feature: Feature, own: float, months: float) -> float:
    """The furthest that a feature moves by itself: someone of 31 is 32 any day from now on."""
    change = feature.monthly_drift * months
    if feature.kind == "integer":
        change = math.copysign(math.ceil(abs(change)), change)
    return own + change


def _span(axis: Axis, declared: Feature | None, cost: Any) -> tuple[float, float]:
    """How far promises of a feature go: its declared bounds, else the middle of the table."""
    feature, column = axis.feature, axis.columns[0]
    ends = list(feature.bounds)  # those of the training table, where none were declared
    if feature.kind in ("continuous", "integer") and isinstance(cost, LevelCost):
        knots, levels = cost.knots[column], cost.levels[column]
        if levels[-1] > 0:  # levels are shares of people, times a weight
            ends = np.interp(np.array([TAIL, 1 - TAIL]) * levels[-1], levels, knots).tolist()
    given = (None, None) if declared is None else (declared.lower, declared.upper)
    low, high = (end if own is None else own for own, end in zip(given, ends, strict=True))
    return low, high


def _inside(edge: float, below: bool) -> float:
    """The furthest value that is still on this side of a threshold, going down or up."""
    return float(np.nextafter(edge, math.inf)) if below else float(edge)


def _limits(axis: Axis, low: float, high: float, after: np.ndarray) -> dict[str, Limit]:
    """The limits of a feature, by column of the user's table."""
    feature, block = axis.feature, after[list(axis.columns)]
    if feature.columns:  # one-hot columns of the user's own
        return {name: Limit(x, x) for name, x in zip(feature.columns, block.tolist(), strict=True)}
    if np.isnan(block).any() or (axis.has_missing and axis.is_categorical and block[-1] == 1):
        return {feature.name: Limit(missing=True)}
    if axis.is_categorical:
        return {feature.name: Limit(category=feature.categories[int(block.argmax())])}
    if feature.kind != "continuous":
        low, high = float(np.ceil(low)), float(np.floor(high))
    first, last = (float(end) if math.isfinite(end) else None for end in (low, high))
    return {feature.name: Limit(first, last)}
