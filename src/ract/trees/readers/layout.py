"""Laying trees out again with their splits on encoded columns.

A set of categories has no split of its own: the smaller side is split off one category after the
other. A split at which everyone goes the same way disappears. All trees go down together, level
by level; a place in a new tree is a node of the old one and the values that still get there:

    {a, b} left of {c, d, e}    becomes    is a? - yes: left child, for a
                                              no: is b? - yes: left child, for b
                                                            no: right child, for c, d, e
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.trees.readers.pullback import INSIDE, Splits
from ract.trees.readers.reading import LibraryTrees

MOST_NODES = 5_000_000


@dataclass
class Frontier:
    """Places of one level: old node, tree, values that still get there, and where they hang."""

    node: np.ndarray
    tree: np.ndarray
    allowed: np.ndarray
    parent: np.ndarray
    on_right: np.ndarray


@dataclass(frozen=True)
class Level:
    """The places of a level with their columns, thresholds, and where missing values go."""

    places: Frontier
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray


@dataclass(frozen=True)
class EncodedTrees:
    """New trees, parents before children and tree after tree.

    trees : feature, threshold, left, right, root and, if there are people without a value,
    missing_left as in TreeEnsemble. node : int64 (nodes,),
    the old node that each new one stands for.
    """

    trees: dict[str, Any]
    node: np.ndarray


def lay_out(reading: LibraryTrees, splits: Splits) -> EncodedTrees:
    """The trees of a reading with other splits."""
    n_trees = len(reading.root)
    nothing = np.full(n_trees, -1)
    everyone = np.ones((n_trees, len(splits.stem)), bool)
    level = Frontier(
        reading.root.astype(np.int64),
        np.arange(n_trees),
        everyone,
        nothing,
        np.zeros(n_trees, bool),
    )
    splits.gaps.start(everyone)
    levels: list[Level] = []
    n = 0
    while len(level.node):
        level.node = _skip_constant(reading, splits, level.node, level.allowed)
        laid, level_below = _grow(reading, splits, level, first=n)
        levels.append(laid)
        n += len(level.node)
        if n > MOST_NODES:
            raise InvalidSpec(
                f"The model's splits by sets of categories, and by numbers that it takes as "
                f"missing, come to more than {MOST_NODES} nodes; use fewer categories, or encode "
                "them one-hot before training."
            )
        level = level_below
    return _joined(levels, n_trees, with_missing=bool(splits.parts.any()))


def _sides(splits: Splits, node: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values that get to a node which splits by a set and go left, or right."""
    row = splits.table[node]
    left = splits.left[row]
    return allowed & left, allowed & ~left & splits.member[row]


