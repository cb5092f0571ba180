"""Questions about single values."""

import numpy as np
import pandas as pd
import pytest

from ract._utils.validation import is_missing, is_number, json_scalar


def test_booleans_and_texts_are_no_numbers():
    assert all(map(is_number, (1, 1.5, np.int8(1), np.float32(1), float("nan"))))
    assert not any(map(is_number, (True, np.True_, "1", None)))
    assert is_number(np.int64(3), whole=True) and not is_number(3.0, whole=True)


def test_missing_is_none_or_nan():
    assert is_missing(None) and is_missing(np.float32("nan"))
    assert not any(map(is_missing, (0, "", "nan", pd.Timestamp(0))))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.int64(3), 3), (np.float64(0.5), 0.5), (np.nan, None), (np.inf, None), (True, True),
     (None, None), ("car", "car"), (np.str_("car"), "car")],
)  # fmt: skip
def test_values_are_those_that_json_has(value, expected):
    found = json_scalar(value)
    assert found == expected and type(found) is type(expected)
