"""Questions about single values."""

import numpy as np
import pandas as pd

from ract._utils.validation import is_missing, is_number


def test_booleans_and_texts_are_no_numbers():
    assert all(map(is_number, (1, 1.5, np.int8(1), np.float32(1), float("nan"))))
    assert not any(map(is_number, (True, np.True_, "1", None)))
    assert is_number(np.int64(3), whole=True) and not is_number(3.0, whole=True)


def test_missing_is_none_or_nan():
    assert is_missing(None) and is_missing(np.float32("nan"))
    assert not any(map(is_missing, (0, "", "nan", pd.Timestamp(0))))
