import itertools

import numpy as np
import pytest

from ract._kernels.search import propagate
from ract._kernels.search.bits import make_bits
from ract._kernels.search.depth_first import new_state
from tests._kernels.plain import plain
from tests._kernels.search.builders import random_boxes, worth_of


@pytest.mark.parametrize("votes", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_no_best_point_is_dropped(seed, votes):
    rng = np.random.default_rng(seed)
    n_trees = int(rng.integers(2, 8))
    boxes = random_boxes(rng, n_trees)
    value = None
    if not votes:  # the best box of each tree first, and each holds the current point
        value = np.concatenate(
            [-np.sort(-rng.random(n)) for n in np.bincount(boxes.tree, minlength=n_trees)]
        )
    points = np.array(list(itertools.product(*(range(n) for n in boxes.n_cells))))
    worth = worth_of(boxes, value, points)
    for changes in (1, 2, 6):
        allowed = (points != boxes.current).sum(axis=1) <= changes
        most = worth[allowed].max()
        stop, n_boxes = np.zeros(1, np.uint8), len(boxes.tree)
        bits = plain(make_bits)(boxes, n_trees, votes, stop)
        state, n_cells = plain(new_state)(bits, n_boxes), bits.mask.shape[0]
        chosen = state.chosen[0]
        least = most - 1e-9
        bound = plain(propagate.propagate_bound)(
            boxes, bits, value, least, changes, state.alive[0].copy(), chosen,
            np.ones(n_cells, np.int8), state, stop,
        )  # fmt: skip
        assert bound >= most - 1e-9
        cells = [
            [chosen[i]]
            if chosen[i] >= 0
            else state.lists[2, bits.offset[i] : bits.offset[i] + state.n_left[i]].tolist()
            for i in range(len(bits.active))
        ]
        left = [all(p[a] in c for a, c in zip(bits.active, cells, strict=True)) for p in points]
        assert worth[allowed & left].max() == pytest.approx(most)
