"""Monotonic constraints: more of a feature never turns a yes into a no.

A feature with direction 1 may only help a person: raising it, all else equal, never takes the
desired label away and never lowers the share of desired people that their leaf shows. Direction
-1 is the other way round. Both hold for every tree, and so for votes and mean shares of a forest.

Why it is true. Let two people differ in one such feature only. If they end in different leaves,
their paths part at a split on that feature, one person on its low side (left for direction 1),
the other on its high side (right). So it is enough that at every such split

    no label below the low side is better than any label below the high side,       (labels)
    no share below the low side is larger than any share below the high side.       (shares)

People without a value are on either side of a threshold, and what holds for a side holds for them.
A split that parts them from everybody else compares no two values, and so has no direction.

Labels. There are two of them, so (labels) says: all of the low side is undesired, or all of the
high side is desired. One side freezes for good when the split is made, the other stays free. The
middle of both sides' shares decides which, as it would if labels followed the shares:

    middle            low side             high side
    below one half    frozen: undesired    free
    otherwise         free                 frozen: desired

A split's pair of labels is the one with the least objective among those that agree with this.
Everything below a frozen side keeps its label and is split further for its shares alone. Where
the floor of desired leaves lets neither side be desired, the low side freezes; a split below a
side that is frozen to desired is refused if it leaves a side below the floor.

Shares. A split on such a feature is refused if the shares of its sides go the wrong way. Beyond
that the grown tree is not touched; its shares are then clipped from the root down. Every node has
bounds; at such a split the middle of both sides' shares becomes an upper bound below the low side
and a lower bound below the high side. Bounds only tighten on the way down, hence (shares).
"""

from __future__ import annotations

import numpy as np


def ordered_shares(
    left: np.ndarray,
    right: np.ndarray,
    share: np.ndarray,
    direction: np.ndarray,
) -> np.ndarray:
    """Shares of a tree's nodes, clipped so that they are monotone.

    Parameters
    ----------
    left, right : int (nodes,)
        Children; -1 for a leaf.
    share : float64 (nodes,)
        Share of desired people in each node.
    direction : int (nodes,)
        -1, 0 or 1: of the axis that a node splits on.

    Examples
    --------
    A split on a feature that may only help; below its left side another feature parts people
    whose share is too high.

    >>> left, right = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])
    >>> share = np.array([0.5, 0.4, 0.6, 0.1, 0.9])
    >>> ordered_shares(left, right, share, direction=np.array([1, 0, 0, 0, 0]))
    array([0.5, 0.4, 0.6, 0.1, 0.5])
    """
    lower, upper = np.zeros(len(share)), np.ones(len(share))
    inside = np.flatnonzero(left[:1] >= 0)
    while len(inside):
        children = np.stack([left[inside], right[inside]])
        lower[children], upper[children] = lower[inside], upper[inside]
        middle = np.clip(share[children], lower[inside], upper[inside]).mean(axis=0)
        low, high = np.where(direction[inside] == 1, children, children[::-1])
        bounded = direction[inside] != 0
        upper[low[bounded]] = lower[high[bounded]] = middle[bounded]
        inside = children[left[children] >= 0]
    return np.clip(share, lower, upper)
