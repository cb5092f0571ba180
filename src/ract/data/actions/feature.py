"""One feature and its rules: its kind, which way it may move, how far and at what weight."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.validation import as_python
from ract.data.actions.pace import PERS, Pace, Per, as_pace, months_of, room_in_time
from ract.data.edge import ceiling

Kind = Literal["continuous", "integer", "binary", "categorical"]
Change = Literal["any", "increase", "decrease", "fixed"]
Missing = Literal["stays", "supply"]

KINDS: tuple[str, ...] = get_args(Kind)
CHANGES: tuple[str, ...] = get_args(Change)
MISSING: tuple[str, ...] = get_args(Missing)
_LIMITS = ("lower", "upper", "max_change", "max_relative", "median", "step")
_NUMBERS = (*_LIMITS, "supply_cost", "weight", "drift")


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature and what a person may do with it.

    Parameters
    ----------
    name : str
        Column name; for already one-hot-encoded columns, the name of the group.
    kind : {"continuous", "integer", "binary", "categorical"}, optional
        Inferred from the data if it is not given.
    change : {"any", "increase", "decrease", "fixed"}
        The direction in which the feature may change. For a categorical feature, "increase" means
        towards categories that are listed later.
    lower, upper : float, optional
        Smallest and largest value that an action may set; the observed range by default. A person
        who is beyond a bound may stay there, or move back.
    weight : float
        Multiplies the effort of changing this feature; 0 makes it free.
    categories : sequence, optional
        The values of a categorical feature, in order.
    columns : sequence of str, optional
        Columns that already hold a one-hot encoding of this feature, one per category.
    missing : {"stays", "supply"}, optional
        What a person whose value is missing may do: nothing, or supply any value within the bounds,
        independently of ``change``, which is about people who have a value. No action makes a value
        missing. The default is "stays" if the training table has missing values.
    supply_cost : float, optional
        The effort of supplying a value, times the weight; the median effort of a change of this
        feature by default (see ``ract.data.costs.fit_cost``).
    max_change : float, optional
        How far a number may move from the person's own value; inf for any distance, even if the
        action space has limits.
    max_relative : float, optional
        How far it may move as a share of the person's own value, or of ``median`` where that is
        larger (absolute values), but at least one step: ``step``, or 1 for whole numbers. If both
        are given, the smaller distance counts.
    median : float, optional
        The median of the column, for ``max_relative`` only; inferred from the data if it is not
        given.
    step : float, optional
        Numbers change to multiples of the step only, and larger changes have larger steps: after a
        change by d, the number is also a multiple of ``10 ** (floor(log10(d)) - 1)``. 0 allows any
        number, even if the action space has steps. Training and searches observe it, except
        searches with effects or plausibility.
    unit, label : str
        How texts name it: "EUR", "%", "Monthly income".
    drift : float
        How much a number grows by itself each month (or year, see ``per``), such as 1 for months
        since an event and 1/12 for an age; fixed features may have one too. Promises allow for it.
    use : bool
        Whether the model uses it. A feature that is not used is left out when a model is fitted,
        and plans and letters do not mention it.
    pace : float, str or pair, optional
        How far a number can move each month (or year): an amount, a share of the person's own value
        such as "5%", or a pair of these for up and down. It matters where a time is given:
        ``recourse(X, by="6 months")``, ``cost="time"``, ``ActionSpace.within``.
    per : {"month", "year"}
        The unit of time of ``pace`` and ``drift``.
    delay : float or str
        Months, or a text such as "6 months", during which the feature cannot change; afterwards any
        change is possible, or one at the full pace.
    within : float or str, optional
        The number of months within which all changes must be possible; see ``ActionSpace.within``.

    Examples
    --------
    >>> Feature("Income", kind="integer", change="increase", upper=250_000).actionable
    True
    >>> Feature("Rent", missing="supply", supply_cost=0.1).may_supply
    True
    """

    name: str
    kind: Kind | None = None
    change: Change = "any"
    lower: float | None = None
    upper: float | None = None
    weight: float = 1.0
    categories: tuple[Any, ...] = ()
    columns: tuple[str, ...] = ()
    missing: Missing | None = None
    supply_cost: float | None = None
    drift: float = 0.0
    max_change: float | None = None
    max_relative: float | None = None
    median: float | None = None
    step: float | None = None
    unit: str = ""
    label: str = ""
    use: bool = True
    pace: Pace | None = None
    per: Per = "month"
    delay: float = 0.0
    within: float | None = None

    def __setstate__(self, state: list[Any]) -> None:
        """Restore a pickle; one of an earlier version ends before the latest fields."""
        defaults = [field.default for field in fields(self)]
        for field, value in zip(fields(self), [*state, *defaults[len(state) :]], strict=True):
            object.__setattr__(self, field.name, value)

    def __post_init__(self) -> None:
        # A frozen dataclass normalises its own fields through object.__setattr__.
        for name, value in _normalised(self).items():
            object.__setattr__(self, name, value)
        if not isinstance(self.name, str) or not self.name:
            raise InvalidSpec(f"A feature needs a non-empty name, got {self.name!r}.")
        for fault in _faults(self):
            raise InvalidSpec(f"Feature {self.name!r}{fault}")

    @property
    def actionable(self) -> bool:
        """Whether a person may change it at all."""
        return self.change != "fixed"

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of a table with its values: a one-hot group, or the column of its name."""
        return self.columns or (self.name,)

    @property
    def is_categorical(self) -> bool:
        """Whether it is encoded as a one-hot group."""
        return self.kind == "categorical"

    @property
    def is_complete(self) -> bool:
        """Whether nothing has to be inferred from a table, even if values are missing."""
        known = self.categories if self.is_categorical else self.is_bounded
        return bool(known) and self.missing is not None

    @property
    def is_bounded(self) -> bool:
        """Whether kind and both bounds of a number are filled in."""
        return self.kind is not None and None not in (self.lower, self.upper)

    @property
    def may_rise(self) -> bool:
        """Whether an action may raise it, or move it to a category that is listed later."""
        return self.change in ("any", "increase") and not self._too_early

    @property
    def may_fall(self) -> bool:
        """Whether an action may lower it, or move it to a category that is listed earlier."""
        return self.change in ("any", "decrease") and not self._too_early

    @property
    def _too_early(self) -> bool:
        return self.within is not None and self.within < self.delay

    @property
    def monthly_drift(self) -> float:
        """How much a number grows by itself each month."""
        return self.drift / (12 if self.per == "year" else 1)

    @property
    def may_supply(self) -> bool:
        """Whether a person whose value is missing may supply it."""
        return self.missing == "supply"

    def fixed(self) -> Feature:
        """Return the feature with all changes, and the supply of a missing value, forbidden."""
        missing = "stays" if self.may_supply else self.missing
        return replace(self.moving("fixed"), missing=missing, supply_cost=None)

    def moving(self, change: Change) -> Feature:
        """The same feature with another direction of change; without a pace if that is "fixed"."""
        pace = None if change == "fixed" else self.pace
        return replace(self, change=change, pace=pace)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound; infinite where there is none."""
        lower = -math.inf if self.lower is None else self.lower
        return lower, math.inf if self.upper is None else self.upper

    @property
    def is_limited(self) -> bool:
        """Whether how far it may move depends on the person's own value."""
        limits = (self.max_change, self.max_relative)
        bounded = any(limit is not None and limit < math.inf for limit in limits)
        paced = self.within is not None and self.pace is not None
        return self.is_number and (bounded or paced)

    @property
    def is_number(self) -> bool:
        """Whether it is a number, neither binary nor categorical."""
        return self.kind not in ("binary", "categorical")

    @property
    def is_ordered(self) -> bool:
        """Whether its categories have an order: they may only rise, or only fall."""
        return self.is_categorical and self.change in ("increase", "decrease")

    def blank(self) -> Feature:
        """The same feature without what is inferred from the numbers of a column."""
        limits: dict[str, Any] = dict.fromkeys(_LIMITS)
        return replace(self, **limits)

    @property
    def is_stepped(self) -> bool:
        """Whether actions lead to round values."""
        return self.is_number and bool(self.step)

    def room(self, values: np.ndarray) -> np.ndarray:
        """How far people may move it from their values, in either direction.

        Examples
        --------
        >>> income = Feature("Income", "integer", max_change=15, max_relative=0.5, median=20)
        >>> income.room(np.array([0.0, 24.0, 90.0]))
        array([10., 12., 15.])
        """
        values = np.abs(np.asarray(values, dtype=np.float64))
        most = np.full(values.shape, math.inf if self.max_change is None else self.max_change)
        if self.max_relative is not None:
            relative = self.max_relative * np.maximum(values, abs(self.median or 0.0))
            step = self.step or (0.0 if self.kind == "continuous" else 1.0)
            most = np.maximum(np.minimum(most, relative), step)
        return most

    def box(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value that people may set: their reach, whatever it costs.

        The intersection of bounds, direction, limits and pace; their own values are always allowed.

        Parameters
        ----------
        values : float array
            Their values; NaN, where one is missing, stays NaN.

        Examples
        --------
        >>> income = Feature("Income", "integer", "increase", upper=250_000, max_relative=0.5)
        >>> income.box(np.array([40_001.0, 200_000.0]))
        (array([ 40001., 200000.]), array([ 60001., 250000.]))
        """
        values = np.asarray(values, dtype=np.float64)
        (lower, upper), low, high = self.bounds, values, values
        if self.may_fall:
            low = np.minimum(lower, values)
        if self.may_rise:
            high = np.maximum(upper, values)
        if self.is_limited:
            room = ceiling(self.room(values))  # .29 of 100 is 29, whatever floating point says
            if self.kind != "continuous":
                room = np.floor(room)
            low, high = np.maximum(low, values - room), np.minimum(high, values + room)
        if self.within is not None and self.pace is not None:
            up, down = room_in_time(self, self.pace, values, self.within)
            low, high = np.maximum(low, values - down), np.minimum(high, values + up)
        return low, high

    def limits(self, value: float) -> tuple[float, float]:
        """Lowest and highest value that one person may set; their own value is always allowed.

        Examples
        --------
        >>> Feature("Income", kind="integer", change="increase", upper=250_000).limits(40_000)
        (40000.0, 250000.0)
        """
        low, high = self.box(np.array([value]))
        return float(low[0]), float(high[0])


def _normalised(feature: Feature) -> dict[str, object]:
    """Values of fields as a feature keeps them: tuples, floats and months."""
    name, columns = feature.name, tuple(feature.columns)
    values: dict[str, object] = {"columns": columns, "pace": as_pace(name, feature.pace)}
    values["categories"] = tuple(map(as_python, feature.categories)) or columns
    if columns:
        values["kind"] = feature.kind or "categorical"
    for key in _NUMBERS:
        value = getattr(feature, key)
        if value is not None or key in ("weight", "drift"):
            values[key] = _number(name, key, value)
    for key in ("delay", "within"):
        if getattr(feature, key) is not None:
            values[key] = months_of(getattr(feature, key), f"Feature {name!r}: {key}")
    return values


def _number(name: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise InvalidSpec(f"Feature {name!r}: {key} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number) and not (key == "max_change" and number == math.inf):
        raise InvalidSpec(f"Feature {name!r}: {key} must be finite, got {number!r}.")
    return number


def _faults(feature: Feature) -> Iterator[str]:
    """What cannot be meant of a feature: ends of sentences that begin with its name."""
    for key, known in {"kind": KINDS, "change": CHANGES, "missing": MISSING}.items():
        value = getattr(feature, key)
        if value not in known and (value is not None or key == "change"):
            yield f": {key} {value!r} is not one of {listing(known)}."
    if feature.weight < 0:
        yield f": weight must be 0 or more, got {feature.weight}."
    if not isinstance(feature.use, bool):
        yield f": use must be true or false, got {feature.use!r}."
    yield from _faults_of_missing(feature)
    yield from _faults_of_numbers(feature)
    yield from _faults_of_time(feature)
    if feature.is_categorical:
        yield from _faults_of_categories(feature)
    elif feature.categories:
        yield f": categories are for kind 'categorical', not {feature.kind!r}."


def _faults_of_missing(feature: Feature) -> Iterator[str]:
    missing, cost = feature.missing, feature.supply_cost
    if missing is not None and feature.columns:
        yield (
            f" is a group of one-hot columns, which take no missing values, but missing is "
            f"{missing!r}."
        )
    if cost is not None and not feature.may_supply:
        yield f": supply_cost is for missing 'supply', not {missing!r}."
    if cost is not None and cost < 0:
        yield f": supply_cost must be 0 or more, got {cost:g}."


def _faults_of_numbers(feature: Feature) -> Iterator[str]:
    """Bounds, limits, step, and how a number is written."""
    lower, upper, step = feature.lower, feature.upper, feature.step
    for key in ("max_change", "max_relative", "step"):
        limit = getattr(feature, key)
        if limit is not None and limit < 0:
            yield f": {key} must be 0 or more, got {limit:g}."
        if limit is not None and not feature.is_number:
            yield f" is {feature.kind}; {key} is for numbers of any size."
    if step and feature.kind == "integer" and step != math.floor(step):
        yield f" is an integer, but its step is {step:g}."
    if step and not 1e-9 <= step <= 1e15:
        yield f": step must lie between 1e-9 and 1e15, got {step:g}."
    for key in ("unit", "label"):
        if not isinstance(getattr(feature, key), str):
            yield f": {key} must be text, got {getattr(feature, key)!r}."
    if lower is not None and upper is not None and lower > upper:
        yield f": lower bound {lower:g} is above upper bound {upper:g}."
    if feature.kind == "integer":
        for bound in (lower, upper):
            if bound is not None and bound != math.floor(bound):
                yield f" is an integer, but its bound is {bound:g}."


def _faults_of_time(feature: Feature) -> Iterator[str]:
    if feature.per not in PERS:
        yield f": per must be one of {listing(PERS)}, got {feature.per!r}."
    if not feature.is_number and (feature.drift or feature.pace is not None):
        yield (
            f" is {feature.kind} and does not move by the month; a delay says how long its change "
            "takes."
        )
    if not feature.actionable and feature.pace is not None:
        yield (f" is fixed and has a pace of {feature.pace!r}; what moves by itself has a drift.")


def _faults_of_categories(feature: Feature) -> Iterator[str]:
    columns, categories = feature.columns, feature.categories
    if feature.lower is not None or feature.upper is not None:
        yield " is categorical and takes no lower or upper bound."
    if len(set(categories)) < len(categories):
        yield " lists a category twice."
    if columns and len(columns) != len(categories):
        yield f" has {len(columns)} columns but {len(categories)} categories."
    if len(columns) == 1:
        yield ": a one-hot group needs at least two columns."
