"""Random halves and calibrated shares."""

import numpy as np
import pytest
from scipy.special import expit

from ract.data.encoder import Encoder
from ract.models.halves import EDGE, distinct_rows, first_half, fitted_curve, log_odds


@pytest.mark.parametrize(("n", "n_desired"), [(10, 4), (11, 4), (7, 1)])
def test_halves_are_equal_and_so_are_their_classes(n, n_desired, rng):
    label = np.arange(n) < n_desired
    inside = first_half(label, rng)
    assert abs(int(inside.sum()) - n / 2) <= 0.5
    assert abs(int(inside[label].sum()) - n_desired / 2) <= 0.5


def test_equal_rows_are_one():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    hashes, first, person = distinct_rows(Encoder(X), X)
    assert len(hashes) == 2 and (np.sort(hashes) == hashes).all()
    assert sorted(first.tolist()) == [0, 1] and person[0] == person[2] != person[1]


def test_log_odds_end_before_zero_and_one():
    np.testing.assert_allclose(expit(log_odds(np.array([0.0, 0.3, 1.0]))), [EDGE, 0.3, 1 - EDGE])


def test_the_curve_finds_shift_and_scale(rng):
    odds = rng.normal(size=60_000)
    truth = rng.random(60_000) < expit(0.5 + 2 * odds)
    shares = expit(odds)
    shift, scale = fitted_curve(shares, truth)
    assert (shift, scale) == (pytest.approx(0.5, abs=0.05), pytest.approx(2, abs=0.1))
    shift, scale = fitted_curve(1 - shares, truth)  # which says nothing that can be used
    assert scale == 0 and expit(shift) == pytest.approx(truth.mean())
