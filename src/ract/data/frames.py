"""One way to read any table: pandas, polars, pyarrow (through narwhals) or a numpy array.

Nothing above this module needs to know which library a table came from. Columns are handed
out one at a time, so that a large table is never copied whole.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, listing

Role = Literal["bool", "integer", "float", "label"]

KEPT_BYTES = 64_000_000

# What a column of text calls true and false beside a cell that is neither.
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def read_table(X: Any) -> Table:
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
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        is_frame = isinstance(frame, nw.DataFrame)
        table = FrameTable(frame) if is_frame else ArrayTable(_as_matrix(X))
    if table.n_rows == 0 or not table.names:
        raise InvalidData(
            f"The table is empty: {table.n_rows} rows and {len(table.names)} columns; "
            "at least one of each is needed."
        )
    return table


def _named(frame: pd.DataFrame) -> tuple[nw.DataFrame[Any], list[Any]]:
    """A pandas frame under usable names, and its own labels (numbered columns become x0, ...)."""
    labels = list(frame.columns)
    if not any(isinstance(label, str) for label in labels):
        frame = frame.set_axis([f"x{j}" for j in range(len(labels))], axis=1)
    _check_names(list(frame.columns))
    return nw.from_native(frame, eager_only=True), labels


def refuse_loose_people(X: Any) -> None:
    """Refuse people who are no table, with what a table of them is, and columns of one name."""
    if isinstance(X, pd.Series):
        label = X.name.item() if isinstance(X.name, np.generic) else X.name
        how = f"This is one person as a Series; write people.loc[[{label!r}]] for a table of one."
        raise InvalidData(how)
    if isinstance(X, Mapping):
        raise InvalidData(
            "This is a dict; write pandas.DataFrame([person]) for a table of one person, or "
            "pandas.DataFrame(people) if it has a list for each column."
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (Mapping, pd.Series)):
        raise InvalidData("These are people in a list; write pandas.DataFrame(people) for a table.")
    if isinstance(X, pd.DataFrame):
        _check_names([label for label in X.columns if isinstance(label, str)])


def _as_matrix(X: Any) -> np.ndarray:
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

    def narrow_float(self, name: str) -> Any:
        """The type of a column of floats that are less precise than doubles; else None."""
        return None

    def declared_categories(self, name: str) -> list[Any] | None:
        """The values of a category or enum column in their declared order, if it declares one."""
        return None

    def declared_order(self, name: str) -> list[Any] | None:
        """The same, if whoever declared them also said that they have an order."""
        return None

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
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argmax(infinite))
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
        empty = [name for name in names if self.missing(name).all()]
        if empty:
            raise InvalidData(
                f"Nobody has a value in column(s) {listing(empty, 30)}; leave them out."
            )

    def require_known(self, names: Sequence[str], what: str) -> None:
        """Refuse missing values where something cannot do with them; all columns at once."""
        found = [name for name in names if self.missing(name).any()]
        if found:
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

    def narrow_float(self, name: str) -> Any:
        return _narrow(self._matrix.dtype)

    def like(self, columns: Mapping[str, np.ndarray], *, keep_index: bool = True) -> np.ndarray:
        arrays = [columns[name] for name in self.names]
        matrix = np.column_stack([np.asarray(array) for array in arrays])
        exact = np.can_cast(matrix.dtype, self._matrix.dtype, "same_kind") or (
            matrix.dtype.kind == "f" and not _has_fractions(matrix) and not np.isnan(matrix).any()
        )
        return matrix.astype(self._matrix.dtype) if exact else matrix


class FrameTable(Table):
    """A pandas, polars or pyarrow frame."""

    def __init__(self, frame: nw.DataFrame[Any], labels: list[Any] | None = None) -> None:
        super().__init__(frame.columns, len(frame))
        self._frame, self._read = frame, False
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
        series = self._frame.get_column(name)
        if series.dtype == nw.Boolean:
            series = series.cast(nw.Int8) if not series.null_count() else series
        return series.to_numpy()

    def cells(self, name: str) -> np.ndarray:
        return np.asarray(self._frame.get_column(name).to_numpy(), dtype=object)

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

    def narrow_float(self, name: str) -> Any:
        native = self._frame.to_native()
        if isinstance(native, pd.DataFrame):
            dtype = self._dtypes[name]
            return _narrow(getattr(dtype, "numpy_dtype", dtype))
        return np.float32 if self._schema[name] == nw.Float32 else None

    @cached_property
    def _schema(self) -> Mapping[str, nw.dtypes.DType]:
        """Types of all columns, which a frame makes anew each time that it is asked for one."""
        return self._frame.schema

    @cached_property
    def _dtypes(self) -> dict[str, Any]:
        """Types of a pandas frame's columns."""
        return dict(zip(self.names, self._frame.to_native().dtypes, strict=True))

    def declared_categories(self, name: str) -> list[Any] | None:
        native = self._frame.to_native()
        if isinstance(native, pd.DataFrame):
            dtype = native[name].dtype
            return dtype.categories.tolist() if isinstance(dtype, pd.CategoricalDtype) else None
        declared = self._schema[name]
        return list(declared.categories) if isinstance(declared, nw.Enum) else None

    def declared_order(self, name: str) -> list[Any] | None:
        native = self._frame.to_native()
        ordered = not isinstance(native, pd.DataFrame) or getattr(
            native[name].dtype, "ordered", False
        )
        return self.declared_categories(name) if ordered else None

    def like(self, columns: Mapping[str, np.ndarray], *, keep_index: bool = True) -> Any:
        native = self._frame.to_native()
        if isinstance(native, pd.DataFrame):
            return _pandas_like(native, columns, keep_index).set_axis(self._labels, axis=1)
        data = {
            name: nw.new_series(name, _with_none(columns[name]), backend=self._frame.implementation)
            .cast(_dtype_that_holds(self._schema[name], columns[name]))
            .to_native()
            for name in self.names
        }
        return nw.from_dict(data, backend=self._frame.implementation).to_native()


