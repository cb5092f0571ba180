"""Which types of columns hold which values, so that a table comes back as it was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd


def with_none(values: np.ndarray) -> list[Any]:
    """A column as a list, with None where it is missing."""
    objects = values.astype(object)
    objects[pd.isna(values)] = None
    column: list[Any] = objects.tolist()
    return column


def is_plain_dtype(dtype: object) -> bool:
    """Whether a column is an array of NumPy's own numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def pandas_like(
    native: pd.DataFrame, columns: Mapping[str, np.ndarray], keep_index: bool
) -> pd.DataFrame:
    """A frame with other values, in the types of its columns where these hold them."""
    index = native.index if keep_index else None
    data: dict[Any, Any] = {}
    for name, dtype in native.dtypes.items():
        values = columns[str(name)]
        missing = pd.isna(values).any()
        if (
            is_plain_dtype(dtype)
            and values.dtype.kind == "f"
            and (dtype.kind == "f" or not missing)
        ):
            cast = values.astype(dtype)
            if dtype.kind == "f" or np.array_equal(cast, values):
                data[name] = cast
                continue
        whole = pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
        keeps = not (whole and (has_fractions(values) or (missing and is_plain_dtype(dtype))))
        data[name] = pd.Series(values, index=index, dtype=dtype if keeps else None)
    return pd.DataFrame(data, index=index)


def dtype_that_holds(dtype: nw.dtypes.DType, values: np.ndarray) -> nw.dtypes.DType:
    """The column's own dtype, unless it holds whole numbers only and the values have fractions."""
    whole = dtype.is_integer() or dtype == nw.Boolean
    return nw.Float64() if whole and has_fractions(values) else dtype


def has_fractions(values: np.ndarray) -> bool:
    """Whether there are floats that are not whole."""
    return values.dtype.kind == "f" and not np.array_equal(values, np.trunc(values), equal_nan=True)
