"""Growing trees in the cells of a grid, and trees of thresholds from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ract._kernels.grow import tree as kernel
from ract._kernels.grow.histogram import Histograms
from ract._kernels.grow.objective import ENTROPY, ERROR, GINI
from ract._kernels.grow.split import BestSplit
from ract.data.grid import Grid
from ract.trees.ensemble import TreeEnsemble
from ract.trees.monotone import ordered_shares
from ract.trees.nodes import shifted_nodes

Criterion = Literal["gini", "entropy", "error"]
CRITERIA: dict[str, int] = {"gini": GINI, "entropy": ENTROPY, "error": ERROR}


@dataclass(frozen=True)
class People:
    """The training people as the grower sees them.

    Parameters
    ----------
    cells, lowest, highest : unsigned (axes, people)
        Cell and reach of everyone; the reach may be the cells themselves when it is not needed.
    n_cells : int64 (axes,)
    can_enter : tuple of boolean matrices or None
        For a categorical axis, who (row) can enter which category (column).
    desired : uint8 (people,)
    missing : int64 (axes,), optional
        The cell of people without a value on ordinal axes, the last one; -1 where there is none,
        and for categorical axes, on which it is a category like any other. The reach of those
        people says which of the other cells they may enter.
    """

    cells: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    n_cells: np.ndarray
    can_enter: tuple[np.ndarray | None, ...]
    desired: np.ndarray
    missing: np.ndarray | None = None

    @property
    def missing_cells(self) -> np.ndarray:
        """The missing cell of each axis, or -1."""
        if self.missing is None:
            return np.full(len(self.n_cells), -1, np.int64)
        return self.missing

    def take(self, rows: np.ndarray) -> People:
        """Some of the people."""
        cells = np.ascontiguousarray(self.cells[:, rows])
        lowest = highest = cells
        if self.lowest is not self.cells:
            lowest = np.ascontiguousarray(self.lowest[:, rows])
            highest = np.ascontiguousarray(self.highest[:, rows])
        return replace(
            self, cells=cells, lowest=lowest, highest=highest, desired=self.desired[rows]
        )

    @cached_property
    def flat(self) -> tuple[np.ndarray, np.ndarray, int, int]:
        """What all trees share: category tables, layout, numbers of categories and missing cells.

        The layout is that of ``ract._kernels.grow.tree.Data``, without directions.
        """
        can_enter, tables, sets, n_categories = flat_tables(self.can_enter)
        missing = self.missing_cells
        slots = slots_of(missing)
        nothing = np.zeros_like(missing)
        layout = np.column_stack([self.n_cells, tables, sets, nothing, missing, slots])
        return can_enter, layout, n_categories, int((slots >= 0).sum())


@dataclass(frozen=True)
class GrowRules:
    """What to optimise and when to stop; scikit-learn's meaning throughout.

    ``min_leaf_share`` is the least share of desired people, by weight, of a desired leaf, and
    ``cut`` the share from which on a leaf is desired where recourse is not at stake.
    ``monotonic`` has -1, 0 or 1 for each axis; it is empty if nothing is constrained.
    ``authors_reach`` is for reproducing the paper's experiments, without categorical axes: in the
    code behind them someone from outside a node attains the sides of its split only if they can
    cross it, even the side on which they stand. So is ``authors_splits``, with 0-1 loss: there the
    highest threshold of a number with more than two cells does not compete, splits that leave a
    side with too few people do and make the node a leaf if they win, and features that are
    constant in a node are drawn too.
    """

    recourse_weight: float = 0.0
    criterion: Criterion = "gini"
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_leaf_share: float = 0.0
    cut: float = 0.5
    max_features: int | None = None
    monotonic: tuple[int, ...] = ()
    authors_reach: bool = False
    authors_splits: bool = False


@dataclass(frozen=True)
class CellTree:
    """A grown tree in cells.

    Parameters
    ----------
    axis : int32 (nodes,)
        -1 for a leaf.
    cell : int32 (nodes,)
        People go left when their cell is at most this, or, on a categorical axis, not this.
    left, right : int32 (nodes,)
    label : uint8 (nodes,)
        1 for a desired leaf.
    masses : float64 (nodes, 3)
        Weight of undesired, weight of desired, number of people.
    share : float64 (nodes,)
        Share of desired people by weight, within what monotonic constraints allow.
    covered : bool (people,)
        Who attains a desired leaf; all False when recourse had no weight.
    missing_left : bool (nodes,)
        Whether people without a value go left at a split.
    """

    axis: np.ndarray
    cell: np.ndarray
    left: np.ndarray
    right: np.ndarray
    label: np.ndarray
    masses: np.ndarray
    share: np.ndarray
    covered: np.ndarray
    missing_left: np.ndarray

    @classmethod
    def of(
        cls,
        axis: np.ndarray,
        cell: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        share: np.ndarray,
        missing_left: np.ndarray,
    ) -> CellTree:
        """A tree without desired leaves, of which nobody knows masses and who is covered."""
        label, masses = np.zeros(len(axis), np.uint8), np.zeros((0, 3))
        covered = np.zeros(0, np.bool_)
        return cls(axis, cell, left, right, label, masses, share, covered, missing_left)

    @property
    def leaves(self) -> np.ndarray:
        """Indices of the leaves."""
        return np.flatnonzero(self.axis < 0)


def flat_tables(
    can_enter: tuple[np.ndarray | None, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Category tables end to end, where each starts, where its set starts, and all categories."""
    tables = np.full(len(can_enter), -1, np.int64)
    sets = np.full(len(can_enter), -1, np.int64)
    n_entries, n_categories = 0, 0
    for a, table in enumerate(can_enter):
        if table is not None:
            tables[a], sets[a] = n_entries, n_categories
            n_entries += table.size
            n_categories += len(table)
    flat = [table.ravel() for table in can_enter if table is not None]
    return np.concatenate([np.zeros(0, np.bool_), *flat]), tables, sets, n_categories


