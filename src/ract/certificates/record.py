"""The record of a certificate: what was seen of held-out people and what follows."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ract._files import write_whole
from ract._serialize import canonical
from ract._version import __version__
from ract.errors import InvalidData
from ract.guarantee import clopper_pearson_upper, percent_up
from ract.persist.strict_json import MOST_JSON, parse_object
from ract.persist.values import LARGEST_WHOLE
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
    n_people, accepted, served, without, unknown : int
        How many there were, and how many are accepted, have an action within the budget, have
        none (proved), and are unknown because the search ended early.
    confidence : float
        Of this bound alone.
    risk_bound : float
        At most this share of the population is without recourse.
    """

    group: Any
    n_people: int
    accepted: int
    served: int
    without: int
    unknown: int
    confidence: float
    risk_bound: float

    @classmethod
    def of(cls, group: Any, status: np.ndarray, confidence: float) -> Count:
        """Count the statuses of some people."""
        return cls.from_numbers(group, (len(status), *numbers_of(status)), confidence)

    @classmethod
    def from_numbers(cls, group: Any, numbers: Sequence[int], confidence: float) -> Count:
        """What follows from numbers of people: all, accepted, served and unknown."""
        n_people, accepted, served, unknown = numbers
        without = n_people - accepted - served - unknown
        bound = clopper_pearson_upper(without + unknown, n_people, confidence)
        return cls(group, n_people, accepted, served, without, unknown, confidence, bound)

    @property
    def risk(self) -> float:
        """Share of these people without recourse, the unknown ones included."""
        return (self.without + self.unknown) / self.n_people


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
    witnesses : str or None
        SHA-256 hash of the witness file; None if there is none.
    none_sample, seed : int
        How many of those without recourse ``verify`` is to prove again, and how it draws them.
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
    witnesses: str | None = None
    none_sample: int = 0
    seed: int = 0

    @property
    def share_accepted(self) -> float:
        """Share of the people whom the model accepts as they are."""
        return self.everyone.accepted / self.everyone.n_people

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """The statement in plain words; bounds are rounded up."""
        sure, seen = f"{100 * self.confidence:.4g}%", self.everyone
        limit = "at any cost" if math.isinf(self.budget) else f"within a budget of {self.budget:g}"
        who = "held-out people" if self.overlap == 0 else "people"
        text = (
            f"With {sure} confidence at most {percent_up(seen.risk_bound)} of people are without "
            f"recourse {limit}: {seen.without + seen.unknown} of {seen.n_people} {who} are"
        )
        if seen.unknown:
            text += f", {seen.unknown} of them because the search ended early"
        lines = [text + "."]
        if self.groups:
            lines.append(f"By group, all with {sure} confidence together:")
            lines += [
                f"  {count.group}: at most {percent_up(count.risk_bound)} "
                f"({count.without + count.unknown} of {count.n_people})"
                for count in self.groups
            ]
        if self.witnesses is not None:
            lines.append(
                f"An action of each of the {seen.served} people who have one is in the witness "
                f"file with hash {self.witnesses}."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values, with a digest of itself."""
        record: dict[str, Any] = {"format": FORMAT, **asdict(self)}
        record["groups"] = list(record["groups"])
        for count in [record["everyone"], *record["groups"]]:
            count["group"] = _plain(count["group"])
            count["people"] = count.pop("n_people")  # its name in files of this format
        record["budget"] = None if math.isinf(self.budget) else self.budget
        return {**record, "digest": digest_of(record)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Certificate:
        """Read a record; ``verify`` finds out whether it is as it was written."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise InvalidData(f"This is not a {FORMAT!r}.")
        own = {name: value for name, value in record.items() if name not in ("format", "digest")}
        try:
            canonical(record)  # is JSON at all
            own["everyone"] = _count(own["everyone"])
            own["groups"] = tuple(_count(count) for count in own["groups"])
            own["budget"] = math.inf if own["budget"] is None else own["budget"]
            certificate = cls(**own)
        except (KeyError, TypeError, ValueError, RecursionError) as wrong:
            raise InvalidData(f"The certificate is damaged: {wrong}.") from None
        texts = (certificate.model, certificate.cost, certificate.data, certificate.date)
        if not (
            all(isinstance(text, str) for text in (*texts, certificate.version))
            and _is_share(certificate.confidence)
            and _is_amount(certificate.budget)
            and _is_search(certificate.search)
            and _is_absent_or(is_count, certificate.overlap)
            and isinstance(certificate.witnesses, (str, type(None)))
            and is_count(certificate.none_sample)
            and is_count(certificate.seed)
        ):
            raise InvalidData("The certificate is damaged: a value in it is not possible.")
        return certificate

    def save(self, path: str | Path) -> None:
        """Write the record as a JSON file, whole or not at all."""
        write_whole(Path(path), json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a file that ``save`` wrote."""
        return cls.from_dict(read_record(path))


def numbers_of(status: np.ndarray) -> tuple[int, int, int]:
    """How many people are accepted, have an action, and are unknown."""
    accepted, served, unknown = (
        int((status == s).sum()) for s in (Status.ACCEPTED, Status.FOUND, Status.UNKNOWN)
    )
    return accepted, served, unknown


def read_record(path: str | Path) -> dict[str, Any]:
    """The JSON values of a certificate's file."""
    with Path(path).open("rb") as file:
        content = file.read(MOST_JSON + 1)
    try:
        return parse_object(content)
    except ValueError as error:
        raise InvalidData(f"{path} is not a certificate: it {error}.") from None


def digest_of(record: dict[str, Any]) -> str:
    """The digest that a record should carry."""
    rest = {name: value for name, value in record.items() if name != "digest"}
    return hashlib.sha256(canonical(rest)).hexdigest()


def _count(values: dict[str, Any]) -> Count:
    """A count that is possible."""
    count = Count(n_people=values["people"], **{k: v for k, v in values.items() if k != "people"})
    numbers = (count.n_people, count.accepted, count.served, count.without, count.unknown)
    if not (
        all(is_count(number) for number in numbers)
        and sum(numbers) == 2 * count.n_people > 0
        and _is_share(count.confidence)
        and _is_amount(count.risk_bound)
    ):
        raise ValueError(f"the counts of {count.group!r} are not possible")
    return count


def _is_search(search: Any) -> bool:
    """Whether these are limits of the exact search, the only one that proves that there is none."""
    return (
        isinstance(search, dict)
        and search.keys() <= {"method", "max_changes", "time_limit", "max_nodes"}
        and search.get("method", "exact") == "exact"
        and _is_absent_or(is_count, search.get("max_changes"))
        and _is_absent_or(is_count, search.get("max_nodes"))
        and _is_absent_or(_is_amount, search.get("time_limit"))
    )


def _is_absent_or(kind: Callable[[Any], bool], value: Any) -> bool:
    return value is None or kind(value)


def is_count(value: Any) -> bool:
    """Whether a value is a whole number that every JSON reader takes as it is."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_WHOLE


def _is_amount(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (0 <= value <= sys.float_info.max or value == math.inf)


def _is_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
