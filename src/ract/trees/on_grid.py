"""Between trees that split on the cells of a grid and trees that split on encoded columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ract.data.grid import Grid
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import CellTree
from ract.trees.nodes import shifted_nodes


def from_cell_trees(trees: Sequence[CellTree], grid: Grid, votes_needed: int) -> TreeEnsemble:
    """Trees that were grown on a grid, deciding by votes."""

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    feature, threshold = _columns_and_thresholds(joined("axis"), joined("cell"), grid)
    root = np.cumsum([0, *(len(tree.axis) for tree in trees)])[:-1]
    return TreeEnsemble(
        feature,
        threshold,
        left=shifted_nodes([tree.left for tree in trees], root),
        right=shifted_nodes([tree.right for tree in trees], root),
        label=joined("label"),
        value=joined("share"),
        root=root.astype(np.int32),
        combine="votes",
        cutoff=votes_needed,
        missing_left=joined("missing_left").astype(np.uint8),
    )


def to_cell_trees(ensemble: TreeEnsemble, grid: Grid) -> list[CellTree]:
    """The trees of an ensemble in the cells of a grid that has all their thresholds."""
    feature = ensemble.feature
    position = {
        column: (a, k) for a, axis in enumerate(grid.axes) for k, column in enumerate(axis.columns)
    }
    axis, cell = np.full(len(feature), -1, np.int32), np.zeros(len(feature), np.int32)
    for column in np.unique(feature[feature >= 0]):
        a, k = position[int(column)]
        here = np.flatnonzero(feature == column)
        axis[here] = a
        categorical = grid.axes[a].is_categorical
        cell[here] = k if categorical else grid.cells_of_splits(a, ensemble.threshold[here])
    trees = []
    for part in ensemble.slices:
        left, right = (
            shifted_nodes([child[part]], [-part.start]) for child in (ensemble.left, ensemble.right)
        )
        share, missing_left = ensemble.value[part], ensemble.sends_left[part]
        tree = CellTree.of(axis[part], cell[part], left, right, share, missing_left)
        trees.append(replace(tree, label=ensemble.label[part]))
    return trees


def _columns_and_thresholds(
    axis: np.ndarray, cell: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray]:
    """Encoded column and threshold of nodes; the cuts of all axes stand end to end."""
    columns, cuts = [], []
    for a, thresholds in zip(grid.axes, grid.thresholds, strict=True):
        cuts_of_axis = np.full(len(a.columns), 0.5) if a.is_categorical else thresholds
        if a.has_missing and not a.is_categorical:
            cuts_of_axis = np.append(cuts_of_axis, np.inf)  # known against missing
        cuts.append(cuts_of_axis)
        columns.append(np.resize(np.array(a.columns, np.int32), len(cuts_of_axis)))
    first = np.cumsum([0, *map(len, cuts)])
    inside = np.flatnonzero(axis >= 0)
    which = first[axis[inside]] + cell[inside]
    feature, threshold = np.full(len(axis), -1, np.int32), np.zeros(len(axis))
    feature[inside] = np.concatenate(columns)[which]
    threshold[inside] = np.concatenate(cuts)[which]
    return feature, threshold
