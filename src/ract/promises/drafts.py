"""From plans to what a ledger keeps of them, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from ract._fingerprint import model_fingerprint
from ract._frames import read_table
from ract.errors import InvalidData, InvalidSpec
from ract.promises.promise import MONTH
from ract.promises.region import Region, Regions
from ract.promises.store import stamp
from ract.recourse.result import Recourse

LONGEST = 200  # characters of a person's key, and of a request's


class Draft(NamedTuple):
    """A promise that is not kept yet: whose, until when, and what it says."""

    row: int
    person: str
    end: datetime
    details: dict[str, Any]


def drafts(
    recourse: Recourse, people: Sequence[Any] | None, until: datetime, now: datetime, by: str
) -> Iterator[Draft]:
    """A draft for everyone who has a plan; see ``Ledger.offer``."""
    keys = [str(key) for key in (recourse.labels if people is None else people)]
    if len(keys) != len(recourse):
        raise InvalidSpec(f"{len(keys)} keys were given for {len(recourse)} people.")
    if len(set(keys)) < len(keys):
        raise InvalidData("Two people have the same key; each needs one of their own.")
    check_keys(keys, "A person's key")
    regions, model = Regions(recourse), _fingerprint(recourse)
    before, after = _rows(recourse.people), _rows(recourse.counterfactuals)
    months = (until - now) / MONTH
    for i in np.flatnonzero(recourse.found).tolist():
        region, proved = regions.of(i, months)
        end = until if proved >= months else now + proved * MONTH
        details = _details(recourse, i, region, end)
        details |= {"before": before[i], "after": after[i], "model": model, "by": by}
        yield Draft(i, keys[i], end, details | {"person": keys[i]})


def check_keys(keys: Sequence[str], what: str) -> None:
    """Refuse keys that a database does not hold: empty, long, or with control characters."""
    for key in keys:
        if not 0 < len(key) <= LONGEST:
            raise InvalidData(f"{what} has 1 to {LONGEST} characters, got {key[:60]!r}.")
        if not key.isprintable():
            raise InvalidData(f"{what} has no control characters, got {key[:60]!r}.")


def until_of(expires: date | datetime | timedelta, now: datetime) -> datetime:
    """When promises end, which must be after they are made."""
    try:
        if isinstance(expires, timedelta):
            until = now + expires
        elif isinstance(expires, datetime):
            until = utc(expires)
        elif isinstance(expires, date):
            midnight = datetime(expires.year, expires.month, expires.day, tzinfo=UTC)
            until = midnight + timedelta(days=1) - timedelta(microseconds=1)
        else:
            raise InvalidSpec(f"expires must be a date or a length of time, got {expires!r}.")
    except OverflowError:
        raise InvalidSpec(f"expires is further away than dates go, got {expires!r}.") from None
    if until <= now:
        raise InvalidSpec(f"A promise must end after it is made, got {until:%Y-%m-%d %H:%M}.")
    return until


def utc(at: datetime | None) -> datetime:
    """A time in UTC; now if there is none."""
    if at is None:
        return datetime.now(UTC)
    if not isinstance(at, datetime):
        raise InvalidSpec(f"at must be a datetime, got {at!r}.")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def plain(value: Any) -> Any:
    """A value of Python's own, as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


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
