import numpy as np
import pytest

from ract._kernels.search import bits as kernels
from tests._kernels.plain import plain
from tests._kernels.search.builders import boxes_with, listed, random_boxes


def random_case(seed, *, shared):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, int(rng.integers(1, 40)))
    n_trees = int(boxes.tree[-1]) + 1
    bits = plain(kernels.make_bits)(boxes, n_trees, shared, np.zeros(1, np.uint8))
    alive = np.zeros(bits.mask.shape[1], np.int64)
    kept = set(np.flatnonzero(rng.random(len(boxes.tree)) < 0.5).tolist())
    for r in kept:
        alive[bits.slot[r]] |= bits.bit[r]
    return boxes, bits, alive, kept


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_masks_hold_the_boxes_of_each_cell(seed, shared):
    boxes, bits, _, _ = random_case(seed, shared=shared)
    assert bits.active.tolist() == np.flatnonzero(boxes.n_cells > 1).tolist()
    for i, a in enumerate(bits.active):
        for c in range(boxes.n_cells[a]):
            assert listed(bits, bits.mask[bits.offset[i] + c]) == boxes_with(boxes, a, c)


@pytest.mark.parametrize("seed", range(10))
def test_trees_with_an_alive_box_are_counted(seed):
    boxes, bits, alive, kept = random_case(seed, shared=True)
    trees = np.zeros_like(alive)
    for row, sets in enumerate(bits.mask):
        known = {boxes.tree[r] for r in listed(bits, sets) & kept}
        assert plain(kernels.count_trees)(bits, alive, bits.mask, row) == len(known)
        plain(kernels.find_trees)(bits, alive, bits.mask, row, trees)
        own = [t for t in range(len(bits.own) - 1) if trees[bits.words[t]] & bits.own[t]]
        assert set(own) == known


@pytest.mark.parametrize("seed", range(10))
def test_the_best_alive_box_of_a_tree_is_its_first(seed):
    boxes, bits, alive, kept = random_case(seed, shared=False)
    for row, sets in enumerate(bits.mask):
        inside = listed(bits, sets) & kept
        for t in range(int(boxes.tree[-1]) + 1):
            known = min((r for r in inside if boxes.tree[r] == t), default=-1)
            assert plain(kernels.best_box)(bits, t, alive, bits.mask, row) == known


@pytest.mark.parametrize("seed", range(10))
def test_boxes_that_meet_share_a_cell_on_every_axis(seed):
    boxes, bits, _, _ = random_case(seed, shared=True)
    meets = np.zeros((len(boxes.tree), bits.mask.shape[1]), np.int64)
    for r in range(len(boxes.tree)):
        plain(kernels.find_meeting)(boxes, bits, r, meets)
        known = set(range(len(boxes.tree)))
        for a, n in enumerate(boxes.n_cells):
            here = [c for c in range(n) if r in boxes_with(boxes, a, c)]
            known &= set().union(*(boxes_with(boxes, a, c) for c in here))
        assert listed(bits, meets[r]) == known


def test_boxes_without_a_listed_cell_are_lost():
    boxes, bits, alive, kept = random_case(3, shared=True)
    base, a = bits.offset[0], bits.active[0]
    cells = np.zeros(bits.mask.shape[0], np.int64)
    assert plain(kernels.restrict)(alive, bits.mask, cells, base, 1)
    assert listed(bits, alive) == kept & boxes_with(boxes, a, 0)
    assert not plain(kernels.restrict)(alive, bits.mask, cells, base, 1)
