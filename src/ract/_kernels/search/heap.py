"""A heap of numbered things by price, then by number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner


class Heap(NamedTuple):
    """price float64 and number int32 (room,); the first comes first."""

    price: np.ndarray
    number: np.ndarray


@inner
def comes_before(heap, i, j):
    """Whether entry i comes before entry j."""
    if heap.price[i] != heap.price[j]:
        return heap.price[i] < heap.price[j]
    return heap.number[i] < heap.number[j]


@inner
def exchange(heap, i, j):
    """Exchange two entries."""
    heap.price[i], heap.price[j] = heap.price[j], heap.price[i]
    heap.number[i], heap.number[j] = heap.number[j], heap.number[i]


@inner
def heap_push(heap, n, price, number):
    """Add to the n entries; returns how many there are then."""
    heap.price[n] = price
    heap.number[n] = number
    k = n
    while k > 0 and comes_before(heap, k, (k - 1) >> 1):
        exchange(heap, k, (k - 1) >> 1)
        k = (k - 1) >> 1
    return n + 1


@inner
def drop_first(heap, n):
    """Take the first of the n entries away; returns how many there are then."""
    n -= 1
    exchange(heap, 0, n)
    k = 0
    while 2 * k + 1 < n:
        child = 2 * k + 1
        if child + 1 < n and comes_before(heap, child + 1, child):
            child += 1
        if not comes_before(heap, child, k):
            break
        exchange(heap, k, child)
        k = child
    return n
