from types import SimpleNamespace

import numpy as np

from ract._kernels.search.additive import cut as kernels
from tests._kernels.plain import plain


def axis_of_five():
    """One axis whose five cells are in boxes of their own."""
    bits = SimpleNamespace(
        active=np.array([0]), offset=np.array([0, 5]), mask=(1 << np.arange(5))[:, None]
    )
    prices = SimpleNamespace(price=np.array([0.4, 0.0, 0.1, 0.9, 1.0]))
    room = SimpleNamespace(
        cells=np.arange(5), n_left=np.array([5]), cheapest=np.array([0.0]), sides=np.zeros((2, 1))
    )
    return bits, prices, room


def test_an_axis_is_cut_into_a_cheap_and_a_dear_side():
    bits, prices, room = axis_of_five()
    limit = plain(kernels.dear_above)(bits, prices, room, 0, False)
    assert limit == kernels.CHEAP
    assert plain(kernels.dear_above)(bits, prices, room, 0, True) == 0.0  # the current cell alone
    stack = kernels.NodeStack(np.zeros((3, 1), np.int64), np.zeros((3, 5), np.int8), np.zeros(3))
    alive, open_ = np.array([0b11111]), np.ones(5, np.int8)
    plain(kernels.cut_by_price)(bits, prices, alive, open_, room, 0, limit, 0.2, stack, 0)
    assert stack.open[:2].tolist() == [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    assert stack.alive[:2, 0].tolist() == [0b11001, 0b00110]
    assert stack.floor[:2].tolist() == [0.2, 0.2]


def test_one_cell_is_cut_off_where_all_cost_the_same():
    bits, _, room = axis_of_five()
    assert plain(kernels.open_axis)(room) == 0
    stack = kernels.NodeStack(np.zeros((2, 1), np.int64), np.zeros((2, 5), np.int8), np.zeros(2))
    alive, open_ = np.array([0b11111]), np.ones(5, np.int8)
    plain(kernels.cut_off_one)(bits, alive, open_, room, 0, 0.0, stack, 0)
    assert stack.open.tolist() == [[0, 1, 1, 1, 1], [1, 0, 0, 0, 0]]


def test_the_node_of_the_lowest_floor_comes_next(rng):
    floor = rng.permutation(6).astype(float)
    open_ = np.zeros((20, 3), np.int8)
    stack = kernels.NodeStack(np.arange(20)[:, None], open_, np.append(floor, np.zeros(14)))
    low = int(floor.argmin())
    plain(kernels.raise_lowest)(stack, 6)
    assert stack.floor[5] == 0.0 and stack.alive[5, 0] == low
    assert sorted(stack.floor[:6].tolist()) == sorted(floor.tolist())
