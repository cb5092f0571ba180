"""Lines of a file: where a row stands, for errors about it."""

from __future__ import annotations

import csv as csv_lines
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData
from ract.data.csv.dialect import TableFormat
from ract.data.csv.files import header_of, is_parquet, name_of, text_of

# A row in a message; quoted text is a value of the table and stays as it is.
_ROW = re.compile(r"'[^']*'|\"[^\"]*\"|\brow (\d+)\b")


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
