"""How a CSV file is written, read off the file, and what to say about that."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ract._utils.errors import InvalidData, listing
from ract.data.csv.dialect import TableFormat
from ract.data.csv.files import (
    MISSING,
    WHOLE,
    Chunks,
    is_parquet,
    likely_delimiter,
    likely_encoding,
    marked_encoding,
    open_table,
    read_whole,
    start_of,
    text_of,
)
from ract.data.csv.read import convention, pattern

# Words that stand for a missing value in a column of numbers, in small letters.
NO_NUMBER = {
    "?", "-", "--", ".", "n/a", "na", "n.a.", "k.a.", "k. a.", "none", "unknown", "missing", "nil",
    "unbekannt", "keine angabe", "#n/v", "#nv", "#wert!", "#value!", "#div/0!", "#ref!",
}  # fmt: skip


@dataclass
class Description:
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


def describe_file(source: str, given: Mapping[str, Any] | None = None) -> Description:
    r"""Read a table whose writing is not known.

    Parameters
    ----------
    source : path or "-"
    given : mapping, optional
        What is known already, by parameter of ``TableFormat``; it is not looked into.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("Einkommen;Stadt\n1.234,5;Ulm\n980;Bonn\n", "cp1252")
    ...     found = describe_file(str(path))
    >>> found.form.delimiter, found.form.decimal, found.frame["Stadt"].tolist()
    (';', ',', ['Ulm', 'Bonn'])
    """
    given = given or {}
    form = TableFormat(**given)
    if source != "-" and is_parquet(Path(source)):
        return Description(read_whole(source, form), form)
    stream = nullcontext(io.BytesIO(sys.stdin.buffer.read())) if source == "-" else None
    with stream or open_table(Path(source)) as file:
        comments: dict[str, list[str]] = {}
        if "encoding" not in given:
            form = _with_encoding(file, form, comments)
        if "delimiter" not in given:
            lines, sample = text_of(file, form)
            lines.detach()
            file.seek(0)
            form = replace(form, delimiter=likely_delimiter(sample))
        (text,) = Chunks(source, form, WHOLE, "all", file, [""])
        file.seek(0)
        found = Description(text, form, comments)
        cells = {name: text[name].dropna().unique().tolist() for name in text.columns}
        words = {name: [c for c in all_of if c not in MISSING] for name, all_of in cells.items()}
        usual = {name: [c for c in all_of if c in MISSING] for name, all_of in cells.items()}
        if not {"decimal", "thousands"} & set(given):
            _recognise_numbers(found, words)
        _recognise_missing(found, words)
        _say_what_is_missing(found, words, usual)
        (found.frame,) = Chunks(source, found.form, WHOLE, (), file)
    if found.form.delimiter == ",":
        found.form = replace(found.form, delimiter=None)
    return found


def _with_encoding(
    file: BinaryIO, form: TableFormat, comments: dict[str, list[str]]
) -> TableFormat:
    name = likely_encoding(file)
    if name in ("utf-8", "utf-8-sig"):
        return form
    why = (
        "its first bytes say so" if marked_encoding(start_of(file)) else "a guess: it is not UTF-8"
    )
    comments["encoding"] = [f"{why}; if letters such as ä or é look wrong, name another."]
    return replace(form, encoding=name)


def _recognise_numbers(found: Description, words: dict[str, list[str]]) -> None:
    """The marks of decimals and thousands, or a question where two readings are as good."""
    numbers = [
        [value for value in values if value.lower() not in NO_NUMBER] for values in words.values()
    ]
    style = convention(numbers)
    if style.other is not None:
        marks = [_marks(style.decimal, style.thousands), _marks(*style.other)]
        if style.decimal != ".":
            raise InvalidData(
                f"The numbers may be written in two ways: {style.example!r} with {marks[0]}, or "
                f"with {marks[1]}; say which: decimal and thousands."
            )
        found.said.append(
            f"{style.example!r} is read as a number with {marks[0]}; if it has {marks[1]}, say so: "
            "decimal and thousands."
        )
    found.form = replace(found.form, decimal=style.decimal, thousands=style.thousands)


def _marks(decimal: str, thousands: str | None) -> str:
    return f"decimals after {decimal!r}" + (
        "" if thousands is None else f" and {thousands!r} between thousands"
    )


def _recognise_missing(found: Description, words: dict[str, list[str]]) -> None:
    """Words for a missing value: those that alone keep a column from being numbers, and ``?``."""
    form, is_number = found.form, pattern(found.form.decimal, found.form.thousands)
    columns: dict[str, list[str]] = {}
    for name, values in words.items():
        texts = [value for value in values if not is_number.fullmatch(value)]
        known = [value for value in texts if value.strip().lower() in NO_NUMBER]
        if len(known) < len(texts) or len(texts) == len(values):
            known = ["?"] if "?" in texts else []
        columns[name] = known
    if missing := _columns_of_words(columns):
        found.form = replace(form, missing=(*form.missing, *missing))
        found.comments["missing"] = [
            f"{word!r} is read as a missing value; it is in {listing(names)}."
            for word, names in missing.items()
        ]
        found.said += found.comments["missing"]


def _say_what_is_missing(
    found: Description, words: dict[str, list[str]], usual: dict[str, list[str]]
) -> None:
    """Name the usual words for a missing value that stand among words: one may be a category."""
    is_number = pattern(found.form.decimal, found.form.thousands)
    texts = [name for name, values in words.items() if not all(map(is_number.fullmatch, values))]
    found.said += [
        f"{word!r} is read as a missing value in {listing(names)}; if it is a category, call it "
        "otherwise there."
        for word, names in _columns_of_words({name: usual[name] for name in texts}).items()
    ]


def _columns_of_words(words: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The columns that hold each word, from the words of each column."""
    columns: dict[str, list[str]] = {}
    for name, found in words.items():
        for word in found:
            columns.setdefault(word, []).append(name)
    return columns


def writing_of(form: TableFormat) -> str:
    """How a file is written, in words; "" if as usual."""
    usual = TableFormat()
    parts = []
    if form.delimiter is not None:
        parts.append(f"{form.delimiter!r} between columns")
    if (form.decimal, form.thousands) != (usual.decimal, usual.thousands):
        parts.append(_marks(form.decimal, form.thousands))
    if form.encoding != usual.encoding:
        parts.append(f"letters in {form.encoding}")
    return ", ".join(parts)
