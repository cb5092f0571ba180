"""When a cost is within a budget."""

import numpy as np

from ract.data.edge import EDGE, ceiling, within


def test_a_rounding_above_the_budget_is_within_it():
    assert within(0.4 - 0.3, 0.1) and 0.4 - 0.3 > 0.1
    assert not within(0.1 * (1 + 2 * EDGE), 0.1)
    assert ceiling(0.0) == 0.0 and within(0.0, 0.0)


def test_arrays_are_compared_by_element():
    cost, budget = np.array([0.1, 0.2]), np.array([0.1, 0.1])
    assert within(cost, budget).tolist() == within(cost, 0.1).tolist() == [True, False]
