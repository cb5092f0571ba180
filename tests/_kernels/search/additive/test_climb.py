import numpy as np
import pytest

from ract._kernels.search.additive import climb
from ract._kernels.search.additive.prices import make_prices
from ract._kernels.search.additive.search import make_score
from ract._kernels.search.bits import make_bits
from tests._kernels.plain import plain
from tests._kernels.search.builders import Case


@pytest.mark.parametrize("seed", range(30))
def test_climbs_find_accepted_points_that_are_not_below_the_cheapest(seed):
    case = Case(np.random.default_rng(seed), "fee")
    boxes, value, needs, rules = case.left()
    if not needs.first[-1]:
        return
    shared, stop = bool(case.by_votes[0]), np.zeros(1, np.uint8)
    bits = plain(make_bits)(boxes, int(needs.first[-1]), shared, stop)
    prices = plain(make_prices)(boxes, bits, case.price, case.size)
    score = plain(make_score)(bits, value, needs, shared)
    person = climb.PointProblem(case.forest, rules, case.price, case.size)
    cost, point = np.array([np.inf, 1e300]), case.own.copy()
    best = plain(climb.new_best)(bits, cost, point, stop)
    everything = np.full((1, bits.mask.shape[1]), 0)
    for r in range(len(value)):
        everything[0, bits.slot[r]] |= bits.bit[r]
    given = boxes, bits, prices, score, person, case.changes, everything, best
    plain(climb.climb_all)(*given)
    first, known = cost[0], case.brute_force()
    if np.isfinite(first):
        plain(climb.climb_again)(*given)
        case.check_point(point, cost[0])
        assert known * (1 - 1e-9) <= cost[0] <= first
        assert plain(climb.locate_best)(boxes, bits, prices, best)
        plain(climb.is_accepted)(boxes, bits, person, best)
        assert best.trial.tolist() == point.tolist()