def slots_of(missing: np.ndarray) -> np.ndarray:
    """Place of each axis among those with a missing cell; -1 for the others."""
    has = missing >= 0
    return np.where(has, np.cumsum(has) - 1, -1)


def bootstrap_counts(n_people: int, n_drawn: int, seed: int) -> tuple[np.ndarray, int]:
    """A bootstrap sample: how often each person is in it, and a seed to go on with.

    Parameters
    ----------
    n_people, n_drawn : int
        How many there are, and how many are drawn with replacement.
    seed : int

    Returns
    -------
    times : float64 (people,)
    seed : int
    """
    state, times = np.array([seed], np.uint64), np.zeros(n_people)
    kernel.draw_with_replacement(state, n_drawn, times)
    return times, int(state[0])


def grow_tree(
    people: People,
    weights: np.ndarray,
    rules: GrowRules,
    seed: int = 0,
    sample_weight: np.ndarray | None = None,
) -> CellTree:
    """Grow a tree on the people whose weight is positive (Algorithm 1).

    Parameters
    ----------
    people : People
    weights : float64 (people,)
        What an error of each person weighs: bootstrap counts times sample and class weights.
    rules : GrowRules
    seed : int
        Of the feature sampling.
    sample_weight : float64 (people,), optional
        What each person weighs who is without recourse; the same by default.
    """
    weights = np.ascontiguousarray(weights)  # ones of a stored table take no memory
    sample_weight = weights if sample_weight is None else sample_weight
    sample = np.flatnonzero(weights > 0).astype(np.uint32)
    n, n_axes = len(sample), len(people.cells)
    depth = n if rules.max_depth is None else min(rules.max_depth, n)
    can_enter, layout, *_ = people.flat
    if rules.monotonic:
        layout = layout.copy()
        layout[:, 3] = rules.monotonic
    places = (people.cells, people.lowest, people.highest)
    data = kernel.Data(*places, layout, can_enter, people.desired, weights, sample_weight)
    kernel_rules = kernel.GrowthRules(
        float(rules.recourse_weight),
        CRITERIA[rules.criterion],
        depth,
        rules.min_samples_leaf,
        bool(rules.min_samples_leaf > 1 and (weights[sample] != 1.0).any()),
        float(rules.min_leaf_share),
        float(rules.cut),
        n_axes if rules.max_features is None else rules.max_features,
        rules.authors_splits,
    )
    scratch = _scratch(people, sample, depth, seed, authors_reach=rules.authors_reach)
    total = float(weights[sample].sum())
    wanted = float(weights[people.desired == 1].sum())
    exposed = float(sample_weight[sample].sum())
    root_label = int(
        2 * rules.cut * (total - wanted)
        <= (2 - 2 * rules.cut) * wanted + rules.recourse_weight * exposed
        and wanted / total >= rules.min_leaf_share
    )
    # Never more nodes than this; pages that are not written to cost nothing.
    most = min(2 * n - 1, 2 ** min(depth + 1, 62) - 1)
    nodes, masses = np.empty((most, 6), np.int32), np.empty((most, 3))
    arena = _place_root(scratch, rules, layout, root_label, nodes)
    histograms = _histograms(people.n_cells)
    best = BestSplit(np.empty(3), np.empty(5, np.int64), np.empty(6))
    row, n_nodes = 0, 1
    while row >= 0:
        arena = _with_room(arena, 2 * scratch.stack[row, 4])
        row, n_nodes = kernel.grow_tree_nodes(
            arena, row, n_nodes, data, kernel_rules, scratch, histograms, best, nodes, masses
        )
    axis, cell, left, right, label, missing_left = nodes[:n_nodes].T.copy()
    leaf = axis < 0
    left[leaf] = right[leaf] = -1
    cell[leaf] = missing_left[leaf] = 0
    masses = masses[:n_nodes].copy()
    share = masses[:, 1] / (masses[:, 0] + masses[:, 1])
    if rules.monotonic:
        missing = people.missing_cells
        known_or_not = (missing[axis] >= 0) & (cell == missing[axis] - 1)
        direction = np.where(leaf | known_or_not, 0, layout[axis, 3])
        share = ordered_shares(left, right, share, direction)
    label, missing_left = label.astype(np.uint8), missing_left.astype(np.bool_)
    covered = scratch.covered
    return CellTree(axis, cell, left, right, label, masses, share, covered, missing_left)


