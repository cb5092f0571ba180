"""The record of a certificate: what was seen of held-out people and what follows."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ract._utils.errors import InvalidData
from ract._utils.files import write_whole
from ract._utils.printable import html_table
from ract._utils.statistics import clopper_pearson_upper
from ract._utils.status import Status
from ract._utils.typing import Label
from ract._utils.validation import as_python
from ract._utils.version import __version__
from ract.io.strict_json import MOST_JSON, parse_object
from ract.io.values import LARGEST_WHOLE
from ract.models.guarantee import percent_up
from ract.recourse.plan import exact_number
from ract.trees.fingerprint import canonical_json

FORMAT = "ract certificate 2"
# Records of ract 0.2 and before also held how long the search took and what a check was to sample.
EARLIER = "ract certificate 1"
# Texts are printed: one that could pass for a sentence of a check is refused.
_FORMS = dict.fromkeys(("model", "cost", "data"), r"[\w.-]{1,200}")
_FORMS |= {"date": r"[0-9T:.+-]{0,40}", "version": r"[0-9A-Za-z.+!-]{1,40}"}
_SHA256 = r"[0-9a-f]{64}"
NOT_READ = ("search.time_limit", "search.max_nodes", "none_sample", "seed")


class CertificateWarning(UserWarning):
    """A certificate holds for fewer people, or proves less, than it may seem."""


@dataclass(frozen=True)
class Count:
    """How many people have which status, and what follows for the population.

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

    group: Label | None
    n_people: int
    accepted: int
    served: int
    without: int
    unknown: int
    confidence: float
    risk_bound: float

    @classmethod
    def of(cls, group: Label | None, status: np.ndarray, confidence: float) -> Count:
        """Count the statuses of people."""
        return cls.from_numbers(group, (len(status), *numbers_of(status)), confidence)

    @classmethod
    def from_numbers(cls, group: Label | None, numbers: Sequence[int], confidence: float) -> Count:
        """What follows from numbers of people: all, accepted, served and unknown."""
        n_people, accepted, served, unknown = numbers
        without = n_people - accepted - served - unknown
        bound = clopper_pearson_upper(without + unknown, n_people, confidence)
        return cls(group, n_people, accepted, served, without, unknown, confidence, bound)

    @property
    def numbers(self) -> tuple[int, int, int, int, int]:
        """How many people there are, are accepted, have an action, have none, and are unknown."""
        return self.n_people, self.accepted, self.served, self.without, self.unknown

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
        Their bounds hold simultaneously with the stated confidence.
    max_changes : int or None
        Largest number of features that an action may change.
    overlap : int or None
        How many of the people are also in the training table; None if that is not known.
    date : str
        In UTC.
    version : str
        Of ract.
    witnesses : str or None
        SHA-256 hash of the witness file; None if there is none.
    """

    model: str
    cost: str
    data: str
    budget: float
    confidence: float
    everyone: Count
    groups: tuple[Count, ...] = ()
    max_changes: int | None = None
    overlap: int | None = None
    date: str = ""
    version: str = __version__
    witnesses: str | None = None

    @property
    def share_accepted(self) -> float:
        """Share of the people whom the model accepts as they are."""
        return self.everyone.accepted / self.everyone.n_people

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"Certificate: {self.describe().splitlines()[0]}"

    def _repr_html_(self) -> str:
        counts = [("everyone", self.everyone), *((count.group, count) for count in self.groups)]
        rows = [(name, *count.numbers, percent_up(count.risk_bound)) for name, count in counts]
        columns = ("group", "people", "accepted", "have recourse", "without", "unknown", "at most")
        return html_table(self.describe().splitlines()[0], columns, rows)

    def describe(self) -> str:
        """The statement in plain words; bounds are rounded up."""
        sure, seen = f"{100 * self.confidence:.4g}%", self.everyone
        limit = "at any cost"
        if not math.isinf(self.budget):
            limit = f"within a budget of {exact_number(self.budget)}"
        if self.max_changes is not None:
            limit += f" with at most {self.max_changes} changed features"
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
            count["group"] = as_python(count["group"])
            count["people"] = count.pop("n_people")  # its name in files of this format
        record["budget"] = None if math.isinf(self.budget) else self.budget
        return {**record, "digest": record_digest(record)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Certificate:
        """Read a record; use ``verify`` to check it."""
        if not isinstance(record, dict) or record.get("format") not in (FORMAT, EARLIER):
            raise InvalidData(f"This is not a {FORMAT!r}.")
        try:
            canonical_json(record)  # is JSON at all
            entries = _entries(record)
            entries["everyone"] = _count(entries["everyone"])
            if not isinstance(entries["groups"], list):
                raise ValueError("its groups are no list")
            entries["groups"] = tuple(_count(count) for count in entries["groups"])
            entries["budget"] = math.inf if entries["budget"] is None else entries["budget"]
            certificate = cls(**entries)
        except (KeyError, TypeError, ValueError, RecursionError) as wrong:
            raise InvalidData(f"The certificate is damaged: {wrong}.") from None
        if not (
            all(_is_text(getattr(certificate, name), form) for name, form in _FORMS.items())
            and _is_share(certificate.confidence)
            and _is_amount(certificate.budget)
            and _is_absent_or(is_count, certificate.max_changes)
            and _is_absent_or(is_count, certificate.overlap)
            and (certificate.witnesses is None or _is_text(certificate.witnesses, _SHA256))
        ):
            raise InvalidData("The certificate is damaged: a value in it is not possible.")
        return certificate

    def save(self, path: str | Path) -> None:
        """Write the record atomically as a JSON file."""
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


def record_digest(record: dict[str, Any]) -> str:
    """The digest that a record should carry."""
    rest = {name: value for name, value in record.items() if name != "digest"}
    return hashlib.sha256(canonical_json(rest)).hexdigest()


def _count(values: dict[str, Any]) -> Count:
    """A count that is possible."""
    count = Count(n_people=values["people"], **{k: v for k, v in values.items() if k != "people"})
    if not (
        all(is_count(number) for number in count.numbers)
        and sum(count.numbers) == 2 * count.n_people > 0
        and _is_share(count.confidence)
        and _is_amount(count.risk_bound)
    ):
        whose = "everyone" if count.group is None else repr(count.group)
        raise ValueError(f"the counts of {whose} are not possible")
    return count


def not_read(record: dict[str, Any]) -> list[str]:
    """Entries of an earlier record that no check reads, by name."""
    search = record.get("search", {})
    entries = {f"search.{name}" for name in search} | set(record)
    return [name for name in NOT_READ if record["format"] == EARLIER and name in entries]


def _entries(record: dict[str, Any]) -> dict[str, Any]:
    """The entries of a record as they are named now; a ValueError for one that is no entry."""
    entries = {name: value for name, value in record.items() if name not in ("format", "digest")}
    if record["format"] == EARLIER:
        search = entries.pop("search")
        drawn = entries.pop("none_sample", 0), entries.pop("seed", 0)
        if not (_is_earlier_search(search) and all(map(is_count, drawn))):
            raise ValueError("a value in it is not possible")
        entries = {"witnesses": None, **entries, "max_changes": search["max_changes"]}
    expected = {entry.name for entry in fields(Certificate)}
    if entries.keys() != expected:
        odd = sorted(entries.keys() ^ expected)
        raise ValueError(f"{odd[0]!r} is {'missing' if odd[0] in expected else 'no entry'}")
    return entries


def _is_earlier_search(search: object) -> bool:
    """Whether these are limits of the exact search as ract 0.2 wrote them."""
    return (
        isinstance(search, dict)
        and {"max_changes", "time_limit"} <= search.keys()
        and search.keys() <= {"method", "max_changes", "time_limit", "max_nodes"}
        and search.get("method", "exact") == "exact"
        and _is_absent_or(is_count, search["max_changes"])
        and _is_absent_or(is_count, search.get("max_nodes"))
        and _is_absent_or(_is_amount, search["time_limit"])
    )


def _is_text(value: object, form: str) -> bool:
    return isinstance(value, str) and re.fullmatch(form, value) is not None


def _is_absent_or(kind: Callable[[object], bool], value: object) -> bool:
    return value is None or kind(value)


def is_count(value: object) -> bool:
    """Whether a value is a whole number that every JSON reader takes as it is."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_WHOLE


def _is_amount(value: object) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return 0 <= value <= sys.float_info.max or value == math.inf


def _is_share(value: object) -> bool:
    return isinstance(value, float) and 0 < value < 1
