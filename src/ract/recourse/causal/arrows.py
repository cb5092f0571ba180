"""Order and cycles of a graph, given as a matrix: ``arrow[i, j]`` is an arrow from j to i."""

from __future__ import annotations

import numpy as np


def sorted_by_cause(arrow: np.ndarray) -> list[int]:
    """Features in causal order; those on or behind a cycle are left out."""
    order: list[int] = []
    open_ = arrow.sum(axis=1)
    ready = [int(k) for k in np.flatnonzero(open_ == 0)]
    while ready:
        j = ready.pop(0)
        order.append(j)
        for i in np.flatnonzero(arrow[:, j]):
            open_[i] -= 1
            if open_[i] == 0:
                ready.append(int(i))
    return order


def find_cycle(arrow: np.ndarray) -> list[int]:
    """Features along a cycle, from cause to effect; empty if there is none."""
    stuck = sorted(set(range(len(arrow))) - set(sorted_by_cause(arrow)))
    if not stuck:
        return []
    # Each of them has a cause among them: walk from effect to cause until one comes again.
    walk = [stuck[0]]
    while True:
        cause = next(j for j in stuck if arrow[walk[-1], j])
        if cause in walk:
            return walk[walk.index(cause) :][::-1]
        walk.append(cause)
