"""Boxes that are too many changes away for those who may change few features.

A box is as many moves away as there are axes on which it does not hold the current cell, besides
those that have changed already. With k moves left, boxes that are further away are dropped,
and a move on an axis that does not bring a box nearer drops it if it is k away. Moves are counted
for all boxes of a word at once: ``least[j]`` are the boxes that are more than j moves away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making

# With more moves left, hardly any box is too far, and counting takes longer than it saves.
MOST_MOVES = 6


class Far(NamedTuple):
    """moved int64 (active,): axes that have changed. least int64 (moves, words): see above.

    near int64 (words,): alive boxes that are not too far after a move on an axis.
    """

    moved: np.ndarray
    least: np.ndarray
    near: np.ndarray


@making
def new_far(bits):
    """Room."""
    words = np.zeros((MOST_MOVES + 2, bits.mask.shape[1]), np.int64)
    return Far(np.zeros((1, bits.active.shape[0]), np.int64)[0], words[1:], words[0])


@inner
def mark_moved(boxes, bits, chosen, far):
    """Mark the axes whose chosen cell is not the current one; returns how many these are."""
    n = 0
    for i in range(bits.active.shape[0]):
        far.moved[i] = 1 if 0 <= chosen[i] != boxes.current[bits.active[i]] else 0
        n += far.moved[i]
    return n


@inner
def drop_far(boxes, bits, moves, alive, far):
    """Drop the boxes that are more than so many moves away."""
    least = far.least
    for s in range(alive.shape[0]):
        for k in range(moves + 1):
            least[k, s] = 0
    for i in range(bits.active.shape[0]):
        if far.moved[i]:
            continue
        current = bits.offset[i] + boxes.current[bits.active[i]]
        for s in range(alive.shape[0]):
            away = alive[s] & ~bits.mask[current, s]
            for k in range(moves, 0, -1):
                least[k, s] |= least[k - 1, s] & away
            least[0, s] |= away
    for s in range(alive.shape[0]):
        alive[s] &= ~least[moves, s]


@inner
def find_near(boxes, bits, i, moves, alive, far):
    """Set far.near to the alive boxes that are not too far once axis i has changed."""
    if far.moved[i]:
        for s in range(alive.shape[0]):
            far.near[s] = alive[s]
        return
    current = bits.offset[i] + boxes.current[bits.active[i]]
    for s in range(alive.shape[0]):
        far.near[s] = alive[s] & ~(far.least[moves - 1, s] & bits.mask[current, s])
