import numpy as np
import pytest

from ract._kernels.steps import find_landings
from ract.data.actions.steps import decade_table, first_above, last_below
from tests._kernels.plain import plain


@pytest.mark.parametrize("step", [1.0, 5.0, 25.0, 0.01, 0.3, 1000.0])
@pytest.mark.parametrize("find", [find_landings, plain(find_landings)], ids=["compiled", "plain"])
def test_landings_are_those_of_columns(find, step):
    rng = np.random.default_rng(int(100 * step))
    own = np.round(rng.normal(0, rng.choice([1, 100, 1e5], 300)), rng.integers(0, 4))
    way = rng.choice([1e-9, 0.5, 3, 99, 1000, 1e6], 300) * step * rng.random(300)
    up, width = rng.random(300) < 0.5, rng.choice([-1, 0, 0.5, 7, 1e3, 1e9], 300) * step
    first = np.where(up, own + way, own - way - width)
    last = np.where(up, first + width, own - way)
    near = np.where(up, first_above(own, first, step), last_below(own, last, step))
    expected = np.where((near >= first) & (near <= last), near, np.nan)
    out = np.empty(300)
    find(own, first, last, up, decade_table(step), out)
    np.testing.assert_array_equal(out, expected)
    assert 0 < np.isfinite(out).sum() < 300


def test_nobody_without_a_value_lands_anywhere():
    nan, out = np.full(2, np.nan), np.zeros(2)
    find_landings(nan, np.zeros(2), np.ones(2), np.array([True, False]), decade_table(1.0), out)
    assert np.isnan(out).all()
