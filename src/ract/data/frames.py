"""One way to read any table: pandas, polars, pyarrow (through narwhals) or a numpy array.

Nothing above this module needs to know which library a table came from. Columns are handed
out one at a time, so that a large table is never copied whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, listing
from ract._utils.typing import TableLike
from ract._utils.validation import as_python
from ract.data.dtypes import (
    dtype_that_holds,
    has_fractions,
    is_plain_dtype,
    pandas_like,
    with_none,
)

Role = Literal["bool", "integer", "float", "label"]

KEPT_BYTES = 64_000_000

# What a column of text calls true and false beside a cell that is neither.
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def read_table(X: TableLike | Table | None) -> Table:
    """Wrap a frame or a two-dimensional array; complain in one sentence about anything else.

    >>> read_table(np.zeros((3, 2))).names
    ('x0', 'x1')
    """
    if isinstance(X, Table):
        return X
    table: Table
    if isinstance(X, pd.DataFrame):
        table = FrameTable(*_named(X))
    else:
        frame = as_narwhals(X)
        table = ArrayTable(_as_matrix(X)) if frame is None else FrameTable(frame)
    if table.n_rows == 0 or not table.names:
        raise InvalidData(
            f"The table is empty: {table.n_rows} rows and {len(table.names)} columns; "
            "at least one of each is needed."
        )
    return table


def as_narwhals(X: object) -> nw.DataFrame[Any] | None:
    """A pandas, polars or pyarrow frame as narwhals sees it; None for anything else."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def first_true(rows: np.ndarray) -> int | None:
    """Position of the first row of which something holds."""
    return int(np.argmax(rows)) if rows.any() else None


def _named(frame: pd.DataFrame) -> tuple[nw.DataFrame[Any], list[Any]]:
    """A pandas frame under usable names, and its own labels (numbered columns become x0, ...)."""
    labels = list(frame.columns)
    if not any(isinstance(label, str) for label in labels):
        frame = frame.set_axis([f"x{j}" for j in range(len(labels))], axis=1)
    _check_names(list(frame.columns))
    return nw.from_native(frame, eager_only=True), labels


def refuse_loose_people(X: object) -> None:
    """Refuse people who are no table, with what a table of them is, and columns of one name."""
    if isinstance(X, pd.Series):
        raise InvalidData(
            "This is one person as a Series; write "
            f"people.loc[[{as_python(X.name)!r}]] for a table of one."
        )
    if isinstance(X, Mapping):
        raise InvalidData(
            "This is a dict; write pandas.DataFrame([person]) for a table of one person, or "
            "pandas.DataFrame(people) if it has a list for each column."
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (Mapping, pd.Series)):
        raise InvalidData("These are people in a list; write pandas.DataFrame(people) for a table.")
    if isinstance(X, pd.DataFrame):
        _check_names([label for label in X.columns if isinstance(label, str)])


def _as_matrix(X: object) -> np.ndarray:
    if hasattr(X, "toarray"):
        raise InvalidData("Sparse matrices are not supported; pass X.toarray().")
    refuse_loose_people(X)
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise InvalidData(
            f"Expected a frame or a 2-dimensional array, got {type(X).__name__} "
            f"of {matrix.ndim} dimension(s)."
        )
    return matrix


