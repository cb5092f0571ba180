"""Trees as flat arrays: the meeting point of learners, searches, metrics and exports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import pairwise, starmap
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ract._kernels.predict import BLOCK, add_totals, find_leaves
from ract._utils.errors import InvalidSpec
from ract._utils.memo import Memo
from ract._utils.progress import in_threads
from ract.trees.log_odds import least_score, logit, sigmoid
from ract.trees.nodes import node_depths, node_parents, shifted_nodes

if TYPE_CHECKING:  # imported where they are used: few predictions need them
    from scipy.sparse import csr_array

Combine = Literal["votes", "mean", "sum"]

# A thread is not worth starting for fewer people than this.
FEWEST_PER_THREAD = 512
# Searches that are kept prepared: the model's own, and those of a few other rules or costs.
PREPARED = 4
# The least number above zero.
LEAST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class TreeEnsemble:
    """One tree, a forest or a boosted model over encoded columns.

    A person goes left where ``x[feature] <= threshold``, and where x is missing (NaN) and
    ``missing_left`` says so. Nodes of all trees are in one array, every child after its parent.

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
        What decides: votes of labels, or the mean or the sum of values.
    cutoff : float
        The desired class needs at least this many votes, or this score.
    base : float
        What a sum of values starts from.
    single : bool
        Whether sums are rounded to single precision after every tree, as XGBoost does.
    against : float64 (nodes,), optional
        Values of the other class, if the library compares the scores of both (scikit-learn's
        forests), which may not add up to one because of rounding. The cutoff is then what ``value``
        needs up to rounding: one half if a tie is enough, and above one half if not. For one class
        among several it is what ``value`` needs beyond ``against``: zero, the least number above
        it, or more.
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
            feature=np.array([column, -1, -1], np.int32),
            threshold=np.array([threshold, 0.0, 0.0]),
            left=np.array([1, -1, -1], np.int32),
            right=np.array([2, -1, -1], np.int32),
            label=np.array([0, 0, 1], np.uint8),
            value=np.array([0.0, 0.0, 1.0]),
            root=np.zeros(1, np.int32),
            combine=combine,
            cutoff=1,
        )

    @classmethod
    def joined(cls, parts: Sequence[TreeEnsemble], votes_needed: int) -> TreeEnsemble:
        """The trees of several ensembles in one, deciding by votes."""
        if len(parts) == 1:
            return replace(parts[0], combine="votes", cutoff=votes_needed)
        first = np.cumsum([0, *(len(part.feature) for part in parts)])[:-1]
        missing_left = None
        if any(part.missing_left is not None for part in parts):
            missing_left = np.concatenate([part.sends_left for part in parts]).astype(np.uint8)
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("feature", "threshold", "label", "value")
        }
        for name in ("left", "right", "root"):
            arrays[name] = shifted_nodes([getattr(part, name) for part in parts], first)
        return cls(**arrays, combine="votes", cutoff=votes_needed, missing_left=missing_left)

    def take_trees(self, trees: Iterable[int]) -> TreeEnsemble:
        """Select trees, in the given order; the decision rule stays the same.

        >>> pair = TreeEnsemble.joined([TreeEnsemble.stump(k, 0.5) for k in (0, 1)], 1)
        >>> pair.take_trees([1]).feature.tolist(), pair.take_trees([1]).left.tolist()
        ([1, -1, -1], [1, -1, -1])
        """
        parts = [self.slices[t] for t in trees]
        root = np.cumsum([0, *(part.stop - part.start for part in parts)])[:-1]
        moved = root - [part.start for part in parts]
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(self, name)[part] for part in parts])
            for name in ("feature", "threshold", "label", "value", "against", "missing_left")
            if getattr(self, name) is not None
        }
        for side in ("left", "right"):
            arrays[side] = shifted_nodes([getattr(self, side)[part] for part in parts], moved)
        return replace(self, **arrays, root=root.astype(np.int32))

    @property
    def slices(self) -> list[slice]:
        """The nodes of each tree."""
        return list(starmap(slice, pairwise([*self.root.tolist(), len(self.feature)])))

    @property
    def sends_left(self) -> np.ndarray:
        """Whether people without a value go left at each node (boolean)."""
        if self.missing_left is None:
            return np.zeros(len(self.feature), np.bool_)
        return self.missing_left == 1

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def memo(self) -> Memo:
        """What searches have prepared for these trees, for any strength.

        Copies and files go without it.
        """
        return Memo(PREPARED)

    @property
    def key(self) -> tuple[int, ...]:
        """Key that identifies these trees in memory, whatever strength is required."""
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
        return node_parents(self.left, self.right)

    @cached_property
    def depth(self) -> np.ndarray:
        """Depth of every node below its root."""
        return node_depths(self.left, self.right)

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
        """For each person: votes for the desired class, and the base plus the sum of leaf values.

        Parameters
        ----------
        X : float matrix (people x encoded columns)
        trees : slice
            Which trees to evaluate; all by default.
        n_jobs : int, optional
            Number of threads, as in joblib, among which people are divided.

        Returns
        -------
        votes : int64 (people,)
        sums : float64 (people,), or float32 if sums are single
        """
        X = np.ascontiguousarray(X, dtype=np.float64)
        n_parts = 1
        if len(X) >= 2 * FEWEST_PER_THREAD:
            from joblib import effective_n_jobs

            n_parts = max(1, min(effective_n_jobs(n_jobs), len(X) // FEWEST_PER_THREAD))
        if n_parts == 1:
            return self._totals(X, self.root[trees])
        ends = np.linspace(0, len(X), n_parts + 1).astype(np.int64)
        jobs = [partial(self._totals, X[i:j], self.root[trees]) for i, j in pairwise(ends)]
        votes, sums = zip(*in_threads(jobs, n_parts), strict=True)
        return np.concatenate(votes), np.concatenate(sums)

    def _totals(self, X: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        votes = np.zeros(len(X), np.int64)
        sums = np.full(len(X), self.base, np.float32 if self.single else np.float64)
        trees = (self.threshold, self._steps, self._sent_left(X), self.label, self.value, root)
        add_totals(X, *trees, np.empty(min(len(X), BLOCK), np.int32), votes, sums)
        return votes, sums

    def score(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Votes, mean or sum of values, whichever decides."""
        votes, sums = self.totals(X, n_jobs=n_jobs)
        if self.combine == "votes":
            return votes
        sums = sums.astype(np.float64)  # singles are compared as doubles
        return sums / self.n_trees if self.combine == "mean" else sums

    def decide(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Whether each person gets the desired class."""
        return self._compared(X, n_jobs)[0]

    def _compared(self, X: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Whether each person wins, and the score minus what it is compared with."""
        score = self.score(X, n_jobs=n_jobs)
        if self._other is None:
            return score >= self.cutoff, score - self.cutoff
        ahead = score - self._other.score(X, n_jobs=n_jobs)
        return ahead >= self.least_ahead, ahead

    @cached_property
    def _other(self) -> TreeEnsemble | None:
        """The same trees with the values of the other class."""
        return None if self.against is None else replace(self, value=self.against, against=None)

    @property
    def least_ahead(self) -> float:
        """Margin by which the score must exceed that of the other class, where two are compared.

        Zero where a tie is enough, and the least number above it where it is not.
        """
        if self.among_several:
            return self.cutoff
        return 0.0 if self.cutoff == 0.5 else LEAST

    @property
    def among_several(self) -> bool:
        """Whether the scores are those of two classes among several."""
        return self.against is not None and (self.combine == "sum" or self.cutoff < 0.5)

    def ahead(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """Score minus cutoff: above 0 for the desired class, and never 0.

        Votes are shares of all votes, and half a vote is subtracted from the cutoff; if the scores
        of both classes are compared, it is the difference of the two.
        """
        decided, ahead = self._compared(X, n_jobs)
        if self.combine == "votes":
            return (ahead + 0.5) / self.n_trees
        return np.where(decided, np.maximum(ahead, LEAST), np.minimum(ahead, -LEAST))

    def strength(self, X: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """How clearly each person wins the desired class, between 0 and 1.

        The share of votes; of a single voting tree, the leaf's share of desired people; the mean
        of shares (or 1 less that of the other class, where leaves hold those, negated); or the
        sigmoid of other scores, of which a class among several has the difference.
        """
        if self.among_several and self.combine == "sum":
            return sigmoid(self._compared(X, n_jobs)[1])
        votes, sums = self.totals(X, n_jobs=n_jobs)
        if self.combine == "votes":
            return sums - self.base if self.n_trees == 1 else votes / self.n_trees
        score = sums.astype(np.float64) / (self.n_trees if self.combine == "mean" else 1)
        start = self.share_at_zero
        return sigmoid(score) if start is None else start + score

    @cached_property
    def share_at_zero(self) -> int | None:
        """The share that a score of 0 stands for; None if scores are not means of shares."""
        low, high = (float(end(self.value[self.leaves])) for end in (np.min, np.max))
        if self.combine != "mean" or low < -1 or high > 1 or low < 0 < high:
            return None
        return 1 if low < 0 else 0

    @cached_property
    def graded(self) -> TreeEnsemble:
        """Trees with the same decisions, whose score increases with the strength.

        The trees themselves, except for a single voting tree, whose vote says nothing about the
        share in its leaf: then the score is that share, or below all shares if the leaf is refused.

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
        """Return the same trees with another decision threshold.

        For a single tree the share of a leaf; for several trees the mean share of their leaves,
        whether or not they voted before; for trees that add up to log-odds, the probability.

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

        >>> forest = TreeEnsemble.joined([TreeEnsemble.stump(0, cut) for cut in range(4)], 3)
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
        """Return the same trees with a decision that requires at least this strength.

        They refuse everyone whom the original trees refuse, so a strength below the one that the
        decision needs changes nothing.

        >>> forest = TreeEnsemble.joined([TreeEnsemble.stump(0, cut) for cut in range(4)], 3)
        >>> [forest.stronger(share).cutoff for share in (0.5, 0.75, 0.8)]
        [3, 3, 4]
        """
        start = self.share_at_zero
        if self.among_several and self.combine == "mean":
            return self  # ``trees.readers.scoring.by_share`` has to be asked too
        if self.combine != "votes" and start is None and strength == 1:
            raise InvalidSpec("No sum of scores has a strength of 1; ask for less.")
        if self.combine == "votes" and self.n_trees == 1:
            changes: dict[str, Any] = {"label": self.label & (self.value >= strength)}
        elif self.combine == "votes":
            votes = math.ceil(strength * self.n_trees * (1 - 1e-12))
            changes = {"cutoff": max(self.cutoff, votes)}
        else:
            score = least_score(strength) if start is None else strength - start
            # Of two classes that are compared, a mean above one half has won.
            against = self.against if self.among_several else None
            changes = {"cutoff": score, "against": against} if score > self.cutoff else {}
        stronger = replace(self, **changes)
        vars(stronger)["memo"] = self.memo  # searches in the same trees
        return stronger

    def decision_path(self, X: np.ndarray) -> csr_array:
        """Nodes that each person passes, as a sparse matrix (people x nodes)."""
        from scipy.sparse import csr_array

        rows, columns, node = [], [], self.apply(X).astype(np.int64)
        while (on_path := node >= 0).any():
            rows.append(np.nonzero(on_path)[0])
            columns.append(node[on_path])
            node = np.where(on_path, self.parent[node], -1)
        row, column = np.concatenate(rows), np.concatenate(columns)
        ones = np.ones(len(row), np.int8)
        return csr_array((ones, (row, column)), shape=(len(X), len(self.feature)))

    def split_counts(self, n_columns: int) -> np.ndarray:
        """How often each encoded column is split on."""
        return np.bincount(self.feature[self.feature >= 0], minlength=n_columns)
