import numpy as np
import pytest

from ract._kernels.splitmix import next_below
from tests._kernels.plain import plain


def splitmix64(state):
    """The published generator, in whole numbers."""
    word = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & word
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & word
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
    return state, z ^ (z >> 31)


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 5])
def test_numbers_are_those_of_splitmix64(seed):
    state, known = np.array([seed], np.uint64), seed
    with np.errstate(over="ignore"):
        for bound in (1, 2, 7, 1000, 2**31 - 1) * 20:
            known, drawn = splitmix64(known)
            assert plain(next_below)(state, bound) == (drawn >> 33) % bound
    assert int(state[0]) == known
