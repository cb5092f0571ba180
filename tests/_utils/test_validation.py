"""Questions about single values."""

import numpy as np
import pandas as pd
import pytest

from ract._utils.validation import (
    FRACTION,
    at_least,
    between,
    is_missing,
    is_number,
    json_scalar,
    one_of,
    whole,
)


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


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (whole(1), [1, np.int64(5)], [0, 1.0, True, "1", None]),
        (whole(2, 9), [2, 9], [1, 10]),
        (at_least(0), [0, 2.5], [-1, np.inf, np.nan, False]),
        (at_least(0, infinite=True), [np.inf], [np.nan]),
        (between(0, 1, "", ends="(]"), [0.5, 1], [0, 1.1, "0.5"]),
        (one_of(True, "auto"), [True, "auto"], [1, False, None]),
        (FRACTION, [0.5, 1.0], [0.0, 1]),
    ],
)
def test_values_inside_and_outside(allowed, inside, outside):
    assert all(allowed.holds(value) for value in inside)
    assert not any(allowed.holds(value) for value in outside)
