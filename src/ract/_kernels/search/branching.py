"""Which axis to branch on and in which order to try its cells, and axes that stay at home.

A cell *loses* so many votes, or so much of a sum, of the best that is alive. What may be lost at
most is the slack.
"""

from __future__ import annotations

import math

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.search.bits import restrict


@inner
def left_home(chosen, home, cells, base, n):
    """Whether an axis has no way to stay at home."""
    if chosen >= 0:
        return chosen != home
    for q in range(n):
        if cells[base + q] == home:
            return False
    return True


@inner
def go_home(boxes, bits, alive, chosen, cells, n_left):
    """Send every axis that can still stay at home there; returns whether a box was lost."""
    changed = False
    for i in range(bits.active.shape[0]):
        home, base = boxes.home[bits.active[i]], bits.offset[i]
        if chosen[i] < 0 and not left_home(chosen[i], home, cells, base, n_left[i]):
            chosen[i] = home
            n_left[i] = 1
            cells[base] = home
            changed = restrict(alive, bits.mask, cells, base, np.int64(1)) or changed
    return changed


@inner
def branching_axis(bits, chosen, state, slack, sharpness, unit):
    """The open axis with the least slack over its cells; -1 if every axis has one cell left."""
    best, least = -1, np.inf
    for i in range(bits.active.shape[0]):
        if chosen[i] >= 0:
            continue
        score = 0.0
        for q in range(bits.offset[i], bits.offset[i] + state.n_left[i]):
            score += math.exp(sharpness * (slack - state.losses[q]) / unit)
        if score < least:
            least = score
            best = i
    return best


@inner
def branch(bits, state, depth, i):
    """Have the cells of an axis tried at a level, those that lose least first."""
    cells, losses, base, n = state.lists[2], state.losses, bits.offset[i], state.n_left[i]
    for q in range(n):
        cell, lost = cells[base + q], losses[base + q]
        p = q
        while p > 0 and losses[base + p - 1] > lost:
            losses[base + p] = losses[base + p - 1]
            state.options[depth, p] = state.options[depth, p - 1]
            p -= 1
        losses[base + p] = lost
        state.options[depth, p] = cell
    state.axis_of[depth] = i
    state.n_options[depth] = n
