import itertools

import numpy as np
import pytest

from ract._kernels.search.heap import Heap
from ract._kernels.search.leaves import (
    MAX,
    SUM,
    cheapest_category,
    collect_leaves,
    leaf_of_point,
    new_walk,
    price_with,
    set_point,
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


@pytest.mark.parametrize(("norm", "order"), [(MAX, np.inf), (SUM, 1)])
def test_a_price_is_the_norm_of_what_the_cells_cost(norm, order, rng):
    for _ in range(20):
        costs, point = np.sort(rng.random((4, 5)), axis=1), rng.integers(0, 4, 4)
        at = costs[np.arange(4), point]
        axis, cell = int(rng.integers(4)), 4  # dearer than any before it
        found = plain(price_with)(costs, point, axis, cell, norm, np.linalg.norm(at, order))
        at[axis] = costs[axis, cell]
        assert found == pytest.approx(np.linalg.norm(at, order))


def test_the_own_category_comes_before_cheaper_ones():
    costs = np.array([[0.0, 0.3, 0.1, 0.1]])
    assert plain(cheapest_category)(costs, 0, 0b1110, 1, 4) == 1
    assert plain(cheapest_category)(costs, 0, 0b1110, 0, 4) == 2
    assert plain(cheapest_category)(costs, 0, 0, 0, 4) == -1
