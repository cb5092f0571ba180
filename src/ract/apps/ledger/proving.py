"""From plans to what is promised: regions of values, proved before the model that promises.

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
from collections.abc import Collection, Hashable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.status import Status
from ract._utils.typing import TableLike
from ract.apps.ledger.chain import stamp
from ract.apps.ledger.entries import Plain, check_distinct, check_keys, day_before, plain_value
from ract.apps.ledger.promise import MONTH, Limit, Region
from ract.data.actions import Feature
from ract.data.costs.fitted import LevelCost
from ract.data.costs.protocols import FittedCost
from ract.data.encoder import Axis
from ract.data.frames import read_table
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.ranges import Certifier
from ract.recourse.question import Question
from ract.recourse.result import Recourse
from ract.recourse.when import months_needed
from ract.trees.fingerprint import model_fingerprint

MAX_NODES = 20_000  # of one question; what needs more is not proved
WIDEN_NODES = 500  # the same where a region is widened, which asks dozens of questions
TAIL = 0.01  # share of the training table beyond either end of what is promised


class PlanBox(NamedTuple):
    """A box of values around a plan: its cells before each model, and the ends of each feature."""

    points: list[np.ndarray]
    low: np.ndarray
    high: np.ndarray


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
                "Plans with effects, or for a month to which features drift, cannot be promised, "
                "since people then have other values; plans with ActionSpace.within can."
            )
        question, self._axes = recourse.question, recourse.encoder.axes
        features = [axis.feature for axis in self._axes]
        names = [feature.name for feature in features]
        if unknown := [name for name in pinned if name not in names]:
            raise InvalidSpec(
                f"{listing(unknown)} cannot be pinned: the features are {listing(names, 30)}."
            )
        self._recourse = recourse
        self._columns = [axis.columns[0] for axis in self._axes]
        self._numbers = np.array([not axis.is_categorical for axis in self._axes])
        self._stays = np.array([f.change == "fixed" or f.name in pinned for f in features])
        declared = {f.name: f for f in getattr(question.model, "actions", None) or ()}
        spans = [_span(axis, declared.get(axis.feature.name), question.cost) for axis in self._axes]
        self._first, self._last = np.array(spans).T
        deciding = [one for one in question.each if one.decides]
        self._certifiers = [BoxCertifier(one) for one in deciding]
        self._quick = [BoxCertifier(one, WIDEN_NODES) for one in deciding]

    def of(self, i: int, months: float) -> tuple[Region, float]:
        """The region of person i's plan, and for how many of the months it is proved.

        Parameters
        ----------
        i : int
            Position of someone who has a plan.
        months : float
            How long features that move by themselves go on.
        """
        recourse, asked, after = self._recourse, self._recourse.changed[i], self._recourse.after[i]
        goal = after[self._columns]
        first, last = np.fmin(self._first, goal), np.fmax(self._last, goal)
        low, high = recourse.low[i], recourse.high[i]
        ranged = asked & self._numbers & ~(np.isnan(low) & np.isnan(high))
        box = PlanBox(
            [one.points(after[None])[0] for one in self._certifiers],
            np.fmax(np.where(ranged, low, goal), first),
            np.fmin(np.where(ranged, high, goal), last),
        )
        if not self._holds(box):
            box.low[asked] = box.high[asked] = goal[asked]
        free = ~asked & ~np.isnan(box.low)
        moves = [a for a, axis in enumerate(self._axes) if axis.feature.drift and free[a]]
        proved = self._drift(box, moves, recourse.before[i], months) if moves else months
        for a in np.flatnonzero(free & ~self._stays & self._numbers).tolist():
            self._widen(box, a, first[a], last[a])
        limits: dict[str, Limit] = {}
        names: list[str] = []
        for a, axis in enumerate(self._axes):
            found = _limits(axis, box.low[a], box.high[a], after)
            limits |= found
            names += found if asked[a] else ()
        return Region(limits, tuple(names)), proved

    def _holds(self, box: PlanBox, *, quick: bool = False) -> bool:
        """Whether everyone in a box is proved to be accepted by every model."""
        certifiers = self._quick if quick else self._certifiers
        return all(
            one.status(point, box.low, box.high) == Status.NONE
            for one, point in zip(certifiers, box.points, strict=True)
        )

    def _drift(
        self, box: PlanBox, moves: Sequence[int], before: np.ndarray, months: float
    ) -> float:
        """Make room for what moves by itself; returns for how many months it is proved."""
        low, high = box.low.copy(), box.high.copy()

        def holds_until(month: float) -> bool:
            for a in moves:
                then = drifted(self._axes[a].feature, before[self._columns[a]], month)
                box.low[a], box.high[a] = min(low[a], then), max(high[a], then)
            return self._holds(box)

        if holds_until(months):
            return months
        good, bad = 0.0, months
        for _ in range(12):  # months are found to a few days
            middle = (good + bad) / 2
            good, bad = (middle, bad) if holds_until(middle) else (good, middle)
        holds_until(good)
        return good

    def _widen(self, box: PlanBox, a: int, first: float, last: float) -> None:
        """Move the ends of a feature as far apart as can be proved, within first and last."""
        edges = np.unique(np.concatenate([one.edges(a) for one in self._certifiers]))
        edges = edges[(edges >= first) & (edges <= last)]
        below, above = edges[edges < box.low[a]][::-1], edges[edges >= box.high[a]]
        # The furthest value on this side of a threshold: it belongs to what lies below it.
        self._widen_end(box, a, box.low, first, np.nextafter(below, math.inf))
        self._widen_end(box, a, box.high, last, above)

    def _widen_end(
        self, box: PlanBox, a: int, end: np.ndarray, furthest: float, outward: np.ndarray
    ) -> None:
        """Move one end of a feature outward: to the furthest value, or to the last that holds."""
        start, end[a] = end[a], furthest
        if self._holds(box, quick=True):
            return
        good, bad, step = 0, len(outward), 1
        while good < bad:
            trial = min(good + step, bad)
            end[a] = outward[trial - 1]
            if self._holds(box, quick=True):
                good, step = trial, 2 * step
            elif trial == good + 1:
                break
            else:
                bad, step = trial - 1, max(1, step // 2)
        end[a] = start if good == 0 else outward[good - 1]


class BoxCertifier:
    """Proves of boxes of values that one model accepts everyone inside.

    Parameters
    ----------
    question : Question
        Whose model and features they are.
    max_nodes : int
        Of the search for someone inside who is refused.
    """

    def __init__(self, question: Question, max_nodes: int = MAX_NODES) -> None:
        search = ExactSearch.prepared(question.ensemble, question.encoder.axes, question.cost)
        self._problem = problem = search.problem
        self._certifier = Certifier(search.refusing, max_nodes)
        n_features = len(question.encoder.axes)
        is_number = ~problem.categorical[:n_features] & ~problem.folded[:n_features]
        self._numbers = np.flatnonzero(is_number).tolist()

    def edges(self, a: int) -> np.ndarray:
        """Thresholds of a feature: up to and including each, nothing changes."""
        return self._problem.grid.thresholds[a]

    def points(self, values: np.ndarray) -> np.ndarray:
        """The cells of encoded values, a row for each sample."""
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
        lowest, highest = point.copy(), point.copy()
        for a in self._numbers:
            if low[a] == low[a]:  # who has no value keeps none
                lowest[a], highest[a] = self.edges(a).searchsorted((low[a], high[a]))
        return self._certifier.refused_within(lowest, highest)


def drifted(feature: Feature, value: float, months: float) -> float:
    """The furthest that a feature moves by itself: someone of 31 is 32 any day from now on."""
    change = feature.monthly_drift * months
    if feature.kind == "integer":
        change = math.copysign(math.ceil(abs(change)), change)
    return value + change


def _span(axis: Axis, declared: Feature | None, cost: FittedCost) -> tuple[float, float]:
    """How far promises of a feature go: its declared bounds, else the middle of the table."""
    feature, column = axis.feature, axis.columns[0]
    ends = list(feature.bounds)  # those of the training table, where none were declared
    if feature.kind in ("continuous", "integer") and isinstance(cost, LevelCost):
        knots, levels = cost.knots[column], cost.levels[column]
        if levels[-1] > 0:  # levels are shares of people, times a weight
            ends = np.interp(np.array([TAIL, 1 - TAIL]) * levels[-1], levels, knots).tolist()
    if declared is not None:
        ends[0] = ends[0] if declared.lower is None else declared.lower
        ends[1] = ends[1] if declared.upper is None else declared.upper
    return ends[0], ends[1]


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


def drafts(
    recourse: Recourse,
    people: Sequence[Hashable] | None,
    until: datetime,
    now: datetime,
    pinned: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The details of a promise to everyone who has a plan; see ``Ledger.offer``.

    Whoever cannot be promised anything until the end of today, because what moves by itself leaves
    what is proved before, gets none; nor does anyone whose plan takes longer than the promise lasts
    (``Feature.pace``).
    """
    keys = [str(key) for key in (recourse.labels if people is None else people)]
    if len(keys) != len(recourse):
        raise InvalidSpec(f"{len(keys)} keys were given for {len(recourse)} people.")
    check_distinct(keys)
    check_keys(keys, "A person's key")
    regions, model = Regions(recourse, pinned), _fingerprint(recourse)
    before, after = _rows(recourse.people), _rows(recourse.counterfactuals)
    months, axes = (until - now) / MONTH, recourse.encoder.axes
    takes = months_needed(axes, recourse.before, recourse.after, math.floor(months))
    same: dict[str, Any] = {"desired": plain_value(recourse.desired), "model": model}
    found = []
    for i in np.flatnonzero(recourse.found).tolist():
        region, proved = regions.of(i, months)
        zone = until.tzinfo
        end = until if proved >= months or zone is None else day_before(now + proved * MONTH, zone)
        if end <= now or takes[i] > (end - now) / MONTH:
            continue
        plan = recourse[i]
        draft = same | {"person": keys[i], "plan": plan.describe()}
        draft |= {"expires": stamp(end), "zone": str(end.tzinfo), "region": region.to_dict()}
        draft |= {"strength": plain_value(recourse.strength[i]), "lasting": plan.lasting}
        found.append(draft | {"before": before[i], "after": after[i]})
    return found


def _rows(table: TableLike) -> list[dict[str, Plain]]:
    """The rows of a table as mappings."""
    read = read_table(table)
    cells = {name: read.cells(name) for name in read.names}
    return [
        {name: plain_value(values[i]) for name, values in cells.items()} for i in range(read.n_rows)
    ]


def _fingerprint(recourse: Recourse) -> str:
    models = [one.model for one in recourse.question.each if one.decides]
    if not all(hasattr(model, "ensemble_") for model in models):
        raise InvalidSpec(
            "Promises can be made only by models that can be stored: import this model with "
            "ract.import_model first."
        )
    return " ".join(model_fingerprint(model) for model in models)
