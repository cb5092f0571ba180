"""A small generator whose state is an array: no hidden randomness, the same on every machine."""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner


@inner
def next_below(state, bound):
    """Next number in [0, bound) of a splitmix64 stream; state (1,) uint64 moves on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(z >> np.uint64(33)) % np.int64(bound)
