"""Who attains which leaf of a tree: the sets that recourse risk and relabelling are made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ract._kernels.grow import attain as kernel
from ract.trees.grower import CellTree, People, flat_tables, slots_of
from ract.trees.nodes import node_depths, node_parents

CHUNK = 8192


class Attainment:
    """Leaves that people attain in one tree, computed on demand in linear memory.

    Parameters
    ----------
    tree : CellTree
    people : People
        With their reach.
    """

    def __init__(self, tree: CellTree, people: People) -> None:
        can_enter, tables, sets, self._n_categories = flat_tables(people.can_enter)
        missing, slots = people.missing_cells, slots_of(people.missing_cells)
        self._n_slots = int(slots.max(initial=-1)) + 1
        places = (people.cells, people.lowest, people.highest, people.n_cells)
        self._reaches = kernel.Reaches(*places, tables, sets, can_enter, missing, slots)
        self._tree = kernel.Tree(tree.axis, tree.cell, tree.left, tree.right, tree.missing_left)
        self.tree = tree
        self.n_people = people.cells.shape[1]
        self._parent = node_parents(tree.left, tree.right)
        self._depth = int(node_depths(tree.left, tree.right).max())

    def leaves(self, who: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Chunks of people with the leaves that they attain.

        Yields
        ------
        people : int64 (m,)
        start : int64 (m + 1,)
        leaves : int32
            Person ``people[k]`` attains ``leaves[start[k]:start[k + 1]]``, never none.
        """
        for first in range(0, len(who), CHUNK):
            part = np.ascontiguousarray(who[first : first + CHUNK], dtype=np.int64)
            start, leaves = kernel.leaves_attained(
                self._tree, self._reaches, part, self._depth, self._n_categories, self._n_slots
            )
            yield part, start, leaves

    def who_attains(self, leaf: int, who: np.ndarray) -> np.ndarray:
        """Which of some people attain a leaf (boolean)."""
        axes, cells, rights, missing_left = self._path(leaf)
        out = np.empty(len(who), np.bool_)
        admitted = self._admitted(axes, cells, rights)
        spans = self._spans(axes, cells, rights, missing_left)
        people = np.ascontiguousarray(who, dtype=np.int64)
        kernel.attains_leaf(self._reaches, people, axes, cells, rights, admitted, spans, out)
        return out

    def desired_reached(self, label: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """How many desired leaves each person attains (V in the paper)."""
        who = np.arange(self.n_people) if who is None else who
        counts = [
            np.add.reduceat(label[leaves].astype(np.int64), start[:-1])
            for _, start, leaves in self.leaves(who)
        ]
        return np.concatenate([np.zeros(0, np.int64), *counts])

    def _path(self, leaf: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        nodes, node = [], leaf
        while self._parent[node] >= 0:
            parent = self._parent[node]
            nodes.append((parent, self.tree.right[parent] == node))
            node = parent
        parents = np.array([parent for parent, _ in nodes], dtype=np.int64)
        rights = np.array([right for _, right in nodes], dtype=np.bool_)
        return (
            self.tree.axis[parents].astype(np.int64),
            self.tree.cell[parents].astype(np.int64),
            rights,
            self.tree.missing_left[parents],
        )

    def _spans(
        self, axes: np.ndarray, cells: np.ndarray, rights: np.ndarray, missing_left: np.ndarray
    ) -> np.ndarray:
        """What a path admits on axes with missing values: the missing cell, and ordered cells."""
        missing, slots = self._reaches.missing, self._reaches.slots
        spans = np.zeros((1, self._n_slots, 3), np.int32)
        spans[0, :, 0], spans[0, :, 2] = 1, missing[slots >= 0] - 1
        for axis, cell, right, left in zip(axes, cells, rights, missing_left, strict=True):
            if slots[axis] >= 0:
                span = spans[0, slots[axis]]
                span[0] &= left != right
                span[1:] = (
                    (max(span[1], cell + 1), span[2]) if right else (span[1], min(span[2], cell))
                )
        return spans

    def _admitted(self, axes: np.ndarray, cells: np.ndarray, rights: np.ndarray) -> np.ndarray:
        """Categories that a path admits, all categorical axes end to end."""
        admitted = np.ones(self._n_categories, np.bool_)
        for axis, cell, right in zip(axes, cells, rights, strict=True):
            first = self._reaches.sets[axis]
            if first >= 0:
                block = admitted[first : first + self._reaches.n_cells[axis]]
                is_cell = np.arange(len(block)) == cell
                block &= is_cell if right else ~is_cell
        return admitted
