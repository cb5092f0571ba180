"""What is promised: the values of every feature with which a person is accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from ract.recourse.plan import exact_number, rounded_number


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