class Table:
    """Named columns of one length, read one at a time.

    Checked float columns of a small table are kept, since reading one through a frame library
    takes longer than using it; those of a large table are made anew each time. ``codes`` has, for
    a column and its categories, the position of each person's; checking and encoding share them.
    """

    names: tuple[str, ...]
    n_rows: int

    def __init__(self, names: Sequence[str], n_rows: int) -> None:
        self.names = tuple(names)
        self.n_rows = n_rows
        self._kept: dict[str, np.ndarray] = {}
        self._kept_missing: dict[str, np.ndarray] = {}
        self.codes: dict[tuple[str, tuple[Any, ...]], np.ndarray] = {}
        self._keeps = 8 * n_rows * len(self.names) <= KEPT_BYTES

    def role(self, name: str) -> Role:
        """How a column should be understood when nobody said."""
        raise NotImplementedError

    def _raw(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def narrow_float(self, name: str) -> np.dtype[Any] | None:
        """The type of a column of floats that are less precise than doubles; else None."""
        return None

    def declared(self, name: str) -> tuple[list[Any] | None, bool]:
        """The values of a category or enum column, and whether they were declared in an order."""
        return None, False

    def like(self, columns: Mapping[str, np.ndarray], *, keep_index: bool = True) -> Any:
        """A table of the same library and dtypes as this one, with other values."""
        raise NotImplementedError

    def numbers(self, name: str) -> np.ndarray:
        """A column as contiguous float64, NaN where it is missing, not to be written to.

        Infinite numbers are refused.
        """
        if name in self._kept:
            return self._kept[name]
        values = self._checked_numbers(name)
        if self._keeps:
            self._kept[name] = values
        return values

    def quartiles(self, name: str) -> tuple[float, float, float]:
        """The quartiles of the known numbers of a column; of n values, linear between two."""
        values = self.numbers(name)
        low, middle, high = np.quantile(values[~np.isnan(values)], [0.25, 0.5, 0.75]).tolist()
        return low, middle, high

    def _checked_numbers(self, name: str) -> np.ndarray:
        try:
            values = np.ascontiguousarray(_with_nan(self._raw(name)), dtype=np.float64)
        except OverflowError:
            raise InvalidData(
                f"Column {name!r} holds a number that is too large for double precision."
            ) from None
        except (TypeError, ValueError):
            raise InvalidData(
                f"Column {name!r} holds {self._example_of_text(name)!r}, which is not a number; "
                "declare the column as categorical or convert it."
            ) from None
        if (row := first_true(np.isinf(values))) is not None:
            raise InvalidData(
                f"Column {name!r} is infinite ({values[row]}) in row {row}; "
                "all numbers must be finite."
            )
        return values

    def labels(self, name: str) -> np.ndarray:
        """A column as plain Python values (strings, numbers, bools); None where it is missing."""
        labels, missing = self.cells(name), self.missing(name)
        if missing.any():
            labels = labels.copy()
            labels[missing] = None
        return labels

    def cells(self, name: str) -> np.ndarray:
        """The same as it is, missing values in whatever way they are marked."""
        return np.asarray(self._raw(name), dtype=object)

    def missing(self, name: str) -> np.ndarray:
        """Where a column has no value: NaN, None, NA, NaT or null."""
        if name in self._kept:
            return np.isnan(self._kept[name])
        if name in self._kept_missing:
            return self._kept_missing[name]
        values = self._raw(name)
        missing: np.ndarray = np.zeros(self.n_rows, bool)
        if values.dtype.kind not in "biu":
            missing = np.asarray(pd.isna(values))
        if self._keeps:
            self._kept_missing[name] = missing
        return missing

    def refuse_empty_columns(self, besides: Sequence[str] = ()) -> None:
        """Refuse columns in which nobody has a value, all at once."""
        names = (name for name in self.names if name not in besides)
        if empty := [name for name in names if self.missing(name).all()]:
            raise InvalidData(
                f"Nobody has a value in column(s) {listing(empty, 30)}; leave them out."
            )

    def require_known(self, names: Sequence[str], what: str) -> None:
        """Refuse missing values where something cannot do with them; all columns at once."""
        if found := [name for name in names if self.missing(name).any()]:
            raise InvalidData(
                f"{what} no missing values, but column(s) {listing(found, 30)} have some; fill "
                "or drop them first."
            )

    def parsed(self, name: str) -> np.ndarray:
        """A column as float64, NaN wherever it holds no number."""
        try:
            return np.asarray(_with_nan(self._raw(name)), dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            return np.array([_number(cell) for cell in self._raw(name)])

    def _example_of_text(self, name: str) -> Any:
        for value in self._raw(name)[~self.missing(name)]:
            try:
                float(value)
            except (TypeError, ValueError):
                return value
        return None


class ArrayTable(Table):
    """A matrix whose columns are called x0, x1, ... as scikit-learn does."""

    def __init__(self, matrix: np.ndarray) -> None:
        super().__init__([f"x{j}" for j in range(matrix.shape[1])], int(matrix.shape[0]))
        self._matrix = matrix
        self._position = {name: j for j, name in enumerate(self.names)}

    def _raw(self, name: str) -> np.ndarray:
        return self._matrix[:, self._position[name]]

    def role(self, name: str) -> Role:
        if self._matrix.dtype != object:
            return _role_of_dtype(self._matrix.dtype)
        values = self._raw(name)[~self.missing(name)]
        if all(isinstance(value, (bool, np.bool_)) for value in values):
            return "bool"
        try:
            values.astype(np.float64)
        except OverflowError:
            pass  # a number, which ``numbers`` refuses
        except (TypeError, ValueError):
            return "label"
        whole = all(isinstance(value, (int, np.integer)) for value in values)
        return "integer" if whole else "float"

    def narrow_float(self, name: str) -> np.dtype[Any] | None:
        return _narrow(self._matrix.dtype)

    def like(self, columns: Mapping[str, np.ndarray], *, keep_index: bool = True) -> np.ndarray:
        arrays = [columns[name] for name in self.names]
        matrix = np.column_stack([np.asarray(array) for array in arrays])
        exact = np.can_cast(matrix.dtype, self._matrix.dtype, "same_kind") or (
            matrix.dtype.kind == "f" and not has_fractions(matrix) and not np.isnan(matrix).any()
        )
        return matrix.astype(self._matrix.dtype) if exact else matrix


class FrameTable(Table):
    """A pandas, polars or pyarrow frame."""

    def __init__(self, frame: nw.DataFrame[Any], labels: list[Any] | None = None) -> None:
        super().__init__(frame.columns, len(frame))
        self._frame, self._read = frame, False
        self._columns: dict[str, np.ndarray] = {}
        self._labels = frame.columns if labels is None else labels

    def numbers(self, name: str) -> np.ndarray:
        self._keep_plain()
        return super().numbers(name)

    def missing(self, name: str) -> np.ndarray:
        self._keep_plain()
        return super().missing(name)

    def _keep_plain(self) -> None:
        if self._keeps and not self._read:
            self._read = True
            self._kept |= _plain_columns(self._frame.to_native())

    def _raw(self, name: str) -> np.ndarray:
        values = self._column(name)
        return values.astype(np.int8) if values.dtype.kind == "b" else values

    def _column(self, name: str) -> np.ndarray:
        """A column as the frame's library gives it; that of a small table is read once."""
        if name in self._columns:
            return self._columns[name]
        values = self._frame.get_column(name).to_numpy()
        if self._keeps:
            self._columns[name] = values
        return values

    def cells(self, name: str) -> np.ndarray:
        return np.asarray(self._column(name), dtype=object)

    def role(self, name: str) -> Role:
        dtype = self._schema[name]
        if dtype == nw.Boolean:
            return "bool"
        if dtype.is_integer():
            return "integer"
        if dtype.is_numeric():
            return "float"
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return "label"
        if self.missing(name).all():
            return "float"
        if dtype == nw.Object:
            return ArrayTable(self._raw(name).reshape(-1, 1)).role("x0")
        raise InvalidData(
            f"Column {name!r} has type {dtype}, which has no meaning here; "
            "convert it to numbers or text."
        )

    def narrow_float(self, name: str) -> np.dtype[Any] | None:
        native = self._frame.to_native()
        if isinstance(native, pd.DataFrame):
            dtype = self._dtypes[name]
            return _narrow(getattr(dtype, "numpy_dtype", dtype))
        return np.dtype(np.float32) if self._schema[name] == nw.Float32 else None

    @cached_property
    def _schema(self) -> Mapping[str, nw.dtypes.DType]:
        """Types of all columns, which a frame makes anew each time that it is asked for one."""
        return self._frame.schema

    @cached_property
    def _dtypes(self) -> dict[str, Any]:
        """Types of a pandas frame's columns."""
        return dict(zip(self.names, self._frame.to_native().dtypes, strict=True))

    def declared(self, name: str) -> tuple[list[Any] | None, bool]:
        native = self._frame.to_native()
        if isinstance(native, pd.DataFrame):
            dtype = native[name].dtype
            if isinstance(dtype, pd.CategoricalDtype):
                return dtype.categories.tolist(), bool(dtype.ordered)
        elif isinstance(enum := self._schema[name], nw.Enum):
            return list(enum.categories), True
        return None, False

    def like(self, columns: Mapping[str, np.ndarray], *, keep_index: bool = True) -> Any:
        native = self._frame.to_native()
        if isinstance(native, pd.DataFrame):
            return pandas_like(native, columns, keep_index).set_axis(self._labels, axis=1)
        data = {
            name: nw.new_series(name, with_none(columns[name]), backend=self._frame.implementation)
            .cast(dtype_that_holds(self._schema[name], columns[name]))
            .to_native()
            for name in self.names
        }
        return nw.from_dict(data, backend=self._frame.implementation).to_native()


def _number(cell: object) -> float:
    try:
        return float(TRUTHS.get(cell, cell) if isinstance(cell, str) else cell)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf
    except (TypeError, ValueError):
        return math.nan


def _with_nan(values: np.ndarray) -> np.ndarray:
    """Missing values of a column of objects, however they are marked, as NaN."""
    return np.where(pd.isna(values), np.nan, values) if values.dtype == object else values


def _plain_columns(native: object) -> dict[str, np.ndarray]:
    """Columns of numbers without infinities, read at once: one by one takes ten times as long."""
    if not isinstance(native, pd.DataFrame):
        return {}
    names = [name for name, dtype in native.dtypes.items() if is_plain_dtype(dtype)]
    plain = native if len(names) == native.shape[1] else native[names]
    columns = np.ascontiguousarray(plain.to_numpy(np.float64).T)
    infinite = np.isinf(columns).any(axis=1)
    return {
        str(name): column
        for name, column, refused in zip(names, columns, infinite, strict=True)
        if not refused
    }


def _narrow(dtype: object) -> np.dtype[Any] | None:
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8:
        return dtype
    return None


def _role_of_dtype(dtype: np.dtype[Any]) -> Role:
    roles: dict[str, Role] = {"b": "bool", "i": "integer", "u": "integer", "f": "float"}
    return roles.get(dtype.kind, "label")


def _check_names(names: Sequence[Any]) -> None:
    if strange := [name for name in names if not isinstance(name, str)]:
        raise InvalidData(f"Column names must be text, got {listing(strange)}.")
    if twice := sorted(name for name, n in Counter(names).items() if n > 1):
        raise InvalidData(f"Column name(s) {listing(twice)} appear more than once.")


def take_rows(X: TableLike, rows: np.ndarray) -> Any:
    """Some rows of a frame or array, in its own library."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    frame = as_narwhals(X)
    return np.asarray(X)[rows] if frame is None else frame[rows.tolist()].to_native()


def drop_columns(X: TableLike, names: Collection[str]) -> Any:
    """A frame without some columns, in its own library.

    >>> drop_columns(pd.DataFrame({"age": [20], "job": ["cook"]}), {"age"}).columns.tolist()
    ['job']
    """
    if not names:
        return X
    frame = as_narwhals(X)
    if frame is None:
        raise InvalidData(f"{listing(sorted(names))} is not used, which needs a table with names.")
    return frame.drop([name for name in frame.columns if name in names]).to_native()


def is_frame(X: object) -> bool:
    """Whether X is a pandas, polars or pyarrow frame."""
    return isinstance(X, pd.DataFrame) or as_narwhals(X) is not None
