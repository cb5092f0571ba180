"""Where people end up when effects follow, beside many random actions."""

from __future__ import annotations

import numpy as np

from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from tests import naive
from tests.builders import (
    random_actions,
    random_causal_problem,
)


def test_outcomes_lie_in_their_boxes_and_parts_cover_the_whole():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, _, cost, effects = random_causal_problem(rng)
        moves, own = Moves(encoder.axes, cost), matrix[0]
        total = np.where(moves.actionable, effects.total, 0.0)
        outcomes = PersonOutcomes(own, moves, total)
        tried = random_actions(rng, encoder, own, 300)
        price = cost.between(np.tile(own, (300, 1)), tried)
        ends = np.array([naive.outcome(own, row, total) for row in tried])
        np.testing.assert_allclose(outcomes.ends(tried), ends, atol=1e-9)
        cap = 0.4
        low, high = outcomes.hull(cap)
        cheap = price <= cap
        assert ((ends >= low - 1e-9) & (ends <= high + 1e-9))[cheap].all()
        parts = [outcomes.everything()]
        for _ in range(4):
            parts = [half for part in parts for half in outcomes.split(part, cap, None) or [part]]
        covered = np.zeros(300, bool)
        for part in parts:
            here = ((tried >= part.lowest) & (tried <= part.highest))[:, moves.numeric].all(axis=1)
            for columns, allowed in zip(moves.groups, part.categories, strict=True):
                here &= allowed[tried[:, columns].argmax(axis=1)]
            covered |= here
            reached = outcomes.reached(part, cap)
            if (here & cheap).any():
                numeric = moves.numeric
                within = (ends >= reached.low[0]) & (ends <= reached.high[0])
                assert within[here & cheap][:, numeric].all()
        assert covered.all()
