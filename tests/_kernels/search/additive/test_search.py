"""The search for the cheapest sum, beside every point of small random tables."""

import numpy as np
import pytest

from tests._kernels.search.builders import Case

OBJECTIVES = ["sum", "count", "fee", "mixture", "free"]


def check(seed, objective, n_models, *, holes):
    rng = np.random.default_rng(seed)
    case = Case(rng, objective, n_models, holes=holes)
    best = case.brute_force()
    proved, cost, bound, point = case.search(
        climbs=bool(rng.random() < 0.5), easy=int(rng.integers(1, 4))
    )
    assert proved
    assert cost == pytest.approx(best, rel=2e-9), (cost, best)
    if np.isfinite(cost):
        case.check_point(point, cost)
        budget = rng.choice([cost, 0.9 * cost, 1.1 * cost])
        proved, within, _, _ = case.search(budget)
        assert proved and np.isfinite(within) == (cost <= budget)
    proved, cost, bound, point = case.search(max_nodes=1)
    assert bound <= best * (1 + 1e-9) or (np.isinf(bound) and np.isinf(best))
    assert cost >= best * (1 - 1e-12)
    if proved:
        assert cost == pytest.approx(best, rel=2e-9)
    return best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_point_of_small_tables_is_cheaper(objective):
    costs = [check(seed, objective, 1, holes=seed % 2 == 0) for seed in range(150)]
    assert 20 < np.isfinite(costs).sum() < 140


@pytest.mark.parametrize("objective", ["sum", "fee", "mixture"])
def test_no_point_of_small_tables_is_cheaper_for_two_models(objective):
    costs = [check(seed, objective, 2, holes=seed % 2 == 0) for seed in range(100)]
    assert np.isfinite(costs).sum() > 10


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_nobody_of_ten_thousand_has_a_cheaper_point(objective):
    for seed in range(10_000):
        check(seed, objective, 1 + (seed % 5 == 4), holes=seed % 2 == 0)
