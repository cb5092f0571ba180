"""Out-of-bag votes of a forest: everyone is judged by the trees that were grown without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ract._core.grower import draw_people
from ract.ensemble import TreeEnsemble

MOST_ASKED = 1000


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
    draws: Sequence[tuple[int, int | None]],
    matrix: np.ndarray,
    rows: np.ndarray | slice,
    n_people: int,
) -> OutOfBag:
    """Ask each tree about the people whom it was grown without.

    Parameters
    ----------
    ensemble : TreeEnsemble
    draws : sequence of int and int or None
        Seed and size of each tree's sample; one without a size was grown on everyone.
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
        if n_drawn is None:
            continue
        is_out = draw_people(n_people, n_drawn, seed)[0][rows] == 0
        out, left_out[:, t] = np.flatnonzero(is_out), is_out[asked]
        of_tree = ensemble.totals(matrix[out], trees=slice(t, t + 1))
        votes[out] += of_tree[0]
        sums[out] += of_tree[1]
        n_trees[out] += 1
    return OutOfBag(votes, sums, n_trees, asked, left_out)
