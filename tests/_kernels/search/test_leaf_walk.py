import itertools

import numpy as np
import pytest

from ract._kernels.search.heap import Heap
from ract._kernels.search.leaf_walk import collect_leaves, new_walk, set_point
from ract._kernels.search.leaves import leaf_of_point
from ract._kernels.search.point_cost import MAX, SUM
from tests._kernels.plain import plain
from tests._kernels.search.builders import Case


@pytest.mark.parametrize("norm", [MAX, SUM])
@pytest.mark.parametrize("seed", range(15))
def test_leaves_have_the_price_of_their_cheapest_point(seed, norm):
    rng = np.random.default_rng(seed)
    case = Case(rng, "sum")
    forest, costs, n = case.parts[0], case.price, len(case.own)
    price = np.max if norm == MAX else np.sum
    points = np.array(list(itertools.product(*(range(k) for k in case.n_cells))))
    prices = price(costs[np.arange(n), points], axis=1)
    changes = (points != case.own).sum(axis=1)
    root, worth, budget = forest.root[0], np.zeros(len(forest.axis)), 1.2
    walk = plain(new_walk)(case.own, case.n_cells, 9)
    heap = Heap(np.zeros(99), np.zeros(99, np.int32))
    found = plain(collect_leaves)(
        forest, root, worth, -1.0, case.own, costs, case.n_cells, case.categorical, norm, budget,
        case.changes, walk, heap, 0,
    )  # fmt: skip
    leaf = np.array([plain(leaf_of_point)(forest, root, p, case.categorical) for p in points])
    own_leaf, known = plain(leaf_of_point)(forest, root, case.own, case.categorical), {}
    for here in set(leaf.tolist()) - {own_leaf}:
        cheapest = prices[leaf == here].min()
        fewest = changes[(leaf == here) & (prices == cheapest)].min()
        if cheapest <= budget and fewest <= case.changes:
            known[here] = cheapest
    listed = dict(zip(heap.number[:found].tolist(), heap.price[:found], strict=True))
    assert listed == pytest.approx(known)
    for here in listed:
        point = np.zeros(n, np.int64)
        plain(set_point)(
            forest, here, case.own, costs, case.n_cells, case.categorical, walk.box, point
        )
        assert plain(leaf_of_point)(forest, root, point, case.categorical) == here
        assert price(costs[np.arange(n), point]) == pytest.approx(listed[here])
