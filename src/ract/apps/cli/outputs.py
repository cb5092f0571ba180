"""Writing tables and pictures, whole or not at all, in the form that the file's name asks for."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ract._utils.errors import optional_library
from ract._utils.files import is_stream, whole_file
from ract._utils.printable import formula_safe
from ract._utils.validation import json_scalar
from ract.apps.cli.messages import BadInput

Write = Callable[[pd.DataFrame], None]


@contextmanager
def table_writer(output: str | None) -> Iterator[Write]:
    """A function that appends a frame to a file, or to standard output for "-".

    The file takes its place only when everything has been written.

    Parameters
    ----------
    output : path, "-" or None
        None throws frames away.
    """
    if output is None:
        yield lambda frame: None
        return
    form = form_of(output)
    if output == "-":
        with form(sys.stdout.buffer) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with whole_file(output) as file, form(file) as write:
        yield write


def write_table(output: str | None, frame: pd.DataFrame) -> None:
    """Write one frame as ``table_writer`` does."""
    with table_writer(output) as write:
        write(frame)


def form_of(output: str) -> Any:
    """The form that a file's name asks for; an unknown one is refused before any work is done."""
    if output == "-":
        return _as_csv
    forms = {".csv": _as_csv, ".json": _as_json, ".jsonl": _as_lines}
    forms |= dict.fromkeys((".parquet", ".pq"), _as_parquet)
    for end, form in forms.items():
        if output.lower().endswith(end):
            return form
    if is_stream(output):
        return _as_csv
    raise BadInput(f"{output} must end in .csv, .parquet, .json or .jsonl, or be - for CSV.")


def check_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be drawn before any work is done."""
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise BadInput(f"--plot writes PNG, SVG or PDF, got {path.name!r}.")
    optional_library("matplotlib", "drawing", "plot")


@contextmanager
def picture(path: Path) -> Iterator[Any]:
    """Axes to draw on, which are then written to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    yield figure.subplots()
    with whole_file(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower())


@contextmanager
def _as_csv(file: BinaryIO) -> Iterator[Write]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    n_written = 0

    def write(frame: pd.DataFrame) -> None:
        nonlocal n_written
        frame.apply(_safe_cells).to_csv(
            text, index=False, header=n_written == 0, lineterminator="\n"
        )
        n_written += 1

    try:
        yield write
        text.flush()
    finally:
        text.detach()


@contextmanager
def _as_lines(file: BinaryIO) -> Iterator[Write]:
    def write(frame: pd.DataFrame) -> None:
        file.writelines(f"{record}\n".encode() for record in _records(frame))

    yield write


@contextmanager
def _as_json(file: BinaryIO) -> Iterator[Write]:
    before = b"[\n"

    def write(frame: pd.DataFrame) -> None:
        nonlocal before
        for record in _records(frame):
            file.write(before + record.encode())
            before = b",\n"

    yield write
    file.write(b"[]\n" if before == b"[\n" else b"\n]\n")


@contextmanager
def _as_parquet(file: BinaryIO) -> Iterator[Write]:
    parquet = optional_library("pyarrow.parquet", "Parquet files", "parquet")
    import pyarrow

    writer: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer
        plain = frame.apply(_one_type)
        if writer is None:
            schema = pyarrow.schema([(c, _arrow_type(pyarrow, plain[c])) for c in plain])
            writer = parquet.ParquetWriter(file, schema)
        table = pyarrow.Table.from_pandas(plain, schema=writer.schema, preserve_index=False)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _safe_cells(column: pd.Series) -> pd.Series:
    """Texts that a spreadsheet does not run; other values as they are."""
    if column.dtype.kind in "biuf":
        return column
    cells = [formula_safe(cell) if isinstance(cell, str) else cell for cell in column]
    return pd.Series(cells, column.index, object)


def _one_type(column: pd.Series) -> pd.Series:
    """Numbers as they are; everything else as text, so that all chunks have the same types."""
    if column.dtype.kind in "biuf":
        return column
    return column.map(lambda value: None if pd.isna(value) else str(value)).astype(object)


def _arrow_type(pyarrow: Any, column: pd.Series) -> Any:
    kind = column.dtype.kind
    if kind in "iu":
        return pyarrow.int64()
    if kind == "f":
        return pyarrow.float64()
    return pyarrow.bool_() if kind == "b" else pyarrow.string()


def _records(frame: pd.DataFrame) -> Iterator[str]:
    names = list(frame.columns)
    for row in frame.itertuples(index=False, name=None):
        cells = (None if value is pd.NA else json_scalar(value) for value in row)
        record = dict(zip(names, cells, strict=True))
        yield json.dumps(record, ensure_ascii=False, allow_nan=False)
