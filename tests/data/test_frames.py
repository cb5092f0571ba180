"""One way to read any table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ract._utils.errors import InvalidData
from ract.data.frames import drop_columns, is_frame, read_table, take_rows

FRAME = pd.DataFrame({"age": [20, 30, 40], "rent": [1.5, None, 3.0], "job": ["a", "b", None]})
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("convert", LIBRARIES.values(), ids=LIBRARIES)
def test_libraries_read_alike(convert):
    table = read_table(convert(FRAME))
    assert (table.names, table.n_rows) == (("age", "rent", "job"), 3)
    assert [table.role(name) for name in table.names] == ["integer", "float", "label"]
    np.testing.assert_array_equal(table.numbers("rent"), [1.5, np.nan, 3.0])
    assert table.labels("job").tolist() == ["a", "b", None]
    assert table.missing("job").tolist() == [False, False, True]
    assert table.quartiles("age") == (25.0, 30.0, 35.0)


@pytest.mark.parametrize("convert", LIBRARIES.values(), ids=LIBRARIES)
def test_rows_and_columns_stay_in_their_library(convert):
    frame = convert(FRAME)
    some = take_rows(frame, np.array([2, 0]))
    assert type(some) is type(frame) and read_table(some).numbers("age").tolist() == [40.0, 20.0]
    left = drop_columns(frame, {"age", "job"})
    assert type(left) is type(frame) and read_table(left).names == ("rent",)
    assert is_frame(frame) and not is_frame(np.zeros((2, 2)))


def test_a_table_of_other_values_keeps_types_where_they_hold_them():
    table = read_table(FRAME)
    columns = {"age": np.array([21.0, 30.0, 41.0]), "rent": np.zeros(3), "job": np.array(["x"] * 3)}
    assert table.like(columns).dtypes["age"] == np.int64
    assert table.like(columns | {"age": np.array([0.5, 1.0, 2.0])}).dtypes["age"] == np.float64


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pd.DataFrame({"a": []}), "The table is empty: 0 rows and 1 columns"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"Column name\(s\) 'a' appear more than once"),
        (pd.DataFrame([[1, 2]], columns=["a", 3]), "Column names must be text, got 3"),
        (FRAME.iloc[0], "one person as a Series; write people.loc"),
        ({"age": 3}, "This is a dict"),
        ([{"age": 3}], "These are people in a list"),
        (np.zeros(3), "got ndarray of 1 dimension"),
    ],
)
def test_what_is_no_table_is_refused(table, says):
    with pytest.raises(InvalidData, match=says):
        read_table(table)


def test_infinite_numbers_are_refused_with_their_row():
    table = read_table(np.array([[0.0], [np.inf]]))
    with pytest.raises(InvalidData, match="'x0' is infinite .inf. in row 1"):
        table.numbers("x0")
