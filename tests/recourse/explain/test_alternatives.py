"""Alternatives: the cheapest plans of which none changes all the features of one before it."""

from itertools import combinations

import numpy as np
import pytest

from ract.recourse.explain.alternatives import Candidate, diverse, without_changes


def every_set(n_axes):
    """All sets of axes but the empty one."""
    axes = range(n_axes)
    return [frozenset(s) for size in range(1, n_axes + 1) for s in combinations(axes, size)]


@pytest.mark.parametrize("seed", range(20))
def test_alternatives_are_those_of_a_greedy_choice_among_all_sets(seed):
    rng, n_axes = np.random.default_rng(seed), 4
    # Every set of features has its own price, or is no plan at all.
    price = {s: rng.random() for s in every_set(n_axes) if rng.random() < 0.6}
    price[frozenset(range(n_axes))] = 2.0
    own = np.zeros(n_axes, np.int64)

    def solve(unchanged, least):
        free = [s for s in price if not s & unchanged]
        if not free:
            return None
        best = min(free, key=price.get)
        assert price[best] >= least
        point = np.isin(np.arange(n_axes), list(best)).astype(np.int64)
        return Candidate(point.astype(float), price[best], point, own, price[best])

    expected = []
    while len(expected) < 3:
        left = [s for s in price if not any(earlier <= s for earlier in expected)]
        if not left:
            break
        expected.append(min(left, key=price.get))
    found = diverse(solve(frozenset(), 0.0), solve, 3)
    assert [plan.changed for plan in found] == expected


def test_features_that_stay_cost_nothing_at_home_and_cannot_leave():
    costs = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0]])
    fixed = without_changes(np.array([0, 1]), costs, frozenset({1}))
    np.testing.assert_array_equal(fixed, [[0, 1, 2], [np.inf, 0, np.inf]])
    np.testing.assert_array_equal(costs[1], [3, 0, 4])  # as they were
