"""What is promised, a promise and a case as people read them, and whether a ledger is intact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pandas as pd

from ract.apps.ledger.chain import Head
from ract.apps.ledger.entries import Plain
from ract.recourse.plan import exact_number, rounded_number

OPEN, REDEEMED, WITHDRAWN, EXPIRED, ERASED = "open", "redeemed", "withdrawn", "expired", "erased"
OFFERED = "offered"
MONTH = timedelta(days=365.25 / 12)


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
    category: object = None
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
        except (TypeError, ValueError, OverflowError):
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
        low = "" if self.low is None else rounded_number(self.low, up=True)
        high = "" if self.high is None else rounded_number(self.high, up=False)
        if not high:
            return f"{low} or more"
        return f"{low} to {high}" if low else f"{high} or less"


@dataclass(frozen=True)
class Region:
    """The values with which a person is accepted, feature by feature.

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
        """Why values are outside of the region, one sentence each; empty if they are inside."""
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


@dataclass(frozen=True)
class Promise:
    """What was promised to one person.

    Parameters
    ----------
    id : str
    person : str
        The key that the lender chose.
    status : {"open", "redeemed", "withdrawn", "expired"}
    offered, expires : datetime
        The latter is the end of a day in the lender's time zone.
    model : str
        Fingerprint of the model that made it.
    by : str
        Who made it.
    desired : value
        The class that is promised.
    plan : str
        In words.
    region : Region
        The values with which the person is accepted.
    before, after : dict
        The person's values when the promise was made, and after the plan.
    strength : float
    lasting : float or None
        The probability with which a model that is trained again on other people accepts the plan
        too.
    reason : str or None
        Why it was withdrawn.
    """

    id: str
    person: str
    status: str
    offered: datetime
    expires: datetime
    model: str
    by: str
    desired: Plain
    plan: str
    region: Region
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    strength: float
    lasting: float | None

    reason: str | None = None

    def __str__(self) -> str:
        asked = [f"{name} {self.region.limits[name]}" for name in self.region.asked]
        return (
            f"Promise {self.id} to {self.person}: {self.desired} until {self.expires:%Y-%m-%d} "
            f"with {', '.join(asked)} ({self.status})."
        )


@dataclass(frozen=True)
class Redemption:
    """Result of redeeming a promise.

    Parameters
    ----------
    accepted : bool
    promise : Promise or None
        The promise that decided, or the one whose conditions are closest to being met; None if
        there is none.
    faults : tuple of str
        Why they were not accepted, a sentence each.
    """

    accepted: bool
    promise: Promise | None
    faults: tuple[str, ...] = ()

    @property
    def decided_by(self) -> str | None:
        """The number of the promise by which they were accepted; None if they were not."""
        return self.promise.id if self.accepted and self.promise is not None else None

    def __str__(self) -> str:
        if self.promise is None:
            return "There is no open promise to this person."
        if self.accepted:
            return f"Accepted: {self.promise.desired}, by promise {self.promise.id}."
        return f"Not accepted by promise {self.promise.id}: {' '.join(self.faults)}"


@dataclass(frozen=True)
class Case:
    """A person about whom a decision was made.

    Parameters
    ----------
    id, person : str
    at : datetime
        Of the last decision.
    values : dict
        The values on which the decision was made.
    decision : dict
        "accepted", "model" (fingerprint) and "promise" (number of the promise that decided, or
        None).
    reported : dict or None
        Values that the person has reported since.
    """

    id: str
    person: str
    at: datetime
    values: Mapping[str, Any]
    decision: Mapping[str, Any]
    reported: Mapping[str, Any] | None = None

    @property
    def accepted(self) -> bool:
        """Whether they got what they asked for."""
        return bool(self.decision["accepted"])


@dataclass(frozen=True)
class Verification:
    """Result of verifying a ledger.

    Parameters
    ----------
    n_events : int
    head : str
        Hash of the last event.
    faults : tuple of str
    signed : Head or None
        The last event, signed. If it is published elsewhere, it also reveals that events were
        removed from the end.
    """

    n_events: int
    head: str
    faults: tuple[str, ...] = ()
    signed: Head | None = None

    def __bool__(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        if self:
            return f"All {self.n_events} events are as they were written. Head: {self.head}."
        return f"{len(self.faults)} faults in {self.n_events} events. {' '.join(self.faults)}"
