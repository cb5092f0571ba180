"""Boosting: trees that add up to the log-odds of the desired class, one Newton step each.

The loss of a model F is, over people i with label y and over points a that people could get to,

    sum_i weight_i log(1 + exp(-(2 y_i - 1) F(x_i)))  +  sum_a weight_a log(1 + exp(-F(x_a)))

Points count only while their score is below a margin, and weigh more the longer they are below it.
Without points this is a plain booster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ract._kernels.boost import split, tree
from ract._kernels.boost.histogram import Scale, draw_rows, pull_points, sum_slopes
from ract._kernels.boost.tree import AXIS, FIRST, LEFT, MISSING_LEFT, RIGHT
from ract._kernels.boost.walk import add_values
from ract.trees.blocks import Blocks
from ract.trees.grower import CellTree, People

# A probability is kept this far from 0 and 1 where a model starts, and in a loss.
NEAREST = 1e-12
SLOTS = 8  # of sums over cells, to begin with
LONG = 52  # bits of a sum of slopes: as many as a float has
# Cells that a thread sums at least: with fewer, handing them out took what was gained.
FEWEST_CELLS = 400_000


@dataclass(frozen=True)
class CellRows:
    """Rows of cells that a booster learns from: people, and after them points they could get to.

    Parameters
    ----------
    codes : unsigned (rows, axes)
        A row's cells stand together.
    target, weight : float64 (rows,)
        1 for the desired class, and what the loss of a row counts.
    n_people : int
    """

    codes: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    n_people: int

    @classmethod
    def of(cls, codes: np.ndarray, desired: np.ndarray, weight: np.ndarray) -> CellRows:
        """People alone."""
        return cls(codes, desired.astype(np.float64), weight, len(codes))

    def take(self, rows: np.ndarray) -> CellRows:
        """Some of the people."""
        return CellRows.of(self.codes[rows], self.target[rows], self.weight[rows])

    def with_points(self, codes: np.ndarray, weight: np.ndarray) -> CellRows:
        """The people, and points that they could get to."""
        return CellRows(
            np.concatenate([self.codes, codes]),
            np.concatenate([self.target, np.ones(len(codes))]),
            np.concatenate([self.weight, weight]),
            self.n_people,
        )


@dataclass(frozen=True)
class BoostRules:
    """How trees are grown, in numbers; scikit-learn's meaning throughout.

    ``directions`` has -1, 0 or 1 for each axis; it is empty if nothing is constrained.
    ``subsample`` is the share of rows that each tree is grown on.
    """

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0
    max_features: int | None = None
    subsample: float = 1.0
    directions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Patience:
    """When to stop: a held-out loss that no longer falls.

    Parameters
    ----------
    rows : CellRows
        Held-out people.
    n_iter_no_change : int
    tol : float
    """

    rows: CellRows
    n_iter_no_change: int
    tol: float

    def is_over(self, losses: Sequence[float]) -> bool:
        """Whether none of the last losses is clearly below the one before them."""
        n = self.n_iter_no_change
        return len(losses) > n and min(losses[-n:]) >= losses[-n - 1] - self.tol


Move = Callable[[int, "Boosted", np.ndarray], None]


@dataclass(frozen=True)
class Lift:
    """How points pull while their score is below a margin.

    Parameters
    ----------
    margin : float
        In log-odds.
    first, step, most : float
        The weight of a point, beside its person's: at first, what each tree below the margin adds,
        and its limit.
    share : float
        Of the points, drawn for each tree as people are.
    move : callable, optional
        Called before each tree with its number, the trees so far and all scores; moves points.
    """

    margin: float
    first: float
    step: float
    most: float
    share: float = 1.0
    move: Move | None = None


@dataclass
class Boosted:
    """Trees that add up, in cells.

    Parameters
    ----------
    base : float
        What sums start from.
    nodes : list of int32 (nodes, 6)
        Of each tree: axis (-1 for a leaf), first and last cell of the right side, left, right,
        and whether people without a value go left.
    values : list of float64 (nodes,)
    losses : list of float
        Of held-out people before each tree and after the last, if there are any.
    """

    base: float
    nodes: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.nodes)

    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, values and roots of the trees, end to end."""
        nodes = [one.copy() for one in self.nodes]
        root = np.cumsum([0, *map(len, nodes)])
        for one, start in zip(nodes, root[:-1], strict=True):
            one[:, LEFT : RIGHT + 1] += start
        if not nodes:
            return np.empty((0, 6), np.int32), np.empty(0), np.empty(0, np.int32)
        return np.concatenate(nodes), np.concatenate(self.values), root[:-1].astype(np.int32)

    def scores(self, codes: np.ndarray) -> np.ndarray:
        """Log-odds of rows of cells."""
        scores = np.full(len(codes), self.base)
        add_values(codes, np.arange(len(codes), dtype=np.uint32), *self.flat(), scores)
        return scores

    def cell_trees(self, people: People, scale: float = 1.0) -> list[CellTree]:
        """The trees as others know them, their values times a scale as shares."""
        ordinal = np.array([table is None for table in people.can_enter])
        trees = []
        for nodes, value in zip(self.nodes, self.values, strict=True):
            axis, leaf = nodes[:, AXIS], nodes[:, AXIS] < 0
            cell = np.where(leaf, 0, nodes[:, FIRST] - ordinal[axis]).astype(np.int32)
            left, right = np.where(leaf, -1, nodes[:, LEFT : RIGHT + 1].T).astype(np.int32)
            missing_left = ~leaf & ordinal[axis] & (nodes[:, MISSING_LEFT] == 1)
            trees.append(CellTree.of(axis, cell, left, right, value * scale, missing_left))
        return trees


