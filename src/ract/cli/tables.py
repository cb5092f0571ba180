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
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract.cli.failures import BadInput, optional_library
from ract.cli.inputs import one_line, readable
from ract.cli.options import Csv
from ract.errors import InvalidData, InvalidSpec, listing
from ract.tables import TableFormat
from ract.tables.read import date_columns
from ract.tables.recognise import likely_delimiter, marked_encoding, start_of

CHUNK = 2000
WHOLE = 2**31 - 1  # the most rows that the readers take at once

# "None" is a word that people use for a category, so it is not among them.
MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null"]

# Every number that is written is read as the nearest double: from 3.1 on pandas does so by itself.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}

LONGEST_HEAD = 2**22  # characters of the line with the column names

# 1.234,56 or 1,234 or 12,5 or $1,234.50 or 45%: numbers to people, text to a computer. Spaces are
# matched once and never given back (*+), so that a cell of spaces takes linear time.
_LOOKS_LIKE_A_NUMBER = re.compile(
    r"\s*+[-+(]?\s*+[$€£]?\s*+\d{1,3}(?:[.,'\s\u00a0\u202f]?\d{3})*(?:[.,]\d+)?"
    r"\s*+[$€£%]?\s*+\)?\s*+"
)

# A row in a message; quoted text is a value of the table and stays as it is.
_ROW = re.compile(r"'[^']*'|\"[^\"]*\"|\brow (\d+)\b")


def format_of(csv: Csv, kept: TableFormat | None = None) -> TableFormat:
    """How a table is written: as options say, else as the action file or the model does."""
    given = {name: value for name, value in asdict(csv).items() if value is not None}
    try:
        return replace(kept or TableFormat(), **given)
    except InvalidSpec as error:
        raise BadInput(f"--{str(error)[0].lower()}{str(error)[1:]}") from None


def read_whole(source: str, form: TableFormat, text: Sequence[str] = ()) -> pd.DataFrame:
    """All rows of a table; ``text`` as in ``Chunks``."""
    chunks = list(Chunks(source, form, WHOLE, text))
    return pd.concat(chunks, ignore_index=True) if len(chunks) > 1 else chunks[0]


