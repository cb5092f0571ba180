import numpy as np
import pytest

from ract._kernels.search.point_cost import MAX, SUM, cheapest_category, price_with
from tests._kernels.plain import plain


@pytest.mark.parametrize(("norm", "order"), [(MAX, np.inf), (SUM, 1)])
def test_a_price_is_the_norm_of_what_the_cells_cost(norm, order, rng):
    for _ in range(20):
        costs, point = np.sort(rng.random((4, 5)), axis=1), rng.integers(0, 4, 4)
        at = costs[np.arange(4), point]
        axis, cell = int(rng.integers(4)), 4  # dearer than any before it
        found = plain(price_with)(costs, point, axis, cell, norm, np.linalg.norm(at, order))
        at[axis] = costs[axis, cell]
        assert found == pytest.approx(np.linalg.norm(at, order))


def test_the_own_category_comes_before_cheaper_ones():
    costs = np.array([[0.0, 0.3, 0.1, 0.1]])
    assert plain(cheapest_category)(costs, 0, 0b1110, 1, 4) == 1
    assert plain(cheapest_category)(costs, 0, 0b1110, 0, 4) == 2
    assert plain(cheapest_category)(costs, 0, 0, 0, 4) == -1
