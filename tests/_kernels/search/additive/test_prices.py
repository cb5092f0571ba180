import numpy as np
import pytest

from ract._kernels.search.additive.prices import make_prices, point_cost
from ract._kernels.search.bits import make_bits
from tests._kernels.plain import plain
from tests._kernels.search.builders import boxes_with, random_boxes


@pytest.mark.parametrize("seed", range(10))
def test_boxes_force_axes_to_their_nearest_cells(seed):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, 6)
    bits = plain(make_bits)(boxes, 6, False, np.zeros(1, np.uint8))
    price, size = rng.random((2, 6, 8))
    prices = plain(make_prices)(boxes, bits, price, size)
    for r in range(len(boxes.tree)):
        known = []
        for i, a in enumerate(bits.active):
            held = [c for c in range(boxes.n_cells[a]) if r in boxes_with(boxes, a, c)]
            current = int(boxes.current[a])
            if current not in held:
                nearest = min(held, key=lambda c: abs(c - current))
                known.append(bits.offset[i] + (current if boxes.categorical[a] else nearest))
        assert prices.away[prices.start[r] : prices.start[r + 1]].tolist() == known
    for i, a in enumerate(bits.active):
        for c in range(boxes.n_cells[a]):  # here compressed cells are original ones
            stays = c == boxes.current[a]
            assert prices.price[bits.offset[i] + c] == (0.0 if stays else price[a, c])
            assert prices.size[bits.offset[i] + c] == (0.0 if stays else size[a, c])


def test_a_point_costs_the_sum_of_prices_and_the_largest_size():
    price, size = np.array([[0.0, 1.0], [0.0, 2.0], [9.0, 9.0]]), np.array([[0.0, 3.0]] * 3)
    own, point = np.array([0, 0, 1]), np.array([1, 1, 1])
    assert plain(point_cost)(price, size, own, point) == 6.0
    assert plain(point_cost)(price, size, own, own) == 0.0
