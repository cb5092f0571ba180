"""What a cost is, by its methods."""

import numpy as np

from ract.data.costs import Cost, FittedCost, make_cost


def test_costs_are_told_by_their_methods():
    learner = make_cost("percentile")
    fitted = learner.fit([np.arange(4.0)], np.ones(1))
    assert isinstance(learner, Cost) and not isinstance(learner, FittedCost)
    assert isinstance(fitted, FittedCost) and not isinstance(fitted, Cost)
    assert not isinstance("percentile", Cost)
