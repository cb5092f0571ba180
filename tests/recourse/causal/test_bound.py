"""The lower bound on plans with effects."""

import numpy as np

from ract.recourse.causal.bound import STEPS, Relaxation
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from ract.recourse.exact.search import ExactSearch
from tests import naive
from tests.builders import (
    random_causal_problem,
)


def test_without_effects_the_bound_is_the_exact_cost_up_to_a_step():
    met = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost, _ = random_causal_problem(rng)
        d = matrix.shape[1]
        relaxed = Relaxation(ensemble, encoder.axes, cost, np.zeros(d, bool))
        moves, cap = Moves(encoder.axes, cost), 0.7
        exact = ExactSearch(ensemble, encoder.axes, cost).solve(matrix, cap)
        for i, own in enumerate(matrix):
            outcomes = PersonOutcomes(own, moves, np.zeros((d, d)))
            bound, point = relaxed.solve(
                outcomes, outcomes.everything(), cap, np.zeros(1, np.uint8)
            )
            if not exact.found[i]:
                assert np.isinf(bound) and point is None
                continue
            assert exact.cost[i] - cap / STEPS - 1e-9 <= bound <= exact.cost[i] + 1e-9
            assert naive.naive_votes(ensemble, point[None])[0] >= ensemble.cutoff
            met += bool(exact.cost[i] > 0)
    assert met > 100
