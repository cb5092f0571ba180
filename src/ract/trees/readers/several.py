"""One class among several: trees that add up a score for every class, of which the largest wins.

The desired class wins if its score is at least that of every class after it and larger than that of
every class before it, as all libraries break ties. Each of these comparisons is an ensemble, and
plans must serve in all of them. A single tree needs one: its leaves say which class wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.layout import EncodedTrees
from ract.trees.readers.reading import LibraryTrees, TreeArrays
from ract.trees.readers.scoring import shares_from


def scored(part: TreeArrays, k: int, n_classes: int) -> TreeArrays:
    """A tree that counts for the class at position k, as a part of ``end_to_end``."""
    scores = np.zeros((len(part["value"]), n_classes))
    scores[:, k] = part["value"]
    return {**part, "value": np.zeros(len(scores)), "scores": scores}


def starting_from(base: np.ndarray, parts: Sequence[TreeArrays]) -> list[TreeArrays]:
    """Parts of ``end_to_end`` after a leaf that holds what the score of each class starts from."""
    start: TreeArrays = {
        name: np.full(1, -1 if name in ("column", "left", "right") else 0, np.asarray(own).dtype)
        for name, own in parts[0].items()
        if name not in ("codes", "scores")
    }
    if "codes" in parts[0]:
        start["codes"] = {}
    return [{**start, "scores": np.asarray(base, np.float64)[None]}, *parts]


def ensembles_among(
    reading: LibraryTrees, layout: EncodedTrees, k: int, threshold: float | None
) -> tuple[TreeEnsemble, ...]:
    """Ensembles all of which decide for the class at position k exactly where the library does."""
    assert reading.scores is not None
    scores = reading.scores[layout.node]
    if threshold is not None:
        if reading.link is not None:
            raise InvalidSpec(
                "A threshold for one class among several is for trees whose leaves hold shares; "
                "the probabilities of this model are no sum of its trees."
            )
        return (shares_from(scores[:, k], threshold, layout),)
    if reading.link is None and len(reading.root) == 1:
        wins = (scores.argmax(axis=1) == k).astype(np.uint8)
        return (
            TreeEnsemble(**layout.trees, label=wins, value=scores[:, k], combine="votes", cutoff=1),
        )
    others = [c for c in range(scores.shape[1]) if c != k]
    return tuple(_ahead_of(reading, layout, scores, k, c) for c in others)


def _ahead_of(
    reading: LibraryTrees, layout: EncodedTrees, scores: np.ndarray, k: int, other: int
) -> TreeEnsemble:
    """The class at position k against another one, by the trees that count for either."""
    ours, theirs = scores[:, k], scores[:, other]
    ensemble = TreeEnsemble(
        **layout.trees,
        label=(ours > theirs).astype(np.uint8),
        value=ours,
        combine=reading.combine,
        cutoff=0.0 if k < other else float(np.nextafter(0.0, 1.0)),
        single=reading.single,
        against=theirs,
    )
    if reading.combine == "mean":  # one of all trees
        return ensemble
    counts = (ours != 0) | (theirs != 0)
    counting = [t for t, part in enumerate(ensemble.slices) if counts[part].any()]
    return ensemble.take_trees(counting or [0])


def by_share(ensemble: TreeEnsemble) -> TreeEnsemble | None:
    """Averaged trees of a class among several, deciding by its mean share alone; None of others."""
    if not ensemble.among_several or ensemble.combine != "mean":
        return None
    return replace(ensemble, against=None, cutoff=0.0)


def with_rounded_ties(ensemble: TreeEnsemble) -> TreeEnsemble:
    """The same trees, in which the first of two classes wins up to a rounding of probabilities.

    Probabilities of scores that differ by a few units in the last place may round to the same
    number, and of equal ones the first class wins. So the second class is given less by as much,
    in the last tree, after which no rounding of sums is left to make up for it.
    """
    against = ensemble.against
    if against is None or ensemble.least_ahead > 0:
        return ensemble
    digits = float(np.finfo(np.float32 if ensemble.single else np.float64).eps)
    size = np.maximum(np.abs(ensemble.value), np.abs(against))
    largest = float(np.maximum.reduceat(size, ensemble.root).sum())
    less = against.copy()
    less[ensemble.root[-1] :] -= 4 * digits * max(1.0, largest)
    first: TreeEnsemble = ensemble.memo.get("ties", lambda: replace(ensemble, against=less))
    return first