def _scratch(
    people: People, sample: np.ndarray, depth: int, seed: int, *, authors_reach: bool
) -> kernel.Scratch:
    n, (n_axes, n_all) = len(sample), people.cells.shape
    _, _, n_categories, n_slots = people.flat
    return kernel.Scratch(
        order=sample,
        spare=np.empty(n, np.uint32),
        exposed=np.empty(n, np.uint32),
        labels=np.empty(n, np.uint8),
        weights=np.empty(n),
        exposed_weights=np.empty(n),
        axes=np.arange(n_axes),
        state=np.array([seed], np.uint64),
        pending=np.zeros(n_all, np.int32),
        covered=np.zeros(n_all, np.bool_),
        inside=np.full(n_all, -1, np.int32) if authors_reach else None,
        admitted=np.zeros((depth + 2, n_categories), np.bool_),
        spans=np.zeros((depth + 2, n_slots, 3), np.int32) if n_slots else None,
        stack=np.zeros((depth + 2, 7), np.int64),
    )


def _place_root(
    scratch: kernel.Scratch, rules: GrowRules, layout: np.ndarray, label: int, nodes: np.ndarray
) -> np.ndarray:
    """Put the root on the stack; returns the arena of reachers: whoever can still have recourse."""
    n = len(scratch.order)
    n_reachers = n if rules.recourse_weight > 0.0 else 0
    arena = np.empty(n + 1, np.uint32)
    arena[:n_reachers] = scratch.order[:n_reachers]
    scratch.pending[:] = label
    nodes[0, 4] = label
    scratch.stack[0] = 0, 0, n, 0, n_reachers, 0, -1
    scratch.admitted[0] = True
    if scratch.spans is not None:
        missing = layout[:, 4]
        scratch.spans[0] = [[1, 0, last] for last in missing[missing >= 0] - 1]
    return arena


def _with_room(arena: np.ndarray, size: int) -> np.ndarray:
    """The arena, made twice as long as it has to be if it is too short."""
    if size <= len(arena):
        return arena
    longer = np.empty(2 * size, np.uint32)
    longer[: len(arena)] = arena
    return longer


def _histograms(n_cells: np.ndarray) -> Histograms:
    most = int(n_cells.max())
    return Histograms(np.zeros((most, 6)), np.zeros((most + 63) >> 6, np.uint64))


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
