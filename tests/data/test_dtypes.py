"""Which types of columns hold which values."""

import numpy as np
import pandas as pd

from ract.data.dtypes import has_fractions, is_plain_dtype, pandas_like, with_none


def test_columns_keep_their_types_where_these_hold_the_values():
    frame = pd.DataFrame({"n": [1, 2], "x": np.float32([0.5, 1.0])}, index=["a", "b"])
    whole = pandas_like(frame, {"n": np.array([3.0, 4.0]), "x": np.array([1.5, np.nan])}, True)
    assert whole.dtypes.tolist() == [np.int64, np.float32] and whole.index.tolist() == ["a", "b"]
    parts = pandas_like(frame, {"n": np.array([3.5, np.nan]), "x": np.zeros(2)}, False)
    assert parts.dtypes["n"] == np.float64 and parts.index.tolist() == [0, 1]


def test_values_are_told_apart():
    assert has_fractions(np.array([0.5, np.nan])) and not has_fractions(np.array([2.0, np.nan]))
    assert is_plain_dtype(np.dtype(bool)) and not is_plain_dtype(pd.Int64Dtype())
    assert with_none(np.array([1.0, np.nan])) == [1.0, None]
