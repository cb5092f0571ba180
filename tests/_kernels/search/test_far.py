import numpy as np
import pytest

from ract._kernels.search import far as kernels
from ract._kernels.search.bits import make_bits
from tests._kernels.plain import plain
from tests._kernels.search.builders import boxes_with, listed, random_boxes


@pytest.mark.parametrize("seed", range(10))
def test_boxes_that_need_more_changes_are_dropped(seed):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, 8)
    bits = plain(make_bits)(boxes, 8, True, np.zeros(1, np.uint8))
    far, n_active = plain(kernels.new_far)(bits), len(bits.active)
    chosen = np.where(rng.random(n_active) < 0.3, 0, -1)
    current = boxes.current[bits.active]
    moved = (chosen >= 0) & (chosen != current)
    assert plain(kernels.mark_moved)(boxes, bits, chosen, far) == moved.sum()
    without = [set(range(len(boxes.tree))) - boxes_with(boxes, a, boxes.current[a])
               for a in bits.active]  # fmt: skip
    needs = [
        sum(r in boxes_without for boxes_without, m in zip(without, moved, strict=True) if not m)
        for r in range(len(boxes.tree))
    ]
    for moves in range(1, 4):
        alive = np.full(bits.mask.shape[1], -1)
        plain(kernels.drop_far)(boxes, bits, moves, alive, far)
        kept = {r for r, n in enumerate(needs) if n <= moves}
        assert listed(bits, alive) == kept
        for i in range(n_active):
            plain(kernels.find_near)(boxes, bits, i, moves, alive, far)
            # One change goes to axis i, which helps the boxes that need it.
            near = {r for r in kept if moved[i] or r in without[i] or needs[r] < moves}
            assert listed(bits, far.near) == near
