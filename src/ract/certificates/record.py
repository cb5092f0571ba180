"""The record of a certificate: what was seen of held-out people and what follows."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ract._files import write_whole
from ract._serialize import canonical
from ract._version import __version__
from ract.errors import InvalidData
from ract.guarantee import clopper_pearson_upper, percent_up
from ract.status import Status

FORMAT = "ract certificate 1"


class CertificateWarning(UserWarning):
    """Something that makes a certificate weaker than it looks."""


@dataclass(frozen=True)
class Count:
    """What was seen of some people and what follows for those like them.

    Parameters
    ----------
    group : label or None
        None for everyone.
    people, accepted, served, without, unknown : int
        How many there were, and how many are accepted, have an action within the budget, have
        none (proved), and were left open by the search.
    confidence : float
        Of this bound alone.
    risk_bound : float
        At most this share of the population is without recourse.
    """

    group: Any
    people: int
    accepted: int
    served: int
    without: int
    unknown: int
    confidence: float
    risk_bound: float

    @classmethod
    def of(cls, group: Any, status: np.ndarray, confidence: float) -> Count:
        """Count the statuses of some people."""
        accepted, served, unknown = (
            int((status == s).sum()) for s in (Status.ACCEPTED, Status.FOUND, Status.UNKNOWN)
        )
        without = len(status) - accepted - served - unknown
        bound = clopper_pearson_upper(without + unknown, len(status), confidence)
        return cls(group, len(status), accepted, served, without, unknown, confidence, bound)

    @property
    def risk(self) -> float:
        """Share of these people without recourse, the open ones included."""
        return (self.without + self.unknown) / self.people


@dataclass(frozen=True)
class Certificate:
    """A statement on the recourse risk of a population.

    Parameters
    ----------
    model, cost, data : str
        Fingerprints of the model, of its costs and of the people.
    budget, confidence : float
    everyone : Count
    groups : tuple of Count
        Their bounds hold together with the stated confidence.
    search : dict
        What the counts rest on.
    overlap : int or None
        How many of the people are also in the training table; None if that is not known.
    date : str
        In UTC.
    version : str
        Of ract.
    """

    model: str
    cost: str
    data: str
    budget: float
    confidence: float
    everyone: Count
    groups: tuple[Count, ...] = ()
    search: dict[str, Any] = field(default_factory=dict)
    overlap: int | None = None
    date: str = ""
    version: str = __version__

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """The statement in plain words; bounds are rounded up."""
        sure, seen = f"{100 * self.confidence:.4g}%", self.everyone
        limit = "at any cost" if math.isinf(self.budget) else f"within a budget of {self.budget:g}"
        told = (
            f"With {sure} confidence at most {percent_up(seen.risk_bound)} of people are without "
            f"recourse {limit}: {seen.without + seen.unknown} of {seen.people} held-out people are"
        )
        if seen.unknown:
            told += f", {seen.unknown} of them because the search ended early"
        lines = [told + "."]
        if self.groups:
            lines.append(f"By group, all with {sure} confidence together:")
            lines += [
                f"  {count.group}: at most {percent_up(count.risk_bound)} "
                f"({count.without + count.unknown} of {count.people})"
                for count in self.groups
            ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values, with a digest of itself."""
        told: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        told["groups"] = [asdict(count) for count in self.groups]
        for count in [told["everyone"], *told["groups"]]:
            count["group"] = _plain(count["group"])
        told["budget"] = None if math.isinf(self.budget) else self.budget
        return {**told, "digest": digest_of(told)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Certificate:
        """Read a record; ``verify`` tells whether it is as it was written."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise InvalidData(f"This is not a {FORMAT!r}.")
        told = {name: value for name, value in record.items() if name not in ("format", "digest")}
        try:
            canonical(record)  # is JSON at all
            told["everyone"] = _count(told["everyone"])
            told["groups"] = tuple(_count(count) for count in told["groups"])
            told["budget"] = math.inf if told["budget"] is None else told["budget"]
            certificate = cls(**told)
        except (KeyError, TypeError, ValueError, RecursionError) as wrong:
            raise InvalidData(f"The certificate is damaged: {wrong}.") from None
        texts = (certificate.model, certificate.cost, certificate.data, certificate.date)
        if not (
            all(isinstance(text, str) for text in (*texts, certificate.version))
            and _is_share(certificate.confidence)
            and isinstance(certificate.budget, (int, float))
            and not isinstance(certificate.budget, bool)
            and certificate.budget >= 0
            and isinstance(certificate.search, dict)
            and (certificate.overlap is None or _is_number_of_people(certificate.overlap))
        ):
            raise InvalidData("The certificate is damaged: an entry is none that can be.")
        return certificate

    def save(self, path: str | Path) -> None:
        """Write the record as a JSON file, whole or not at all."""
        write_whole(Path(path), json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a file that ``save`` wrote."""
        return cls.from_dict(read_record(path))


def read_record(path: str | Path) -> dict[str, Any]:
    """The JSON values of a certificate's file."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidData(f"{path} is not a certificate: it is not JSON.") from None
    if not isinstance(record, dict):
        raise InvalidData(f"{path} is not a certificate.")
    return record


def digest_of(record: dict[str, Any]) -> str:
    """The digest that a record should carry."""
    told = {name: value for name, value in record.items() if name != "digest"}
    return hashlib.sha256(canonical(told)).hexdigest()


def _count(told: dict[str, Any]) -> Count:
    """A count whose entries can be."""
    count = Count(**told)
    numbers = (count.people, count.accepted, count.served, count.without, count.unknown)
    if not (
        all(_is_number_of_people(number) for number in numbers)
        and sum(numbers) == 2 * count.people > 0
        and _is_share(count.confidence)
        and isinstance(count.risk_bound, (int, float))
    ):
        raise ValueError(f"the counts of {count.group!r} cannot be")
    return count


def _is_number_of_people(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
