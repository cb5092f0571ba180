"""Regions around a point in which the trees say the same as at the point.

A box holds ``lower < x <= upper`` in every encoded column. The column of a category is split at
one half, so a lower bound above zero demands the category and an upper bound below one rules it
out.
"""

from __future__ import annotations

import numpy as np

from ract.trees.ensemble import TreeEnsemble

MOST_ANCHORS = 500
MOST_NUMBERS = 4_000_000


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
    >>> tree_boxes(TreeEnsemble.stump(column=0, threshold=0.5), np.array([[0.7]]))
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


def admitted_categories(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Which categories lie in boxes (boxes x categories), given in the columns of one feature.

    >>> admitted_categories(np.array([[-np.inf, -np.inf]]), np.array([[np.inf, 0.5]]))
    array([[ True, False]])
    """
    zero, one = (lower < 0) & (upper >= 0), (lower < 1) & (upper >= 1)
    missing = (~zero).sum(axis=1, keepdims=True) - ~zero  # other columns that must not be 0
    return one & (missing == 0)


class Anchors:
    """Points with the desired class and regions around them in which they keep it.

    The region of a point is where enough trees say what they say at the point. Which trees these
    are is open: each tree that is left out may do its worst, and the score has to stand that. So
    everyone gets a region that suits them, without the trees that would cost them most.

    Parameters
    ----------
    ensemble : TreeEnsemble
    points : float (points, columns)

    Attributes
    ----------
    points : float (points, columns)
    lower, upper : float (points, trees, columns)
        Boxes of the trees' leaves.
    loss : float (points, trees)
        What the score loses if a tree does its worst.
    slack : float (points,)
        What the score can lose.
    """

    def __init__(self, ensemble: TreeEnsemble, points: np.ndarray) -> None:
        self.points = points
        self.lower, self.upper = tree_boxes(ensemble, points)
        says = ensemble.label.astype(np.float64) if ensemble.combine == "votes" else ensemble.value
        worst = np.minimum.reduceat(np.where(ensemble.feature < 0, says, np.inf), ensemble.root)
        said = says[ensemble.apply(points)]
        self.loss = said - worst
        needed = ensemble.cutoff * (ensemble.n_trees if ensemble.combine == "mean" else 1)
        self.slack = said.sum(axis=1) - needed

    @classmethod
    def among(cls, ensemble: TreeEnsemble, people: np.ndarray) -> Anchors:
        """Some of the people with the desired class, evenly spread over their order."""
        people = people[ensemble.decide(people)]
        each = ensemble.n_trees * people.shape[1]
        most = max(1, min(MOST_ANCHORS, MOST_NUMBERS // each))
        return cls(ensemble, people[:: max(1, -(-len(people) // most))])

    def meeting(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The points whose region may meet a box [low, high] of columns."""
        meets = ((self.lower < high) & (self.upper >= low)).all(axis=2)
        return np.flatnonzero((self.loss * ~meets).sum(axis=1) <= self.slack)

    def region(self, point: int, price: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A region of a point, without the trees of the highest price as far as it can be."""
        loss = self.loss[point]
        order = np.argsort(-price, kind="stable")
        kept = order[(np.cumsum(loss[order]) > self.slack[point]) & (loss[order] > 0)]
        lower, upper = self.lower[point, kept], self.upper[point, kept]
        return lower.max(axis=0, initial=-np.inf), upper.min(axis=0, initial=np.inf)


def inside(points: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Whether each point lies in the box of the same row."""
    return np.all((points > lower) & (points <= upper), axis=1)
