import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.encoder import Encoder

PANDAS = pd.DataFrame(
    {
        "age": np.array([20, 30, 40], dtype=np.int32),
        "income": [1.5, 2.0, 9.0],
        "member": [True, False, True],
        "job": ["cook", "clerk", "cook"],
        "grade": pd.Categorical(["low", "high", "mid"], categories=["low", "mid", "high"]),
    },
    index=["ann", "bob", "cy"],
)
POLARS = pl.DataFrame(
    {
        "age": pl.Series([20, 30, 40], dtype=pl.Int32),
        "income": [1.5, 2.0, 9.0],
        "member": [True, False, True],
        "job": ["cook", "clerk", "cook"],
        "grade": pl.Series(["low", "high", "mid"], dtype=pl.Enum(["low", "mid", "high"])),
    }
)
ENCODED = np.array(
    [
        [20, 1.5, 1, 0, 1, 1, 0, 0],
        [30, 2.0, 0, 1, 0, 0, 0, 1],
        [40, 9.0, 1, 0, 1, 0, 1, 0],
    ]
)


@pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_matrix_and_names(frame):
    encoder = Encoder(frame)
    assert encoder.column_names == (
        "age",
        "income",
        "member",
        "job=clerk",
        "job=cook",
        "grade=low",
        "grade=mid",
        "grade=high",
    )
    np.testing.assert_array_equal(encoder.matrix(frame), ENCODED)
    for column, expected in zip(encoder.encode(frame), ENCODED.T, strict=True):
        assert column.flags.c_contiguous and column.dtype == np.float64
        np.testing.assert_array_equal(column, expected)


def test_pandas_round_trip_keeps_dtypes_index_and_order():
    encoder = Encoder(PANDAS)
    back = encoder.decode(encoder.matrix(PANDAS), like=PANDAS)
    pd.testing.assert_frame_equal(back, PANDAS)
    shuffled = PANDAS[["job", "grade", "member", "income", "age"]]
    back = encoder.decode(encoder.matrix(shuffled), like=shuffled)
    pd.testing.assert_frame_equal(back, shuffled)


def test_polars_round_trip_keeps_dtypes():
    encoder = Encoder(POLARS)
    back = encoder.decode(encoder.matrix(POLARS), like=POLARS)
    assert back.schema == POLARS.schema
    assert back.equals(POLARS)


def test_pyarrow_round_trip():
    table = pa.table({"age": [20, 30], "job": ["cook", "clerk"]})
    encoder = Encoder(table)
    assert encoder.decode(encoder.matrix(table), like=table).equals(table)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_numpy_round_trip(dtype):
    X = np.array([[1, 2], [3, 4], [5, 0]], dtype=dtype)
    encoder = Encoder(X)
    assert encoder.column_names == ("x0", "x1")
    back = encoder.decode(encoder.matrix(X), like=X)
    assert back.dtype == X.dtype
    np.testing.assert_array_equal(back.astype(float), X.astype(float))


def test_text_matrix_is_encoded_by_column():
    X = np.array([["a", 1.5], ["b", 2.5]], dtype=object)
    encoder = Encoder(X)
    assert encoder.column_names == ("x0=a", "x0=b", "x1")
    np.testing.assert_array_equal(encoder.decode(encoder.matrix(X), like=X), X)


def test_numbered_pandas_columns_keep_their_labels():
    frame = pd.DataFrame(np.arange(4.0).reshape(2, 2))
    encoder = Encoder(frame)
    assert encoder.column_names == ("x0", "x1")
    pd.testing.assert_frame_equal(encoder.decode(encoder.matrix(frame), like=frame), frame)


def test_fractions_in_an_integer_column_stay_fractions():
    frame = pd.DataFrame({"n": [1, 5, 9]})
    space = ActionSpace([Feature("n", kind="continuous")], limits=None)
    for table in (frame, pl.from_pandas(frame)):
        decoded = Encoder(table, space).decode([[1.5], [2.0], [3.0]], like=table)
        assert list(decoded["n"]) == [1.5, 2.0, 3.0]


