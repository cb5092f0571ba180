"""Effort as change relative to the person."""

import numpy as np
import pytest

from ract.data.costs import make_cost
from ract.data.costs.distribution import Distribution


def test_relative_costs_are_shares_of_the_own_value_or_the_median(rng):
    column = rng.lognormal(3, 1, 201)
    cost = make_cost("relative").fit([column], np.array([2.0]))
    for own in rng.choice(column, 20):
        step = own * 1e-6
        moved = cost.between([[own]], [[own + step]])[0]
        assert moved == pytest.approx(2 * step / max(own, np.median(column)), rel=1e-4)
    rich = column.max()
    assert cost.between([[rich]], [[1.5 * rich]])[0] == pytest.approx(2 * np.log(1.5))


def test_relative_costs_of_zeros_and_ones_are_shares_of_people():
    flags = np.array([0.0, 0, 0, 1])
    for name in ("relative", "percentile"):
        assert make_cost(name).fit([flags], np.ones(1)).between([[0.0]], [[1.0]]) == 0.25


def test_relative_costs_know_distributions_and_weights(rng):
    column, weight = rng.integers(0, 9, 60).astype(float), rng.integers(1, 4, 60).astype(float)
    repeated = np.repeat(column, weight.astype(int))
    expected = make_cost("relative").fit([repeated], np.ones(1))
    for given in ([column], [Distribution.of(column, weight)]):
        own = None if isinstance(given[0], Distribution) else weight
        learned = make_cost("relative").fit(given, np.ones(1), own)
        np.testing.assert_allclose(learned.scales, expected.scales)
