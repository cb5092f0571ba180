"""What trees can add up to when at most three axes change.

With the axes S changed, a tree is worth at most v(S), the best of its boxes that hold the current
cell on every other axis. No point is worth more than the largest sum of v(S) over trees. Trees have
few axes each, so that the sums of all S come from what each axis, pair and triple adds to a tree:

    v(i, j) = v() + [v(i) - v()] + [v(j) - v()] + [v(i, j) - v(i) - v(j) + v()]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, making, making_kernel

# Axes that change, and active axes, of which there is a table of triples.
MOST_CHANGES, MOST_AXES = 3, 40


class Sets(NamedTuple):
    """Numbers of each axis, pair and triple (ascending): float64 (n,), (n, n) and (n, n, n)."""

    one: np.ndarray
    two: np.ndarray
    three: np.ndarray


@making
def new_sets(n, changes, value):
    """The same number for all sets that may change."""
    two, three = n if changes > 1 else 0, n if changes > 2 else 0
    pairs, triples = np.full((two, two), value), np.full((three, three, three), value)
    return Sets(np.full(n, value), pairs, triples)


@inner
def axes_away(boxes, active, r, away):
    """Set away to the first axes on which box r lacks the current cell; returns how many."""
    n = 0
    for i in range(active.shape[0]):
        a = active[i]
        current, first = boxes.current[a], boxes.first[r, a]
        if boxes.categorical[a]:
            inside = (first >> current) & 1 != 0
        else:
            inside = first <= current <= boxes.last[r, a]
        if not inside:
            if n < away.shape[0]:
                away[n] = i
            n += 1
    return n


@inner
def reset_gains(own, axes, n, changes):
    """Set the numbers of all sets of n listed axes to -inf."""
    for x in range(n):
        i = axes[x]
        own.one[i] = -np.inf
        if changes < 2:
            continue
        for y in range(x + 1, n):
            j = axes[y]
            own.two[i, j] = -np.inf
            if changes < 3:
                continue
            for z in range(y + 1, n):
                own.three[i, j, axes[z]] = -np.inf


@inner
def add_tree_gains(own, base, axes, n, changes, sums):
    """Add to sums what each set of n listed axes adds to a tree; own becomes what it is worth."""
    for x in range(n):
        i = axes[x]
        own.one[i] = max(own.one[i], base)
        sums.one[i] += own.one[i] - base
    if changes < 2:
        return
    for x in range(n):
        i = axes[x]
        for y in range(x + 1, n):
            j = axes[y]
            own.two[i, j] = max(own.two[i, j], own.one[i], own.one[j])
            sums.two[i, j] += own.two[i, j] - own.one[i] - own.one[j] + base
    if changes < 3:
        return
    for x in range(n):
        i = axes[x]
        for y in range(x + 1, n):
            j = axes[y]
            for z in range(y + 1, n):
                k = axes[z]
                pairs = own.two[i, j] + own.two[i, k] + own.two[j, k]
                best = max(own.three[i, j, k], own.two[i, j], own.two[i, k], own.two[j, k])
                sums.three[i, j, k] += best - pairs + own.one[i] + own.one[j] + own.one[k] - base


@inner
def largest_sum(sums, changes):
    """The most that a set of axes adds."""
    n, most = sums.one.shape[0], 0.0
    for i in range(n):
        most = max(most, sums.one[i])
        if changes < 2:
            continue
        for j in range(i + 1, n):
            pair = sums.one[i] + sums.one[j] + sums.two[i, j]
            most = max(most, pair)
            if changes < 3:
                continue
            for k in range(j + 1, n):
                with_k = sums.one[k] + sums.two[i, k] + sums.two[j, k] + sums.three[i, j, k]
                most = max(most, pair + with_k)
    return most


@making_kernel
def most_with_few(boxes, value, changes):
    """The most that values of boxes, one of each tree, add up to with few axes changed.

    boxes: all leaves of the trees that a person can come to. value float64 (boxes,). inf where
    there are too many changes or axes to say.
    """
    n_axes, n_active = boxes.n_cells.shape[0], 0
    active = np.empty(n_axes, np.int64)
    for a in range(n_axes):
        if boxes.n_cells[a] > 1:
            active[n_active] = a
            n_active += 1
    active = active[:n_active]
    if not 0 < changes <= MOST_CHANGES or n_active > MOST_AXES:
        return np.inf
    sums, own = new_sets(n_active, changes, 0.0), new_sets(n_active, changes, -np.inf)
    away, axes, seen = np.empty(changes, np.int64), np.empty(n_active, np.int64), active - active
    total, begin, n_boxes = 0.0, 0, boxes.tree.shape[0]
    while begin < n_boxes:
        base, end = -np.inf, begin
        while end < n_boxes and boxes.tree[end] == boxes.tree[begin]:
            n = axes_away(boxes, active, end, away)
            if n == 0:
                base = max(base, value[end])
            elif n == 1:
                own.one[away[0]] = max(own.one[away[0]], value[end])
            elif n == 2 <= changes:
                own.two[away[0], away[1]] = max(own.two[away[0], away[1]], value[end])
            elif n == 3 <= changes:
                there = own.three[away[0], away[1]]
                there[away[2]] = max(there[away[2]], value[end])
            for k in range(n if n <= changes else 0):
                seen[away[k]] = 1
            end += 1
        n = 0
        for i in range(n_active):
            if seen[i]:
                axes[n] = i
                n += 1
                seen[i] = 0
        add_tree_gains(own, base, axes, n, changes, sums)
        reset_gains(own, axes, n, changes)
        total += base
        begin = end
    return total + largest_sum(sums, changes)
