"""CSV files, read in chunks by pandas, with complaints that a person understands."""

from __future__ import annotations

import csv as csv_lines
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from ract.cli.failures import BadInput
from ract.cli.options import Csv
from ract.errors import listing

# "None" is a word that people use for a category, so it is not among them.
MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null"]


def read_csv_chunks(
    file: Any, name: str, given: Csv, size: int, text: Sequence[str]
) -> Iterator[pd.DataFrame]:
    """The rows of an open binary file in pieces.

    Parameters
    ----------
    file : binary file
    name : str
        What to call it.
    given : Csv
    size : int
        Rows of a piece.
    text : sequence of str
        Columns to be read as text whatever they look like.
    """
    try:
        lines = io.TextIOWrapper(file, encoding=_codec(given.encoding), newline="")
    except LookupError:
        raise BadInput(f"--encoding {given.encoding!r} is unknown; try utf-8 or cp1252.") from None
    try:
        header, delimiter = _header(lines, name, given)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            reader = pd.read_csv(
                lines, header=None, names=header, index_col=False, sep=delimiter,
                decimal=given.decimal, thousands=given.thousands, chunksize=min(size, 2**31 - 1),
                dtype={column: str for column in text if column in header},
                keep_default_na=False, na_values=MISSING, float_precision="round_trip",
                low_memory=False,
            )  # fmt: skip
            with reader:
                yield from reader
    except UnicodeError as error:
        raise BadInput(
            f"{name} is not {given.encoding} text ({_reason(error)}); save it as UTF-8, or name "
            "its encoding with --encoding, such as cp1252 or utf-16."
        ) from None
    except pd.errors.EmptyDataError:
        return
    except pd.errors.ParserWarning:
        raise BadInput(f"{name} has rows with more values than its head has columns.") from None
    except pd.errors.ParserError as error:
        told = " ".join(str(error).removeprefix("Error tokenizing data. C error: ").split())
        raise BadInput(f"{name} is not a CSV table: {told.rstrip('.')}.") from None
    finally:
        lines.detach()  # the file belongs to who opened it


def _codec(encoding: str) -> str:
    return "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


def _header(lines: Any, name: str, given: Csv) -> tuple[list[str], str]:
    """Column names from the first line, and what separates them."""
    first = lines.readline()
    while first.count('"') % 2 and (more := lines.readline()):
        first += more
    if not first.strip():
        raise BadInput(f"{name} is empty.")
    if "\0" in first:
        raise BadInput(f"{name} is not text; save it as CSV (UTF-8).")
    delimiter = given.delimiter or _likely_delimiter(first)
    if len(delimiter) != 1:
        raise BadInput(f"--delimiter must be one character, got {delimiter!r}.")
    header = next(csv_lines.reader(io.StringIO(first), delimiter=delimiter))
    unnamed = [k for k, column in enumerate(header) if not column.strip()]
    if unnamed:
        raise BadInput(f"Column {unnamed[0] + 1} of {name} has no name in the first line.")
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise BadInput(f"{name} has more than one column called {listing(twice)}.")
    return header, delimiter


def _likely_delimiter(head: str) -> str:
    """A comma, unless the head has none and another usual mark instead."""
    if "," not in head:
        for mark in (";", "\t", "|"):
            if mark in head:
                return mark
    return ","


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} does not belong there"
    return " ".join(str(error).split()).rstrip(".")
