import numpy as np
import pytest

from ract._kernels.search import conflicts
from ract._kernels.search.bits import make_bits
from ract._kernels.search.depth_first import new_state
from tests import naive
from tests._kernels.plain import plain
from tests._kernels.search.builders import listed, random_boxes


@pytest.mark.parametrize("seed", range(25))
def test_no_point_loses_fewer_trees_nor_lies_in_a_dropped_box(seed):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, int(rng.integers(2, 12)))
    kept = rng.random(len(boxes.tree)) < 0.5
    parts = {name: getattr(boxes, name)[kept] for name in ("tree", "label", "first", "last")}
    numbers = np.unique(parts["tree"], return_inverse=True)[1]
    boxes = boxes._replace(**(parts | {"tree": numbers}))
    n_trees, n_boxes = len(set(numbers.tolist())), len(numbers)
    bits = plain(make_bits)(boxes, n_trees, True, np.zeros(1, np.uint8))
    ends = boxes.tree, boxes.first, boxes.last, boxes.n_cells, boxes.categorical
    most = naive.most_trees(*ends)
    for slack in range(n_trees - most, n_trees):  # some point loses no more than that
        state = plain(new_state)(bits, n_boxes)
        room = plain(conflicts.new_conflicts)(n_trees, n_boxes, bits.mask.shape[1])
        lost, dropped = plain(conflicts.lost_to_conflicts)(
            boxes, bits, state.alive[0], slack, state, room
        )
        assert lost <= n_trees - most
        alive = sorted(listed(bits, state.alive[0]))
        assert len(alive) == n_boxes - dropped
        left = tuple(part[alive] for part in ends[:3])
        assert naive.most_trees(*left, *ends[3:]) == most
