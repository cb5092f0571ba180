"""From what a library adds up to ensembles that decide for one of two classes, or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.validation import is_number
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import ShareCurve
from ract.trees.readers.doubles import largest
from ract.trees.readers.layout import EncodedTrees
from ract.trees.readers.reading import ENDS, LibraryTrees, TreeArrays
from ract.trees.readers.wrappers import Cut

# Margins beyond these have a probability of 0 or 1 in every library.
LARGEST_MARGIN = 1e30


def comparable(reading: LibraryTrees, k: int, cut: Cut | None) -> LibraryTrees:
    """A reading whose scores are those that decide for the class at position k.

    Where a threshold is for the other class of trees whose leaves hold shares, it is their mean
    that decides: rounding can keep the shares of both classes from adding up to one.
    """
    if reading.first is None or cut is None or cut.label == reading.classes[k]:
        return reading
    if k == 0:
        return replace(reading, link=ShareCurve(0), first=None)
    ask = reading.ask
    return replace(
        reading,
        value=-reading.first,
        link=ShareCurve(1),
        first=None,
        ask=lambda seen: ask(seen) - 1.0,
    )


def cut_at(threshold: float | None, k: int) -> Cut:
    """The cut of a regressor: at least a threshold, or at most (k = 0)."""
    if threshold is None or not is_number(threshold) or not np.isfinite(threshold):
        raise InvalidSpec(
            "A regressor predicts a number; say by a threshold from which number on people have "
            f"what they want (or up to which, with desired='at most'); got {threshold!r}."
        )
    return Cut(ENDS[k], float(threshold) if k == 1 else -float(threshold), on_margin=True)


def ensemble_of(
    reading: LibraryTrees, layout: EncodedTrees, k: int, cut: Cut | None
) -> TreeEnsemble:
    """The trees of a layout, scored for the class at position k."""
    if reading.link is None:
        return _of_shares(reading, layout, k, None if cut is None else cut.least)
    sign = 1.0 if k == 1 else -1.0
    value = sign * reading.value[layout.node]
    return TreeEnsemble(
        **layout.trees,
        label=(value > 0).astype(np.uint8),
        value=value,
        combine=reading.combine,
        cutoff=_margin_needed(reading, k, cut),
        base=sign * reading.base,
        single=reading.single,
    )


def _of_shares(
    reading: LibraryTrees, layout: EncodedTrees, k: int, threshold: float | None
) -> TreeEnsemble:
    """Trees whose leaves hold the shares of both classes; the first class wins a tie."""
    assert reading.first is not None
    ours, theirs = reading.value[layout.node], reading.first[layout.node]
    if k == 0:
        ours, theirs = theirs, ours
    favours = ours > theirs if k == 1 else ours >= theirs
    if threshold is not None:
        return shares_from(ours, threshold, layout)
    half = float(np.nextafter(0.5, 1.0)) if k == 1 else 0.5
    alone = len(reading.root) == 1
    return TreeEnsemble(
        **layout.trees,
        label=favours.astype(np.uint8),
        value=ours,
        combine="votes" if alone else "mean",
        cutoff=1 if alone else half,
        against=None if alone else theirs,
    )


def shares_from(share: np.ndarray, threshold: float, layout: EncodedTrees) -> TreeEnsemble:
    """Trees whose mean share of a class must be at least a threshold."""
    alone = len(layout.trees["root"]) == 1
    return TreeEnsemble(
        **layout.trees,
        label=(share >= threshold).astype(np.uint8),
        value=share,
        combine="votes" if alone else "mean",
        cutoff=1 if alone else threshold,
    )


def _margin_needed(reading: LibraryTrees, k: int, cut: Cut | None) -> float:
    """The smallest margin of the class at position k with which it wins."""

    def fails(margin: np.ndarray) -> np.ndarray:
        return ~_wins(reading, k, cut, margin[0] if k == 1 else -margin[0])[None]

    end = np.array([LARGEST_MARGIN])
    last = largest(fails, -end, end, width=1024)[0]
    needed = float(np.nextafter(last, np.inf)) if np.isfinite(last) else float(last)
    return float(np.float32(needed)) if reading.single else needed


def _wins(reading: LibraryTrees, k: int, cut: Cut | None, margin: np.ndarray) -> np.ndarray:
    """Whether the class at position k wins at margins of the second class."""
    link, chooses = reading.link, reading.chooses
    assert link is not None
    if cut is None:
        assert chooses is not None
        return chooses(margin) == (k == 1)
    second = cut.label == reading.classes[1]
    if cut.on_margin:
        score = margin if second else -margin
    else:
        score = link(margin) if second else 1 - link(margin)
    return (score >= cut.least) == (cut.label == reading.classes[k])


def scored(part: TreeArrays, k: int, n_classes: int) -> TreeArrays:
    """A tree that counts for the class at position k, as a part of ``end_to_end``."""
    scores = np.zeros((len(part["value"]), n_classes))
    scores[:, k] = part["value"]
    return {**part, "value": np.zeros(len(scores)), "scores": scores}


def starting_from(base: np.ndarray, parts: Sequence[TreeArrays]) -> list[TreeArrays]:
    """Parts of ``end_to_end`` after a leaf that holds what the score of each class starts from."""
    start: TreeArrays = {
        name: np.full(1, -1 if name in ("column", "left", "right") else 0, np.asarray(array).dtype)
        for name, array in parts[0].items()
        if name not in ("codes", "scores")
    }
    if "codes" in parts[0]:
        start["codes"] = {}
    return [{**start, "scores": np.asarray(base, np.float64)[None]}, *parts]


def ensembles_among(
    reading: LibraryTrees, layout: EncodedTrees, k: int, threshold: float | None
) -> tuple[TreeEnsemble, ...]:
    """Ensembles all of which decide for the class at position k exactly where the library does.

    Trees add up a score for every class, of which the largest wins. The desired class wins if its
    score is at least that of every class after it and larger than that of every class before it,
    as all libraries break ties. Each of these comparisons is an ensemble, and plans must serve in
    all of them. A single tree needs one: its leaves say which class wins.
    """
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
    rivals = [c for c in range(scores.shape[1]) if c != k]
    return tuple(_ahead_of(reading, layout, scores, k, c) for c in rivals)


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


def as_votes(ensemble: TreeEnsemble) -> TreeEnsemble:
    """Trees with the same decisions that vote, if every leaf of a mean says all or nothing.

    So do leaves of forests without a limit of depth. Whole numbers add up without rounding, so that
    a search can tell a tie from a win before it has added anything up.

    >>> forest = TreeEnsemble.joined([TreeEnsemble.stump(0, cut) for cut in range(4)], 3)
    >>> mean = replace(forest, combine="mean", cutoff=0.6)
    >>> as_votes(mean).combine, as_votes(mean).cutoff, as_votes(forest) is forest
    ('votes', 3, True)
    """
    if ensemble.combine != "mean" or ensemble.n_trees == 1 or ensemble.base != 0:
        return ensemble
    label = ensemble.memo.get(("votes", ensemble.key), partial(_whole_votes, ensemble))
    if label is None or ensemble.among_several:
        return ensemble
    n = ensemble.n_trees
    votes = np.arange(n + 1)
    if ensemble.against is None:
        wins = (votes - n * (ensemble.share_at_zero or 0)) / n >= ensemble.cutoff
    else:
        wins = votes / n - (n - votes) / n >= ensemble.least_ahead
    needed = n + 1 - int(wins.sum())
    voting = replace(ensemble, label=label, combine="votes", cutoff=needed, against=None)
    vars(voting)["memo"] = ensemble.memo  # searches in the same trees
    return voting


def _whole_votes(ensemble: TreeEnsemble) -> np.ndarray | None:
    """The vote of each leaf; None if not all leaves have one."""
    value, against = ensemble.value, ensemble.against
    share = value[ensemble.leaves] + (ensemble.share_at_zero or 0)
    if not ((share == 0) | (share == 1)).all():
        return None
    if against is not None and not (against[ensemble.leaves] == 1 - share).all():
        return None
    label = np.zeros(len(value), np.uint8)
    label[ensemble.leaves] = share
    return label
