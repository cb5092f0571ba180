"""How a CSV file is written, read off the file: for ``ract init``, which says what it decided."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ract.cli.failures import BadInput
from ract.cli.options import Csv
from ract.cli.tables import (
    MISSING,
    WHOLE,
    Chunks,
    format_of,
    is_parquet,
    name_of,
    opened,
    read_whole,
    text_of,
)
from ract.errors import listing
from ract.tables import TableFormat
from ract.tables.numbers import convention, pattern
from ract.tables.recognise import likely_delimiter, likely_encoding, marked_encoding, start_of

# Words that stand for a missing value in a column of numbers, in small letters.
NO_NUMBER = {
    "?", "-", "--", ".", "n/a", "na", "n.a.", "k.a.", "k. a.", "none", "unknown", "missing", "nil",
    "unbekannt", "keine angabe", "#n/v", "#nv", "#wert!", "#value!", "#div/0!", "#ref!",
}  # fmt: skip


@dataclass
class Recognised:
    """A table, how it is written, and what to say about that.

    Parameters
    ----------
    frame : DataFrame
    form : TableFormat
    comments : dict
        Lines for the action file, by key of ``[table]``.
    said : list of str
        Sentences for whoever runs the command.
    """

    frame: pd.DataFrame
    form: TableFormat
    comments: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def recognised(source: str, csv: Csv) -> Recognised:
    """Read a table whose writing is not known; what options say is not looked into."""
    if source != "-" and is_parquet(Path(source)):
        form = format_of(csv)
        return Recognised(read_whole(source, form), form)
    with _opened(source) as file:
        form = format_of(csv)
        comments: dict[str, list[str]] = {}
        if csv.encoding is None:
            form = _with_encoding(file, form, comments)
        if csv.delimiter is None:
            lines, sample = text_of(file, form)
            lines.detach()
            file.seek(0)
            form = replace(form, delimiter=likely_delimiter(sample))
        (text,) = Chunks(source, form, WHOLE, "all", file, [""])
        file.seek(0)
        found = Recognised(text, form, comments)
        words, usual = {}, {}
        for name in text.columns:
            cells = text[name].dropna().unique().tolist()
            words[name] = [cell for cell in cells if cell not in MISSING]
            usual[name] = [cell for cell in cells if cell in MISSING]
        if csv.decimal is None and csv.thousands is None:
            _recognise_numbers(found, words)
        _recognise_missing(found, words)
        _say_what_is_missing(found, words, usual)
        (found.frame,) = Chunks(source, found.form, WHOLE, (), file)
    if found.form.delimiter == ",":
        found.form = replace(found.form, delimiter=None)
    return found


@contextmanager
def _opened(source: str) -> Iterator[Any]:
    if source == "-":
        yield io.BytesIO(sys.stdin.buffer.read())
        return
    with opened(Path(source)) as file:
        yield file


def _with_encoding(file: Any, form: TableFormat, comments: dict[str, list[str]]) -> TableFormat:
    name = likely_encoding(file)
    if name in ("utf-8", "utf-8-sig"):
        return form
    why = (
        "its first bytes say so" if marked_encoding(start_of(file)) else "a guess: it is not UTF-8"
    )
    comments["encoding"] = [f"{why}; if letters such as ä or é look wrong, name another."]
    return replace(form, encoding=name)


def _recognise_numbers(found: Recognised, words: dict[str, list[str]]) -> None:
    """The marks of decimals and thousands, or a question where two readings are as good."""
    numbers = [
        [value for value in values if value.lower() not in NO_NUMBER] for values in words.values()
    ]
    style = convention(numbers)
    if style.other is not None:
        marks = [_marks(style.decimal, style.thousands), _marks(*style.other)]
        if style.decimal != ".":
            raise BadInput(
                f"The numbers may be written in two ways: {style.example!r} with {marks[0]}, or "
                f"with {marks[1]}; say which with --decimal and --thousands."
            )
        found.said.append(
            f"{style.example!r} is read as a number with {marks[0]}; if it has {marks[1]}, say so "
            "with --decimal and --thousands."
        )
    found.form = replace(found.form, decimal=style.decimal, thousands=style.thousands)


def _marks(decimal: str, thousands: str | None) -> str:
    return f"decimals after {decimal!r}" + (
        "" if thousands is None else f" and {thousands!r} between thousands"
    )


def _recognise_missing(found: Recognised, words: dict[str, list[str]]) -> None:
    """Words for a missing value: those that alone keep a column from being numbers, and ``?``."""
    form, is_number = found.form, pattern(found.form.decimal, found.form.thousands)
    missing: dict[str, list[str]] = {}
    for name, values in words.items():
        others = [value for value in values if not is_number.fullmatch(value)]
        known = [value for value in others if value.strip().lower() in NO_NUMBER]
        if len(others) < len(values) and len(others) == len(known):
            for word in known:
                missing.setdefault(word, []).append(name)
        elif "?" in others:
            missing.setdefault("?", []).append(name)
    if missing:
        found.form = replace(form, missing=(*form.missing, *missing))
        found.comments["missing"] = [
            f"{word!r} is read as a missing value; it is in {listing(names)}."
            for word, names in missing.items()
        ]
        found.said += found.comments["missing"]


def _say_what_is_missing(
    found: Recognised, words: dict[str, list[str]], usual: dict[str, list[str]]
) -> None:
    """Name the usual words for a missing value that stand among words: one may be a category."""
    is_number = pattern(found.form.decimal, found.form.thousands)
    missing: dict[str, list[str]] = {}
    for name, values in words.items():
        if not all(map(is_number.fullmatch, values)):
            for word in usual[name]:
                missing.setdefault(word, []).append(name)
    found.said += [
        f"{word!r} is read as a missing value in {listing(names)}; if it is a category, call it "
        "otherwise there."
        for word, names in missing.items()
    ]


def written(found: Recognised, source: str) -> str | None:
    """How a file is written, in words; None if as usual."""
    form = found.form
    usual = TableFormat()
    parts = []
    if form.delimiter is not None:
        parts.append(f"{form.delimiter!r} between columns")
    if (form.decimal, form.thousands) != (usual.decimal, usual.thousands):
        parts.append(_marks(form.decimal, form.thousands))
    if form.encoding != usual.encoding:
        parts.append(f"letters in {form.encoding}")
    return f"{name_of(source)} has {', '.join(parts)}." if parts else None
