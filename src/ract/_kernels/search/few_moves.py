"""What points that change few axes can be worth, given what each cell is worth.

The limit on changes takes part in sharing out (``shares``) like one more tree, which splits on
every axis, is worth 0 where few enough axes change, and can have nothing else. With cells that
are worth u[i, c] beside it, and k moves left besides those of axes that must change,

    gain[i]  = max over c of u[i, c] - u[i, current]
    the most = sum of u[i, current] + sum of the k largest gains that are above 0

An axis that has to stay as it is leaves its change to the next gain; one that has to move and would
not have takes the smallest of the k. That gives what the most is with each cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making


class Few(NamedTuple):
    """The limit's shares, and room.

    given, rest, best float64 (cells of all axes,): what it hands to cells; of the cells left of
    each axis, what they are worth beside it, and the most with each. stay, top, gains float64
    (active,): of each axis unchanged and changed; gains above 0, the largest first. rank int64
    (active,): place of an axis' gain among them, or how many there are.
    """

    given: np.ndarray
    rest: np.ndarray
    best: np.ndarray
    stay: np.ndarray
    top: np.ndarray
    gains: np.ndarray
    rank: np.ndarray


@making
def new_few(bits):
    """Nothing is handed out."""
    cells, axes = np.zeros((3, bits.mask.shape[0])), np.zeros((3, bits.active.shape[0]))
    rank = np.zeros((1, bits.active.shape[0]), np.int64)
    return Few(cells[0], cells[1], cells[2], axes[0], axes[1], axes[2], rank[0])


@inner
def rank_gains(few):
    """Sort the gains above 0; returns how many there are."""
    n, n_axes = 0, few.gains.shape[0]
    for i in range(n_axes):
        gain, k = few.top[i] - few.stay[i], n
        few.rank[i] = n_axes
        if few.stay[i] == -np.inf or gain <= 0:
            continue
        while k > 0 and few.gains[k - 1] < gain:
            few.gains[k] = few.gains[k - 1]
            k -= 1
        few.gains[k] = gain
        for j in range(i):
            if k <= few.rank[j] < n_axes:
                few.rank[j] += 1
        few.rank[i] = k
        n += 1
    return n


@inner
def best_with_few(boxes, bits, state, changes, few):
    """Set few.best to the most of few.rest with each cell left, with at most so many changes.

    Returns how many of them are left to axes that need not change.
    """
    most, left, n_axes = 0.0, changes, bits.active.shape[0]
    cells, n_left = state.lists[2], state.n_left
    for i in range(n_axes):
        base, current = bits.offset[i], boxes.current[bits.active[i]]
        few.stay[i] = few.top[i] = -np.inf
        for q in range(n_left[i]):
            if cells[base + q] == current:
                few.stay[i] = few.rest[base + q]
            else:
                few.top[i] = max(few.top[i], few.rest[base + q])
        if few.stay[i] == -np.inf:
            left -= 1
            most += few.top[i]
        else:
            most += few.stay[i]
    n = rank_gains(few)
    last = np.inf if left <= 0 else (few.gains[left - 1] if left <= n else 0.0)
    following = few.gains[left] if 0 <= left < n else 0.0
    for k in range(min(left, n)):
        most += few.gains[k]
    for i in range(n_axes):
        base, current = bits.offset[i], boxes.current[bits.active[i]]
        forced, moves = few.stay[i] == -np.inf, few.rank[i] < left
        for q in range(n_left[i]):
            here = few.rest[base + q]
            if forced or (moves and cells[base + q] != current):
                few.best[base + q] = most - few.top[i] + here
            elif cells[base + q] != current:
                few.best[base + q] = most - last - few.stay[i] + here
            elif moves:
                few.best[base + q] = most - few.top[i] + here + following
            else:
                few.best[base + q] = most
    return left


@inner
def share_out_limit(boxes, bits, state, changes, worth, few):
    """Improve the limit's shares once; worth (cells of all axes,) is changed with them."""
    n_axes, cells, n_left = bits.active.shape[0], state.lists[2], state.n_left
    for i in range(n_axes):
        base = bits.offset[i]
        for q in range(n_left[i]):
            c = cells[base + q]
            few.rest[base + q] = worth[base + c] - few.given[base + c]
    best_with_few(boxes, bits, state, changes, few)
    for i in range(n_axes):
        base = bits.offset[i]
        for q in range(n_left[i]):
            if few.best[base + q] > -np.inf:
                c = cells[base + q]
                worth[base + c] = few.best[base + q] / n_axes
                few.given[base + c] = worth[base + c] - few.rest[base + q]


@inner
def lose_to_limit(boxes, bits, state, changes, few):
    """Add to the state's losses what the limit handed out too much with each cell."""
    cells, n_left, losses = state.lists[2], state.n_left, state.losses
    for i in range(bits.active.shape[0]):
        base = bits.offset[i]
        for q in range(n_left[i]):
            few.rest[base + q] = -few.given[base + cells[base + q]]
    best_with_few(boxes, bits, state, changes, few)
    for i in range(bits.active.shape[0]):
        base = bits.offset[i]
        for q in range(n_left[i]):
            losses[base + q] -= few.best[base + q]


@inner
def guess_few(boxes, bits, state, changes, few, guess):
    """Set guess (active,) to cells that lose least together, of which few are changes.

    Returns whether few enough are.
    """
    cells, n_left, losses = state.lists[2], state.n_left, state.losses
    for i in range(bits.active.shape[0]):
        base = bits.offset[i]
        for q in range(n_left[i]):
            few.rest[base + q] = -losses[base + q]
    left = best_with_few(boxes, bits, state, changes, few)
    for i in range(bits.active.shape[0]):
        base, current = bits.offset[i], boxes.current[bits.active[i]]
        moves = few.stay[i] == -np.inf or few.rank[i] < left
        for q in range(n_left[i]):
            away = cells[base + q] != current
            if away == moves and (not away or few.rest[base + q] == few.top[i]):
                guess[i] = cells[base + q]
    return left >= 0
