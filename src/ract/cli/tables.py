"""Reading tables, whole or in chunks: CSV and Parquet, with one sentence about what is wrong."""

from __future__ import annotations

import csv as csv_lines
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract.cli.failures import BadInput, optional_library
from ract.cli.inputs import one_line, readable
from ract.cli.options import Csv
from ract.errors import InvalidData, listing

CHUNK = 2000
WHOLE = 2**31 - 1  # the most rows that the readers take at once

# "None" is a word that people use for a category, so it is not among them.
MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null"]

LONGEST_HEAD = 2**22  # characters of the line with the column names

# 1.234,56 or 1,234 or 12,5 or $1,234.50 or 45%: numbers to people, text to a computer. Spaces are
# matched once and never given back (*+), so that a cell of spaces takes linear time.
_LOOKS_LIKE_A_NUMBER = re.compile(
    r"\s*+[-+(]?\s*+[$€£]?\s*+\d{1,3}(?:[.,'\s\u00a0\u202f]?\d{3})*(?:[.,]\d+)?"
    r"\s*+[$€£%]?\s*+\)?\s*+"
)

# A row in a message; quoted text is a value of the table and stays as it is.
_ROW = re.compile(r"'[^']*'|\"[^\"]*\"|\brow (\d+)\b")


def read_whole(source: str, csv: Csv) -> pd.DataFrame:
    """All rows of a table."""
    chunks = list(Chunks(source, csv, WHOLE))
    return pd.concat(chunks, ignore_index=True) if len(chunks) > 1 else chunks[0]


@dataclass
class Chunks:
    """A table in chunks of rows, numbered from 0 across chunks.

    Parameters
    ----------
    source : path or "-"
    csv : Csv
    size : int
        Rows of a chunk.
    text : sequence of str
        Columns to be read as text whatever they look like.

    Attributes
    ----------
    share : float
        How much of the file has been read.
    """

    source: str
    csv: Csv
    size: int = CHUNK
    text: Sequence[str] = ()
    share: float = 0.0

    def __iter__(self) -> Iterator[pd.DataFrame]:
        first = 0
        for chunk in self._read():
            chunk.index = pd.RangeIndex(first, first + len(chunk))
            first += len(chunk)
            if len(chunk):
                yield chunk
        if first == 0:
            raise BadInput(f"{name_of(self.source)} has a head but no rows.")

    def _read(self) -> Iterator[pd.DataFrame]:
        if self.source == "-":
            yield from self._csv(sys.stdin.buffer)
            return
        path = Path(self.source)
        with readable(path):
            n_bytes = path.stat().st_size
            if n_bytes == 0:
                raise BadInput(f"{path} is empty.")
            if _is_parquet(path):
                yield from self._parquet(path)
                return
            with path.open("rb") as file:
                _refuse_workbooks(path, file)
                for chunk in self._csv(file):
                    self.share = min(1.0, file.tell() / n_bytes)
                    yield chunk

    def _parquet(self, path: Path) -> Iterator[pd.DataFrame]:
        parquet = optional_library("pyarrow.parquet", "Parquet files", "parquet")
        import pyarrow

        try:
            with parquet.ParquetFile(path) as file:
                n_read, n_rows = 0, max(file.metadata.num_rows, 1)
                for batch in file.iter_batches(batch_size=self.size):
                    n_read += batch.num_rows
                    self.share = n_read / n_rows
                    yield batch.to_pandas()
        except pyarrow.ArrowException as error:
            raise BadInput(f"{path} cannot be read as Parquet: {one_line(error)}.") from None

    def _csv(self, file: Any) -> Iterator[pd.DataFrame]:
        name, csv = name_of(self.source), self.csv
        try:
            lines = io.TextIOWrapper(file, encoding=_codec(csv.encoding), newline="")
        except LookupError:
            raise BadInput(
                f"--encoding {csv.encoding!r} is unknown; try utf-8 or cp1252."
            ) from None
        try:
            header, delimiter = _header(lines, name, csv.delimiter)
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                reader = pd.read_csv(
                    lines, header=None, names=header, index_col=False, sep=delimiter,
                    decimal=csv.decimal, thousands=csv.thousands, chunksize=self.size,
                    dtype={column: str for column in self.text if column in header},
                    keep_default_na=False, na_values=MISSING, float_precision="round_trip",
                    low_memory=False,
                )  # fmt: skip
                with reader:
                    yield from reader
        except UnicodeError as error:
            raise BadInput(
                f"{name} is not {csv.encoding} text ({_reason(error)}); save it as UTF-8, or name "
                "its encoding with --encoding, such as cp1252 or utf-16."
            ) from None
        except pd.errors.EmptyDataError:
            return
        except pd.errors.ParserWarning:
            raise BadInput(f"{name} has rows with more values than its head has columns.") from None
        except pd.errors.ParserError as error:
            reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
            raise BadInput(f"{name} is not a CSV table: {reason}.") from None
        finally:
            lines.detach()  # the file belongs to who opened it


