"""Scores, probabilities and decisions of what was read, by hand."""

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract.data.encoder import Encoder
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import Logistic
from ract.trees.readers.model import TreeModel

ENCODER = Encoder.of_space(ActionSpace([Feature("x0", "continuous", lower=0, upper=9)]), ["x0"])
ROWS = np.array([[1.0], [5.0]])


def model(combine, desired, **given):
    stump = TreeEnsemble.stump(0, 3.0, combine)
    return TreeModel(ENCODER, stump, np.array(["no", "yes"]), desired, 1, **given)


def test_votes_score_by_the_share_in_their_leaves():
    votes = model("votes", "yes")
    assert votes.score(ROWS).tolist() == votes.probability(ROWS).tolist() == [0.0, 1.0]
    assert votes.decide(ROWS).tolist() == [False, True] and not votes.regresses


@pytest.mark.parametrize("desired", ["no", "yes"])
def test_margins_are_those_of_the_desired_class(desired):
    sums = model("sum", desired, link=Logistic())
    assert sums.score(ROWS).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(sums.probability(ROWS), [0.5, 1 / (1 + np.exp(-1))], rtol=1e-15)


def test_all_ensembles_must_agree():
    other = TreeEnsemble.stump(0, 7.0)
    rows = np.array([[1.0], [5.0], [8.0]])
    assert model("votes", "yes", also=(other,)).decide(rows).tolist() == [False, False, True]
