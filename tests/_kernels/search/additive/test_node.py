import itertools

import numpy as np
import pytest

from ract._kernels.search.additive import node as kernels
from ract._kernels.search.additive.prices import make_prices
from ract._kernels.search.additive.search import make_score
from ract._kernels.search.bits import make_bits
from ract._kernels.search.cell_forest import Needs
from tests._kernels.plain import plain
from tests._kernels.search.builders import random_boxes, worth_of


def rising_prices(rng, boxes):
    """Prices that rise away from the current cells of ordinal axes, sizes half of them."""
    steps = np.abs(np.arange(8) - boxes.current[:, None]) * rng.random((6, 1))
    price = np.where(boxes.categorical[:, None], rng.random((6, 8)), steps)
    price[np.arange(6), boxes.current] = 0.0
    return price, price / 2


@pytest.mark.parametrize("votes", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_cheapest_accepted_point_is_never_dropped(seed, votes):
    rng = np.random.default_rng(seed)
    n_trees = int(rng.integers(2, 8))
    boxes = random_boxes(rng, n_trees)
    value = np.concatenate([-np.sort(-rng.random(n)) for n in np.bincount(boxes.tree)])
    points = np.array(list(itertools.product(*(range(n) for n in boxes.n_cells))))
    worth = worth_of(boxes, None if votes else value, points)
    price, size = rising_prices(rng, boxes)
    cost = price[np.arange(6), points].sum(axis=1) + size[np.arange(6), points].max(axis=1)
    for changes in (2, 6):
        allowed = (points != boxes.current).sum(axis=1) <= changes
        least = worth[allowed].max() - 1e-9
        cheapest = cost[allowed & (worth >= least)].min()
        bits = plain(make_bits)(boxes, n_trees, votes, np.zeros(1, np.uint8))
        prices = plain(make_prices)(boxes, bits, price, size)
        needs = Needs(np.array([0, n_trees]), np.array([votes]), np.array([least]))
        score = plain(make_score)(bits, value, needs, votes)
        room, open_ = (
            plain(kernels.new_room)(bits, len(boxes.tree)),
            np.ones(bits.mask.shape[0], np.int8),
        )
        floor = plain(kernels.propagate_prices)(
            boxes, bits, prices, score, changes, cheapest, room.everything[0].copy(), open_, room
        )
        assert floor <= cheapest + 1e-9
        left = np.array([
            all(open_[bits.offset[i] + p[a]] for i, a in enumerate(bits.active)) for p in points
        ])  # fmt: skip
        assert cost[allowed & left & (worth >= least)].min() == pytest.approx(cheapest)
        assert open_.sum() == room.n_left.sum()
