"""The best action so far: what gets in, and how it is made cheaper."""

import numpy as np
import pytest

from ract.data import make_cost
from ract.data.encoder import Encoder
from ract.recourse.causal.incumbent import Incumbent, climb_to_desired
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


def test_an_action_is_shortened_to_just_beyond_the_edge():
    best = incumbent()
    assert best.offer(np.array([[15.0, 20.0]]))
    assert best.values[0] == 10.0 and 13.5 < best.values[1] < 13.51
    assert best.cost == pytest.approx((best.values[1] - 11) / 20)
    assert best.cap == best.cost - 1e-6
    assert ABOVE.decide(best.ends[None])[0]


def test_what_is_refused_dear_or_changes_too_much_does_not_get_in():
    assert not incumbent().offer(np.array([[20.0, 13.0]]))
    assert not incumbent(cap=0.1).offer(np.array([[10.0, 14.0]]))
    assert not incumbent(max_changes=1).offer(np.array([[12.0, 14.0]]))
    best = incumbent()
    assert best.offer(np.array([[10.0, 14.0]]))
    assert not best.offer(np.array([[10.0, 16.0]]))  # shortened, it would be no cheaper


def test_effects_count_for_the_outcome_and_not_for_the_cost():
    best = incumbent(effect=1.0)
    assert best.offer(np.array([[13.0, 11.0]]))  # the second follows to 14
    assert 12.5 < best.values[0] < 12.51 and best.values[1] == 11.0
    np.testing.assert_allclose(best.ends, [best.values[0], best.values[0] + 1], atol=1e-9)


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
