"""Files of tables, whole or in chunks: CSV in any encoding and Parquet, with errors by line."""

from __future__ import annotations

import codecs
import csv as csv_lines
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, error_text, listing, optional_library
from ract._utils.files import readable
from ract.data.csv.dialect import TableFormat
from ract.data.csv.read import date_columns

CHUNK = 2000
WHOLE = 2**31 - 1  # the most rows that the readers take at once

# "None" is a word that people use for a category, so it is not among them.
MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null"]

# A row in a message; quoted text is a value of the table and stays as it is.
_ROW = re.compile(r"'[^']*'|\"[^\"]*\"|\brow (\d+)\b")

# Every number that is written is read as the nearest double: from 3.1 on pandas does so by itself.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_EXACT = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
READING: dict[str, Any] = {"header": None, "index_col": False, "keep_default_na": False}
READING |= {"low_memory": False, **_EXACT}

SAMPLE = 2**16  # bytes from which the mark between columns is recognised

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

LONGEST_HEAD = 2**22  # characters of the line with the column names


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
    stream: BinaryIO | None = None
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
            raise InvalidData(f"{name_of(self.source)} has a head but no rows.")

    def _read(self) -> Iterator[pd.DataFrame]:
        if self.stream is not None or self.source == "-":
            yield from self._csv(self.stream or sys.stdin.buffer)
            return
        path = Path(self.source)
        with open_table(path) as file:
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
            raise InvalidData(f"{path} cannot be read as Parquet: {error_text(error)}.") from None

    def _csv(self, file: BinaryIO) -> Iterator[pd.DataFrame]:
        name, form = name_of(self.source), self.form
        lines, sample = text_of(file, form)
        try:
            header, delimiter = header_of(lines, name, form.delimiter, sample)
            text = header if self.text == "all" else (*self.text, *date_columns(form))
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                options: dict[str, Any] = {"sep": delimiter, "decimal": form.decimal}
                options["dtype"] = {column: str for column in text if column in header}
                options["names"] = header
                options["na_values"] = [*self.missing, *form.missing]
                with pd.read_csv(lines, chunksize=self.size, **options, **READING) as reader:
                    yield from reader
        except UnicodeError as error:
            raise InvalidData(
                f"{name} is not {form.encoding} text ({_reason(error)}); save it as UTF-8, or name "
                "its encoding, such as cp1252 or utf-16."
            ) from None
        except pd.errors.EmptyDataError:
            return
        except pd.errors.ParserWarning:
            raise InvalidData(
                f"{name} has rows with more values than its head has columns."
            ) from None
        except pd.errors.ParserError as error:
            reason = error_text(error).removeprefix("Error tokenizing data. C error: ")
            raise InvalidData(f"{name} is not a CSV table: {reason}.") from None
        finally:
            lines.detach()  # the file belongs to who opened it


@contextmanager
def open_table(path: Path) -> Iterator[BinaryIO]:
    """A file of bytes, unless it is empty or a workbook."""
    with readable(path):
        if path.stat().st_size == 0:
            raise InvalidData(f"{path} is empty.")
        with path.open("rb") as file:
            _refuse_workbooks(path, file)
            yield file


def name_of(source: str) -> str:
    """What to call a source in a message."""
    return "standard input" if source == "-" else source


def _refuse_workbooks(path: Path, file: BinaryIO) -> None:
    start = file.read(8)
    file.seek(0)
    if start[:4] == b"PK\x03\x04" or start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise InvalidData(
            f"{path} is a workbook or an archive, not text; save the sheet as CSV (UTF-8)."
        )


def text_of(file: BinaryIO, form: TableFormat) -> tuple[io.TextIOWrapper, str]:
    """A file as text, and its first lines, which are still to be read from it."""
    start = start_of(file)
    encoding = marked_encoding(start) or form.encoding
    try:
        return io.TextIOWrapper(file, encoding=encoding, newline=""), start.decode(
            encoding, "ignore"
        )
    except LookupError:
        raise InvalidData(
            f"The encoding {form.encoding!r} is unknown; try utf-8 or cp1252."
        ) from None


def _head(lines: TextIO) -> Iterator[str]:
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


