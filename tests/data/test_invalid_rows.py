"""Rows that cannot be read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ract.data.encoder import Encoder
from ract.data.invalid_rows import set_aside_invalid

PEOPLE = pd.DataFrame({"age": [20, 40, 30], "job": ["clerk", "cook", "cook"]})
NEW = pd.DataFrame({"age": ["x", "30", "20.5"], "job": ["cook", "clerk", "smith"]})


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_wrong_rows_are_told_and_set_aside(convert):
    read, invalid = set_aside_invalid(convert(NEW), Encoder(convert(PEOPLE)))
    assert invalid.messages == {
        0: "Column 'age' holds 'x', not a finite number.",
        2: "Column 'age' is integer, but holds '20.5'; allowed: whole numbers below 2^53; "
        "Column 'job' holds 'smith', which is not one of its categories: 'clerk', 'cook'.",
    }
    assert invalid.valid.tolist() == [1] and invalid.n_rows == 3
    assert list(read["age"]) == [30] and list(read["job"]) == ["clerk"]
    whole = invalid.scatter_table(read)
    assert list(pd.isna(np.asarray(whole["age"]))) == [True, False, True]
    assert invalid.scatter(np.array([7.0]), np.nan).tolist()[1] == 7.0


def test_labels_of_invalid_rows_are_left_out():
    _, invalid = set_aside_invalid(NEW.set_axis(["a", "b", "c"]), Encoder(PEOPLE))
    assert invalid.without({"a": 1, "b": 2, "z": 3}) == {"b": 2, "z": 3}
    assert invalid.without(None) is None


def test_without_an_encoder_numbers_must_be_finite():
    read, invalid = set_aside_invalid(np.array([[1.0], [np.inf], [np.nan]]))
    assert sorted(invalid.messages) == [1, 2] and read.tolist() == [[1.0]]