@dataclass
class Chunks:
    """A table in chunks of rows, numbered from 0 across chunks.

    Parameters
    ----------
    source : path or "-"
    form : TableFormat
    size : int
        Rows of a chunk.
    text : sequence of str or "all"
        Columns to be read as text whatever they look like.
    stream : file, optional
        To read instead of the source.
    missing : sequence of str
        Cells that hold no value, beside those of the format.

    Attributes
    ----------
    share : float
        How much of the file has been read.
    """

    source: str
    form: TableFormat
    size: int = field(default_factory=lambda: CHUNK)
    text: Sequence[str] = ()
    stream: Any = None
    missing: Sequence[str] = tuple(MISSING)
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
        if self.stream is not None or self.source == "-":
            yield from self._csv(self.stream or sys.stdin.buffer)
            return
        path = Path(self.source)
        with opened(path) as file:
            if is_parquet(path):
                yield from self._parquet(path)
                return
            n_bytes = path.stat().st_size
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
        name, form = name_of(self.source), self.form
        lines, sample = text_of(file, form)
        try:
            header, delimiter = _header(lines, name, form.delimiter, sample)
            text = header if self.text == "all" else (*self.text, *date_columns(form))
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                reader = pd.read_csv(
                    lines, header=None, names=header, index_col=False, sep=delimiter,
                    decimal=form.decimal, chunksize=self.size,
                    dtype={column: str for column in text if column in header},
                    keep_default_na=False, na_values=[*self.missing, *form.missing],
                    low_memory=False, **EXACT,
                )  # fmt: skip
                with reader:
                    yield from reader
        except UnicodeError as error:
            raise BadInput(
                f"{name} is not {form.encoding} text ({_reason(error)}); save it as UTF-8, or name "
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


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A file of bytes, unless it is empty or a workbook."""
    with readable(path):
        if path.stat().st_size == 0:
            raise BadInput(f"{path} is empty.")
        with path.open("rb") as file:
            _refuse_workbooks(path, file)
            yield file


def peeked(chunks: Chunks) -> tuple[bool, Iterator[pd.DataFrame]]:
    """Whether there is only one chunk, and the chunks."""
    rest = iter(chunks)
    first = list(islice(rest, 2))
    return len(first) == 1, chain(first, rest)


@contextmanager
def naming_lines(source: str, form: TableFormat, rows: Any) -> Iterator[None]:
    """Say in an error about a row which line of the file that is.

    Parameters
    ----------
    source : path or "-"
    form : TableFormat
    rows : sequence of int
        Row of the file for each row of the table that the error is about.
    """

    def place(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else place_of(source, form, int(rows[int(match[1])]))

    try:
        yield
    except InvalidData as error:
        raise InvalidData(_ROW.sub(place, str(error))) from None


def refuse_formatted_numbers(column: pd.Series, name: str, *, most: float = 0.0) -> None:
    """Refuse numbers formatted by a spreadsheet, which would pass for categories.

    Parameters
    ----------
    column : Series
    name : str
    most : float
        The share of them that is let pass.
    """
    if column.dtype.kind in "biuf" or isinstance(column.dtype, pd.CategoricalDtype):
        return
    values = column.dropna().unique()
    if not len(values) or not all(isinstance(value, str) for value in values):
        return
    if all(_LOOKS_LIKE_A_NUMBER.fullmatch(value) for value in values):
        formatted = [value for value in values if not _is_plain(value)]
        if len(formatted) > most * len(values):
            example = formatted[0]
            shown = example if len(example) < 40 else f"{example[:30]}..."
            sign = next((mark for mark in "$€£%(" if mark in example), None)
            raise BadInput(
                f"Column {name!r} holds {shown!r}, which is too large or looks like a number in a "
                "spreadsheet's writing; save plain numbers such as 1234.56"
                + (", or say how they are written with --decimal and --thousands."
                   if sign is None else f", without {sign!r}.")
            )  # fmt: skip


def refuse_unread(source: str, n_people: int, messages: Sequence[str]) -> None:
    """Refuse a table of which no row can be read, with what is wrong with the first."""
    if len(messages) == n_people:
        raise BadInput(f"No row of {name_of(source)} can be read. The first: {messages[0]}")


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


def text_of(file: Any, form: TableFormat) -> tuple[io.TextIOWrapper, str]:
    """A file as text, and its first lines, which are still to be read from it."""
    start = start_of(file)
    encoding = marked_encoding(start) or form.encoding
    try:
        return io.TextIOWrapper(file, encoding=encoding, newline=""), start.decode(
            encoding, "ignore"
        )
    except LookupError:
        raise BadInput(f"--encoding {form.encoding!r} is unknown; try utf-8 or cp1252.") from None


def place_of(source: str, form: TableFormat, row: int) -> str:
    """Where a row is: its line in a CSV file, or its number where there is no line to be had."""
    line = None
    if source != "-" and not is_parquet(Path(source)):
        with (
            suppress(csv_lines.Error),
            Path(source).open("rb") as file,
        ):
            lines, sample = text_of(file, form)
            _, delimiter = _header(lines, source, form.delimiter, sample)
            line = next(islice(_first_lines(lines, delimiter), row, None), None)
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


def is_parquet(path: Path) -> bool:
    """Whether a file's name says that it is Parquet."""
    return path.suffix.lower() in (".parquet", ".pq")


def _header(lines: Any, name: str, delimiter: str | None, sample: str) -> tuple[list[str], str]:
    """Column names from the first line, and the delimiter, guessed from a sample if not given."""
    first = "".join(_head(lines))
    if len(first) > LONGEST_HEAD:
        raise BadInput(
            f"The head of {name} has more than {LONGEST_HEAD:,} characters; a quote may be open."
        )
    if not first.strip():
        raise BadInput(f"{name} is empty.")
    if "\0" in first:
        raise BadInput(f"{name} is not text; save it as CSV (UTF-8).")
    likely = likely_delimiter(sample or first)
    if delimiter is not None and delimiter not in first and likely in first:
        raise BadInput(
            f"{name} has no {delimiter!r} in its first line, but {likely!r}; say what separates "
            f"its columns with --delimiter {likely!r}."
        )
    delimiter = delimiter or likely
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


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} does not belong there"
    return one_line(error)
