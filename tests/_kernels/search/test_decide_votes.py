"""Whether enough trees vote for a point, beside every point."""

import itertools

import numpy as np

from ract._kernels.search.boxes import LeafBoxes
from ract._kernels.search.decide_votes import decide_votes
from ract._utils.status import Status
from tests import naive
from tests._kernels.search.builders import random_boxes
from tests.builders import each_seed


@each_seed(range(200))
def test_any_mixture_of_small_and_large_trees_is_searched_exactly(seed):
    """Trees of one box and of several words of boxes, on axes of both kinds."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 5, 62, 63, 64, 130], rng.integers(1, 12))
    if seed % 2:  # many trees that cannot agree
        sizes = rng.choice([1, 2, 3], rng.integers(10, 40))
    tree = np.repeat(np.arange(len(sizes)), sizes)
    categorical = rng.random(int(rng.integers(1, 4))) < 0.3
    n_cells = rng.integers(1, 7, len(categorical))
    ends = np.sort(rng.integers(0, n_cells, (2, len(tree), len(n_cells))), axis=0)
    # few cells in each box, so that large trees are not everywhere
    ends[1] = np.minimum(ends[1], ends[0] + 1)
    ends[0][:, categorical] = 1 << ends[0][:, categorical]
    start = np.tile(np.arange(8), (len(n_cells), 1))
    own = np.zeros(len(n_cells), np.int64)
    of_person = start, own, own - 1, own, categorical
    boxes = LeafBoxes(tree, np.ones_like(tree), *ends, n_cells, *of_person)
    kept = np.sort(rng.permutation(len(tree))[: rng.integers(1, len(tree) + 1)])
    boxes = boxes._replace(
        tree=tree[kept], label=boxes.label[kept], first=ends[0][kept], last=ends[1][kept]
    )
    most = naive.most_trees(boxes.tree, boxes.first, boxes.last, n_cells, categorical)
    for needed in range(1, len(sizes) + 1):
        point = own.copy()
        stop = np.zeros(1, np.uint8)
        answer, _ = decide_votes(boxes, len(sizes), needed, len(n_cells), 10**6, stop, point)
        assert answer == (Status.FOUND if needed <= most else Status.NONE)
        if answer == Status.FOUND:
            held = naive.trees_at(point, boxes.tree, boxes.first, boxes.last, categorical)
            assert len(held) >= needed


@each_seed(range(60))
def test_boxes_many_changes_away_are_searched_exactly(seed):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, int(rng.integers(2, 30)))
    n_trees = int(boxes.tree[-1]) + 1
    kept = rng.random(len(boxes.tree)) < 0.6  # some trees keep nothing near, or nothing
    parts = {name: getattr(boxes, name)[kept] for name in ("tree", "label", "first", "last")}
    boxes = boxes._replace(**parts)
    points = np.array(list(itertools.product(*(range(n) for n in boxes.n_cells))))
    moves = (points != boxes.current).sum(axis=1)
    ends = boxes.tree, boxes.first, boxes.last
    votes = np.array([len(naive.trees_at(point, *ends, boxes.categorical)) for point in points])
    for changes in range(6):
        most = votes[moves <= changes].max()
        for needed in {max(most, 1), most + 1}:
            point = boxes.current.copy()
            stop = np.zeros(1, np.uint8)
            answer, _ = decide_votes(boxes, n_trees, int(needed), changes, 10**6, stop, point)
            assert answer == (Status.FOUND if needed <= most else Status.NONE)
            if answer == Status.FOUND:
                assert (point != boxes.current).sum() <= changes
                assert len(naive.trees_at(point, *ends, boxes.categorical)) >= needed