def header_of(
    lines: TextIO, name: str, delimiter: str | None, sample: str
) -> tuple[list[str], str]:
    """Column names from the first line, and the delimiter, guessed from a sample if not given."""
    first = "".join(_head(lines))
    if len(first) > LONGEST_HEAD:
        raise InvalidData(
            f"The head of {name} has more than {LONGEST_HEAD:,} characters; a quote may be open."
        )
    if not first.strip():
        raise InvalidData(f"{name} is empty.")
    if "\0" in first:
        raise InvalidData(f"{name} is not text; save it as CSV (UTF-8).")
    likely = likely_delimiter(sample or first)
    if delimiter is not None and delimiter not in first and likely in first:
        raise InvalidData(
            f"{name} has no {delimiter!r} in its first line, but {likely!r}; say what separates "
            f"its columns with delimiter {likely!r}."
        )
    delimiter = delimiter or likely
    try:
        header = next(csv_lines.reader(io.StringIO(first, newline=""), delimiter=delimiter))
    except csv_lines.Error as error:
        raise InvalidData(
            f"{name} has a column name that cannot be read: {error_text(error)}."
        ) from None
    if unnamed := [k for k, column in enumerate(header) if not column.strip()]:
        raise InvalidData(f"Column {unnamed[0] + 1} of {name} has no name in the first line.")
    if twice := sorted(column for column, n in Counter(header).items() if n > 1):
        raise InvalidData(f"{name} has more than one column called {listing(twice)}.")
    return header, delimiter


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} does not belong there"
    return error_text(error)


def start_of(file: BinaryIO) -> bytes:
    """The first bytes of a file, which are still to be read from it; a pipe may show few."""
    if file.seekable():
        place = file.tell()
        start: bytes = file.read(SAMPLE)
        file.seek(place)
        return start
    return bytes(file.peek(SAMPLE)) if hasattr(file, "peek") else b""


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a byte order mark names; None without one.

    >>> marked_encoding("Age".encode("utf-16")), marked_encoding(b"Age")
    ('utf-16', None)
    """
    return next((name for mark, name in _MARKS if start.startswith(mark)), None)


def likely_encoding(file: BinaryIO) -> str:
    """The encoding of a whole file: that of its mark, UTF-8 if it is, else a guess.

    The guess is UTF-16 where every second byte is zero, cp1252 (Western Windows) where all bytes
    have a meaning in it, else Latin-1.

    >>> likely_encoding(io.BytesIO("Größe".encode("cp1252")))
    'cp1252'
    """
    start = start_of(file)
    marked = marked_encoding(start)
    if marked is not None:
        return marked
    if len(start) > 3 and b"\0" in start[:4]:
        return "utf-16-le" if start[1] == 0 else "utf-16-be"
    place = file.tell()
    try:
        for name in ("utf-8", "cp1252"):
            decoder = codecs.getincrementaldecoder(name)()
            file.seek(place)
            try:
                while chunk := file.read(2**20):
                    decoder.decode(chunk)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            return name
    finally:
        file.seek(place)
    return "latin-1"


def likely_delimiter(text: str) -> str:
    """The mark that cuts every line into as many columns as the head, the most of them.

    Commas stand in names and numbers too, so that any other mark of which there are as many goes
    before them. Where no mark does, a comma if the head has one, else another usual mark in it.

    Parameters
    ----------
    text : str
        The first lines, the last of them perhaps cut off.

    Examples
    --------
    >>> likely_delimiter("Name;Income, net;Age" + chr(10) + "Ann;1,5;3")
    ';'
    """
    lines = text.splitlines(keepends=True)
    whole = "".join(lines[:-1] if len(lines) > 2 else lines)
    head = lines[0] if lines else ""
    n_columns = {}
    for mark in "\t;|,":
        try:
            records = [
                r for r in csv_lines.reader(io.StringIO(whole, newline=""), delimiter=mark) if r
            ]
        except csv_lines.Error:
            continue
        counts = {len(record) for record in records}
        if len(counts) == 1 and records and len(records[0]) > 1:
            n_columns[mark] = len(records[0])
    if n_columns:
        return max(n_columns, key=lambda mark: n_columns[mark])
    return next((mark for mark in ",;\t|" if mark in head), ",")


@contextmanager
def naming_lines(
    source: str, form: TableFormat, rows: Sequence[int] | np.ndarray | pd.Index
) -> Iterator[None]:
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


def place_of(source: str, form: TableFormat, row: int) -> str:
    """Where a row is: its line in a CSV file, or its number where there is no line to be had."""
    line = None
    if source != "-" and not is_parquet(Path(source)):
        with suppress(csv_lines.Error), Path(source).open("rb") as file:
            lines, sample = text_of(file, form)
            _, delimiter = header_of(lines, source, form.delimiter, sample)
            line = next(islice(_first_lines(lines, delimiter), row, None), None)
    if line is None:
        return f"row {row} of {name_of(source)}, counted from 0,"
    return f"line {line} of {source}"


def _first_lines(file: TextIO, delimiter: str) -> Iterator[int]:
    """The line with which each row begins; blank lines are no rows, and a cell may have several."""
    file.seek(0)
    reader = csv_lines.reader(file, delimiter=delimiter)
    next(reader)
    for record in reader:
        if len(record) > 1 or (record and record[0].strip()):
            yield reader.line_num - sum(cell.count("\n") for cell in record)
