import numpy as np
import pytest

from ract._kernels.grow import tree
from tests._kernels.plain import plain


@pytest.mark.parametrize(("categorical", "also"), [(False, -1), (False, 4), (True, -1)])
def test_both_sides_of_a_partition_keep_their_order(categorical, also, rng):
    cells, order = rng.integers(0, 5, 30), rng.permutation(30).astype(np.uint32)
    before, spare = order.copy(), np.zeros(30, np.uint32)
    middle = plain(tree.partition)(cells, order, 4, 25, 2, categorical, also, spare)
    here = cells[before[4:25]]
    left = here != 2 if categorical else (here <= 2) | (here == also)
    assert order[:4].tolist() + order[25:].tolist() == before[:4].tolist() + before[25:].tolist()
    assert order[4:middle].tolist() == before[4:25][left].tolist()
    assert order[middle:25].tolist() == before[4:25][~left].tolist()


def test_a_bootstrap_sample_has_its_size():
    state, times = np.array([3], np.uint64), np.zeros(50)
    tree.draw_with_replacement(state, 400, times)
    assert times.sum() == 400 and (times > 0).all()
    again = np.zeros(50)
    tree.draw_with_replacement(np.array([3], np.uint64), 400, again)
    np.testing.assert_array_equal(times, again)


def test_drawn_axes_are_different_and_in_order():
    with np.errstate(over="ignore"):
        for seed in range(20):
            axes = np.arange(9)
            plain(tree.draw_sorted)(axes, 4, np.array([seed], np.uint64))
            assert sorted(axes.tolist()) == list(range(9))
            assert axes[:4].tolist() == sorted(axes[:4].tolist())


def test_categories_are_admitted_on_one_side_each():
    admitted = np.ones((2, 6), bool)
    plain(tree.push_admitted)(admitted, 0, 2, 3, 1)
    assert admitted.astype(int).tolist() == [[1, 1, 0, 1, 0, 1], [1, 1, 1, 0, 1, 1]]


def test_people_of_a_node_are_gathered_in_order():
    order, desired = np.array([3, 0, 2, 1]), np.array([1, 0, 1, 0], np.uint8)
    weights, labels, gathered = np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(4, int), np.zeros(4)
    neg, pos = plain(tree.gather_people)(order, 1, 4, desired, weights, labels, gathered)
    assert (neg, pos) == (2.0, 5.0)
    assert labels[:3].tolist() == [1, 1, 0] and gathered[:3].tolist() == [1.0, 4.0, 2.0]
