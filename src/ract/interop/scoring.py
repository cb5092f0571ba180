"""From what a library adds up to an ensemble that decides for one of the two classes."""

from __future__ import annotations

import numpy as np

from ract.ensemble import TreeEnsemble
from ract.interop.layout import Layout
from ract.interop.pullback import largest
from ract.interop.reading import Reading

# Margins beyond these have a probability of 0 or 1 in every library.
LARGEST_MARGIN = 1e30


def ensemble_of(reading: Reading, layout: Layout, k: int, threshold: float | None) -> TreeEnsemble:
    """The trees of a layout, scored for the class at position k."""
    if reading.link is None:
        return _of_shares(reading, layout, k, threshold)
    sign = 1.0 if k == 1 else -1.0
    value = sign * reading.value[layout.node]
    return TreeEnsemble(
        **layout.trees,
        label=(value > 0).astype(np.uint8),
        value=value,
        combine=reading.combine,
        cutoff=_margin_needed(reading, k, threshold),
        base=sign * reading.base,
        single=reading.single,
    )


def _of_shares(reading: Reading, layout: Layout, k: int, threshold: float | None) -> TreeEnsemble:
    """Trees whose leaves hold the shares of both classes; the first class wins a tie."""
    assert reading.first is not None
    ours, theirs = reading.value[layout.node], reading.first[layout.node]
    if k == 0:
        ours, theirs = theirs, ours
    favours = ours > theirs if k == 1 else ours >= theirs
    if threshold is not None:
        favours = ours >= threshold
    half = float(np.nextafter(0.5, 1.0)) if k == 1 else 0.5
    alone = len(reading.root) == 1
    return TreeEnsemble(
        **layout.trees,
        label=favours.astype(np.uint8),
        value=ours,
        combine="votes" if alone else "mean",
        cutoff=1 if alone else half if threshold is None else threshold,
        against=None if alone or threshold is not None else theirs,
    )


def _margin_needed(reading: Reading, k: int, threshold: float | None) -> float:
    """The smallest margin of the class at position k with which it wins."""
    link, chooses = reading.link, reading.chooses
    assert link is not None and chooses is not None

    def fails(margin: np.ndarray) -> np.ndarray:
        margin = margin[0] if k == 1 else -margin[0]
        if threshold is None:
            return (chooses(margin) != (k == 1))[None]
        return ~((link(margin) if k == 1 else 1 - link(margin)) >= threshold)[None]

    end = np.array([LARGEST_MARGIN])
    last = largest(fails, -end, end, width=1024)[0]
    needed = float(np.nextafter(last, np.inf)) if np.isfinite(last) else float(last)
    return float(np.float32(needed)) if reading.single else needed
