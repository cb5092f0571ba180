"""How fast features change: months, paces and what moves by itself."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.typing import Label
from ract.data.edge import ceiling

if TYPE_CHECKING:
    from ract.data.actions.feature import Feature

Per = Literal["month", "year"]
PERS: tuple[str, ...] = get_args(Per)
Rate = float | str  # "5%" of the person's own value
Pace = Rate | tuple[Rate, Rate]

_MONTHS = {"month": 1, "year": 12}


def months_of(time: object, what: str) -> float:
    """A number of months, from a number or from a text such as "6 months" or "1 year".

    Examples
    --------
    >>> months_of(6, "by"), months_of("6 months", "by"), months_of("1 year", "by")
    (6.0, 6.0, 12.0)
    >>> months_of("6 weeks", "by")
    Traceback (most recent call last):
    ract._utils.errors.InvalidSpec: by must be months or years, such as '6 months', got '6 weeks'.
    """
    number: Any = time
    unit = "month"
    try:
        if isinstance(time, str):
            number, unit = time.split()
        if isinstance(time, bool):
            raise ValueError
        months = float(number) * _MONTHS[unit.removesuffix("s")]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InvalidSpec(
            f"{what} must be months or years, such as '6 months', got {time!r}."
        ) from None
    if not 0 <= months < math.inf:
        raise InvalidSpec(f"{what} must be 0 months or more, got {time!r}.")
    return months


def whole_months(time: object) -> int:
    """A whole number of months, as plans count them.

    >>> whole_months("2 years")
    24
    """
    months = months_of(time, "by")
    if months != math.floor(months):
        raise InvalidSpec(f"by must be a whole number of months, got {time!r}.")
    return int(months)


def as_pace(name: str, pace: object) -> Pace | None:
    """A pace in its plain form: a rate, or a pair of rates up and down.

    >>> as_pace("Income", "5%"), as_pace("Savings", [300, 1000])
    ('5%', (300.0, 1000.0))
    """
    if pace is None:
        return None
    if isinstance(pace, Sequence) and not isinstance(pace, str):
        if len(pace) != 2:
            raise InvalidSpec(
                f"Feature {name!r}: pace must be one rate, or a pair up and down, got {pace!r}."
            )
        return _rate(name, pace[0]), _rate(name, pace[1])
    return _rate(name, pace)


def _rate(name: str, rate: object) -> Rate:
    number = rate
    if isinstance(rate, str) and rate.endswith("%"):
        with suppress(ValueError):
            number = float(rate.removesuffix("%"))
    if isinstance(number, bool) or not isinstance(number, (int, float, np.number)):
        raise InvalidSpec(
            f"Feature {name!r}: pace must be a number, such as 300, or a share of the person's own "
            f"value, such as '5%', got {rate!r}."
        )
    if not 0 <= number <= sys.float_info.max:  # whole numbers of a file may be larger
        raise InvalidSpec(f"Feature {name!r}: pace must be 0 or more and finite, got {rate!r}.")
    return rate if isinstance(rate, str) else float(number)


def room_in_time(
    feature: Feature, pace: Pace, values: np.ndarray, months: float
) -> tuple[np.ndarray, np.ndarray]:
    """How far people can raise and lower a number within some months, from their own values."""
    time, size = max(0.0, months - feature.delay) / _MONTHS[feature.per], np.abs(values)
    rates = pace if isinstance(pace, tuple) else (pace, pace)
    up, down = (_distance(rate, size, time) for rate in rates)
    if feature.kind != "continuous":
        up, down = np.floor(up), np.floor(down)
    return up, down


def _distance(rate: Rate, size: np.ndarray, time: float) -> np.ndarray:
    if isinstance(rate, str):
        return ceiling(size * (float(rate.removesuffix("%")) / 100 * time))
    return np.full(size.shape, ceiling(rate * time))


def drift_of(feature: Feature, months: float) -> float:
    """How far a number moves by itself within some months; whole steps of a whole number.

    >>> from ract.data.actions import Feature
    >>> age = Feature("Age", "integer", "fixed", drift=1, per="year")
    >>> drift_of(age, 11), drift_of(age, 12)
    (0.0, 1.0)
    """
    change = feature.monthly_drift * months
    if feature.kind == "integer":
        change = math.copysign(math.floor(ceiling(abs(change))), change)
    return change


def months_for(feature: Feature, before: Label, after: Label) -> int | None:
    """The first month by which a feature can have changed so; None if not within 36.

    Examples
    --------
    >>> from ract import Feature
    >>> savings = Feature("Savings", "continuous", "increase", 0, 9000, pace=300, delay=1)
    >>> months_for(savings, 1000, 2200), months_for(savings, 1000, 1000)
    (5, 0)
    """
    for month in range(37):
        by_then = replace(feature, within=float(month))
        if not feature.is_number:
            if before == after or by_then.may_rise or by_then.may_fall:
                return month
            continue
        low, high = by_then.box(np.array([float(before)]))
        if before == after or low[0] <= after <= high[0]:
            return month
    return None
