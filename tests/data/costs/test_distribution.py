"""The distribution of a column."""

import numpy as np
import pytest

from ract.data.costs.distribution import Distribution, empirical_levels


@pytest.mark.parametrize("seed", range(10))
def test_a_distribution_is_that_of_repeated_values(seed):
    rng = np.random.default_rng(seed)
    column, weight = rng.integers(0, 6, 40).astype(float), rng.integers(1, 5, 40)
    known = Distribution.of(column, weight.astype(float))
    values, counts = np.unique(column, return_counts=True)
    np.testing.assert_array_equal(known.values, values)
    np.testing.assert_array_equal(known.counts, counts)
    np.testing.assert_array_equal(known.mass, [weight[column == v].sum() for v in values])
    assert known.n_people == 40 and Distribution.of(known, None) is known


def test_the_people_in_the_middle_stand_around_the_median():
    column = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    known = Distribution.of(column, None)
    assert known.in_the_middle(1).tolist() == [3.0]
    assert known.in_the_middle(3).tolist() == [2.0, 3.0, 4.0]
    assert known.in_the_middle(9).tolist() == column.tolist()


def test_levels_are_shares_of_people_at_or_below():
    values, levels = empirical_levels(np.array([5.0, 1.0, 5.0, 9.0]), None)
    assert values.tolist() == [1.0, 5.0, 9.0] and levels.tolist() == [0.25, 0.75, 1.0]
