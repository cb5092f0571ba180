"""How much recourse a table can afford."""

from __future__ import annotations

import numpy as np
import pytest

from ract.trees.afford import N_TRIES, affordable_weight, auc_loss

DESIRED = np.arange(200) % 2
PLAIN = DESIRED + np.linspace(0, 0.5, 200)


@pytest.mark.parametrize(
    ("harmful_from", "expected"), [(np.inf, 0.8), (0.8, 0.4), (0.3, 0.2), (0.0, 0.8 * 0.5**4)]
)
def test_the_largest_weight_that_costs_little(harmful_from, expected):
    asked = []

    def scores_at(weight):
        asked.append(weight)
        return PLAIN if weight < harmful_from else -PLAIN

    found = affordable_weight(0.8, scores_at, DESIRED, PLAIN, 0.01, 0.5)
    assert found == pytest.approx(expected) and found == asked[-1] and len(asked) <= N_TRIES


def test_people_whom_a_model_has_seen_do_not_count():
    scores = -PLAIN.copy()
    scores[:150] = np.nan
    scores[150:] = PLAIN[150:]
    assert affordable_weight(0.8, lambda _: scores, DESIRED, PLAIN, 0.01, 0.5) == 0.8


def test_a_loss_is_the_difference_of_pairs_in_order(rng):
    desired = rng.integers(0, 2, 60)
    plain, scores = (rng.integers(0, 8, 60) + 2 * desired * k for k in (2, 1))

    def in_order(one):
        above = one[desired == 1][:, None] - one[desired == 0][None, :]
        return (above > 0) + 0.5 * (above == 0)

    lost = in_order(plain) - in_order(scores)
    error = np.sqrt(sum(lost.mean(axis=k).var() / lost.shape[1 - k] for k in (0, 1)))
    assert auc_loss(desired, plain, scores) == pytest.approx((lost.mean(), error))


def test_an_error_is_how_much_losses_vary_between_samples(rng):
    losses, errors = [], []
    for _ in range(200):
        desired = rng.integers(0, 2, 300)
        plain = desired + rng.normal(0, 1, 300)
        loss, error = auc_loss(desired, plain, plain + rng.normal(0, 0.5, 300))
        losses.append(loss)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(losses), rel=0.15)


def test_a_loss_that_may_be_noise_lowers_no_weight(rng):
    desired = rng.integers(0, 2, 200)
    plain = desired + rng.normal(0, 1, 200)
    scores = plain + rng.normal(0, 0.5, 200)
    loss, error = auc_loss(desired, plain, scores)
    allowed = loss - error / 2
    found = [
        affordable_weight(0.8, lambda _: scores, desired, plain, allowed, 0.5, n_errors)
        for n_errors in (0, 1)
    ]
    assert found == [pytest.approx(0.8 * 0.5**4), 0.8]
