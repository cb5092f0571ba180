"""Files of tables, whole or in chunks: CSV and Parquet, with one sentence about what is wrong."""

from __future__ import annotations

import csv as csv_lines
import io
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

from ract._utils.errors import InvalidData, listing, one_line, optional_library
from ract._utils.files import readable
from ract.data.csv.dialect import TableFormat
from ract.data.csv.read import date_columns
from ract.data.csv.recognise import likely_delimiter, marked_encoding, start_of

CHUNK = 2000
WHOLE = 2**31 - 1  # the most rows that the readers take at once

# "None" is a word that people use for a category, so it is not among them.
MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null"]

# Every number that is written is read as the nearest double: from 3.1 on pandas does so by itself.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}

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
            raise InvalidData(f"{name_of(self.source)} has a head but no rows.")

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
            raise InvalidData(f"{path} cannot be read as Parquet: {one_line(error)}.") from None

    def _csv(self, file: Any) -> Iterator[pd.DataFrame]:
        name, form = name_of(self.source), self.form
        lines, sample = text_of(file, form)
        try:
            header, delimiter = header_of(lines, name, form.delimiter, sample)
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
            reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
            raise InvalidData(f"{name} is not a CSV table: {reason}.") from None
        finally:
            lines.detach()  # the file belongs to who opened it


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A file of bytes, unless it is empty or a workbook."""
    with readable(path):
        if path.stat().st_size == 0:
            raise InvalidData(f"{path} is empty.")
        with path.open("rb") as file:
            _refuse_workbooks(path, file)
            yield file


def peeked(chunks: Chunks) -> tuple[bool, Iterator[pd.DataFrame]]:
    """Whether there is only one chunk, and the chunks."""
    rest = iter(chunks)
    first = list(islice(rest, 2))
    return len(first) == 1, chain(first, rest)


def name_of(source: str) -> str:
    """What to call a source in a message."""
    return "standard input" if source == "-" else source


def _refuse_workbooks(path: Path, file: Any) -> None:
    start = file.read(8)
    file.seek(0)
    if start[:4] == b"PK\x03\x04" or start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise InvalidData(
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
        raise InvalidData(
            f"The encoding {form.encoding!r} is unknown; try utf-8 or cp1252."
        ) from None


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


def header_of(lines: Any, name: str, delimiter: str | None, sample: str) -> tuple[list[str], str]:
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
            f"{name} has a column name that cannot be read: {one_line(error)}."
        ) from None
    unnamed = [k for k, column in enumerate(header) if not column.strip()]
    if unnamed:
        raise InvalidData(f"Column {unnamed[0] + 1} of {name} has no name in the first line.")
    twice = sorted(column for column, n in Counter(header).items() if n > 1)
    if twice:
        raise InvalidData(f"{name} has more than one column called {listing(twice)}.")
    return header, delimiter


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} does not belong there"
    return one_line(error)
