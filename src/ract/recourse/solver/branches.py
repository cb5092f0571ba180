"""The leaves that one person can get to, as boxes of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ract.data.grid import Grid
from ract.recourse.solver.choices import Choice
from ract.recourse.solver.time import Time
from ract.trees.ensemble import TreeEnsemble

Range = tuple[int, int]  # first and last choice of an ordinal axis
Bounds = dict[int, Range | int]  # by axis; for a categorical one, a bit per category


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf, or a branch whose leaves are all worth the same: its worth and its box."""

    value: float
    bounds: Bounds

    def holds(self, point: Sequence[int], choices: Sequence[Choice]) -> bool:
        """Whether a choice per axis lies in the box."""
        for a, bound in self.bounds.items():
            if isinstance(bound, int):
                if not bound >> int(choices[a].cell[point[a]]) & 1:
                    return False
            elif not bound[0] <= point[a] <= bound[1]:
                return False
        return True


class _Tree(NamedTuple):
    """A tree in cells, as lists, which Python reads faster than arrays."""

    axis: list[int]
    cell: list[int]
    left: list[int]
    right: list[int]
    worth: list[float]


class Branches:
    """Trees in cells, ready to be cut down to what a person can reach.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Leaves are worth their label where the ensemble votes, else their value.
    grid : Grid
        With all thresholds of the ensemble.
    """

    def __init__(self, ensemble: TreeEnsemble, grid: Grid) -> None:
        worth = ensemble.label if ensemble.combine == "votes" else ensemble.value
        ends = np.append(ensemble.root[1:], len(ensemble.feature))
        self._trees = []
        for tree, first, last in zip(ensemble.on_grid(grid), ensemble.root, ends, strict=True):
            arrays = (tree.axis, tree.cell, tree.left, tree.right, worth[first:last] * 1.0)
            self._trees.append(_Tree(*(array.tolist() for array in arrays)))
        self._n_cells = grid.n_cells

    def leaves(self, choices: Sequence[Choice], time: Time) -> list[list[Leaf]]:
        """The leaves of each tree that some combination of choices gets to."""
        # Last choice in the cells up to each one: x <= threshold is choice <= that one.
        last = [
            (np.searchsorted(choice.cell, np.arange(n), side="right") - 1).tolist()
            for choice, n in zip(choices, self._n_cells, strict=True)
        ]
        everything: list[Range | int] = [
            (0, len(choice.cell) - 1)
            if choice.ordered
            else sum(1 << int(cell) for cell in choice.cell)
            for choice in choices
        ]
        return [_leaves(tree, 0, {}, everything, last, time) for tree in self._trees]


def _leaves(
    tree: _Tree,
    node: int,
    bounds: Bounds,
    everything: list[Range | int],
    last: list[list[int]],
    time: Time,
) -> list[Leaf]:
    """Leaves below a node; two that are worth the same become one."""
    time.check()
    a = tree.axis[node]
    if a < 0:
        return [Leaf(tree.worth[node], dict(bounds))]
    before = bounds.get(a)
    sides = _parted(everything[a] if before is None else before, tree.cell[node], last[a])
    found: list[Leaf] = []
    for child, part in zip((tree.left[node], tree.right[node]), sides, strict=True):
        if part is not None:
            bounds[a] = part
            found += _leaves(tree, child, bounds, everything, last, time)
    if before is None:
        del bounds[a]
    else:
        bounds[a] = before
    if len(found) == 2 and found[0].value == found[1].value:
        return [Leaf(found[0].value, dict(bounds))]
    return found


def _parted(
    bound: Range | int, cell: int, last: list[int]
) -> tuple[Range | int | None, Range | int | None]:
    """What goes left and what goes right of a split; None for nothing."""
    if isinstance(bound, int):
        return bound & ~(1 << cell) or None, bound & (1 << cell) or None
    first, end = bound
    at = last[cell]
    left = (first, min(at, end)) if first <= at else None
    right = (max(at + 1, first), end) if end > at else None
    return left, right
