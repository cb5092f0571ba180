"""Scores and the probabilities that they stand for."""

import numpy as np
import pytest

from ract.trees.log_odds import least_score, logit, sigmoid


@pytest.mark.parametrize("share", [1e-9, 0.1, 0.4999, 0.5, 0.501831660289965, 0.65, 1 - 1e-9])
def test_the_least_score_of_a_share_is_next_to_one_that_falls_short(share):
    score = least_score(share)
    assert sigmoid(score) >= share > sigmoid(np.nextafter(score, -np.inf))
    assert score <= logit(share) == pytest.approx(score, abs=1e-9)


def test_a_sum_has_the_strength_that_its_own_sigmoid_is():
    scores = np.random.default_rng(0).normal(scale=[0.001, 0.1, 3], size=(300, 3)).ravel()
    assert all(score >= least_score(float(sigmoid(score))) for score in scores)


def test_certainty_is_without_end():
    assert (least_score(0), least_score(1)) == (-np.inf, np.inf)
