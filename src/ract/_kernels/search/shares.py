"""A bound on sums of trees that have to agree on a point: each shares out what it is worth.

The best boxes of two trees may ask for different cells, so that the sum of the best values of all
trees promises too much. Instead, tree t hands a share s[t, i, c] to each cell c of each axis i that
it splits on. What a cell is *worth*, w[i, c], is the sum of its shares over trees. Then always

    sum of the trees at a point x = sum_i w[i, x_i] + sum_t (value_t(x) - sum_i s[t, i, x_i])

and the first sum alone is a bound if every tree hands out as much as it is worth, wherever x is.

One tree's shares are improved at a time: beside what others made its cells worth, u[i, c], it has

    best[i, c] = max over its alive boxes that hold c of: value + u of its best cells, and of c

if the point lies in cell c, and hands out what makes each of its n axes worth best[i, c] / n there.
The bound never rises. (This is block coordinate descent in the dual of the linear program whose
variables are boxes and cells, known as MPLP: Globerson and Jaakkola, 2007.) Shares bound every part
of the cells alike, so that a search keeps and improves them as it goes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making
from ract._kernels.search.few_moves import lose_to_limit, share_out_limit


class CellShares(NamedTuple):
    """What trees hand to the cells of the axes that they split on.

    first int64 (trees + 1,): first entry of each tree in axis and at. axis int64 (entries,): active
    axis. at int64 (entries,): where the shares of its cells start in given float64. worth float64
    (cells of all axes,). before int64 (cells of all axes + active,): how many of the cells left
    come before a cell. rest, best float64 (active, most cells), most float64 (active,): room.
    """

    first: np.ndarray
    axis: np.ndarray
    at: np.ndarray
    given: np.ndarray
    worth: np.ndarray
    before: np.ndarray
    rest: np.ndarray
    best: np.ndarray
    most: np.ndarray


@making
def new_shares(bits, n_trees):
    """Nothing is handed out."""
    n_active, n_cells = bits.active.shape[0], bits.mask.shape[0]
    seen, widest = np.full(n_active, -1), 0
    first, lists = np.zeros(n_trees + 1, np.int64), np.empty((2, n_trees * n_active), np.int64)
    n, size = 0, 0
    for t in range(n_trees):
        for k in range(
            bits.bound_start[bits.first_box[t]], bits.bound_start[bits.first_box[t + 1]]
        ):
            i = bits.bounds[0, k]
            if seen[i] != t:
                seen[i] = t
                lists[0, n] = i
                lists[1, n] = size
                n += 1
                size += bits.offset[i + 1] - bits.offset[i]
        first[t + 1] = n
    for i in range(n_active):
        widest = max(widest, bits.offset[i + 1] - bits.offset[i])
    room = np.empty((2, n_active, widest))
    return CellShares(
        first, lists[0, :n], lists[1, :n], np.zeros(size), np.zeros(n_cells),
        np.zeros(n_cells + n_active, np.int64), room[0], room[1], np.zeros(n_active),
    )  # fmt: skip


@inner
def take_cells(bits, cells, n_left, shares, few):
    """Count the cells left before each cell, and add up anew what they are worth."""
    for i in range(bits.active.shape[0]):
        base, q = bits.offset[i], 0
        for c in range(bits.offset[i + 1] - base + 1):
            shares.before[base + i + c] = q
            if q < n_left[i] and cells[base + q] == c:
                shares.worth[base + c] = few.given[base + c]
                q += 1
    for p in range(shares.axis.shape[0]):
        i, at = shares.axis[p], shares.at[p]
        base = bits.offset[i]
        for q in range(n_left[i]):
            c = cells[base + q]
            shares.worth[base + c] += shares.given[at + c]


@inner
def best_with_cells(boxes, bits, value, alive, state, shares, t):
    """Set shares.best to what tree t is worth at most with each cell left, others at their best.

    shares.rest: what the cells are worth beside it. Rows are the axes of the tree.
    """
    begin, end, cells, n_left = shares.first[t], shares.first[t + 1], state.lists[2], state.n_left
    rest, best, most, before = shares.rest, shares.best, shares.most, shares.before
    for k in range(end - begin):
        for q in range(n_left[shares.axis[begin + k]]):
            best[k, q] = -np.inf
    for r in range(bits.first_box[t], bits.first_box[t + 1]):
        if alive[bits.slot[r]] & bits.bit[r] == 0:
            continue
        sum_ = value[r]
        for k in range(end - begin):
            i = shares.axis[begin + k]
            a, place, top = bits.active[i], bits.offset[i] + i, -np.inf
            if boxes.categorical[a]:
                for q in range(n_left[i]):
                    if (boxes.first[r, a] >> cells[bits.offset[i] + q]) & 1:
                        top = max(top, rest[k, q])
            else:
                for q in range(
                    before[place + boxes.first[r, a]], before[place + boxes.last[r, a] + 1]
                ):
                    top = max(top, rest[k, q])
            most[k] = top
            sum_ += top
        if sum_ == -np.inf:
            continue
        for k in range(end - begin):
            i = shares.axis[begin + k]
            a, place, others = bits.active[i], bits.offset[i] + i, sum_ - most[k]
            if boxes.categorical[a]:
                for q in range(n_left[i]):
                    if (boxes.first[r, a] >> cells[bits.offset[i] + q]) & 1:
                        best[k, q] = max(best[k, q], others + rest[k, q])
            else:
                for q in range(
                    before[place + boxes.first[r, a]], before[place + boxes.last[r, a] + 1]
                ):
                    best[k, q] = max(best[k, q], others + rest[k, q])


@inner
def share_out(boxes, bits, value, changes, alive, state, shares, few, stop):
    """Improve the shares of every tree, and of the limit on changes, once; returns the bound.

    stop (1,) uint8: set from outside to end at once, without a bound.
    """
    worth, given, bound = shares.worth, shares.given, 0.0
    cells, n_left = state.lists[2], state.n_left
    for t in range(shares.first.shape[0] - 1):
        if stop[0]:
            return np.inf
        begin, end = shares.first[t], shares.first[t + 1]
        if begin == end:  # one box that holds everything
            bound += value[bits.first_box[t]]
            continue
        for k in range(end - begin):
            i, at = shares.axis[begin + k], shares.at[begin + k]
            base = bits.offset[i]
            for q in range(n_left[i]):
                c = cells[base + q]
                shares.rest[k, q] = worth[base + c] - given[at + c]
        best_with_cells(boxes, bits, value, alive, state, shares, t)
        for k in range(end - begin):
            i, at = shares.axis[begin + k], shares.at[begin + k]
            base = bits.offset[i]
            for q in range(n_left[i]):
                if shares.best[k, q] > -np.inf:
                    c = cells[base + q]
                    worth[base + c] = shares.best[k, q] / (end - begin)
                    given[at + c] = worth[base + c] - shares.rest[k, q]
    if changes < bits.active.shape[0]:
        share_out_limit(boxes, bits, state, changes, worth, few)
    for i in range(bits.active.shape[0]):
        base, top = bits.offset[i], -np.inf
        for q in range(n_left[i]):
            top = max(top, worth[base + cells[base + q]])
        bound += top
    return bound


@inner
def find_losses(boxes, bits, value, changes, alive, state, shares, few, stop):
    """Set the state's losses to what the bound loses at least with each cell left.

    They are not for use if stop was set meanwhile.
    """
    cells, n_left, losses = state.lists[2], state.n_left, state.losses
    for i in range(bits.active.shape[0]):
        base, top = bits.offset[i], -np.inf
        for q in range(n_left[i]):
            top = max(top, shares.worth[base + cells[base + q]])
        for q in range(n_left[i]):
            losses[base + q] = top - shares.worth[base + cells[base + q]]
    for t in range(shares.first.shape[0] - 1):
        if stop[0]:
            return
        begin, end = shares.first[t], shares.first[t + 1]
        for k in range(end - begin):
            i, at = shares.axis[begin + k], shares.at[begin + k]
            for q in range(n_left[i]):
                shares.rest[k, q] = -shares.given[at + cells[bits.offset[i] + q]]
        best_with_cells(boxes, bits, value, alive, state, shares, t)
        for k in range(end - begin):
            i = shares.axis[begin + k]
            for q in range(n_left[i]):
                losses[bits.offset[i] + q] -= shares.best[k, q]
    if changes < bits.active.shape[0]:
        lose_to_limit(boxes, bits, state, changes, few)
