"""How large and how round numbers are, against naive twins."""

from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract.data.encoder import Encoder
from ract.evaluation.metrics.amounts import Amounts, is_round


def naive_size(was, now, values, *, whole):
    low, median, high = np.percentile(values, [25, 50, 75])
    limit = max(abs(was), abs(median)) / 2
    if high > low:
        limit = min(limit, high - low)
    return abs(now - was) <= max(1 if whole else 0, limit)


def naive_round(was, now):
    was, now = Decimal(str(was)), Decimal(str(now))
    if was == now:
        return True
    return now % Decimal(10) ** (abs(now - was).adjusted() - 1) == 0


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (41000.0, 46500.0), (41000.0, 46512.0), (16666.0, 44101.0), (7700.0, 7703.0),
        (0.59, 0.58319), (0.59, 0.58), (0.3, 0.1), (1.0, 2.7), (2.0, 2.0), (120.0, 20.0),
        (1999.99, 999.99), (0.0, 1000.0), (0.1 + 0.2, 0.2), (5.0, -5.0), (0.0, 0.001234),
    ],
)  # fmt: skip
def test_round_is_what_decimal_arithmetic_says(was, now):
    exact = naive_round(float(f"{was:.12g}"), float(f"{now:.12g}"))
    assert is_round(np.array([was]), np.array([now])).tolist() == [exact]


def test_sizes_of_many_numbers_are_those_of_the_twin():
    frame = pd.DataFrame({"n": [0, 0, 0, 0, 5], "x": [-3.0, 1.0, 2.0, 8.0, 40.0]})
    space = ActionSpace(
        [Feature("n", "integer"), Feature("x", "continuous")], limits=None
    ).complete(frame)
    encoder = Encoder.of_space(space, ["n", "x"])
    amounts = Amounts.of(encoder.axes, encoder.matrix(frame))
    own = encoder.matrix(frame)
    for step in (0.5, 1, 2, 3.4, 3.6, 6, 7.1, 20):
        fits = step <= amounts.largest_change(own)
        for i, a in product(range(5), range(2)):
            was = own[i, a]
            expected = naive_size(was, was + step, frame.iloc[:, a], whole=a == 0)
            assert fits[i, a] == expected, (step, i, a)


def test_the_limits_of_an_action_space_hold_whatever_the_table():
    """Letters keep limits of training; people of the audit have other medians and ranges."""
    frame = pd.DataFrame({"n": [0, 4, 8, 12, 16], "x": [0.0, 10.0, 20.0, 30.0, 40.0]})
    space = ActionSpace([Feature("n", "integer"), Feature("x", max_change=30.0)]).complete(frame)
    encoder = Encoder.of_space(space, ["n", "x"])
    own = np.array([[2.0, 40.0], [16.0, np.nan]])
    for people in (frame, frame // 4, frame[:1]):
        amounts = Amounts.of(encoder.axes, encoder.matrix(people))
        assert amounts.largest_change(own).tolist() == [[4.0, 30.0], [8.0, np.inf]]
