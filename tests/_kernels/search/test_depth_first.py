import itertools

import numpy as np

from ract._kernels.search.bits import make_bits
from ract._kernels.search.depth_first import branch, go_on, new_state
from tests._kernels.plain import plain
from tests._kernels.search.builders import random_boxes


def test_every_choice_of_cells_comes_once_and_the_best_cells_first(rng):
    boxes = random_boxes(rng, 5)
    bits = plain(make_bits)(boxes, 5, True, np.zeros(1, np.uint8))
    state, sizes = plain(new_state)(bits, len(boxes.tree)), boxes.n_cells[bits.active]
    depth, seen, first = 0, [], None
    while depth >= 0:
        state.n_options[depth] = state.tried[depth] = 0
        for i, n in enumerate(sizes):
            state.n_left[i] = n
            state.lists[2, bits.offset[i] : bits.offset[i + 1]] = np.arange(n)
        state.losses[:] = np.concatenate([np.arange(n)[::-1] / 4 for n in sizes])
        if not plain(branch)(bits, state, depth, 1.0, 1.0):
            seen.append(tuple(state.chosen[depth].tolist()))
        elif first is None:
            first = state.options[0, : state.n_options[0]].tolist()
        depth = plain(go_on)(bits, state, depth)
    assert sorted(seen) == sorted(itertools.product(*(range(n) for n in sizes)))
    assert first == sorted(first, reverse=True)
    assert len(first) == sizes.min()  # fewest cells, so that their slack adds up to least
