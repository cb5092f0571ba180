"""Reading tables, whole or in chunks, and saying in one sentence what is wrong with them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract.cli.csvs import read_csv_chunks
from ract.cli.failures import BadInput
from ract.cli.options import Csv
from ract.encoding import Encoder
from ract.errors import listing

CHUNK = 2000
WHOLE = 2**62

# 1.234,56 or 1,234 or 12,5 or $1,234.50 or 45%: numbers to people, text to a computer.
_LOOKS_LIKE_A_NUMBER = re.compile(
    r"\s*[-+(]?\s*[$€£]?\s*\d{1,3}(?:[.,'\s\u00a0\u202f]?\d{3})*(?:[.,]\d+)?\s*[$€£%]?\s*\)?\s*"
)


def read_whole(source: str, csv: Csv) -> pd.DataFrame:
    """All rows of a table."""
    chunks = list(Chunks(source, csv, WHOLE))
    frame = pd.concat(chunks, ignore_index=True) if len(chunks) > 1 else chunks[0]
    for name in frame.columns:
        _refuse_written_numbers(frame[name], name)
    return frame


@dataclass
class Chunks:
    """A table in pieces of some rows, numbered from 0 across pieces.

    Parameters
    ----------
    source : path or "-"
    csv : Csv
    size : int
        Rows of a piece.
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
        for chunk in self._pieces():
            chunk.index = pd.RangeIndex(first, first + len(chunk))
            first += len(chunk)
            if len(chunk):
                yield chunk
        if first == 0:
            raise BadInput(f"{name_of(self.source)} has a head but no rows.")

    def _pieces(self) -> Iterator[pd.DataFrame]:
        csv, size, text = self.csv, self.size, self.text
        if self.source == "-":
            yield from read_csv_chunks(sys.stdin.buffer, "standard input", csv, size, text)
            return
        path = Path(self.source)
        with readable(path):
            n_bytes = path.stat().st_size
            if n_bytes == 0:
                raise BadInput(f"{path} is empty.")
            if path.suffix.lower() in (".parquet", ".pq"):
                for done, chunk in _parquet_pieces(path, size):
                    self.share = done
                    yield chunk
                return
            with path.open("rb") as file:
                _refuse_workbooks(path, file)
                for chunk in read_csv_chunks(file, str(path), csv, size, text):
                    self.share = min(1.0, file.tell() / n_bytes)
                    yield chunk


def peeked(chunks: Chunks) -> tuple[bool, Iterator[pd.DataFrame]]:
    """Whether there is only one piece, and the pieces."""
    pieces = iter(chunks)
    first = list(islice(pieces, 2))
    return len(first) == 1, chain(first, pieces)


