"""What values suggest."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from ract.data.actions.evidence import (
    area_under_roc,
    auc_with_and_without,
    codes_for_missing,
    share_of_zeros,
    trend,
)


def test_the_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    score, desired = rng.integers(0, 9, 200), rng.random(200) < 0.4
    assert area_under_roc(score, desired) == pytest.approx(roc_auc_score(desired, score))


def test_chance_rarely_makes_a_trend():
    """In 200 tables of 20 columns that tell nothing, about 2 should have one."""
    rng = np.random.default_rng(1)
    tables = [
        any(trend(rng.normal(size=300), rng.random(300) < 0.4, 20) for _ in range(20))
        for _ in range(200)
    ]
    assert sum(tables) <= 8


@pytest.mark.parametrize("sign", [1, -1])
def test_a_trend_has_a_sign_and_holes_do_not_count(sign):
    rng = np.random.default_rng(2)
    values = rng.normal(size=400)
    desired = sign * values + rng.normal(size=400) > 0
    values[::7] = np.nan
    found = trend(values, desired)
    assert found.rises == (sign > 0) and 0.7 < found.area < 0.9


def test_what_turns_is_no_trend():
    rng = np.random.default_rng(3)
    values = rng.uniform(0, 1, 2000)
    desired = rng.random(2000) < np.where(values < 0.75, values, 0.1)
    assert trend(values, rng.random(2000) < values).rises
    assert trend(values, desired) is None
    assert trend(values[:30], desired[:30]) is None  # too few


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


def test_many_zeros():
    assert share_of_zeros(pd.Series([0, 0, 0, 1, 2, 3, 4, None])) == pytest.approx(3 / 7)
    assert share_of_zeros(pd.Series([0, 0, 0, 1])) == 0  # a flag
    assert share_of_zeros(pd.Series(range(10))) == 0


def test_what_a_column_is_worth():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.normal(size=600), "town": rng.choice(["a", "b"], 600)})
    desired = frame["age"].to_numpy() + rng.normal(size=600) > 0
    with_age, without = auc_with_and_without(frame, desired, {"age"})
    assert with_age > 0.75 and abs(without - 0.5) < 0.08
    assert auc_with_and_without(frame, desired, {"age", "town"}) is None
    assert auc_with_and_without(frame.head(40), desired[:40], {"age"}) is None
