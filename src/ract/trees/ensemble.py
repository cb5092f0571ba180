"""Trees as flat arrays: the meeting point of learners, searches, metrics and exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ract._kernels.predict import BLOCK, add_totals, find_leaves
from ract._utils.errors import InvalidSpec
from ract._utils.memo import Memo
from ract.data.grid import Grid
from ract.trees.grower import CellTree

if TYPE_CHECKING:  # imported where they are used: few predictions need them
    from scipy.sparse import csr_array

Combine = Literal["votes", "mean", "sum"]

# A thread is not worth starting for fewer people than this.
FEWEST_PER_THREAD = 512
# Searches that are kept prepared: the model's own, and those of a few other rules or costs.
PREPARED = 4


@dataclass(frozen=True)
class TreeEnsemble:
    """One tree, a forest or a boosted model over encoded columns.

    A person goes left where ``x[feature] <= threshold``, and where x is missing (NaN) and
    ``missing_left`` says so. Nodes of all trees stand in one array, every child after its parent.

    Parameters
    ----------
    feature : int32 (nodes,)
        Encoded column of a split; -1 for a leaf.
    threshold : float64 (nodes,)
        Infinite where only people without a value go right.
    left, right : int32 (nodes,)
        -1 for a leaf.
    label : uint8 (nodes,)
        Whether a leaf votes for the desired class.
    value : float64 (nodes,)
        A leaf's share of desired people, or its score.
    root : int32 (trees,)
    combine : {"votes", "mean", "sum"}
        What the decision counts: labels, or values.
    cutoff : float
        The desired class needs at least this many votes, or this score.
    base : float
        What a sum of values starts from.
    single : bool
        Whether sums are rounded to single precision after every tree, as XGBoost does.
    against : float64 (nodes,), optional
        Values of the other class, where a library compares the scores of both (scikit-learn's
        forests): rounding can keep them from adding up to one. The cutoff then says what
        ``value`` needs up to rounding, and whether a tie is enough (one half) or not (above). Of
        one class among several it says the same of ``value`` less ``against`` (zero, or above).
    missing_left : uint8 (nodes,), optional
        Whether people without a value go left at a split; nowhere by default.

    Examples
    --------
    >>> TreeEnsemble.stump(column=0, threshold=0.5).decide(np.array([[0.0], [1.0]]))
    array([False,  True])
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    label: np.ndarray
    value: np.ndarray
    root: np.ndarray
    combine: Combine
    cutoff: float
    base: float = 0.0
    single: bool = False
    against: np.ndarray | None = None
    missing_left: np.ndarray | None = None

    @classmethod
    def stump(cls, column: int, threshold: float, combine: Combine = "votes") -> TreeEnsemble:
        """One split: people above the threshold get the desired class."""
        return cls(
            feature=np.array([column, -1, -1], np.int32), threshold=np.array([threshold, 0.0, 0.0]),
            left=np.array([1, -1, -1], np.int32), right=np.array([2, -1, -1], np.int32),
            label=np.array([0, 0, 1], np.uint8), value=np.array([0.0, 0.0, 1.0]),
            root=np.zeros(1, np.int32), combine=combine, cutoff=1,
        )  # fmt: skip

    @classmethod
    def from_cell_trees(
        cls, trees: Sequence[CellTree], grid: Grid, votes_needed: int
    ) -> TreeEnsemble:
        """Trees that were grown on a grid, deciding by votes."""
        axis = np.concatenate([tree.axis for tree in trees])
        cell = np.concatenate([tree.cell for tree in trees])
        feature, threshold = _columns_and_thresholds(axis, cell, grid)
        root = np.concatenate([[0], np.cumsum([len(tree.axis) for tree in trees])[:-1]])
        return cls(
            feature,
            threshold,
            left=_shifted([tree.left for tree in trees], root),
            right=_shifted([tree.right for tree in trees], root),
            label=np.concatenate([tree.label for tree in trees]),
            value=np.concatenate([tree.share for tree in trees]),
            root=root.astype(np.int32),
            combine="votes",
            cutoff=votes_needed,
            missing_left=np.concatenate([tree.missing_left for tree in trees]).astype(np.uint8),
        )

    @classmethod
    def joined(cls, parts: Sequence[TreeEnsemble], votes_needed: int) -> TreeEnsemble:
        """The trees of several ensembles in one, deciding by votes."""
        if len(parts) == 1:
            return replace(parts[0], combine="votes", cutoff=votes_needed)
        sizes = [len(part.feature) for part in parts]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return cls(
            feature=np.concatenate([part.feature for part in parts]),
            threshold=np.concatenate([part.threshold for part in parts]),
            left=_shifted([part.left for part in parts], first),
            right=_shifted([part.right for part in parts], first),
            label=np.concatenate([part.label for part in parts]),
            value=np.concatenate([part.value for part in parts]),
            root=_shifted([part.root for part in parts], first),
            combine="votes",
            cutoff=votes_needed,
            missing_left=_missing_left_of(parts),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def memo(self) -> Memo:
        """What searches have prepared for these trees, whatever they must win.

        Copies and files go without it.
        """
        return Memo(PREPARED)

    @property
    def key(self) -> tuple[int, ...]:
        """What tells these trees from others, whatever they must win, while they are kept."""
        return tuple(map(id, (self.root, self.threshold, self.label, self.value, self.against)))

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.root)

    @cached_property
    def leaves(self) -> np.ndarray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of every node; -1 for a root."""
        parent = np.full(len(self.feature), -1, np.int32)
        inside = np.flatnonzero(self.feature >= 0)
        parent[self.left[inside]] = inside
        parent[self.right[inside]] = inside
        return parent

    @cached_property
    def depth(self) -> np.ndarray:
        """Depth of every node below its root."""
        depth = np.zeros(len(self.feature), np.int64)
        for node in np.flatnonzero(self.feature >= 0):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @cached_property
    def _steps(self) -> np.ndarray:
        """Left, right and column of each node side by side; a leaf leads to itself."""
        steps = np.stack([self.left, self.right, self.feature], axis=1, dtype=np.int32)
        steps[self.leaves, :2] = self.leaves[:, None]
        steps[self.leaves, 2] = 0
        return steps

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Leaf of each person in each tree (people x trees)."""
        out = np.empty((len(X), self.n_trees), np.int32)
        X = np.ascontiguousarray(X, dtype=np.float64)
        at = np.empty(min(len(X), BLOCK), np.int32)
        find_leaves(X, self.threshold, self._steps, self._sent_left(X), self.root, at, out)
        return out

    def _sent_left(self, X: np.ndarray) -> np.ndarray | None:
        """``missing_left``, or None where it makes no difference."""
        return self.missing_left if np.isnan(X.min(initial=np.inf)) else None

    def totals(
        self, X: np.ndarray, *, trees: slice = slice(None), n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Votes for the desired class, and sum of values from the base on, of each person.

        Parameters
        ----------
        X : float matrix (people x encoded columns)
        trees : slice
            Which trees to ask; all of them by default.
        n_jobs : int, optional
            Threads that share the people, as in joblib.

        Returns
        -------
        votes : int64 (people,)
        sums : float64 (people,), or float32 if sums are single
        """
        X = np.ascontiguousarray(X, dtype=np.float64)
        n_parts = 1
        if len(X) >= 2 * FEWEST_PER_THREAD:
            from joblib import Parallel, delayed, effective_n_jobs

            n_parts = max(1, min(effective_n_jobs(n_jobs), len(X) // FEWEST_PER_THREAD))
        if n_parts == 1:
            return self._totals(X, self.root[trees])
        ends = np.linspace(0, len(X), n_parts + 1).astype(np.int64)
        parts = Parallel(n_jobs=n_parts, prefer="threads")(
            delayed(self._totals)(X[first:last], self.root[trees]) for first, last in pairwise(ends)
        )
        votes, sums = zip(*parts, strict=True)
        return np.concatenate(votes), np.concatenate(sums)

    def _totals(self, X: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        votes = np.zeros(len(X), np.int64)
        sums = np.full(len(X), self.base, np.float32 if self.single else np.float64)
        add_totals(
            X, self.threshold, self._steps, self._sent_left(X), self.label, self.value, root,
            np.empty(min(len(X), BLOCK), np.int32), votes, sums,
        )  # fmt: skip
        return votes, sums

    def score(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Votes, mean or sum of values, whichever the decision counts."""
        votes, sums = self.totals(X, n_jobs=n_jobs)
        if self.combine == "votes":
            return votes
        sums = sums.astype(np.float64)  # singles are compared as doubles
        return sums / self.n_trees if self.combine == "mean" else sums

    def decide(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Whether each person gets the desired class."""
        score = self.score(X, n_jobs=n_jobs)
        if self._other is None:
            return score >= self.cutoff
        other = self._other.score(X, n_jobs=n_jobs)
        return score >= other if self.tie_wins else score > other

    @property
    def tie_wins(self) -> bool:
        """Whether equal scores of both classes are enough, where these are compared."""
        return self.cutoff in (0.0, 0.5)

    @property
    def among_several(self) -> bool:
        """Whether the scores are those of two classes among several."""
        return self.against is not None and self.cutoff < 0.5

    def ahead(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Score minus cutoff: above 0 for the desired class, and never 0.

        Votes are shares of all, half a vote ahead where they are just enough; where scores of both
        classes are compared, it is the difference of the two.
        """
        score = self.score(X, n_jobs=n_jobs).astype(np.float64)
        if self.combine == "votes":
            return (score - self.cutoff + 0.5) / self.n_trees
        decided, ahead = score >= self.cutoff, score - self.cutoff
        if self._other is not None:
            other = self._other.score(X, n_jobs=n_jobs)
            decided = score >= other if self.tie_wins else score > other
            ahead = score - other
        least = np.nextafter(0.0, 1.0)
        return np.where(decided, np.maximum(ahead, least), np.minimum(ahead, -least))

    @cached_property
    def _other(self) -> TreeEnsemble | None:
        """The same trees with the values of the other class."""
        return None if self.against is None else replace(self, value=self.against, against=None)

    def strength(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """How clearly each person wins the desired class, between 0 and 1.

        The share of votes; of a single voting tree, the leaf's share of desired people; the mean
        of shares (or 1 less that of the other class, where leaves hold those, negated); or the
        sigmoid of other scores, of which a class among several has the difference.
        """
        if self.among_several and self.combine == "sum":
            return sigmoid(self.ahead(X, n_jobs=n_jobs))
        votes, sums = self.totals(X, n_jobs=n_jobs)
        if self.combine == "votes":
            return sums - self.base if self.n_trees == 1 else votes / self.n_trees
        score = sums.astype(np.float64) / (self.n_trees if self.combine == "mean" else 1)
        start = self.share_at_zero
        return sigmoid(score) if start is None else start + score

    @cached_property
    def share_at_zero(self) -> int | None:
        """The share that a score of 0 stands for; None where scores are no means of shares."""
        low, high = (float(end(self.value[self.leaves])) for end in (np.min, np.max))
        if self.combine != "mean" or low < -1 or high > 1 or low < 0 < high:
            return None
        return 1 if low < 0 else 0

    @cached_property
    def graded(self) -> TreeEnsemble:
        """Trees that decide the same by a score which grows with the strength.

        Those at hand, unless they are a single voting tree, whose vote says nothing of the share
        in its leaf: then that share, and less than any share where the leaf is refused.

        >>> leaf = np.full(1, -1, np.int32)
        >>> tree = TreeEnsemble(
        ...     feature=leaf, threshold=np.zeros(1), left=leaf, right=leaf, value=np.array([0.7]),
        ...     label=np.ones(1, np.uint8), root=np.zeros(1, np.int32), combine="votes", cutoff=1)
        >>> tree.score(np.zeros((1, 1))).item(), tree.graded.score(np.zeros((1, 1))).item()
        (1, 0.7)
        """
        wins = self.label[self.leaves] >= self.cutoff
        if self.combine != "votes" or self.n_trees > 1 or not wins.any():
            return self
        share, value = self.value[self.leaves], self.value.copy()
        value[self.leaves] = np.where(wins, share, share.min() - 1)
        cutoff = float(share[wins].min())
        return replace(self, value=value, combine="mean", cutoff=cutoff, base=0.0, single=False)

    def at_threshold(self, threshold: float) -> TreeEnsemble:
        """The same trees, which decide for the desired class from a share or probability on.

        Of a single tree that of a leaf; of several the mean share of their leaves, whether they
        have voted before or not; of trees that add up to log-odds, the probability.

        >>> leaf = np.full(2, -1, np.int32)
        >>> forest = TreeEnsemble(
        ...     feature=leaf, threshold=np.zeros(2), left=leaf, right=leaf,
        ...     value=np.array([0.2, 0.6]), label=np.array([0, 1], np.uint8),
        ...     root=np.arange(2, dtype=np.int32), combine="votes", cutoff=2)
        >>> [forest.at_threshold(share).decide(np.zeros((1, 1))).item() for share in (0.4, 0.41)]
        [True, False]
        """
        if self.among_several:
            raise InvalidSpec("A model of several classes takes its threshold when it is read.")
        if self.combine == "sum":
            return replace(self, cutoff=logit(threshold))
        label = (self.value >= threshold).astype(np.uint8)
        if self.combine == "votes" and self.n_trees == 1:
            return replace(self, label=label)
        start = self.share_at_zero or 0
        return replace(self, label=label, combine="mean", cutoff=threshold - start, against=None)

    def strength_above(self, share: float) -> float:
        """The strength at a share of the way from what the decision needs to certainty.

        >>> forest = TreeEnsemble(
        ...     feature=np.full(4, -1, np.int32), threshold=np.zeros(4),
        ...     left=np.full(4, -1, np.int32), right=np.full(4, -1, np.int32),
        ...     label=np.array([0, 1, 1, 1], np.uint8), value=np.zeros(4),
        ...     root=np.arange(4, dtype=np.int32), combine="votes", cutoff=3)
        >>> forest.strength_above(0.4)
        0.85
        """
        start, needed = self.share_at_zero, float(self.cutoff)
        if self.combine == "votes":
            needed = 0.5 if self.n_trees == 1 else needed / self.n_trees
        else:
            needed = float(sigmoid(needed)) if start is None else start + needed
        return needed + share * (1 - needed)

    def stronger(self, strength: float) -> TreeEnsemble:
        """The same trees, which decide for the desired class only at a strength of at least this.

        Whoever they refuse is refused here too, so that a strength below the decision's own
        changes nothing.

        >>> forest = TreeEnsemble(
        ...     feature=np.full(4, -1, np.int32), threshold=np.zeros(4),
        ...     left=np.full(4, -1, np.int32), right=np.full(4, -1, np.int32),
        ...     label=np.array([0, 1, 1, 1], np.uint8), value=np.zeros(4),
        ...     root=np.arange(4, dtype=np.int32), combine="votes", cutoff=3)
        >>> [forest.stronger(share).cutoff for share in (0.5, 0.75, 0.8)]
        [3, 3, 4]
        """
        start = self.share_at_zero
        if self.among_several:
            raise InvalidSpec(
                "Plans for one class among several have no strength to ask for; of a forest, give "
                "a threshold: the share that the class must have."
            )
        if self.combine != "votes" and start is None and strength == 1:
            raise InvalidSpec("No sum of scores has a strength of 1; ask for less.")
        if self.combine == "votes" and self.n_trees == 1:
            changes: dict[str, Any] = {"label": self.label & (self.value >= strength)}
        elif self.combine == "votes":
            votes = int(votes_of(strength, self.n_trees))
            changes = {"cutoff": max(self.cutoff, votes)}
        else:
            score = logit(strength) if start is None else strength - start
            # Where both classes are compared, a mean above one half has won.
            changes = {"cutoff": score, "against": None} if score > self.cutoff else {}
        stronger = replace(self, **changes)
        vars(stronger)["memo"] = self.memo  # searches in the same trees
        return stronger

    def decision_path(self, X: np.ndarray) -> csr_array:
        """Nodes that each person passes, as a sparse matrix (people x nodes)."""
        from scipy.sparse import csr_array

        parent = self.parent
        node = self.apply(X).astype(np.int64)
        person = np.broadcast_to(np.arange(len(X))[:, None], node.shape)
        rows, columns = [], []
        on_path = node >= 0
        while on_path.any():
            rows.append(person[on_path])
            columns.append(node[on_path])
            node = np.where(on_path, parent[np.maximum(node, 0)], -1)
            on_path = node >= 0
        row, column = np.concatenate(rows), np.concatenate(columns)
        ones = np.ones(len(row), np.int8)
        return csr_array((ones, (row, column)), shape=(len(X), len(self.feature)))

    def split_counts(self, n_columns: int) -> np.ndarray:
        """How often each encoded column is split on."""
        return np.bincount(self.feature[self.feature >= 0], minlength=n_columns)

    def on_grid(self, grid: Grid) -> list[CellTree]:
        """The trees in the cells of a grid that has all their thresholds."""
        position = {
            column: (a, k)
            for a, axis in enumerate(grid.axes)
            for k, column in enumerate(axis.columns)
        }
        axis = np.full(len(self.feature), -1, np.int32)
        cell = np.zeros(len(self.feature), np.int32)
        for column in np.unique(self.feature[self.feature >= 0]):
            a, k = position[int(column)]
            here = np.flatnonzero(self.feature == column)
            axis[here] = a
            categorical = grid.axes[a].is_categorical
            cell[here] = k if categorical else grid.cells_of_splits(a, self.threshold[here])
        nothing, missing_left = np.zeros((0, 3)), _missing_left_of([self])
        sent_left = np.zeros(len(axis), bool) if missing_left is None else missing_left == 1
        trees = []
        ends = np.append(self.root[1:], len(self.feature))
        for first, last in zip(self.root, ends, strict=True):
            part = slice(first, last)
            left, right = (
                np.where(c[part] < 0, -1, c[part] - first) for c in (self.left, self.right)
            )
            trees.append(
                CellTree(
                    axis[part],
                    cell[part],
                    left.astype(np.int32),
                    right.astype(np.int32),
                    self.label[part],
                    nothing,
                    self.value[part],
                    np.zeros(0, np.bool_),
                    sent_left[part],
                )
            )
        return trees


def _columns_and_thresholds(
    axis: np.ndarray, cell: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray]:
    """Encoded column and threshold of nodes; the cuts of all axes stand end to end."""
    columns, cuts = [], []
    for a, thresholds in zip(grid.axes, grid.thresholds, strict=True):
        own = np.full(len(a.columns), 0.5) if a.is_categorical else thresholds
        if a.has_missing and not a.is_categorical:
            own = np.append(own, np.inf)  # known against missing
        cuts.append(own)
        columns.append(np.resize(np.array(a.columns, np.int32), len(own)))
    first = np.cumsum([0, *map(len, cuts)])
    inside = np.flatnonzero(axis >= 0)
    which = first[axis[inside]] + cell[inside]
    feature, threshold = np.full(len(axis), -1, np.int32), np.zeros(len(axis))
    feature[inside] = np.concatenate(columns)[which]
    threshold[inside] = np.concatenate(cuts)[which]
    return feature, threshold


def sigmoid(score: Any) -> np.ndarray:
    """The probability whose log-odds are a score."""
    from scipy.special import expit

    return np.asarray(expit(score))


def logit(share: float) -> float:
    """The least score whose sigmoid is at least a share."""
    if share in (0, 1):
        return np.inf if share else -np.inf
    score = float(np.log(share / (1 - share)))
    while sigmoid(score) < share:
        score = float(np.nextafter(score, np.inf))
    return score


def _missing_left_of(parts: Sequence[TreeEnsemble]) -> np.ndarray | None:
    """Where people without a value go left in several ensembles end to end; None for nowhere."""
    if all(part.missing_left is None for part in parts):
        return None
    said = [
        np.zeros(len(part.feature), np.uint8) if part.missing_left is None else part.missing_left
        for part in parts
    ]
    return np.concatenate(said)


def _shifted(nodes: Sequence[np.ndarray], first: np.ndarray) -> np.ndarray:
    """Node numbers of several ensembles end to end, of which each starts at a node."""
    shifted = [np.where(n < 0, -1, n + f) for n, f in zip(nodes, first, strict=True)]
    return np.concatenate(shifted).astype(np.int32)


def votes_of(share: float, n_trees: Any) -> Any:
    """How many votes a share of some trees is, rounded up."""
    return np.ceil(share * n_trees * (1 - 1e-12)).astype(np.int64)