def _skip_constant(
    reading: LibraryTrees, splits: Splits, node: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """The nodes reached when everyone goes the same way; others as they are."""
    node = node.copy()
    moving = np.arange(len(node))
    while len(moving):
        here = node[moving]
        to_left, to_right = _all_one_way(splits, here, allowed[moving])
        by_set = np.flatnonzero(splits.table[here] >= 0)
        left, right = _sides(splits, here[by_set], allowed[moving[by_set]])
        to_left[by_set] = ~right.any(axis=1)
        to_right[by_set] = ~left.any(axis=1)
        turned = splits.turned[here]
        first, second = reading.left[here], reading.right[here]
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        node[moving] = np.where(to_left, first, np.where(to_right, second, here))
        moving = moving[to_left | to_right]
    return node


def _all_one_way(
    splits: Splits, node: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where a threshold sends everyone left, or right, people without a value included."""
    by_threshold = splits.column[node] >= 0
    parts, missing_left = splits.parts[node], splits.missing_left[node]
    _, inside, _ = gap = splits.gaps.parts(node, allowed).T
    alone = inside & (gap.sum(axis=0) == 1)
    ends = by_threshold & ~inside
    to_left = ends & np.isposinf(splits.threshold[node]) & (~parts | missing_left)
    to_right = ends & np.isneginf(splits.threshold[node]) & ~(parts & missing_left)
    inside_left = splits.gaps.inside_left[node]
    return to_left | (alone & inside_left), to_right | (alone & ~inside_left)


def _grow(
    reading: LibraryTrees, splits: Splits, level: Frontier, first: int
) -> tuple[Level, Frontier]:
    """Columns and thresholds of a level's places, and the level below."""
    node = level.node
    feature, threshold = splits.column[node].copy(), splits.threshold[node].copy()
    threshold[reading.column[node] < 0] = 0.0
    missing_left = splits.missing_left[node] & splits.parts[node]
    # Where only people without a value go left, they go right of an infinite threshold instead.
    from_below = np.isneginf(threshold)
    threshold[from_below], missing_left[from_below] = np.inf, False
    turned = splits.turned[node] != from_below
    left_node = np.where(turned, reading.right[node], reading.left[node])
    right_node = np.where(turned, reading.left[node], reading.right[node])
    left_allowed, right_allowed = level.allowed.copy(), level.allowed.copy()
    parts = splits.gaps.parts(node, level.allowed)
    at_gap = np.flatnonzero(parts[:, INSIDE])  # with others: alone it was skipped
    if len(at_gap):
        left, right = left_allowed[at_gap], right_allowed[at_gap]
        split = splits.gaps.split(node[at_gap], parts[at_gap], left, right)
        feature[at_gap], threshold[at_gap], missing_left[at_gap] = split
        left_allowed[at_gap], right_allowed[at_gap] = left, right
        left_node[at_gap] = right_node[at_gap] = node[at_gap]
    by_set = np.flatnonzero(splits.table[node] >= 0)
    if len(by_set):
        here, allowed = node[by_set], level.allowed[by_set]
        left, right = _sides(splits, here, allowed)
        value, is_left = _next_value(splits, left, right)
        feature[by_set], threshold[by_set] = splits.stem[value], 0.5
        right_node[by_set] = np.where(is_left, reading.left[here], reading.right[here])
        left_node[by_set] = here
        left_allowed[by_set, value] = False
        only = np.arange(len(splits.stem)) == value[:, None]
        right_allowed[by_set] &= ~splits.member[splits.table[here]] | only
    inner = np.flatnonzero(feature >= 0)
    below = Frontier(
        np.concatenate([left_node[inner], right_node[inner]]).astype(np.int64),
        np.tile(level.tree[inner], 2),
        np.concatenate([left_allowed[inner], right_allowed[inner]]),
        np.tile(first + inner, 2),
        np.repeat([False, True], len(inner)),
    )
    return Level(level, feature, threshold, missing_left), below


def _next_value(
    splits: Splits, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The value to split off, from the smaller side that has a column, and whether it goes left."""
    has_stem = splits.stem >= 0
    prefers_left = left.sum(axis=1) <= right.sum(axis=1)
    smaller = np.where(prefers_left[:, None], left, right) & has_stem
    larger = np.where(prefers_left[:, None], right, left) & has_stem
    in_smaller = smaller.any(axis=1)
    value = np.where(in_smaller, smaller.argmax(axis=1), larger.argmax(axis=1))
    return value, in_smaller == prefers_left


def _joined(levels: list[Level], n_trees: int, with_missing: bool) -> EncodedTrees:
    tree = np.concatenate([level.places.tree for level in levels])
    parent = np.concatenate([level.places.parent for level in levels])
    on_right = np.concatenate([level.places.on_right for level in levels])
    order = np.argsort(tree, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    trees = {
        "feature": np.concatenate([level.feature for level in levels])[order].astype(np.int32),
        "threshold": np.concatenate([level.threshold for level in levels])[order],
        "root": np.searchsorted(tree[order], np.arange(n_trees)).astype(np.int32),
    }
    for side, is_side in (("left", ~on_right), ("right", on_right)):
        child = np.flatnonzero(is_side & (parent >= 0))
        trees[side] = np.full(len(order), -1, np.int32)
        trees[side][place[parent[child]]] = place[child]
    if with_missing:
        sent = np.concatenate([level.missing_left for level in levels])[order]
        trees["missing_left"] = sent.astype(np.uint8)
    return EncodedTrees(trees, np.concatenate([level.places.node for level in levels])[order])
