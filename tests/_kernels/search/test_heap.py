import numpy as np
import pytest

from ract._kernels.search.heap import Heap, drop_first, heap_push
from tests._kernels.plain import plain


@pytest.mark.parametrize("seed", range(10))
def test_entries_come_out_by_price_then_number(seed):
    rng = np.random.default_rng(seed)
    entries = list(zip(rng.integers(0, 5, 30) / 2, rng.permutation(30), strict=True))
    heap, n, out = Heap(np.zeros(30), np.zeros(30, np.int32)), 0, []
    for price, number in entries:
        n = plain(heap_push)(heap, n, price, number)
    while n:
        out.append((heap.price[0], heap.number[0]))
        n = plain(drop_first)(heap, n)
    assert out == sorted(entries)
