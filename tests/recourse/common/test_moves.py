"""How far people get at a cost, beside many random actions."""

from __future__ import annotations

import numpy as np

from ract.data.costs import LinearCost, make_cost
from ract.data.encoder import Encoder
from ract.recourse.common.moves import Moves
from tests.builders import (
    SquareRootCost,
    random_actions,
    random_causal_problem,
)


def test_ranges_end_where_costs_exceed():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, _, cost, _ = random_causal_problem(rng)
        others = [LinearCost("max", rng.uniform(0, 2, matrix.shape[1])), SquareRootCost()]
        cost = rng.choice(np.array([cost, cost, *others], dtype=object))
        moves = Moves(encoder.axes, cost)
        person = matrix[0]
        costs = np.array([0.0, 0.1, 0.37, 5.0])
        lowest, highest = moves.ranges(person, costs)
        for axis in encoder.axes:
            f, j = axis.feature, axis.columns[0]
            if f.is_categorical:
                assert (lowest[:, list(axis.columns)] == person[list(axis.columns)]).all()
                continue
            for ends, sign in ((highest[:, j], 1), (lowest[:, j], -1)):
                wanted = ("any", "increase") if sign == 1 else ("any", "decrease")
                bound = f.upper if sign == 1 else f.lower
                for c, end in zip(costs, ends, strict=True):
                    effort = np.ptp(cost.level(j, np.array([person[j], end])))
                    assert effort <= c + 1e-9
                    step = 1.0 if f.kind != "continuous" else 1e-6
                    further = end + sign * step
                    beyond = f.change not in wanted or sign * further > sign * bound
                    more = np.ptp(cost.level(j, np.array([person[j], further])))
                    assert beyond or more > c - 1e-9
        every = moves.dearest(person)
        tried = random_actions(rng, encoder, person, 300)
        efforts = [
            np.abs(cost.level(j, tried[:, j]) - cost.level(j, person[[j]])) for j in moves.numeric
        ]
        assert np.max(efforts, initial=0.0) <= every + 1e-9


def test_no_bounds_no_moves():
    encoder = Encoder(np.arange(6.0).reshape(3, 2))
    cost = make_cost("range").fit(np.arange(6.0).reshape(3, 2).T, np.ones(2))
    moves = Moves(encoder.axes, cost)
    lowest, highest = moves.ranges(np.array([9.0, -9.0]), np.array([1.0]))  # beyond the bounds
    assert highest[0, 0] == 9.0 and lowest[0, 1] == -9.0
    assert lowest[0, 0] < 9.0 and highest[0, 1] > -9.0
