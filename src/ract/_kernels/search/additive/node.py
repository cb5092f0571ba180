"""A node of the search: open cells of each axis, alive boxes, and what can be dropped of both.

    floor   the cheapest open cell of every axis; the best known cost less the floor is the *room*
    slack   what the best alive boxes win beyond what is needed

A cell goes that costs more than the room or loses more than the slack, and so does a box whose
forced moves cost more than the room, or are more than the changes that are left. Of open cells only
those are kept that can be best: where boxes are added up, of each run of cells in the same boxes
the one nearest to the current cell; where trees vote, and more boxes are never worse, the current
cell and those in which a box begins on the way from it. What is dropped for that reason is no
better than a cell nearer to the current one, in this node or in another one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making
from ract._kernels.search.additive.score import can_win, part_lost
from ract._kernels.search.bits import mark_ends, restrict
from ract._kernels.search.propagate import different_cells
from ract._kernels.words import lowest_bit


class Room(NamedTuple):
    """Room to work in, and what is known of a node after ``propagate_prices``.

    cells int64 (cells,): the open cells of each axis, n_left int64 (active,): how many there are.
    losses float64 (cells,): the part of the slack that is lost with each. cheapest float64
    (active,): least price of each axis. extra float64 (cells,): what a box adds to the floor that
    forces an axis to a cell. forced int8 (cells,): whether that is one more change. stamps int64
    (3, cells): where boxes begin, end, and force axes to; stamp int64 (1,). everything int64 (1,
    words): all boxes. sides int64 (2, words).
    """

    cells: np.ndarray
    n_left: np.ndarray
    losses: np.ndarray
    cheapest: np.ndarray
    extra: np.ndarray
    forced: np.ndarray
    stamps: np.ndarray
    stamp: np.ndarray
    everything: np.ndarray
    sides: np.ndarray


@making
def new_room(bits, n_boxes):
    """Room for a search."""
    n_cells, n_words = bits.mask.shape
    n_active = bits.active.shape[0]
    words = np.zeros((3, n_words), np.int64)
    for r in range(n_boxes):
        words[0, bits.slot[r]] |= bits.bit[r]
    numbers = np.zeros((2, n_cells))
    return Room(
        np.zeros(n_cells, np.int64), np.zeros(n_active, np.int64), numbers[0], np.zeros(n_active),
        numbers[1], np.zeros(n_cells, np.int8), np.zeros((3, n_cells), np.int64),
        np.zeros(1, np.int64), words[:1], words[1:],
    )  # fmt: skip


@inner
def find_floor(boxes, bits, prices, open_, room):
    """Set what is cheapest and what forced moves cost; returns the two parts of the floor."""
    floor, largest = 0.0, 0.0
    for i in range(bits.active.shape[0]):
        base, end, current = bits.offset[i], bits.offset[i + 1], bits.offset[i] + prices.current[i]
        low, size = np.inf, np.inf
        for c in range(base, end):
            if open_[c]:
                low = min(low, prices.price[c])
                size = min(size, prices.size[c])
        room.cheapest[i] = low
        floor += low
        largest = max(largest, size)
        can_stay = np.int8(1 if open_[current] else 0)
        if boxes.categorical[bits.active[i]]:
            other = np.inf
            for c in range(base, end):
                if open_[c] and c != current:
                    other = min(other, prices.price[c])
            room.extra[current] = max(0.0, other - low)
            room.forced[current] = can_stay
            continue
        near = np.inf
        for c in range(end - 1, current, -1):
            near = prices.price[c] if open_[c] else near
            room.extra[c] = max(0.0, near - low)
            room.forced[c] = can_stay
        near = np.inf
        for c in range(base, current):
            near = prices.price[c] if open_[c] else near
            room.extra[c] = max(0.0, near - low)
            room.forced[c] = can_stay
    return floor, largest


@inner
def drop_dear_boxes(bits, prices, alive, room, rest, changes):
    """Drop boxes whose forced moves cost more than the rest, or are more changes than are left.

    Cells to which the others force axes are stamped. Returns whether a box was lost.
    """
    lost, stamp, forced_to = False, room.stamp[0], room.stamps[2]
    for s in range(alive.shape[0]):
        word = alive[s]
        while word != 0:
            r = bits.start[s] + lowest_bit(word)
            bit = word & -word
            word ^= bit
            extra, moves = 0.0, 0
            for k in range(prices.start[r], prices.start[r + 1]):
                extra += room.extra[prices.away[k]]
                moves += room.forced[prices.away[k]]
            if extra > rest or moves > changes:
                alive[s] ^= bit
                lost = True
            else:
                for k in range(prices.start[r], prices.start[r + 1]):
                    forced_to[prices.away[k]] = stamp
    return lost


@inner
def list_cells(boxes, bits, prices, score, open_, room):
    """List the open cells of each axis that can be best; the others are closed."""
    stamp, begins, ends, forced_to = room.stamp[0], room.stamps[0], room.stamps[1], room.stamps[2]
    for i in range(bits.active.shape[0]):
        base, end, current = bits.offset[i], bits.offset[i + 1], prices.current[i]
        a, n = bits.active[i], np.int64(0)
        if not score.shared:
            n = different_cells(boxes, a, base, stamp, begins, ends, open_, room.cells)
        else:
            for c in range(end - base):
                stays = boxes.categorical[a] or c == current or forced_to[base + c] == stamp
                if open_[base + c] and stays:
                    room.cells[base + n] = c
                    n += 1
        for c in range(base, end):
            open_[c] = 0
        for q in range(n):
            open_[base + room.cells[base + q]] = 1
        room.n_left[i] = n


@inner
def drop_dear_cells(bits, prices, score, alive, open_, room, floor, largest, most):
    """Drop cells that cost or lose too much; returns if a box was lost, and if the node is empty.

    most: what a point may cost.
    """
    lost = False
    for i in range(bits.active.shape[0]):
        base, before, n = bits.offset[i], room.n_left[i], np.int64(0)
        rest = floor - room.cheapest[i]
        for q in range(before):
            c = room.cells[base + q]
            part = 0.0
            keeps = rest + prices.price[base + c] + max(largest, prices.size[base + c]) <= most
            if keeps and before > 1:
                part = part_lost(bits, score, alive, bits.mask, base + c)
                keeps = part < np.inf
            if keeps:
                room.cells[base + n] = c
                room.losses[base + n] = part
                n += 1
            else:
                open_[base + c] = 0
        if n == 0:
            return lost, True
        room.n_left[i] = n
        if n < before:
            lost = restrict(alive, bits.mask, room.cells, base, n) or lost
    return lost, False


@inner
def count_moved(bits, prices, open_):
    """How many axes must change."""
    moved = 0
    for i in range(bits.active.shape[0]):
        moved += not open_[bits.offset[i] + prices.current[i]]
    return moved


@inner
def close_changes(bits, prices, alive, open_, room):
    """Close other cells of every axis that may keep its current one; returns if a box was lost."""
    lost = False
    for i in range(bits.active.shape[0]):
        base, current = bits.offset[i], prices.current[i]
        if not open_[base + current] or room.n_left[i] == 1:
            continue
        for c in range(base, bits.offset[i + 1]):
            open_[c] = 0
        open_[base + current] = 1
        room.n_left[i] = 1
        room.cells[base] = current
        lost = restrict(alive, bits.mask, room.cells, base, np.int64(1)) or lost
    return lost


@inner
def propagate_prices(boxes, bits, prices, score, changes, most, alive, open_, room):
    """Drop cells and boxes that cannot take part.

    alive (words,), open_ int8 (cells,): of the node. Returns the floor, infinite if nothing in
    the node is accepted and costs at most what it may.
    """
    n_active = bits.active.shape[0]
    few = changes < n_active
    while True:
        floor, largest = find_floor(boxes, bits, prices, open_, room)
        if floor + largest > most:
            return np.inf
        moved = count_moved(bits, prices, open_) if few else 0
        if moved > changes:
            return np.inf
        room.stamp[0] += 1
        # Sums in another order differ in the last digits.
        rest = (most - floor - largest) + 1e-12 * most
        drop_dear_boxes(bits, prices, alive, room, rest, changes - moved)
        if not can_win(bits, score, alive, room.everything):
            return np.inf
        if not score.shared:
            mark_ends(bits, alive, room.stamp[0], room.stamps[0], room.stamps[1])
        list_cells(boxes, bits, prices, score, open_, room)
        lost, empty = drop_dear_cells(
            bits, prices, score, alive, open_, room, floor, largest, most + 1e-12 * most
        )
        if empty:
            return np.inf
        if few and count_moved(bits, prices, open_) == changes:
            lost = close_changes(bits, prices, alive, open_, room) or lost
        if not lost:
            return floor + largest
