"""Out-of-bag votes of a forest: everyone is judged by the trees that were grown without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ract.trees.cover import own_leaves
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import CellTree, People, bootstrap_counts

MOST_ASKED = 1000
MOST_SCORED = 20_000  # people by whom a cut is chosen


class OutOfBag(NamedTuple):
    """What the trees say of people who are not in their samples.

    Parameters
    ----------
    votes, n_trees : int (people,)
        How many such trees are for the desired class, and how many there are.
    sums : float (people,)
        Sums of their values.
    asked : int (asked,)
        Rows of at most 1000 people, spread over the table, whose recourse is searched for.
    left_out : bool (asked, trees)
        Which trees were grown without them.
    """

    votes: np.ndarray
    sums: np.ndarray
    n_trees: np.ndarray
    asked: np.ndarray
    left_out: np.ndarray

    @property
    def scored(self) -> np.ndarray:
        """Who is left out of some tree."""
        return self.n_trees > 0


def out_of_bag(
    ensemble: TreeEnsemble,
    draws: Sequence[tuple[int, int]],
    matrix: np.ndarray,
    rows: np.ndarray | slice,
    n_people: int,
) -> OutOfBag:
    """Ask each tree about the people whom it was grown without.

    Parameters
    ----------
    ensemble : TreeEnsemble
    draws : sequence of int and int
        Seed and size of each tree's sample.
    matrix : float (people, columns)
    rows : int (people,) or slice
        Which of the people that the samples were drawn from they are.
    n_people : int
        How many these are.
    """
    n = len(matrix)
    votes, sums, n_trees = np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.int64)
    asked = np.arange(n) if n <= MOST_ASKED else np.linspace(0, n - 1, MOST_ASKED).astype(int)
    left_out = np.zeros((len(asked), len(draws)), np.bool_)
    for t, (seed, n_drawn) in enumerate(draws):
        is_out = bootstrap_counts(n_people, n_drawn, seed)[0][rows] == 0
        out, left_out[:, t] = np.flatnonzero(is_out), is_out[asked]
        of_tree = ensemble.totals(matrix[out], trees=slice(t, t + 1))
        votes[out] += of_tree[0]
        sums[out] += of_tree[1]
        n_trees[out] += 1
    return OutOfBag(votes, sums, n_trees, asked, left_out)


@dataclass(frozen=True)
class GrownTree:
    """A tree of a forest, with the seed and size of its bootstrap sample, of so many people.

    ``recourse_weight`` is what it was grown with where that is less than was asked for.
    """

    tree: CellTree
    seed: int
    n_drawn: int
    n_people: int
    recourse_weight: float | None = None


def shares_out_of_bag(trees: Sequence[GrownTree], people: People, rows: np.ndarray) -> np.ndarray:
    """Mean share of desired people in everyone's leaves of trees that were grown without them.

    Parameters
    ----------
    trees : sequence of GrownTree
    people : People
    rows : int (people,)
        Which of the people that the samples were drawn from they are.

    Returns
    -------
    float (people,)
        NaN for who is in every sample; of more than 20000 people, for all but as many, evenly
        spaced.
    """
    n = people.cells.shape[1]
    sample = np.unique(np.linspace(0, n - 1, MOST_SCORED).astype(int)) if n > MOST_SCORED else None
    asked = np.arange(n) if sample is None else sample
    sums, counts = np.zeros(len(asked)), np.zeros(len(asked))
    scored = people if sample is None else people.take(sample)
    for one in trees:
        out = bootstrap_counts(one.n_people, one.n_drawn, one.seed)[0][rows[asked]] == 0
        part = np.flatnonzero(out)
        leaf = own_leaves(one.tree, scored.take(part))
        sums[part] += one.tree.share[leaf]
        counts[part] += 1
    shares = np.full(n, np.nan)
    with np.errstate(invalid="ignore"):
        shares[asked] = sums / counts
    return shares