def peeked(chunks: Chunks) -> tuple[bool, Iterator[pd.DataFrame]]:
    """Whether there is only one chunk, and the chunks."""
    rest = iter(chunks)
    first = list(islice(rest, 2))
    return len(first) == 1, chain(first, rest)


@contextmanager
def naming_lines(source: str, csv: Csv, first: int = 0) -> Iterator[None]:
    """Say in an error about a row which line of the file that is.

    Parameters
    ----------
    source : path or "-"
    csv : Csv
    first : int
        Row of the file with which the table begins that the error is about.
    """

    def place(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else _place(source, csv, first + int(match[1]))

    try:
        yield
    except InvalidData as error:
        raise InvalidData(_ROW.sub(place, str(error))) from None


def refuse_formatted_numbers(column: pd.Series, name: str) -> None:
    """Refuse numbers formatted by a spreadsheet, which would pass for categories."""
    if column.dtype.kind in "biuf" or isinstance(column.dtype, pd.CategoricalDtype):
        return
    values = column.dropna().unique()
    if not len(values) or not all(isinstance(value, str) for value in values):
        return
    if all(_LOOKS_LIKE_A_NUMBER.fullmatch(value) for value in values):
        example = next((value for value in values if not _is_plain(value)), None)
        if example is not None:
            shown = example if len(example) < 40 else f"{example[:30]}..."
            raise BadInput(
                f"Column {name!r} holds {shown!r}, which is too large or looks like a number in a "
                "spreadsheet's writing; save plain numbers such as 1234.56, or say how they are "
                "written with --decimal and --thousands."
            )


def name_of(source: str) -> str:
    """What to call a source in a message."""
    return "standard input" if source == "-" else source


def _is_plain(value: str) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _refuse_workbooks(path: Path, file: Any) -> None:
    start = file.read(8)
    file.seek(0)
    if start[:4] == b"PK\x03\x04" or start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise BadInput(
            f"{path} is a workbook or an archive, not text; save the sheet as CSV (UTF-8)."
        )


def _codec(encoding: str) -> str:
    return "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


def _place(source: str, csv: Csv, row: int) -> str:
    """Where a row is: its line in a CSV file, or its number where there is no line to be had."""
    line = None
    if source != "-" and not _is_parquet(Path(source)):
        with (
            suppress(csv_lines.Error),
            Path(source).open(encoding=_codec(csv.encoding), newline="") as file,
        ):
            _, delimiter = _header(file, source, csv.delimiter)
            line = next(islice(_first_lines(file, delimiter), row, None), None)
    if line is None:
        return f"row {row} of {name_of(source)}, counted from 0,"
    return f"line {line} of {source}"


def _first_lines(file: Any, delimiter: str) -> Iterator[int]:
    """The line with which each row begins; blank lines are no rows, and a cell may have several."""
    file.seek(0)
    reader = csv_lines.reader(file, delimiter=delimiter)
    next(reader)
    for record in reader:
        if len(record) > 1 or (record and record[0].strip()):
            yield reader.line_num - sum(cell.count("\n") for cell in record)


def _head(lines: Any) -> Iterator[str]:
    """The lines of the head, which goes on while a quote is open; not all of them if too long."""
    n_quotes = n_read = 0
    while line := lines.readline(LONGEST_HEAD + 1):
        yield line
        n_quotes, n_read = n_quotes + line.count('"'), n_read + len(line)
        if n_quotes % 2 == 0 or n_read > LONGEST_HEAD:
            return


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _header(lines: Any, name: str, delimiter: str | None) -> tuple[list[str], str]:
    """Column names from the first line, and the delimiter."""
    first = "".join(_head(lines))
    if len(first) > LONGEST_HEAD:
        raise BadInput(
            f"The head of {name} has more than {LONGEST_HEAD:,} characters; a quote may be open."
        )
    if not first.strip():
        raise BadInput(f"{name} is empty.")
    if "\0" in first:
        raise BadInput(f"{name} is not text; save it as CSV (UTF-8).")
    delimiter = delimiter or _likely_delimiter(first)
    if len(delimiter) != 1:
        raise BadInput(f"--delimiter must be one character, got {delimiter!r}.")
    try:
        header = next(csv_lines.reader(io.StringIO(first, newline=""), delimiter=delimiter))
    except csv_lines.Error as error:
        raise BadInput(
            f"{name} has a column name that cannot be read: {one_line(error)}."
        ) from None
    unnamed = [k for k, column in enumerate(header) if not column.strip()]
    if unnamed:
        raise BadInput(f"Column {unnamed[0] + 1} of {name} has no name in the first line.")
    twice = sorted(column for column, n in Counter(header).items() if n > 1)
    if twice:
        raise BadInput(f"{name} has more than one column called {listing(twice)}.")
    return header, delimiter


def _likely_delimiter(head: str) -> str:
    """A comma, unless the head has none and another usual delimiter instead."""
    others = (mark for mark in (";", "\t", "|") if mark in head)
    return "," if "," in head else next(others, ",")


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} does not belong there"
    return one_line(error)