def test_declared_groups_keep_their_columns():
    frame = pd.DataFrame({"a": [1, 0], "n": [3, 4], "b": [0, 1]})
    encoder = Encoder(frame, ActionSpace([Feature("g", columns=["a", "b"])], limits=None))
    assert encoder.column_names == ("a", "b", "n")
    assert encoder.axes[0].columns == (0, 1) and encoder.axes[0].is_categorical
    pd.testing.assert_frame_equal(encoder.decode(encoder.matrix(frame), like=frame), frame)


def test_a_lone_row_can_be_encoded_and_decoded():
    encoder = Encoder(PANDAS)
    one = PANDAS.iloc[[1]]
    pd.testing.assert_frame_equal(encoder.decode(encoder.matrix(one), like=one), one)


def bad(column, values):
    return PANDAS.assign(**{column: values})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (bad("income", [1.0, np.nan, 2.0]), "'income' have missing values, the first in row 1"),
        (bad("income", [1.0, np.inf, 2.0]), r"'income' is infinite \(inf\) in row 1"),
        (bad("age", [20, 30.5, 40]), "'age' is integer, but row 1 holds 30.5"),
        (bad("member", [0, 2, 1]), "'member' is binary, but row 1 holds 2"),
        (bad("job", ["cook", None, "cook"]), "'job' have missing values"),
        (bad("job", ["cook", "judge", "cook"]), "'job' holds 'judge' in row 1.*'clerk', 'cook'"),
        (bad("income", ["a", "b", "c"]), "'income' holds 'a', which is not a number"),
        (PANDAS.drop(columns=["age", "job"]), "lacks 'age', 'job'"),
        (PANDAS.assign(extra=1), "has 'extra' that training did not have"),
        (PANDAS.rename(columns={"age": "years"}), "lacks 'age' and has 'years'"),
        (PANDAS.iloc[:0], "The table is empty: 0 rows and 5 columns"),
    ],
)
def test_people_who_do_not_fit_are_refused(frame, message):
    with pytest.raises(InvalidData, match=f"(?s){message}"):
        Encoder(PANDAS).encode(frame)


def test_polars_nulls_and_nans_are_missing():
    for value in (None, float("nan")):
        frame = pl.DataFrame({"x": pl.Series([1.5, value])})
        np.testing.assert_array_equal(Encoder(frame).matrix(frame), [[1.5], [np.nan]])
    frame = pl.DataFrame({"b": [True, None]})
    np.testing.assert_array_equal(Encoder(frame).matrix(frame), [[1.0], [np.nan]])


def test_groups_must_sum_to_one():
    frame = pd.DataFrame({"a": [1, 0], "b": [0, 0]})
    space = ActionSpace([Feature("g", columns=["a", "b"])], limits=None)
    with pytest.raises(InvalidData, match="group 'g' must sum to 1 in every row; row 1 sums to 0"):
        Encoder(frame, space)
    with pytest.raises(InvalidData, match="'a' is binary, but row 0 holds 2"):
        Encoder(frame.assign(a=2), space)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros(3), "2-dimensional array, got ndarray of 1 dimension"),
        (np.zeros((0, 3)), "The table is empty"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' appear more than once"),
        (pd.DataFrame([[1, 2]], columns=["a", 1]), "must be text, got 1"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}), "'t' has type Datetime"),
    ],
)
def test_things_that_are_not_tables_are_refused(table, message):
    with pytest.raises(InvalidData, match=message):
        Encoder(table)


def test_sparse_input_is_refused():
    with pytest.raises(InvalidData, match="Sparse matrices"):
        Encoder(csr_array(np.eye(2)))


def test_decode_needs_the_encoded_columns():
    with pytest.raises(InvalidData, match="matrix of 8 encoded columns, got shape"):
        Encoder(PANDAS).decode(np.zeros((3, 2)), like=PANDAS)


def test_spec_for_other_data_is_refused():
    with pytest.raises(InvalidSpec, match="names 'salary'"):
        Encoder(PANDAS, ActionSpace([Feature("salary")], limits=None))
