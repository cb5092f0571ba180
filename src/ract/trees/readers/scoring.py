"""From what a library adds up to an ensemble that decides for one of the two classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.validation import is_number
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import ShareCurve
from ract.trees.readers.doubles import largest
from ract.trees.readers.layout import EncodedTrees
from ract.trees.readers.reading import ENDS, LibraryTrees
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
