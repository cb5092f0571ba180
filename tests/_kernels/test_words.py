import numpy as np
import pytest

from ract._kernels._jit import making_kernel
from ract._kernels.words import lowest_bit, popcount


@making_kernel
def bits_of(words, unsigned, out):
    for k in range(len(words)):
        out[k] = lowest_bit(words[k]), lowest_bit(unsigned[k]), popcount(words[k])


@pytest.mark.parametrize("seed", range(3))
def test_bits_equal_those_of_pythons_numbers(seed):
    rng = np.random.default_rng(seed)
    words = rng.integers(-(2**63), 2**63, 200) << rng.integers(0, 63, 200)
    words[words == 0] = -(2**63)
    out = np.zeros((200, 3), np.int64)
    bits_of(words, words.view(np.uint64), out)
    digits = [f"{word:064b}" for word in words.view(np.uint64).tolist()]
    lowest = [len(text) - len(text.rstrip("0")) for text in digits]
    np.testing.assert_array_equal(out.T, [lowest, lowest, [text.count("1") for text in digits]])
