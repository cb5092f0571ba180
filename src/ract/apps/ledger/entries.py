"""What a ledger holds, as plain data: keys of people, days of a time zone, values of features."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec

LONGEST = 200  # characters of a person's key, and of a request's

Plain = bool | int | float | str | None  # a value as JSON holds it


def check_keys(keys: Iterable[str], what: str) -> None:
    """Refuse keys that a database does not hold: empty, long, or with control characters."""
    for key in keys:
        if not 0 < len(key) <= LONGEST:
            raise InvalidData(f"{what} has 1 to {LONGEST} characters, got {key[:60]!r}.")
        if not key.isprintable():
            raise InvalidData(f"{what} has no control characters, got {key[:60]!r}.")


def check_distinct(keys: Collection[str]) -> None:
    """Refuse keys of which two are the same."""
    if len(set(keys)) < len(keys):
        raise InvalidData("Two people have the same key; each needs one of their own.")


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name.

    >>> zone_of("Europe/Zurich").key
    'Europe/Zurich'
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSpec(f"{name!r} is not a time zone such as Europe/Zurich.") from None


def end_of(day: date, zone: tzinfo) -> datetime:
    """The last moment of a day.

    >>> str(end_of(date(2026, 11, 19), zone_of("Europe/Zurich")))
    '2026-11-19 23:59:59.999999+01:00'
    """
    return datetime.combine(day, time.max, zone)


def day_before(at: datetime, zone: tzinfo) -> datetime:
    """The end of the last day that is over by a time."""
    end = end_of(at.astimezone(zone).date(), zone)
    return end if end <= at else end_of(end.date() - timedelta(days=1), zone)


def until_of(expires: date | datetime | timedelta, now: datetime, zone: tzinfo) -> datetime:
    """When promises end: with a day in the lender's time zone, after they are made."""
    try:
        if isinstance(expires, timedelta):
            expires = now + expires
        if isinstance(expires, datetime):
            at = expires if expires.tzinfo is not None else expires.replace(tzinfo=UTC)
            expires = at.astimezone(zone).date()
        elif not isinstance(expires, date):
            raise InvalidSpec(f"expires must be a date or a length of time, got {expires!r}.")
        until = end_of(expires, zone)
        until.astimezone(UTC)
    except OverflowError:
        raise InvalidSpec(f"expires is further away than dates go, got {expires!r}.") from None
    if until <= now:
        raise InvalidSpec(f"A promise must end after it is made, got {until:%Y-%m-%d %H:%M}.")
    return until


def plain_value(value: object) -> Plain:
    """A value as JSON holds it: a plain Python number, a text, or None where it is missing.

    >>> plain_value(np.float32(0.5)), plain_value(np.nan), plain_value(np.inf)
    (0.5, None, 'inf')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def plain_values(values: Mapping[str, object] | pd.Series) -> dict[str, Plain]:
    """The values of a sample by feature, as JSON holds them."""
    return {str(name): plain_value(value) for name, value in dict(values).items()}
