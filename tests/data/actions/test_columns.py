"""What columns are, by their values."""

import numpy as np
import pandas as pd
import pytest

from ract.data.actions.columns import codes_for_missing, findings, leaks, rare


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([0, 1, 2, 17, 96, 98], [96, 98]),
        ([18, 40, 95, 96, 98], []),
        ([0, 12, 48, 999], [999]),
        ([0, 12, 648, 999], []),
        ([-1, 0, 3, 8], [-1]),
        ([-9, -8, -7, 0, 3, 800], [-9, -8, -7]),
        ([-1, -2, 0, 3, 8], []),  # numbers below 0 that are no codes
        ([-1, 0, 1], []),  # a scale
        ([0.5, 0.7, 99.0], [99]),
        ([-1000, -5000, 365243], []),
        ([100, 5000, 365243], [365243]),
    ],
)
def test_codes_for_no_value(values, codes):
    assert codes_for_missing(pd.Series(values * 3)) == codes
    assert codes_for_missing(pd.Series(values).astype(str)) == []


def test_what_names_rows_or_never_varies_is_no_feature():
    n = 30
    frame = pd.DataFrame({
        "id": [f"C{k}" for k in range(n)], "bank": ["ours"] * n, "empty": [None] * n,
        "income": np.linspace(1.5, 9.5, n), "y": [0, 1] * (n // 2),
    })  # fmt: skip
    found = findings(frame, "y", dates=None)
    assert found.drop == {
        "id": "a different value in each of 30 rows, so it names rows and tells nothing",
        "bank": "the same value, 'ours', in every row",
        "empty": "no value in any row",
    }
    assert "id" not in findings(frame, "y", dates=None, keep=["id"]).drop


def test_spellings_of_yes_and_no_are_one_word():
    frame = pd.DataFrame({"phone": ["yes", "No", "no", "YES", "no", "yes"], "y": [0, 1] * 3})
    found = findings(frame, "y", dates=None)
    assert found.orders == {"phone": ("no", "yes")}
    assert found.words == {"phone": {"no": ("No",), "yes": ("YES",)}}


def test_a_column_that_tells_the_target_is_a_leak():
    rng = np.random.default_rng(0)
    desired = rng.random(400) < 0.5
    frame = pd.DataFrame({"late": np.where(desired, "no", "yes"), "noise": rng.random(400)})
    assert leaks(frame, desired) == {"late": 1.0}
    assert leaks(frame.head(30), desired[:30]) == {}  # too few to say


def test_rare_categories_are_those_of_fewer_people():
    frame = pd.DataFrame({"town": ["a"] * 5 + ["b"] * 3 + ["c", "d"], "age": range(10)})
    assert rare(frame, 3, "other") == {"town": ("a", "b")}
    assert rare(frame, 1, "other") == {}
