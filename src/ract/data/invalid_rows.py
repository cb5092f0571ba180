"""Rows that cannot be read: which ones, why, and the table without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from ract._utils.errors import listing
from ract._utils.typing import TableLike
from ract.data.actions import Feature
from ract.data.actions.feature import Kind
from ract.data.actions.infer import ALLOWED, wrong_kind
from ract.data.encoder import Encoder
from ract.data.frames import TRUTHS, Table, as_narwhals, read_table, take_rows

CELL = "{cell}"  # what a row holds, in the text of a fault


class Fault(NamedTuple):
    """Rows with something wrong, what they hold, and what to say about it."""

    rows: np.ndarray
    cells: Sequence[object] | np.ndarray
    text: str


@dataclass(frozen=True)
class InvalidRows:
    """Rows of a table that cannot be read, set aside while the others are worked on.

    Parameters
    ----------
    table : frame or array
        With all rows.
    valid : int (people,)
        Positions of the rows that can be read, ascending.
    messages : dict
        By position: what is wrong with each of the others.
    """

    table: TableLike
    valid: np.ndarray
    messages: dict[int, str]

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return len(self.valid) + len(self.messages)

    @property
    def labels(self) -> pd.Index:
        """Labels of all rows: the index of a pandas frame, else 0, 1, ..."""
        table = self.table
        return table.index if isinstance(table, pd.DataFrame) else pd.RangeIndex(self.n_rows)

    def without(self, by_label: Mapping[Any, Any] | None) -> Mapping[Any, Any] | None:
        """What is said of people by their labels, without those whose rows are invalid."""
        if not by_label:
            return by_label
        left_out = set(self.labels[list(self.messages)]) - set(self.labels[self.valid])
        return {label: said for label, said in by_label.items() if label not in left_out}

    def scatter(self, values: np.ndarray, fill: float | None) -> np.ndarray:
        """Values of the valid rows, in their places among all rows."""
        scattered = np.full((self.n_rows, *values.shape[1:]), fill, values.dtype)
        scattered[self.valid] = values
        return scattered

    def scatter_table(self, read: TableLike) -> Any:
        """A table of the valid rows, with the others between them, missing throughout."""
        place = self.scatter(np.arange(len(self.valid)), -1)
        if isinstance(read, pd.DataFrame):
            return read.reset_index(drop=True).reindex(place).set_axis(self.labels)
        if isinstance(read, np.ndarray):
            missing = None if read.dtype == object else np.nan
            kind = read.dtype if read.dtype.kind in "fO" else np.float64
            return self.scatter(read.astype(kind), missing)
        frame = as_narwhals(read)
        assert frame is not None  # a table of one of these kinds was read
        columns = {}
        for name, dtype in frame.schema.items():
            values = frame[name].to_list()
            scattered = [None if k < 0 else values[k] for k in place]
            columns[name] = nw.new_series(name, scattered, dtype, backend=frame.implementation)
        return nw.from_dict(columns).to_native()


def set_aside_invalid(
    frame: TableLike, encoder: Encoder | None = None, *, kinds: bool = True
) -> tuple[Any, InvalidRows]:
    """The rows of a table that can be read, numbers as numbers, and what is wrong with the others.

    Parameters
    ----------
    frame : frame or array
    encoder : Encoder, optional
        That is to read it. Without one, rows with missing or infinite values are found.
    kinds : bool
        As in ``Encoder.encode``.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
    >>> new = pd.DataFrame({"age": ["x", "30"], "job": ["cook", "clerk"]})
    >>> read, invalid = set_aside_invalid(new, Encoder(people))
    >>> invalid.messages, read["age"].tolist()
    ({0: "Column 'age' holds 'x', not a finite number."}, [30])
    """
    table = read_table(frame)
    found: dict[int, list[str]] = {}
    for fault in _faults(table, encoder, kinds):
        for row in np.flatnonzero(fault.rows).tolist():
            text = fault.text.replace(CELL, f"{fault.cells[row]!r:.60}")
            found.setdefault(row, []).append(text)
    messages = {row: f"{'; '.join(found[row])}." for row in sorted(found)}
    rows = np.setdiff1d(np.arange(table.n_rows), list(messages))
    read = take_rows(frame, rows)
    if encoder is not None and len(rows):
        read = _with_numbers(read, table, rows, encoder)
    return read, InvalidRows(frame, rows, messages)


def _faults(table: Table, encoder: Encoder | None, kinds: bool) -> Iterator[Fault]:
    if encoder is None:
        for name in table.names:
            cells, values = table.cells(name), table.parsed(name)
            yield Fault(table.missing(name), cells, f"Column {name!r} is missing")
            yield Fault(
                np.isinf(values), cells, f"Column {name!r} holds {CELL}, not a finite number"
            )
        return
    encoder.check_names(table)
    for axis in encoder.axes:
        feature = axis.feature
        if feature.columns:
            yield from _faults_of_group(table, feature)
        elif feature.is_categorical:
            yield from _faults_of_category(table, feature)
        else:
            kind = feature.kind if kinds else None
            yield from _faults_of_number(table, feature.name, kind, axis.has_missing)


def _faults_of_number(
    table: Table, name: str, kind: Kind | None, may_miss: bool = False
) -> Iterator[Fault]:
    cells, values, missing = table.cells(name), table.parsed(name), table.missing(name)
    finite = np.isfinite(values)
    if not may_miss:
        yield Fault(missing, cells, f"Column {name!r} is missing")
    yield Fault(~finite & ~missing, cells, f"Column {name!r} holds {CELL}, not a finite number")
    if kind in ALLOWED:
        wrong = wrong_kind(kind, np.where(finite, values, 0.0))
        text = f"Column {name!r} is {kind}, but holds {CELL}; allowed: {ALLOWED[kind]}"
        yield Fault(wrong, cells, text)


def _faults_of_category(table: Table, feature: Feature) -> Iterator[Fault]:
    name, cells, missing = feature.name, table.cells(feature.name), table.missing(feature.name)
    if feature.missing is None:
        yield Fault(missing, cells, f"Column {name!r} is missing")
    unknown = ~missing  # pd.NA is neither in nor out of anything
    unknown[unknown] = [cell not in feature.categories for cell in cells[unknown]]
    known = listing(feature.categories, 20)
    text = f"Column {name!r} holds {CELL}, which is not one of its categories: {known}"
    yield Fault(unknown, cells, text)


def _faults_of_group(table: Table, feature: Feature) -> Iterator[Fault]:
    good, total = np.ones(table.n_rows, bool), np.zeros(table.n_rows)
    for name in feature.columns:
        for fault in _faults_of_number(table, name, "binary"):
            yield fault
            good &= ~fault.rows
        total += np.nan_to_num(table.parsed(name))
    text = f"The columns of one-hot group {feature.name!r} must sum to 1, and sum to {CELL}"
    yield Fault(good & (total != 1), total.tolist(), text)


def _with_numbers(people: TableLike, table: Table, rows: np.ndarray, encoder: Encoder) -> Any:
    """A table in which text that stands for numbers has become numbers."""
    groups = (axis.feature.table_columns for axis in encoder.axes)
    is_text = {axis.feature.name for axis in encoder.axes if axis.is_categorical}
    names = [name for group in groups for name in group if name not in is_text]
    if isinstance(people, pd.DataFrame):
        columns = [table.names.index(name) for name in names]
        texts = [j for j in columns if people.dtypes.iloc[j].kind not in "biuf"]
        people = people.copy() if texts else people
        for j in texts:
            people[people.columns[j]] = _numbers(table, table.names[j], rows)
        return people
    frame = as_narwhals(people)
    if frame is not None:
        numbers = (
            nw.new_series(name, _numbers(table, name, rows), backend=frame.implementation)
            for name in names
            if frame.schema[name] == nw.String
        )
        return frame.with_columns(*numbers).to_native()
    matrix = np.asarray(people)
    return matrix if is_text or matrix.dtype.kind in "biuf" else matrix.astype(np.float64)


def _numbers(table: Table, name: str, rows: np.ndarray) -> np.ndarray:
    """Numbers that a column holds as text: truths as such, and whole ones as whole numbers."""
    numbers, cells = table.parsed(name)[rows], table.cells(name)[rows]
    if np.isnan(numbers).any():
        return numbers
    if all(isinstance(cell, bool) or cell in TRUTHS for cell in cells):
        return numbers.astype(bool)
    return numbers.astype(np.int64) if np.array_equal(numbers, np.floor(numbers)) else numbers