def _number(cell: Any) -> float:
    try:
        return float(TRUTHS.get(cell, cell) if isinstance(cell, str) else cell)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf
    except (TypeError, ValueError):
        return math.nan


def _with_nan(values: np.ndarray) -> np.ndarray:
    """Missing values of a column of objects, however they are marked, as NaN."""
    return np.where(pd.isna(values), np.nan, values) if values.dtype == object else values


def _with_none(values: np.ndarray) -> list[Any]:
    """A column as a list, with None where it is missing."""
    held = values.astype(object)
    held[pd.isna(values)] = None
    column: list[Any] = held.tolist()
    return column


def _plain_columns(native: Any) -> dict[str, np.ndarray]:
    """Columns of numbers without infinities, read at once: one by one takes ten times as long."""
    if not isinstance(native, pd.DataFrame):
        return {}
    names = [name for name, dtype in native.dtypes.items() if _is_plain(dtype)]
    plain = native if len(names) == native.shape[1] else native[names]
    columns = np.ascontiguousarray(plain.to_numpy(np.float64).T)
    infinite = np.isinf(columns).any(axis=1)
    return {
        str(name): column
        for name, column, refused in zip(names, columns, infinite, strict=True)
        if not refused
    }


def _is_plain(dtype: Any) -> bool:
    """Whether a column is an array of NumPy's own numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _pandas_like(
    native: pd.DataFrame, columns: Mapping[str, np.ndarray], keep_index: bool
) -> pd.DataFrame:
    index = native.index if keep_index else None
    data: dict[Any, Any] = {}
    for name, dtype in native.dtypes.items():
        values = columns[str(name)]
        missing = pd.isna(values).any()
        if _is_plain(dtype) and values.dtype.kind == "f" and (dtype.kind == "f" or not missing):
            cast = values.astype(dtype)
            if dtype.kind == "f" or np.array_equal(cast, values):
                data[name] = cast
                continue
        whole = pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
        keeps = not (whole and (_has_fractions(values) or (missing and _is_plain(dtype))))
        data[name] = pd.Series(values, index=index, dtype=dtype if keeps else None)
    return pd.DataFrame(data, index=index)


def _dtype_that_holds(dtype: Any, values: np.ndarray) -> Any:
    """The column's own dtype, unless it holds whole numbers only and the values have fractions."""
    whole = dtype.is_integer() or dtype == nw.Boolean
    return nw.Float64() if whole and _has_fractions(values) else dtype


def _has_fractions(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and not np.array_equal(values, np.trunc(values), equal_nan=True)


def _narrow(dtype: Any) -> Any:
    narrow = isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8
    return dtype if narrow else None


def _role_of_dtype(dtype: np.dtype[Any]) -> Role:
    roles: dict[str, Role] = {"b": "bool", "i": "integer", "u": "integer", "f": "float"}
    return roles.get(dtype.kind, "label")


def _check_names(names: Sequence[Any]) -> None:
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise InvalidData(f"Column names must be text, got {listing(strange)}.")
    seen: set[str] = set()
    twice = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if twice:
        raise InvalidData(f"Column name(s) {listing(twice)} appear more than once.")


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a frame or array, in its own library."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    return np.asarray(X)[rows]


def without_columns(X: Any, names: Collection[str]) -> Any:
    """A frame without some columns, in its own library.

    >>> without_columns(pd.DataFrame({"age": [20], "job": ["cook"]}), {"age"}).columns.tolist()
    ['job']
    """
    if not names:
        return X
    if not is_frame(X):
        raise InvalidData(f"{listing(sorted(names))} is not used, which needs a table with names.")
    frame = nw.from_native(X, eager_only=True)
    return frame.drop([name for name in frame.columns if name in names]).to_native()


def is_frame(X: Any) -> bool:
    """Whether X is a pandas, polars or pyarrow frame."""
    if isinstance(X, pd.DataFrame):
        return True
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)
