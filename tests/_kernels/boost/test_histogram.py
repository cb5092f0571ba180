import numpy as np
import pytest

from ract._kernels.boost import histogram
from ract._kernels.boost.histogram import Scale
from tests._kernels.plain import plain


def test_a_word_keeps_an_amount_and_a_count():
    scale = Scale(20, 2.0**-10)
    for amount, count in ((0.5, 3), (-0.25, 7), (-1.0, 0), (1000.125, 2**20 - 1)):
        word = plain(histogram.word_of)(amount, count, scale)
        assert plain(histogram.amount)(word, scale) == amount
        assert plain(histogram.count)(word, scale) == count


def test_slopes_are_summed_by_cell(rng):
    n, n_axes, n_people, scale = 50, 3, 40, Scale(20, 2.0**-30)
    codes, starts = rng.integers(0, 4, (n, n_axes)).astype(np.uint8), np.arange(4) * 4
    order = rng.permutation(n)[:30].astype(np.uint32)
    scores, target, weight = rng.normal(size=n), rng.integers(0, 2, n).astype(float), rng.random(n)
    slopes, sums = np.zeros((n, 2), np.int64), np.zeros((12, 2), np.int64)
    histogram.sum_slopes(
        codes, starts.astype(np.uint64), order, 5, 30, scores, target, weight, n_people, scale,
        slopes, sums,
    )  # fmt: skip
    rows, share = order[5:], 1 / (1 + np.exp(-scores))
    for axis in range(n_axes):
        for cell in range(4):
            here = rows[codes[rows, axis] == cell]
            slope, curvature = sums[starts[axis] + cell]
            known = (weight * (share - target))[here].sum(), (weight * share * (1 - share))[here]
            assert plain(histogram.amount)(slope, scale) == pytest.approx(known[0], abs=1e-7)
            assert plain(histogram.amount)(curvature, scale) == pytest.approx(known[1].sum())
            assert plain(histogram.count)(slope, scale) == (here < n_people).sum()
            assert plain(histogram.count)(curvature, scale) == len(here)


def test_all_people_and_the_points_below_a_margin_are_drawn():
    scores, inside, outside = np.array([3.0, 0.0, 0.5, 2.0]), *np.zeros((2, 4), np.uint32)
    n = histogram.draw_rows(np.zeros(1, np.uint64), (1.0, 1.0), 2, scores, 1.0, inside, outside)
    assert inside[:n].tolist() == [0, 1, 2] and outside[: 4 - n].tolist() == [3]


def test_weights_of_points_below_a_margin_rise_up_to_a_limit():
    scores, weight = np.array([0.0, 0.0, 0.0, 2.0]), np.array([1.0, 1.0, 2.5, 1.0])
    histogram.pull_points(scores, 1, 1.0, 1.0, 3.0, np.array([1.0, 0.5, 1.0, 1.0]), weight)
    assert weight.tolist() == [1.0, 1.5, 3.0, 1.0]
