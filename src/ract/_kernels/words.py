"""Bits of 64-bit words, each by one instruction of the processor."""

from __future__ import annotations

from numba import config
from numba.core import types
from numba.extending import intrinsic


@intrinsic
def _popcount(typingctx, word):
    def instruction(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), instruction


@intrinsic
def _lowest_bit(typingctx, word):
    def instruction(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(word), instruction


def _plain_popcount(word):
    return (int(word) & (2**64 - 1)).bit_count()


def _plain_lowest_bit(word):
    return (int(word) & -int(word)).bit_length() - 1


# Number of set bits of an int64, and position of the lowest set bit of a word that is not 0.
# Intrinsics cannot be called where kernels run as plain Python.
popcount = _plain_popcount if config.DISABLE_JIT else _popcount
lowest_bit = _plain_lowest_bit if config.DISABLE_JIT else _lowest_bit
