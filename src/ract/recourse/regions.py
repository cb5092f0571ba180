"""Regions around a point in which the trees say the same as at the point.

A box holds ``lower < x <= upper`` in every encoded column. The column of a category is split at
one half, so a lower bound above zero demands the category and an upper bound below one rules it
out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ract.ensemble import TreeEnsemble

POINTS_AT_ONCE = 64


def tree_boxes(ensemble: TreeEnsemble, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Box of the leaf that each tree puts each point in.

    Parameters
    ----------
    ensemble : TreeEnsemble
    points : float (points, columns)

    Returns
    -------
    lower, upper : float (points, trees, columns)

    Examples
    --------
    >>> stump = TreeEnsemble(
    ...     feature=np.array([0, -1, -1], np.int32), threshold=np.array([0.5, 0.0, 0.0]),
    ...     left=np.array([1, -1, -1], np.int32), right=np.array([2, -1, -1], np.int32),
    ...     label=np.array([0, 0, 1], np.uint8), value=np.array([0.4, 0.2, 0.9]),
    ...     root=np.zeros(1, np.int32), combine="votes", cutoff=1)
    >>> tree_boxes(stump, np.array([[0.7]]))
    (array([[[0.5]]]), array([[[inf]]]))
    """
    n_points, n_columns = points.shape
    shape = (n_points, ensemble.n_trees, n_columns)
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    node = np.tile(ensemble.root, (n_points, 1))
    point, tree = np.nonzero(ensemble.feature[node] >= 0)
    while len(point):  # one level down for every pair of a point and a tree that is not there yet
        here = node[point, tree]
        column, threshold = ensemble.feature[here], ensemble.threshold[here]
        left = points[point, column] <= threshold
        side = point[left], tree[left], column[left]
        upper[side] = np.minimum(upper[side], threshold[left])
        side = point[~left], tree[~left], column[~left]
        lower[side] = np.maximum(lower[side], threshold[~left])
        node[point, tree] = below = np.where(left, ensemble.left[here], ensemble.right[here])
        inside = ensemble.feature[below] >= 0
        point, tree = point[inside], tree[inside]
    return lower, upper


def live_regions(ensemble: TreeEnsemble, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Box around each point in which the whole ensemble says the same as at the point.

    For points that get the desired class by votes, only the trees that vote for it count, so
    that the box is larger: the other trees may say what they like.

    Parameters
    ----------
    ensemble : TreeEnsemble
    points : float (points, columns)
        With the desired class.

    Returns
    -------
    lower, upper : float (points, columns)
    """
    lowest, highest = [np.empty((0, points.shape[1]))], [np.empty((0, points.shape[1]))]
    for part in _parts(points):
        lower, upper = tree_boxes(ensemble, part)
        if ensemble.combine == "votes":
            against = ensemble.label[ensemble.apply(part)] == 0
            lower[against], upper[against] = -np.inf, np.inf
        lowest.append(lower.max(axis=1))
        highest.append(upper.min(axis=1))
    return np.concatenate(lowest), np.concatenate(highest)


def admitted_categories(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Which categories lie in boxes (boxes x categories), given in the columns of one feature.

    >>> admitted_categories(np.array([[-np.inf, -np.inf]]), np.array([[np.inf, 0.5]]))
    array([[ True, False]])
    """
    zero, one = (lower < 0) & (upper >= 0), (lower < 1) & (upper >= 1)
    missing = (~zero).sum(axis=1, keepdims=True) - ~zero  # other columns that must not be 0
    return one & (missing == 0)


def _parts(points: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, len(points), POINTS_AT_ONCE):
        yield points[first : first + POINTS_AT_ONCE]
