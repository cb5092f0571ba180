"""Ways into a region by a linear program, beside every action."""

import itertools

import numpy as np

from ract.recourse.causal.region_by_program import enter_region
from ract.recourse.common.anchors import inside
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from tests import naive
from tests.builders import (
    WHOLE_KINDS,
    n_changes,
    random_causal_problem,
)


def test_the_program_finds_a_way_into_a_region_where_there_is_one():
    ways = none = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        encoder, matrix, _, cost, effects = random_causal_problem(rng, WHOLE_KINDS)
        moves, own = Moves(encoder.axes, cost), matrix[0]
        total = np.where(moves.actionable, effects.total, 0.0)
        middle = matrix[1] + rng.normal(size=len(own))
        lower, upper = middle - rng.uniform(0, 3, len(own)), middle + rng.uniform(0, 3, len(own))
        for columns in moves.groups:
            lower[columns], upper[columns] = -np.inf, rng.choice([np.inf, 0.5], len(columns))
        cap, most = float(rng.uniform(0.1, 1.0)), int(rng.integers(1, 4))
        outcomes = PersonOutcomes(own, moves, total)
        values = enter_region(outcomes, lower, upper, cap, most)
        rows = np.array(list(all_actions(encoder, own, matrix)))
        ends = rows + (rows - own) @ total.T
        allowed = cost.between(np.tile(own, (len(rows), 1)), rows) <= cap
        allowed &= n_changes(encoder, own, rows) <= most
        if values is None:  # not even one that is well inside
            none += 1
            assert not (inside(ends, lower + 1e-3, upper - 1e-3) & allowed).any()
        else:
            ways += 1
            assert inside(outcomes.ends(values[None]), lower, upper)[0]
            assert n_changes(encoder, own, values[None])[0] <= most
            assert (inside(ends, lower, upper) & allowed).any()
            assert (rows[allowed] == values).all(axis=1).any()
    assert ways > 30 and none > 30


def all_actions(encoder, own, matrix):
    options = [
        naive.options_of_feature(axis.feature, axis.columns, own, matrix, [], None)
        for axis in encoder.axes
    ]
    for choice in itertools.product(*options):
        yield [v for values, _ in choice for v in values]  # axes stand in the order of columns
