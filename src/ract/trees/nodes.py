"""Node numbers of trees in flat arrays, in which every child comes after its parent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def node_parents(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Parent of every node; -1 for a root (int32)."""
    parent = np.full(len(left), -1, np.int32)
    inside = np.flatnonzero(left >= 0)
    parent[left[inside]] = inside
    parent[right[inside]] = inside
    return parent


def node_depths(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Depth of every node below its root (int64)."""
    depth = np.zeros(len(left), np.int64)
    for node in np.flatnonzero(left >= 0):
        depth[left[node]] = depth[right[node]] = depth[node] + 1
    return depth


def shifted_nodes(nodes: Sequence[np.ndarray], by: Sequence[int] | np.ndarray) -> np.ndarray:
    """Node numbers of several trees end to end, those of each moved on by a number (int32).

    >>> shifted_nodes([np.array([1, -1]), np.array([1, -1])], by=[0, 2])
    array([ 1, -1,  3, -1], dtype=int32)
    """
    shifted = [np.where(n < 0, -1, n + k) for n, k in zip(nodes, by, strict=True)]
    return np.concatenate(shifted).astype(np.int32)