def log_odds(target: np.ndarray, weight: np.ndarray) -> float:
    """The log-odds of everyone together."""
    share = float(np.clip(np.average(target, weights=weight), NEAREST, 1 - NEAREST))
    return float(np.log(share / (1 - share)))


def log_loss(target: np.ndarray, weight: np.ndarray, scores: np.ndarray) -> float:
    """Sum of weight times log loss."""
    return float((weight * np.logaddexp(0.0, np.where(target == 1, -scores, scores))).sum())


def layout_of(people: People, directions: Sequence[int]) -> split.AxisLayout:
    """The axes of people's cells, as kernels read them."""
    starts = np.cumsum([0, *people.n_cells]).astype(np.uint64)
    categorical = np.array([table is not None for table in people.can_enter])
    given = np.array(directions or (0,) * len(categorical), np.int64)
    return split.AxisLayout(starts, categorical, people.missing_cells.astype(np.int64), given)


def slope_scale(n_rows: int, weight: float) -> Scale:
    """How slopes of rows that weigh so much in all are kept in words."""
    bits = n_rows.bit_length()
    most = int(np.frexp(max(weight, np.finfo(float).tiny))[1])
    return Scale(bits, float(np.ldexp(1.0, most - min(62 - bits, LONG))))


def boost(
    people: People,
    rows: CellRows,
    rules: BoostRules,
    seeds: Sequence[int],
    *,
    patience: Patience | None = None,
    lift: Lift | None = None,
    n_threads: int = 1,
    watch: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Boosted:
    """Grow trees, each on the loss that those before it have left.

    Parameters
    ----------
    people : People
        Whose axes the rows have.
    rows : CellRows
    rules : BoostRules
    seeds : sequence of int
        One for each tree.
    patience : Patience, optional
    lift : Lift, optional
        For points among the rows.
    n_threads : int
        The trees are the same for any number.
    watch : callable
        Gives the numbers of the trees as they are, and may show how far it is.
    """
    target, weight, n = rows.target, rows.weight.copy(), rows.n_people
    model = Boosted(log_odds(target[:n], weight[:n]))
    shares, margin = (float(rules.subsample), 0.0), 0.0
    heaviest = weight.sum()
    if lift is not None:
        heaviest += max(lift.first, lift.most, 1.0) * weight[n:].sum()
        weight[n:] *= lift.first
        shares, margin = (shares[0], shares[0] * lift.share), float(lift.margin)
    inside, outside = np.empty(len(target), np.uint32), np.empty(len(target), np.uint32)
    scores, state = model.scores(rows.codes), np.empty(1, np.uint64)
    if patience is not None:
        held = model.scores(patience.rows.codes)
        held_rows = np.arange(len(held), dtype=np.uint32)
        model.losses.append(_mean_loss(patience.rows, held))
    with Blocks(n_threads, FEWEST_CELLS // rows.codes.shape[1]) as blocks:
        layout, scale = layout_of(people, rules.directions), slope_scale(len(target), heaviest)
        grower = _Grower(layout, rules, rows, scale, blocks)
        for t in watch(range(rules.max_iter)):
            if patience is not None and patience.is_over(model.losses):
                break
            if lift is not None:
                if lift.move is not None:
                    lift.move(t, model, scores)
                pull_points(scores, n, margin, lift.step, lift.most, rows.weight, weight)
            state[0] = seeds[t]
            n_inside = draw_rows(state, shares, n, scores, margin, inside, outside)
            nodes, value = grower.grow(inside[:n_inside], weight, state, scores)
            others = outside[: len(target) - n_inside]
            _add_tree(rows.codes, others, nodes, value, scores, blocks)
            model.nodes.append(nodes)
            model.values.append(value)
            if patience is not None:
                _add_tree(patience.rows.codes, held_rows, nodes, value, held, blocks)
                model.losses.append(_mean_loss(patience.rows, held))
    return model


def _add_tree(
    codes: np.ndarray,
    order: np.ndarray,
    nodes: np.ndarray,
    value: np.ndarray,
    scores: np.ndarray,
    blocks: Blocks,
) -> None:
    """Add the values of a tree to the scores of some rows."""
    root = np.zeros(1, np.int32)

    def work(first: int, last: int, _: int) -> None:
        add_values(codes, order[first:last], nodes, value, root, scores)

    blocks(0, len(order), work)


def _mean_loss(rows: CellRows, scores: np.ndarray) -> float:
    return log_loss(rows.target, rows.weight, scores) / float(rows.weight.sum())


class _Grower:
    """Memory that the trees of one booster share."""

    def __init__(
        self,
        layout: split.AxisLayout,
        rules: BoostRules,
        rows: CellRows,
        scale: Scale,
        blocks: Blocks,
    ) -> None:
        n_rows, n_axes = rows.codes.shape
        most = max(rows.n_people // max(rules.min_samples_leaf, 1), 1)
        unlimited = rules.max_leaf_nodes is None or rules.max_leaf_nodes >= most
        leaves = most if rules.max_leaf_nodes is None else min(most, rules.max_leaf_nodes)
        n_nodes, n_cells, n_slots = 2 * leaves - 1, int(layout.starts[-1]), min(leaves, SLOTS)
        self.rows, self.layout, self.blocks = rows, layout, blocks
        limits = (leaves, rules.min_samples_leaf, rules.max_features or n_axes)
        shrinkage = (float(rules.l2_regularization), float(rules.learning_rate))
        self.rules = split.SplitRules(*limits, *shrinkage, unlimited, scale)
        self.growing = tree.Growing(
            np.empty(6, np.int64), np.empty((n_nodes, 2), np.int64), np.empty(n_nodes, np.int64),
            np.empty((n_nodes, 2), np.int64), np.empty((n_nodes, 2)), np.empty(n_nodes),
            np.empty(n_nodes, np.int64), np.empty(2 * leaves + SLOTS, np.int64),
            np.empty(n_rows, np.uint32), np.arange(n_axes), np.empty(1, np.uint64),
        )  # fmt: skip
        self.nodes, self.values = np.empty((n_nodes, 6), np.int32), np.empty(n_nodes)
        self.slopes = np.empty((n_rows, 2), np.int64)
        self.pool = np.empty((n_slots, n_cells, 2), np.int64)
        n_parts = len(blocks.bounds(0, n_rows)) - 2
        self.parts = np.empty((n_parts, n_cells, 2), np.int64)  # sums of blocks after the first

    def grow(
        self, order: np.ndarray, weight: np.ndarray, state: np.ndarray, scores: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A tree on some rows, whose scores it raises."""
        growing, nodes, values = self.growing, self.nodes, self.values
        growing.state[0] = state[0]
        growing.axes[:] = np.arange(len(growing.axes))  # as a tree drawn alone would
        growing.at[:] = 0
        self._begin(order, weight, scores)
        stopped = None
        while stopped != tree.DONE:
            if stopped == tree.MANY_ROWS:
                self._divide(order, int(growing.at[tree.NODE]))
            elif stopped == tree.NO_SLOT:
                self._add_slots()
            data = (self.rows.codes, order, self.slopes, self.layout, self.rules, growing)
            stopped = tree.grow_boosted(*data, self.pool, nodes, values, self.blocks.most_rows)
        n_nodes = int(growing.at[tree.N_NODES])

        def work(first: int, last: int, _: int) -> None:
            tree.add_leaf_values(order, first, last, n_nodes, nodes, values, growing.rows, scores)

        self.blocks(0, len(order), work)
        return nodes[:n_nodes].copy(), values[:n_nodes].copy()

    def _begin(self, order: np.ndarray, weight: np.ndarray, scores: np.ndarray) -> None:
        """Slopes of the rows, and their sums in the first slot."""
        rows, starts, scale = self.rows, self.layout.starts, self.rules.scale

        def work(first: int, last: int, k: int) -> None:
            block = (rows.codes, starts, order, first, last, scores, rows.target, weight)
            sum_slopes(*block, rows.n_people, scale, self.slopes, self._sums(k, 0))

        done = self.blocks(0, len(order), work)
        if len(done) > 1:
            tree.add_parts(self.pool[0], self.parts[: len(done) - 1])

    def _divide(self, order: np.ndarray, node: int) -> None:
        """Divide the many rows of a node in blocks."""
        growing, side = self.growing, self.growing.at[tree.SIDE]
        first, last = growing.rows[node].tolist()
        slot = int(growing.slot[self.nodes[node, tree.RIGHT if side == 1 else tree.LEFT]])

        def work(first: int, last: int, k: int) -> int:
            block = (self.rows.codes, self.layout.starts, order, first, last, self.slopes)
            return tree.divide(*block, self.nodes, growing, self._sums(k, slot))

        middles = np.array(self.blocks(first, last, work), np.int64)
        tree.join_blocks(order, growing.spare, self.blocks.bounds(first, last), middles)
        if side >= 0:
            tree.add_parts(self.pool[slot], self.parts[: len(middles) - 1])

    def _add_slots(self) -> None:
        """Twice as many slots."""
        n = len(self.pool)
        self.growing.free[:n], self.growing.at[tree.N_FREE] = np.arange(n, 2 * n), n
        self.pool = np.concatenate([self.pool, np.empty_like(self.pool)])

    def _sums(self, block: int, slot: int) -> np.ndarray:
        """Where the sums of a block are collected."""
        return np.asarray(self.pool[slot] if block == 0 else self.parts[block - 1])
