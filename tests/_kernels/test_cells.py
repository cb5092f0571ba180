import numpy as np
import pytest

from ract._kernels.cells import add_category, find_cells, find_reach, interpolate


@pytest.mark.parametrize("seed", range(5))
def test_cells_are_the_numbers_of_thresholds_below(seed):
    rng = np.random.default_rng(seed)
    thresholds = np.unique(rng.normal(size=rng.integers(0, 50)).round(1))
    values = np.concatenate([rng.normal(size=300), thresholds, [-np.inf, np.inf]])
    out = np.zeros(len(values), np.uint8)
    find_cells(values, thresholds, out)
    np.testing.assert_array_equal(out, np.searchsorted(thresholds, values))


@pytest.mark.parametrize("n_values", [10, 500])
def test_interpolation_equals_numpys(n_values, rng):
    knots, heights = np.unique(rng.normal(size=30)), np.sort(rng.random(30))
    values, out = np.append(rng.normal(size=n_values), knots), np.zeros(n_values + 30)
    interpolate(values, knots, heights, out)
    np.testing.assert_allclose(out, np.interp(values, knots, heights), rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_reach_is_every_cell_that_costs_little_enough(seed):
    rng = np.random.default_rng(seed)
    n_cells, n = int(rng.integers(1, 7)), 40
    ends = np.sort(rng.integers(0, 20, n_cells + 1)) / 20
    below, above = ends[:-1].copy(), ends[1:].copy()  # cheapest value from below, from above
    cells = rng.integers(0, n_cells, n).astype(np.uint8)
    levels = below[cells] + (above - below)[cells] * rng.random(n)
    lowest, highest = np.zeros((2, n), np.uint8)
    most = float(rng.random())
    find_reach(cells, levels, below, above, most, lowest, highest)
    for i in range(n):
        up = [c for c in range(n_cells) if c > cells[i] and below[c] - levels[i] <= most]
        down = [c for c in range(n_cells) if c < cells[i] and levels[i] - above[c] <= most]
        assert (lowest[i], highest[i]) == (min([*down, cells[i]]), max([*up, cells[i]]))


def test_a_category_is_written_where_its_column_is_set():
    out = np.zeros(3, np.uint8)
    add_category(np.array([1.0, 0.0, 1.0]), 2, out)
    assert out.tolist() == [2, 0, 2]
