import itertools

import numpy as np
import pytest

from ract._kernels.search.boxes import place_point
from tests._kernels.plain import plain
from tests._kernels.search.builders import Case, label_at


def holds(boxes, r, point):
    return all(
        (boxes.first[r, a] >> c) & 1 if categorical else boxes.first[r, a] <= c <= boxes.last[r, a]
        for a, (c, categorical) in enumerate(zip(point, boxes.categorical, strict=True))
    )


@pytest.mark.parametrize("seed", range(25))
def test_every_point_lies_in_the_box_of_its_leaf(seed):
    rng = np.random.default_rng(seed)
    case = Case(rng, "sum", holes=seed % 2 == 0)
    case.changes = len(case.own)
    boxes, value, needs, _ = case.left()
    constant = case.cutoff[0] - needs.least[0] - 1e-9 * ~case.by_votes[0]
    for compressed in itertools.product(*(range(n) for n in boxes.n_cells)):
        point = np.array(compressed)
        plain(place_point)(boxes, point)
        held = [r for r in range(len(value)) if holds(boxes, r, compressed)]
        assert len(set(boxes.tree[held])) == len(held)  # at most one of each tree
        weights = case.weight[
            [label_at(case.forest, r, point, case.categorical) for r in case.forest.root]
        ]
        assert weights.sum() == pytest.approx(constant + value[held].sum())
