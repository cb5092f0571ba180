"""A depth-first search over the cells of axes: where it stands, and how it goes on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making
from ract._kernels.search.boxes import place_point
from ract._kernels.search.far import Far, new_far


class SearchState(NamedTuple):
    """Where a search stands; rows of two-dimensional arrays are its levels.

    alive int64 (levels, words). chosen int64 (levels, active): cell of an axis or -1. lists int64
    (3, cells): stamps of begins and ends, and the cells left of each axis. n_left int64 (active,):
    how many are left. options int64 (levels, cells + 1): cells to try, tried and
    n_options int64 (levels,): how many of them; axis_of: of which axis. stamps int64 (1,).
    meets int64 (boxes, words), known int64 (boxes,): the boxes that a box meets, once worked out.
    losses float64 (cells,): what is lost with each cell left. best int64 (trees,): the best alive
    box of each tree. far: boxes that need too many changes.
    """

    alive: np.ndarray
    chosen: np.ndarray
    lists: np.ndarray
    n_left: np.ndarray
    options: np.ndarray
    n_options: np.ndarray
    tried: np.ndarray
    axis_of: np.ndarray
    stamps: np.ndarray
    meets: np.ndarray
    known: np.ndarray
    losses: np.ndarray
    best: np.ndarray
    far: Far


@making
def new_state(bits, n_boxes):
    """The start of a search: every box is alive, no cell is chosen."""
    n_active, n_levels = bits.active.shape[0], bits.active.shape[0] + 2
    n_cells, n_words = bits.mask.shape
    alive, levels = np.zeros((n_levels, n_words), np.int64), np.zeros((5, n_levels), np.int64)
    for r in range(n_boxes):
        alive[0, bits.slot[r]] |= bits.bit[r]
    chosen = np.zeros((n_levels, n_active), np.int64)
    for i in range(n_active):
        chosen[0, i] = -1
    lists, options = np.zeros((3, n_cells), np.int64), np.zeros((n_levels, n_cells + 1), np.int64)
    meets, known = np.empty((n_boxes, n_words), np.int64), np.zeros((1, n_boxes), np.int64)[0]
    n_options, tried, axis_of, stamps = levels[1], levels[2], levels[3], levels[4]
    best, losses = np.zeros((1, bits.words.shape[0] - 1), np.int64)[0], np.zeros(n_cells)
    return SearchState(
        alive, chosen, lists, levels[0], options, n_options, tried, axis_of, stamps, meets, known,
        losses, best, new_far(bits),
    )  # fmt: skip


@inner
def branch(bits, state, depth, slack, sharpness):
    """List the cells of the open axis with the least slack as options, the best cell first.

    What is lost with a cell is taken from the slack. Returns whether there is an open axis.
    """
    cells, chosen, options = state.lists[2], state.chosen[depth], state.options[depth]
    losses, best, least = state.losses, -1, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        score = 0.0
        for q in range(state.n_left[i]):
            score += math.exp(sharpness * (slack - losses[bits.offset[i] + q]))
        if score < least:
            best, least = i, score
    if best < 0:
        return False
    base, n = bits.offset[best], state.n_left[best]
    state.axis_of[depth] = best
    state.n_options[depth] = n
    for q in range(n):
        lost, p = losses[base + q], q
        while p > 0 and losses[base + p - 1] > lost:
            losses[base + p] = losses[base + p - 1]
            options[p] = options[p - 1]
            p -= 1
        losses[base + p] = lost
        options[p] = cells[base + q]
    return True


@inner
def go_on(bits, state, depth):
    """Take the next option at or above a level; returns the new level, -1 when none is left."""
    while depth >= 0 and state.tried[depth] >= state.n_options[depth]:
        depth -= 1
    if depth < 0:
        return depth
    i, c = state.axis_of[depth], state.options[depth, state.tried[depth]]
    state.tried[depth] += 1
    for s in range(state.alive.shape[1]):
        state.alive[depth + 1, s] = state.alive[depth, s] & bits.mask[bits.offset[i] + c, s]
    for k in range(bits.active.shape[0]):
        state.chosen[depth + 1, k] = state.chosen[depth, k]
    state.chosen[depth + 1, i] = c
    return depth + 1


@inner
def read_point(boxes, bits, chosen, point):
    """Original cells of a full choice."""
    for a in range(point.shape[0]):
        point[a] = 0
    for k in range(bits.active.shape[0]):
        point[bits.active[k]] = chosen[k]
    place_point(boxes, point)
