import itertools

import numpy as np
import pytest

from ract._kernels.search.cell_forest import Box
from ract._kernels.search.heap import Heap
from ract._kernels.search.leaves import (
    MAX,
    SUM,
    Leaves,
    cheapest_category,
    collect_leaves,
    leaf_of_point,
    nearest_point,
)
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
    n_nodes, n_trees, budget = len(forest.axis), len(forest.root), 1.2
    tree = np.searchsorted(forest.root, np.arange(n_nodes), side="right") - 1
    leaves = Leaves(np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_trees), False, tree, 0.0)
    person = case.own, costs, case.n_cells, case.categorical, norm
    box, point = Box(*np.zeros((3, n), np.int64)), np.zeros(n, np.int64)
    room = np.zeros(n_nodes), np.zeros(n_nodes, np.int64), box, point
    heap = Heap(np.zeros(n_nodes), np.zeros(n_nodes, np.int32))
    found = plain(collect_leaves)(
        forest, leaves, np.zeros(n_trees), *person, budget, case.changes, *room, heap
    )
    known = {}
    for root in forest.root:
        leaf = np.array([plain(leaf_of_point)(forest, root, p, case.categorical) for p in points])
        own_leaf = plain(leaf_of_point)(forest, root, case.own, case.categorical)
        for here in set(leaf.tolist()) - {own_leaf}:
            cheapest = prices[leaf == here].min()
            fewest = changes[(leaf == here) & (prices == cheapest)].min()
            if cheapest <= budget and fewest <= case.changes:
                known[here] = cheapest
    listed = dict(zip(heap.number[:found].tolist(), heap.price[:found], strict=True))
    assert listed == pytest.approx(known)
    for here in listed:
        cost = plain(nearest_point)(forest, here, *person, box, point)
        root = forest.root[tree[here]]
        assert plain(leaf_of_point)(forest, root, point, case.categorical) == here
        assert price(costs[np.arange(n), point]) == pytest.approx(cost)
        assert cost == pytest.approx(listed[here])


def test_the_own_category_comes_before_cheaper_ones():
    costs = np.array([[0.0, 0.3, 0.1, 0.1]])
    assert plain(cheapest_category)(costs, 0, 0b1110, 1, 4) == 1
    assert plain(cheapest_category)(costs, 0, 0b1110, 0, 4) == 2
    assert plain(cheapest_category)(costs, 0, 0, 0, 4) == -1
