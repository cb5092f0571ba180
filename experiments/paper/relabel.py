"""Relabelling a tree (Algorithm 3) as the authors' code does it.

It differs from the paper, and from ``ract.trees.cover``, in four ways: it starts from the labels
that the tree was grown with; a flip costs the undesired people of the leaf, not their majority;
gains count beyond what is needed; and who attains a leaf follows ``authors_reach``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract.trees.grower import CellTree, People


def attained(tree: CellTree, people: People) -> tuple[np.ndarray, np.ndarray]:
    """Leaves from left to right, and who attains each by ``authors_reach`` (leaves, people).

    Ordinal axes only.
    """
    n_people = people.cells.shape[1]
    everyone = np.ones(n_people, np.bool_)
    leaves, reached = [], []
    stack = [(0, everyone, everyone)]
    while stack:
        node, inside, reaches = stack.pop()
        axis, cell = int(tree.axis[node]), int(tree.cell[node])
        if axis < 0:
            leaves.append(node)
            reached.append(reaches)
            continue
        left = people.cells[axis] <= cell
        crosses = (people.lowest[axis] <= cell) & (people.highest[axis] > cell)
        for child, side in ((tree.right[node], ~left), (tree.left[node], left)):
            within = inside & side
            stack.append((int(child), within, reaches & (within | crosses)))
    return np.array(leaves), np.array(reached)


def relabelled(tree: CellTree, people: People, risks: Sequence[float]) -> list[np.ndarray]:
    """Labels of the nodes for each of the largest acceptable shares of people without recourse.

    One greedy sequence of flips serves all of them; each stops where it is satisfied.
    """
    leaves, reached = attained(tree, people)
    labels = tree.label.copy()
    n_people = reached.shape[1]
    price = tree.masses[leaves, 0] / n_people
    open_ = labels[leaves] == 0
    uncovered = ~reached[~open_].any(axis=0)
    gains = reached[:, uncovered].sum(axis=1).astype(np.float64)
    found: dict[float, np.ndarray] = {}
    while len(found) < len(risks):
        covered = n_people - int(uncovered.sum())
        share = covered / n_people
        for risk in risks:
            if risk not in found and share >= 1 - risk:
                found[risk] = labels.copy()
        rate = np.zeros(len(leaves))
        np.divide((covered + gains) / n_people - share, price, out=rate, where=open_)
        best = int(np.argmax(rate))
        if rate[best] <= 0:
            break
        labels[leaves[best]] = 1
        open_[best] = False
        newly = uncovered & reached[best]
        gains -= reached[:, newly].sum(axis=1)
        uncovered &= ~newly
    return [found.get(risk, labels) for risk in risks]
