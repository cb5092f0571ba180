import itertools

import numpy as np
import pytest

from ract._kernels.search import shares as kernels
from ract._kernels.search.bits import make_bits
from ract._kernels.search.depth_first import new_state
from ract._kernels.search.few_moves import new_few
from tests._kernels.plain import plain
from tests._kernels.search.builders import random_boxes, worth_of


@pytest.mark.parametrize("seed", range(12))
def test_shares_bound_every_point_and_never_rise(seed):
    rng = np.random.default_rng(seed)
    n_trees = int(rng.integers(2, 7))
    boxes, stop = random_boxes(rng, n_trees), np.zeros(1, np.uint8)
    value = np.concatenate([-np.sort(-rng.random(n)) for n in np.bincount(boxes.tree)])
    points = np.array(list(itertools.product(*(range(n) for n in boxes.n_cells))))
    worth = worth_of(boxes, value, points)
    bits = plain(make_bits)(boxes, n_trees, False, stop)
    for changes in (2, 6):
        allowed = (points != boxes.current).sum(axis=1) <= changes
        state = plain(new_state)(bits, len(boxes.tree))
        for i in range(len(bits.active)):
            state.n_left[i] = bits.offset[i + 1] - bits.offset[i]
            state.lists[2, bits.offset[i] : bits.offset[i + 1]] = np.arange(state.n_left[i])
        shares, few = plain(kernels.new_shares)(bits, n_trees), plain(new_few)(bits)
        plain(kernels.take_cells)(bits, state.lists[2], state.n_left, shares, few)
        bounds = [
            plain(kernels.share_out)(
                boxes, bits, value, changes, state.alive[0], state, shares, few, stop
            )
            for _ in range(4)
        ]
        assert (np.diff(bounds) <= 1e-9).all() and bounds[-1] >= worth[allowed].max() - 1e-9
        plain(kernels.find_losses)(
            boxes, bits, value, changes, state.alive[0], state, shares, few, stop
        )
        for i, a in enumerate(bits.active):
            for c in range(boxes.n_cells[a]):
                with_it = worth[allowed & (points[:, a] == c)].max(initial=-np.inf)
                assert bounds[-1] - state.losses[bits.offset[i] + c] >= with_it - 1e-9
