"""Numbers that are missing values to a library, in the middle of a column or at its low end.

XGBoost's ``missing=0`` and LightGBM's ``zero_as_missing`` take a number as missing, and the
logarithm of a negative number is missing too. No single threshold says that. Where it matters,
a node is laid out as up to three splits, once on every way down:

    x <= high?  - no: above                     the node's own threshold decides
                  yes: x <= low? - yes: below   the node's own threshold decides
                                   no: inside   goes where missing values go
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ract.trees.readers.reading import LibraryTrees

BELOW, INSIDE, ABOVE = range(3)


@dataclass(frozen=True)
class MissingSpan:
    """The numbers of an encoded column that are missing: above ``low``, and up to ``high``.

    without : the part (BELOW, INSIDE, ABOVE) with which people without a value go.
    """

    column: int
    low: float
    high: float
    without: int

    def matters(
        self, reading: LibraryTrees, nodes: np.ndarray, threshold: np.ndarray
    ) -> np.ndarray:
        """At which nodes numbers inside do not go where their order says."""
        left = reading.missing_left[nodes]
        in_order = np.where(left, threshold >= self.high, threshold <= self.low)
        return reading.gap_at(nodes) & ~in_order


@dataclass(frozen=True)
class MissingSpans:
    """The gaps of all columns.

    Parameters
    ----------
    gaps : tuple of MissingSpan
    of_node : int64 (nodes,)
        The gap that matters at a node, or -1.
    inside_left : bool (nodes,)
        Whether numbers inside go left.
    first : int
        Where their parts stand among the values that get to a place; three for each gap.
    """

    gaps: tuple[MissingSpan, ...]
    of_node: np.ndarray
    inside_left: np.ndarray
    first: int

    def start(self, allowed: np.ndarray) -> None:
        """Take out the parts that no number is in."""
        for g, gap in enumerate(self.gaps):
            allowed[:, self.first + 3 * g + BELOW] = np.isfinite(gap.low)

    def parts(self, node: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """Which parts of a node's gap still get to each place (places x 3); none without a gap."""
        if not self.gaps:
            return np.zeros((len(node), 3), bool)
        gap = self.of_node[node]
        parts = allowed[np.arange(len(node))[:, None], self._columns(np.maximum(gap, 0))]
        return parts & (gap >= 0)[:, None]

    def _columns(self, gap: np.ndarray) -> np.ndarray:
        return self.first + 3 * gap[:, None] + np.arange(3)

    def split(
        self, node: np.ndarray, parts: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split places between parts of their gaps; ``left`` and ``right`` are what is allowed.

        Returns column, threshold, and whether people without a value go left.
        """
        own = [self.gaps[g] for g in self.of_node[node]]
        columns = self._columns(self.of_node[node])
        each = np.arange(len(node))
        at_high = parts[:, ABOVE]
        left[each, columns[:, ABOVE]] = False
        right[each, columns[:, BELOW]] = False
        right[each[at_high], columns[at_high, INSIDE]] = False
        left[each[~at_high], columns[~at_high, INSIDE]] = False
        threshold = [gap.high if high else gap.low for gap, high in zip(own, at_high, strict=True)]
        goes_left = [
            gap.without <= (INSIDE if high else BELOW)
            for gap, high in zip(own, at_high, strict=True)
        ]
        column = np.array([gap.column for gap in own], np.int32)
        return column, np.array(threshold), np.array(goes_left, bool)
