"""Raising the score of outcomes one feature at a time."""

import numpy as np

from ract.data import make_cost
from ract.data.encoder import Encoder
from ract.recourse.causal.climb import climb_to_desired
from ract.recourse.causal.incumbent import Incumbent
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from ract.trees.ensemble import TreeEnsemble

PEOPLE = np.arange(22.0).reshape(11, 2)
ABOVE = TreeEnsemble.stump(1, 13.5)  # the second column decides


def incumbent(effect=0.0, cap=1.0, **limits):
    """Of the person at (10, 11), whose second column follows the first by a factor."""
    encoder = Encoder(PEOPLE)
    cost = make_cost("range").fit(PEOPLE.T, encoder.weights)
    effects = np.array([[0.0, 0.0], [effect, 0.0]])
    outcomes = PersonOutcomes(PEOPLE[5], Moves(encoder.axes, cost), effects)
    return Incumbent(outcomes, ABOVE, cost, cap, 1e-6, np.zeros(1, np.uint8), **limits)


def test_a_climb_changes_the_feature_that_helps():
    for effect, moved in ((0.0, 1), (1.0, None)):
        best = incumbent(effect)
        assert climb_to_desired(best, ABOVE, PEOPLE[5], np.zeros(1, np.uint8))
        assert ABOVE.decide(best.ends[None])[0]
        if moved is not None:
            assert np.flatnonzero(best.values != PEOPLE[5]).tolist() == [moved]
    stopped = incumbent()
    assert not climb_to_desired(stopped, ABOVE, PEOPLE[5], np.ones(1, np.uint8))
    assert stopped.values is None
