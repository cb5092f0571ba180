import numpy as np
import pytest

from ract._kernels.boost import split
from ract._kernels.boost.histogram import Scale
from ract._kernels.boost.split import AxisLayout, SplitRules
from tests._kernels.plain import plain

SCALE = Scale(16, 2.0**-20)
# An ordinal axis, one whose last cell holds missing values, and a categorical one.
LAYOUT = AxisLayout(
    np.array([0, 5, 10, 14]),
    np.array([False, False, True]),
    np.array([-1, 4, -1]),
    np.zeros(3, int),
)


def rules_of(min_leaf):
    return SplitRules(31, min_leaf, 3, 1.0, 0.1, False, SCALE)


def random_sums(rng):
    """The same rows in the cells of every axis: words, and slope, curvature and people of each."""
    rows = np.column_stack([rng.normal(size=20), 0.1 + rng.random(20), np.ones(20)])
    rows[:, :2] = np.round(rows[:, :2] * 2**20) / 2**20
    starts = LAYOUT.starts[:-1].tolist()
    cells = np.column_stack(
        [k + rng.integers(0, n, 20) for k, n in zip(starts, (5, 5, 4), strict=True)]
    )
    sums = np.zeros((14, 2), np.int64)
    for row, there in zip(rows, cells, strict=True):
        for cell in there:
            sums[cell] += [split_word(row[k], 1, SCALE) for k in (0, 1)]
    return sums, rows, cells


def splits():
    """Axis and cells of the right side of every split."""
    for c in range(4):
        yield 0, set(range(c + 1, 5))
    for c in range(3):
        yield 1, set(range(5 + c + 1, 9))
        yield 1, set(range(5 + c + 1, 10))
    yield 1, {9}
    for c in range(10, 14):
        yield 2, {c}


@pytest.mark.parametrize("seed", range(20))
def test_the_split_of_most_gain_is_found(seed):
    rng = np.random.default_rng(seed)
    sums, rows, cells = random_sums(rng)
    total, min_leaf = sums[10:14].sum(axis=0), int(rng.integers(1, 4))

    def gain(right):
        sides = [rows[there] for there in (right, ~right)]
        if min(len(side) for side in sides) < min_leaf:
            return -np.inf
        worth = [side[:, 0].sum() ** 2 / (side[:, 1].sum() + 1.0) for side in (*sides, rows)]
        return worth[0] + worth[1] - worth[2]

    known = max(gain(np.isin(cells[:, axis], list(there))) for axis, there in splits())
    bounds, axes = (-np.inf, np.inf), np.arange(3)
    found, axis, first, last, _ = plain(split.best_split)(
        sums, total, bounds, LAYOUT, rules_of(min_leaf), axes, np.zeros(1, np.uint64)
    )
    if known <= 1e-9:
        assert found == pytest.approx(0.0, abs=1e-9)
        return
    assert found == pytest.approx(known)
    start = LAYOUT.starts[axis]
    right = (start + first <= cells[:, axis]) & (cells[:, axis] <= start + last)
    assert gain(right) == pytest.approx(known)


def test_values_stay_within_bounds():
    assert plain(split.leaf_value)(-4.0, 1.0, 1.0, -np.inf, np.inf) == 2.0
    assert plain(split.leaf_value)(-4.0, 1.0, 1.0, -1.0, 0.5) == 0.5
    assert plain(split.worth)(-4.0, 1.0, 1.0, -np.inf, np.inf) == 8.0


def test_sides_against_a_direction_gain_nothing():
    gain, free = plain(split.gain_of), (-np.inf, np.inf)
    assert gain(-1.0, 1.0, 1.0, 1.0, 1, free, 0.0) == -np.inf
    assert gain(-1.0, 1.0, 1.0, 1.0, -1, free, 0.0) == gain(-1.0, 1.0, 1.0, 1.0, 0, free, 0.0)


def split_word(amount, count, scale):
    """A word of an amount and a count."""
    return (round(amount / scale.step) << scale.bits) + count
