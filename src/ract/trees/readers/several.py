"""One class among several: trees that add up a score for every class, of which the largest wins.

The desired class wins if its score is at least that of every class after it and larger than that of
every class before it, as all libraries break ties. Each of these comparisons is an ensemble, and
plans must serve in all of them. A single tree needs one: its leaves say which class wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.layout import Layout
from ract.trees.readers.reading import Reading


def scored(part: Mapping[str, Any], k: int, n_classes: int) -> dict[str, Any]:
    """A tree that counts for the class at position k, as a part of ``end_to_end``."""
    scores = np.zeros((len(part["value"]), n_classes))
    scores[:, k] = part["value"]
    return {**part, "value": np.zeros(len(scores)), "scores": scores}


def starting_from(base: np.ndarray, parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Parts of ``end_to_end`` after a leaf that holds what the score of each class starts from."""
    start: dict[str, Any] = {
        name: np.full(1, -1 if name in ("column", "left", "right") else 0, np.asarray(own).dtype)
        for name, own in parts[0].items()
        if name not in ("codes", "scores")
    }
    if "codes" in parts[0]:
        start["codes"] = {}
    return [{**start, "scores": np.asarray(base, np.float64)[None]}, *parts]


def ensembles_among(
    reading: Reading, layout: Layout, k: int, threshold: float | None
) -> tuple[TreeEnsemble, ...]:
    """Ensembles all of which decide for the class at position k exactly where the library does."""
    assert reading.scores is not None
    scores = reading.scores[layout.node]
    if threshold is not None:
        return (_of_share(reading, layout, scores[:, k], threshold),)
    if reading.link is None and len(reading.root) == 1:
        wins = (scores.argmax(axis=1) == k).astype(np.uint8)
        return (
            TreeEnsemble(**layout.trees, label=wins, value=scores[:, k], combine="votes", cutoff=1),
        )
    others = [c for c in range(scores.shape[1]) if c != k]
    return tuple(_ahead_of(reading, layout, scores, k, c) for c in others)


def _of_share(
    reading: Reading, layout: Layout, share: np.ndarray, threshold: float
) -> TreeEnsemble:
    """Trees whose mean share of a class must be at least a threshold."""
    if reading.link is not None:
        raise InvalidSpec(
            "A threshold for one class among several is for trees whose leaves hold shares; the "
            "probabilities of this model are no sum of its trees."
        )
    alone = len(reading.root) == 1
    return TreeEnsemble(
        **layout.trees,
        label=(share >= threshold).astype(np.uint8),
        value=share,
        combine="votes" if alone else "mean",
        cutoff=1 if alone else threshold,
    )


def _ahead_of(
    reading: Reading, layout: Layout, scores: np.ndarray, k: int, other: int
) -> TreeEnsemble:
    """The class at position k against another one, by the trees that count for either."""
    ours, theirs = scores[:, k], scores[:, other]
    trees, nodes = layout.trees, np.arange(len(ours))
    if reading.combine == "sum":  # a mean is one of all trees
        trees, nodes = _some_trees(trees, (ours != 0) | (theirs != 0))
    ours, theirs = ours[nodes], theirs[nodes]
    return TreeEnsemble(
        **trees,
        label=(ours > theirs).astype(np.uint8),
        value=ours,
        combine=reading.combine,
        cutoff=0.0 if k < other else float(np.nextafter(0.0, 1.0)),
        single=reading.single,
        against=theirs,
    )


def _some_trees(trees: Mapping[str, Any], counts: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """The trees with a node that counts (or the first one), and the nodes that they have."""
    kept = [part for part in _each_tree(trees) if counts[part].any()]
    kept = kept or [next(_each_tree(trees))]
    sizes = [part.stop - part.start for part in kept]
    root = np.cumsum([0, *sizes[:-1]])
    some: dict[str, Any] = {
        name: np.concatenate([own[part] for part in kept])
        for name, own in trees.items()
        if name not in ("left", "right", "root")
    }
    for side in ("left", "right"):
        moved = [
            np.where(trees[side][part] < 0, -1, trees[side][part] - part.start + first)
            for part, first in zip(kept, root, strict=True)
        ]
        some[side] = np.concatenate(moved).astype(np.int32)
    some["root"] = root.astype(np.int32)
    return some, np.concatenate([np.arange(part.start, part.stop) for part in kept])


def _each_tree(trees: Mapping[str, Any]) -> Iterator[slice]:
    ends = [*trees["root"][1:].tolist(), len(trees["feature"])]
    return (slice(first, last) for first, last in zip(trees["root"].tolist(), ends, strict=True))
