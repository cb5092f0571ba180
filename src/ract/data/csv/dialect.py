"""How tables are written and read: the ``[table]`` section of an action file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import tomli_w

from ract._utils.errors import InvalidSpec, refuse_unknown
from ract._utils.toml import parsed_toml, read_toml
from ract._utils.validation import is_number

Unit = Literal["years", "days"]


@dataclass(frozen=True)
class Since:
    """A column of dates, read as the time since each of them.

    Parameters
    ----------
    unit : {"years", "days"}
    until : date or str
        The day up to which time is counted, or the name of another column of dates.
    format : str
        How dates are written, as in ``datetime.strptime``.

    Examples
    --------
    >>> Since("years", dt.date(2026, 1, 1), "%d.%m.%Y").unit
    'years'
    """

    unit: Unit
    until: dt.date | str
    format: str = "%Y-%m-%d"

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            raise InvalidSpec(f"Dates are read as 'years' or 'days', got {self.unit!r}.")
        if not isinstance(self.until, (dt.date, str)):
            raise InvalidSpec(f"Dates need a day or a column in 'until', got {self.until!r}.")
        if not isinstance(self.format, str) or "%" not in self.format:
            raise InvalidSpec(
                f"The format of dates is such as '%Y-%m-%d' or '%d.%m.%Y', got {self.format!r}."
            )


@dataclass(frozen=True)
class TableFormat:
    """How a table is written, and how its columns are read.

    It is the ``[table]`` section of an action file and is stored in model files, so that every
    command reads tables in the same way.

    Parameters
    ----------
    delimiter : str, optional
        Column separator; recognised if it is not given.
    decimal : str
        Decimal mark.
    thousands : str, optional
        Mark between groups of three digits.
    encoding : str
        A byte order mark at the start of a file takes precedence.
    missing : sequence of str
        Words for a missing value, in addition to an empty cell, NA, N/A, NaN and NULL.
    codes : mapping
        By column: numbers that stand for no value, such as 96 and 98 among counts.
    drop : sequence of str
        Columns that are no features.
    words : mapping
        By column: a category, and the other words for it.
    dates : mapping of str to Since
        By column: the time since its dates.
    others : mapping of str to str
        By column: the category that replaces every word that is not one of its categories.

    Examples
    --------
    >>> form = TableFormat(decimal=",", thousands=".", words={"phone": {"yes": ["y", "Yes"]}})
    >>> TableFormat.from_toml_text(form.to_toml_text()) == form
    True
    """

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    codes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    words: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    dates: Mapping[str, Since] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lists = {name: _texts(name, getattr(self, name)) for name in ("missing", "drop")}
        codes = {column: _numbers(column, values) for column, values in self.codes.items()}
        words = {
            column: {word: _texts(f"words.{column}", same) for word, same in names.items()}
            for column, names in self.words.items()
        }
        vars(self).update(lists, codes=codes, words=words)
        for name in ("delimiter", "decimal", "thousands"):
            mark = getattr(self, name)
            if mark is not None and not (isinstance(mark, str) and len(mark) == 1):
                raise InvalidSpec(f"{name} must be one character, got {mark!r}.")
        if self.decimal is None or self.decimal == self.thousands:
            raise InvalidSpec(
                f"The marks of decimals and thousands must differ, got {self.decimal!r} for both."
            )
        if not isinstance(self.encoding, str):
            raise InvalidSpec(f"encoding must be a name such as utf-8, got {self.encoding!r}.")

    @classmethod
    def of_record(cls, record: object) -> TableFormat:
        """The format that a ``[table]`` section describes.

        Parameters
        ----------
        record : mapping
            Of texts, lists and mappings; dates as such or as text.
        """
        known = [entry.name for entry in fields(cls)]
        if not isinstance(record, Mapping):
            raise InvalidSpec(f"[table] must be a table, got {record!r}.")
        refuse_unknown("[table]", record, known)
        for name in ("codes", "words", "dates", "others"):
            if not isinstance(record.get(name, {}), Mapping):
                raise InvalidSpec(f"[table.{name}] must be a table, got {record[name]!r}.")
        for column, names in record.get("words", {}).items():
            if not isinstance(names, Mapping):
                raise InvalidSpec(f"[table.words.{column}] must be a table, got {names!r}.")
        _texts("others", list(record.get("others", {}).values()))
        dates = {column: _since(column, said) for column, said in record.get("dates", {}).items()}
        return cls(**{**record, "dates": dates})

    def to_record(self) -> dict[str, Any]:
        """The same as texts, lists and mappings: all that differs from the defaults."""
        dates = {
            column: {"unit": since.unit, "until": str(since.until), "format": since.format}
            for column, since in self.dates.items()
        }
        codes = {
            column: tuple(int(code) if code.is_integer() else code for code in codes)
            for column, codes in self.codes.items()
        }
        record = vars(self) | {"dates": dates, "codes": codes}
        usual = vars(TableFormat())
        return {name: _as_lists(v) for name, v in record.items() if v != usual[name]}

    @classmethod
    def from_toml_text(cls, text: str) -> TableFormat:
        r"""Read the ``[table]`` section of an action file's text; without one, the defaults.

        >>> TableFormat.from_toml_text('[table]\ndecimal = ","').decimal
        ','
        """
        return cls.of_record(parsed_toml(text).get("table", {}))

    @classmethod
    def from_toml(cls, source: str | Path) -> TableFormat:
        """Read the ``[table]`` section of an action file."""
        return read_toml(source, cls.from_toml_text)

    def to_toml_text(self) -> str:
        """The ``[table]`` section of an action file."""
        return tomli_w.dumps({"table": self.to_record()})


def _since(column: str, entry: object) -> Since:
    required, known = {"unit", "until"}, {"unit", "until", "format"}
    if not isinstance(entry, Mapping) or not required <= set(entry) <= known:
        raise InvalidSpec(
            f"[table.dates] says {entry!r} of {column!r}; it takes unit, until and format."
        )
    until = entry["until"]
    if isinstance(until, str):
        with suppress(ValueError):  # else it is the name of a column
            until = dt.date.fromisoformat(until)
    elif isinstance(until, dt.datetime):
        until = until.date()
    return Since(entry["unit"], until, entry.get("format", "%Y-%m-%d"))


def _as_lists(value: Any) -> Any:
    """A value with lists in place of tuples, as TOML and JSON have them."""
    if isinstance(value, Mapping):
        return {key: _as_lists(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _numbers(column: str, values: object) -> tuple[float, ...]:
    if not isinstance(values, (list, tuple)) or not all(map(is_number, values)):
        raise InvalidSpec(f"[table.codes] {column!r} must be a list of numbers, got {values!r}.")
    return tuple(map(float, values))


def _texts(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(v, str) for v in values):
        raise InvalidSpec(f"[table]: {name} must be a list of texts, got {values!r}.")
    return tuple(values)
