"""Ways into a region one feature after the other, worked out by hand."""

import numpy as np

from ract.data import make_cost
from ract.data.encoder import Encoder
from ract.recourse.common.anchors import inside
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import PersonOutcomes
from ract.recourse.common.region_by_steps import enter_by_steps

PEOPLE = np.arange(22.0).reshape(11, 2)  # each column from 0 or 1 to 20 more


def outcomes_of(person, effect):
    """Of a person whose second column follows the first by a factor."""
    encoder = Encoder(PEOPLE)
    cost = make_cost("range").fit(PEOPLE.T, encoder.weights)
    effects = np.array([[0.0, 0.0], [effect, 0.0]])
    return PersonOutcomes(person, Moves(encoder.axes, cost), effects)


def test_each_feature_goes_just_as_far_as_it_has_to_after_what_follows():
    outcomes, order = outcomes_of(PEOPLE[5], 0.5), np.array([0, 1])  # from (10, 11)
    lower = np.array([[12.0, -np.inf], [-np.inf, 15.0], [9.0, 10.0]])
    upper = np.array([[np.inf, 11.5], [8.0, np.inf], [20.0, 20.0]])
    values = enter_by_steps(outcomes, order, lower, upper, cap=0.5)
    # To 12 the second follows to 12 and is set back by .5; from 8 it follows to 10, and needs 5.
    np.testing.assert_allclose(values, [[12, 10.5], [8, 16], [10, 11]], atol=1e-9)
    assert inside(outcomes.ends(values), lower, upper).all()


def test_nobody_goes_farther_than_the_cost_allows():
    outcomes = outcomes_of(PEOPLE[5], 0.0)
    lower, upper = np.array([[19.0, -np.inf]]), np.full((1, 2), np.inf)
    [values] = enter_by_steps(outcomes, np.array([0, 1]), lower, upper, cap=0.1)
    np.testing.assert_allclose(values, [12, 11], atol=1e-9)