def _parquet_pieces(path: Path, size: int) -> Iterator[tuple[float, pd.DataFrame]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise BadInput('Parquet files need pyarrow: pip install "ract[parquet]".') from None
    import pyarrow

    try:
        with parquet.ParquetFile(path) as file:
            done, total = 0, max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(batch_size=min(size, 2**31 - 1)):
                done += batch.num_rows
                yield done / total, batch.to_pandas()
    except pyarrow.ArrowException as error:
        raise BadInput(f"{path} cannot be read as Parquet: {one_line(error)}.") from None


def people_of(chunk: pd.DataFrame, encoder: Encoder, source: str, id: str | None) -> pd.DataFrame:
    """The columns of a model, the rows named by the column ``id``."""
    wanted = list(encoder.feature_names)
    missing = [name for name in wanted if name not in chunk.columns]
    if missing:
        raise BadInput(
            f"{name_of(source)} lacks {listing(missing)}, which the model was trained on; it has "
            f"{listing(chunk.columns, 30)}."
        )
    people = chunk[wanted]
    for axis in encoder.axes:
        if not axis.is_categorical:
            _refuse_written_numbers(people[axis.feature.name], axis.feature.name)
    if id is not None:
        if id not in chunk.columns:
            raise no_column(id, chunk.columns, "--id", source)
        people = people.set_index(pd.Index(chunk[id].astype(str).to_numpy(object)))
    return people


def text_columns(encoder: Encoder) -> list[str]:
    """Columns whose categories are texts, even if they look like numbers."""
    return [
        axis.feature.name
        for axis in encoder.axes
        if axis.is_categorical
        and not axis.feature.columns
        and all(isinstance(value, str) for value in axis.feature.categories)
    ]


def split_target(
    frame: pd.DataFrame, target: str, drop: Sequence[str] | None, source: str
) -> tuple[pd.DataFrame, pd.Series]:
    """Features and target of a training table; two classes, nothing missing."""
    if target not in frame.columns:
        raise no_column(target, frame.columns, "--target", source)
    for name in drop or []:
        if name not in frame.columns:
            raise no_column(name, frame.columns, "--drop", source)
    y = frame[target]
    n_missing = int(y.isna().sum())
    if n_missing:
        raise BadInput(f"The target {target!r} is missing in {n_missing} row(s) of {source}.")
    classes = sorted(pd.unique(y).tolist(), key=str)
    if len(classes) != 2:
        raise BadInput(
            f"The target {target!r} has {len(classes)} class(es), {listing(classes)}; two are "
            "needed."
        )
    if any(isinstance(label, float) and not label.is_integer() for label in classes):
        raise BadInput(
            f"The target {target!r} holds {listing(classes)}, which are amounts and not classes."
        )
    X = frame.drop(columns=[target, *(name for name in drop or [] if name != target)])
    if not len(X.columns):
        raise BadInput(f"{name_of(source)} has no column beside the target {target!r}.")
    return X, y


def training_table(
    source: str,
    csv: Csv,
    target: str,
    drop: Sequence[str] | None,
    desired: str | None,
    space: Any,
) -> tuple[pd.DataFrame, pd.Series, Any]:
    """Features and target of a training table, and the class that people want."""
    X, y = split_target(read_whole(source, csv), target, drop, source)
    wanted = desired if desired is not None or space is None else space.desired
    return X, y, class_named(wanted, sorted(y.unique().tolist(), key=str))


def class_named(text: str | None, classes: Sequence[Any]) -> Any:
    """The class that a word of the command line means."""
    if text is None:
        raise BadInput(f"Say which class people want: --desired with one of {listing(classes)}.")
    for label in classes:
        if str(label) == str(text):
            return label
    raise BadInput(f"--desired is {text!r}; the classes are {listing(classes)}.")


def no_column(name: str, columns: Any, option: str, source: str) -> BadInput:
    """The complaint about a column that is not there."""
    return BadInput(
        f"{option} names {name!r}, but {name_of(source)} has no such column; it has "
        f"{listing(list(columns), 30)}."
    )


def _refuse_written_numbers(column: pd.Series, name: str) -> None:
    """Numbers in a spreadsheet's writing would pass for categories."""
    if column.dtype.kind in "biuf" or isinstance(column.dtype, pd.CategoricalDtype):
        return
    values = column.dropna().unique()
    if not len(values) or not all(isinstance(value, str) for value in values):
        return
    if all(_LOOKS_LIKE_A_NUMBER.fullmatch(value) for value in values):
        example = next((value for value in values if not _is_plain(value)), None)
        if example is not None:
            raise BadInput(
                f"Column {name!r} holds {example!r}, which looks like a number in a spreadsheet's "
                "writing; save plain numbers such as 1234.56, or say how they are written with "
                "--decimal and --thousands."
            )


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


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Tell of files that cannot be opened."""
    if path.is_dir():  # Windows would call it a lack of permission
        raise BadInput(f"{path} is a folder, not a file.")
    try:
        yield
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except PermissionError:
        raise BadInput(f"{path} may not be read.") from None


def name_of(source: str) -> str:
    """A source as people call it."""
    return "standard input" if source == "-" else source


def one_line(error: Exception) -> str:
    """An error's words on one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
