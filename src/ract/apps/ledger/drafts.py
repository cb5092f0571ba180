"""From plans to what a ledger keeps of them, as plain data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.ledger.chain import stamp
from ract.apps.ledger.promise import MONTH
from ract.apps.ledger.region import Region, Regions
from ract.data.frames import read_table
from ract.recourse.result import Recourse
from ract.recourse.when import months_needed
from ract.trees.fingerprint import model_fingerprint

LONGEST = 200  # characters of a person's key, and of a request's


class Draft(NamedTuple):
    """A promise that is not kept yet: to whom, until when, and what it says."""

    person: str
    end: datetime
    details: dict[str, Any]


def drafts(
    recourse: Recourse,
    people: Sequence[Any] | None,
    until: datetime,
    now: datetime,
    pinned: Collection[str] = (),
) -> Iterator[Draft]:
    """A draft for everyone who has a plan; see ``Ledger.offer``.

    Whoever cannot be promised anything until the end of today, because what moves by itself leaves
    what is proved before, gets none; nor does anyone whose plan takes longer than the promise lasts
    (``Feature.pace``).
    """
    keys = [str(key) for key in (recourse.labels if people is None else people)]
    if len(keys) != len(recourse):
        raise InvalidSpec(f"{len(keys)} keys were given for {len(recourse)} people.")
    if len(set(keys)) < len(keys):
        raise InvalidData("Two people have the same key; each needs one of their own.")
    check_keys(keys, "A person's key")
    regions, model = Regions(recourse, pinned), _fingerprint(recourse)
    before, after = _rows(recourse.people), _rows(recourse.counterfactuals)
    months = (until - now) / MONTH
    values = recourse.before, recourse.after
    takes = months_needed(recourse.encoder.axes, *values, math.floor(months))
    for i in np.flatnonzero(recourse.found).tolist():
        region, proved = regions.of(i, months)
        end = until if proved >= months else day_before(now + proved * MONTH, until.tzinfo)
        if end > now and takes[i] <= (end - now) / MONTH:
            details = _details(recourse, i, region, end)
            details |= {"before": before[i], "after": after[i], "model": model, "person": keys[i]}
            yield Draft(keys[i], end, details)


def check_keys(keys: Sequence[str], what: str) -> None:
    """Refuse keys that a database does not hold: empty, long, or with control characters."""
    for key in keys:
        if not 0 < len(key) <= LONGEST:
            raise InvalidData(f"{what} has 1 to {LONGEST} characters, got {key[:60]!r}.")
        if not key.isprintable():
            raise InvalidData(f"{what} has no control characters, got {key[:60]!r}.")


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name.

    >>> zone_of("Europe/Zurich").key
    'Europe/Zurich'
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSpec(f"{name!r} is not a time zone such as Europe/Zurich.") from None


def end_of(day: date, zone: Any) -> datetime:
    """The last moment of a day.

    >>> str(end_of(date(2026, 11, 19), zone_of("Europe/Zurich")))
    '2026-11-19 23:59:59.999999+01:00'
    """
    return datetime.combine(day, time.max, zone)


def day_before(at: datetime, zone: Any) -> datetime:
    """The end of the last day that is over by a time."""
    end = end_of(at.astimezone(zone).date(), zone)
    return end if end <= at else end_of(end.date() - timedelta(days=1), zone)


def until_of(expires: date | datetime | timedelta, now: datetime, zone: Any) -> datetime:
    """When promises end: with a day of the lender's, after they are made."""
    try:
        if isinstance(expires, timedelta):
            expires = now + expires
        if isinstance(expires, datetime):
            expires = utc(expires).astimezone(zone).date()
        elif not isinstance(expires, date):
            raise InvalidSpec(f"expires must be a date or a length of time, got {expires!r}.")
        until = end_of(expires, zone)
        until.astimezone(UTC)
    except OverflowError:
        raise InvalidSpec(f"expires is further away than dates go, got {expires!r}.") from None
    if until <= now:
        raise InvalidSpec(f"A promise must end after it is made, got {until:%Y-%m-%d %H:%M}.")
    return until


def utc(at: datetime) -> datetime:
    """A time in UTC."""
    if not isinstance(at, datetime):
        raise InvalidSpec(f"at must be a datetime, got {at!r}.")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def plain(value: Any) -> Any:
    """A value of Python's own, as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def as_kept(values: Mapping[str, Any] | pd.Series) -> dict[str, Any]:
    """A person's values as JSON holds them."""
    return {str(name): plain(value) for name, value in dict(values).items()}


def _rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as mappings."""
    read = read_table(table)
    cells = {name: read.cells(name) for name in read.names}
    return [{name: plain(values[i]) for name, values in cells.items()} for i in range(read.n_rows)]


def _details(recourse: Recourse, i: int, region: Region, end: datetime) -> dict[str, Any]:
    """What the promise of a plan says, beside whose it is."""
    plan, strength = recourse[i], float(recourse.strength[i])
    return {
        "desired": plain(recourse.desired),
        "expires": stamp(end),
        "zone": str(end.tzinfo),
        "plan": plan.describe(),
        "region": region.to_dict(),
        "strength": None if math.isnan(strength) else strength,
        "lasting": plan.lasting,
    }


def _fingerprint(recourse: Recourse) -> str:
    models = [one.model for one in recourse.question.each if one.decides]
    if not all(hasattr(model, "ensemble_") for model in models):
        raise InvalidSpec(
            "Promises are made by models that can be kept: make one of this model with "
            "ract.import_model first."
        )
    return " ".join(model_fingerprint(model) for model in models)
