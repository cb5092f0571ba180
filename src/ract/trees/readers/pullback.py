"""Carrying splits from the columns that a library sees back to the user's own.

A step that never goes down turns ``step(x) <= t`` into ``x <= T``, with T the largest double for
which it holds. T is found by bisection over the doubles in their order, by running the step
itself, so that no formula is guessed and every rounding is the library's own. Where an axis
has few values (categories, 0 and 1) a split is the set of values that go left. Where a missing
value goes is asked in the same way: it may stay missing, or a step gives it a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.encoder import Axis
from ract.trees.readers.doubles import largest, moved
from ract.trees.readers.reading import LibraryTrees
from ract.trees.readers.seen import Seen, has_few_values

ROWS_AT_A_TIME = 8_000
# How many doubles on either side of a threshold must be on their side of it, where a function of
# NumPy was asked: its last digits need not rise with its argument.
NEIGHBOURS = 16

BELOW, INSIDE, ABOVE = range(3)  # parts of a column with a gap


@dataclass(frozen=True)
class Splits:
    """The splits of all nodes on encoded columns.

    Parameters
    ----------
    column : int32 (nodes,)
        Encoded column where a threshold splits, -1 elsewhere.
    threshold : float64 (nodes,)
        -inf where nobody goes left, inf where everyone does; people without a value aside.
    missing_left, parts : bool (nodes,)
        Whether people without a value go left at a threshold, and whether there are such people.
    turned : bool (nodes,)
        Whether the sides of a threshold are those of the node in reverse.
    gaps : MissingSpans
        Where numbers are missing values to the library.
    table : int64 (nodes,)
        Row of ``left`` where a set splits, -1 elsewhere.
    left, member : bool (sets, values)
        Which values of all axes with few values go left, and which belong to the set's axis. The
        parts of all gaps stand after them, and belong to none.
    stem : int32 (values,)
        Encoded column that is 1 for a value; -1 for the zero of a 0/1 column.
    """

    column: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    parts: np.ndarray
    turned: np.ndarray
    gaps: MissingSpans
    table: np.ndarray
    left: np.ndarray
    member: np.ndarray
    stem: np.ndarray


def pull_back(seen: Seen) -> Splits:
    """The splits of a model on the encoded columns of its people."""
    reading = seen.reading
    n = len(reading.column)
    column, table = np.full(n, -1, np.int32), np.full(n, -1, np.int64)
    threshold, missing_left = np.zeros(n), np.zeros(n, bool)
    parts, turned = np.zeros(n, bool), np.zeros(n, bool)
    used = [int(j) for j in np.unique(reading.column[reading.column >= 0])]
    ordinal = [j for j in used if not has_few_values(seen.axis_of[j])]
    without = seen.without_value()
    gap_of = np.full(n, -1, np.int64)
    gaps: list[MissingSpan] = []
    for j, cuts, found in _thresholds(seen, ordinal):
        here = np.flatnonzero(reading.column == j)
        column[here] = seen.axis_of[j].columns[0]
        threshold[here] = found[np.searchsorted(cuts, reading.threshold[here])]
        parts[here] = seen.axis_of[j].has_missing
        missing_left[here] = _goes_left(seen, here, np.array([without[j]]))[:, 0]
        gap = _gap(seen, j, cuts, found, without[j])
        if gap is not None:
            gap_of[here] = np.where(gap.matters(reading, here, threshold[here]), len(gaps), -1)
            gaps.append(gap)
    binary = [j for j in used if seen.axis_of[j].has_missing and not seen.axis_of[j].is_categorical]
    for j in set(binary) - set(ordinal):
        here = np.flatnonzero(reading.column == j)
        axis = seen.axis_of[j]
        left = _goes_left(seen, here, seen.of_values(axis.columns[0], [0.0, 1.0, np.nan])[:, j])
        column[here], parts[here] = axis.columns[0], True
        threshold[here], turned[here], missing_left[here] = _as_threshold(left)
    listed = [j for j in used if j not in ordinal and j not in binary]
    values = Values.of([seen.axis_of[j] for j in listed], n_more=3 * len(gaps))
    rows = values.seen_by(seen)
    left_sets = [np.zeros((0, len(values.stem)), bool)]
    member = [np.zeros((0, len(values.stem)), bool)]
    n_sets = 0
    for j in listed:
        here = np.flatnonzero(reading.column == j)
        part = values.part[seen.axis_of[j].columns]
        sets, which = np.unique(_goes_left(seen, here, rows[part, j]), axis=0, return_inverse=True)
        wide, listed_values = (np.zeros((len(sets), len(values.stem)), bool) for _ in range(2))
        wide[:, part], listed_values[:, part] = sets, True
        left_sets.append(wide)
        member.append(listed_values)
        table[here] = n_sets + which.ravel()
        n_sets += len(sets)
    return Splits(
        column, threshold, missing_left, parts, turned,
        MissingSpans(tuple(gaps), gap_of, reading.missing_left, len(values.stem) - 3 * len(gaps)),
        table, np.concatenate(left_sets), np.concatenate(member), values.stem,
    )  # fmt: skip


@dataclass(frozen=True)
class Values:
    """The values of all axes that have few, end to end, and room for more.

    stem : as in Splits. part : where the values of an axis stand, by its columns.
    """

    stem: np.ndarray
    part: dict[tuple[int, ...], slice]

    @classmethod
    def of(cls, axes: Sequence[Axis], n_more: int = 0) -> Values:
        """The values of some axes, of which one may come up more than once."""
        stem: list[int] = []
        part: dict[tuple[int, ...], slice] = {}
        for axis in axes:
            if axis.columns not in part:
                stems = list(axis.columns) if axis.is_categorical else [-1, axis.columns[0]]
                part[axis.columns] = slice(len(stem), len(stem) + len(stems))
                stem += stems
        return cls(np.array(stem + [-1] * n_more, np.int32), part)

    def seen_by(self, seen: Seen) -> np.ndarray:
        """The model's columns of one row per value (values, model's columns)."""
        rows = np.repeat(seen.someone, len(self.stem), axis=0)
        for columns, part in self.part.items():
            block = rows[part]
            block[:, list(columns)] = 0.0
            for row, column in zip(block, self.stem[part], strict=True):
                if column >= 0:
                    row[column] = 1.0
        return seen.columns(rows) if len(rows) else np.zeros((0, seen.reading.n_columns))


def _goes_left(seen: Seen, nodes: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Which values of one of the model's columns go left at some of its nodes (nodes x values)."""
    reading = seen.reading
    left = value[None, :] <= reading.threshold[nodes][:, None]
    whole = np.where(np.isnan(value), -1, value).astype(np.int64)
    for k, node in enumerate(nodes):
        if int(node) in reading.codes:
            left[k] = np.isin(whole, reading.codes[int(node)])
    return np.where(reading.takes_as_missing(nodes, value), reading.missing_left[nodes, None], left)


def _as_threshold(left: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Splits of zero, one and missing as thresholds, whether turned, and where missing goes."""
    zero, one, missing = left.T
    threshold = np.where(zero != one, 0.5, np.where(zero, np.inf, -np.inf))
    turned = one & ~zero
    return threshold, turned, missing != turned


def _gap(
    seen: Seen, j: int, cuts: np.ndarray, found: np.ndarray, without: float
) -> MissingSpan | None:
    """The numbers of a column that are missing to the library."""
    reading, column = seen.reading, int(seen.axis_of[j].columns[0])
    undefined = seen.undefined_up_to(j)
    if reading.gap is not None:
        if np.isfinite(undefined):
            raise InvalidSpec(
                f"The model takes {reading.gap[1]:g} as missing, and a step before it makes a "
                "missing value of other numbers; only one of the two is supported."
            )
        low, high = (found[np.searchsorted(cuts, cut)] for cut in _around(reading.gap, seen))
    elif np.isfinite(undefined):
        low, high = -np.inf, undefined
    else:
        return None
    inside = bool(np.isnan(without))
    if reading.gap is not None and not inside:
        inside = bool(reading.gap[0] <= without <= reading.gap[1])
    above = not inside and (reading.gap is None or without > reading.gap[1])
    return MissingSpan(column, float(low), float(high), 1 if inside else 2 if above else 0)


def _around(gap: tuple[float, float], seen: Seen) -> tuple[float, float]:
    """The last number before a gap as the library sees it, and the last one in it."""
    kind = np.float32 if seen.reading.rounds else np.float64
    return float(np.nextafter(kind(gap[0]), kind(-np.inf))), gap[1]


def _thresholds(seen: Seen, columns: Sequence[int]) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """For each of the model's columns its cuts, in order, and the thresholds that they come to.

    The ends of a gap are cuts too.
    """
    reading = seen.reading
    ends = () if reading.gap is None else _around(reading.gap, seen)
    cuts = [np.union1d(reading.threshold[reading.column == j], ends) for j in columns]
    sizes = [len(each) for each in cuts]
    if not columns:
        return []
    # Cuts of different encoded columns share a row; those of one column follow each other.
    encoded = np.array([seen.axis_of[j].columns[0] for j in columns])
    row = np.concatenate(
        [
            np.arange(size) + sum(sizes[i] for i in range(k) if encoded[i] == encoded[k])
            for k, size in enumerate(sizes)
        ]
    )
    cut, of_cut = np.concatenate(cuts), np.repeat(columns, sizes)
    at = np.repeat(encoded, sizes)
    n_rows = int(row.max()) + 1

    def goes_left(x: np.ndarray) -> np.ndarray:
        rows = np.repeat(seen.someone, n_rows * x.shape[1], axis=0)
        where = row[:, None] * x.shape[1] + np.arange(x.shape[1])
        rows[where, at[:, None]] = x
        value = seen.columns(rows)[where, of_cut[:, None]]
        if seen.sparse:
            value = np.where(np.isnan(value), 0.0, value)
        return value <= cut[:, None]

    low, high = seen.domain(encoded)
    _refuse_holes(seen, columns)
    low, high = np.repeat(low, sizes), np.repeat(high, sizes)
    width = int(np.clip(ROWS_AT_A_TIME // n_rows, 2, 256))
    found = largest(goes_left, low, high, width)
    curved = np.isin(of_cut, [j for j in columns if seen.curved[j]]) & np.isfinite(found)
    if curved.any():
        near = moved(np.where(curved, found, low)[:, None], np.arange(-NEIGHBOURS, NEIGHBOURS + 1))
        near = np.clip(near, low[:, None], high[:, None])
        rises = goes_left(near) == (near <= found[:, None])
        if not rises[curved].all():
            raise InvalidSpec(
                "A function before the model does not rise with every digit near a threshold of "
                f"{seen.encoder.column_names[at[curved & ~rises.all(axis=1)][0]]!r}, so its "
                "splits are not thresholds of the column; leave it out: trees do not need it."
            )
    return list(zip(columns, cuts, np.split(found, np.cumsum(sizes)[:-1]), strict=True))


def _refuse_holes(seen: Seen, columns: Sequence[int]) -> None:
    """Zeros that a sparse matrix leaves out must go where zero itself would go."""
    reading = seen.reading
    if not (seen.sparse and reading.empty_is_missing) or reading.gap == (0.0, 0.0):
        return
    here = np.isin(reading.column, columns)
    if ((reading.threshold[here] >= 0) != reading.missing_left[here]).any():
        raise InvalidSpec(
            "The steps before the model give a sparse matrix, whose zeros XGBoost takes as "
            "missing numbers; train with ColumnTransformer(..., sparse_threshold=0) or "
            "OneHotEncoder(sparse_output=False)."
        )


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
    """The gaps of all columns: numbers that are missing values to a library.

    They lie in the middle of a column or at its low end. XGBoost's ``missing=0`` and LightGBM's
    ``zero_as_missing`` take a number as missing, and the logarithm of a negative number is missing
    too. No single threshold says that. Where it matters, a node is laid out as up to three splits,
    once on every way down:

        x <= high?  - no: above                     the node's own threshold decides
                      yes: x <= low? - yes: below   the node's own threshold decides
                                       no: inside   goes where missing values go

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
        gaps = [self.gaps[g] for g in self.of_node[node]]
        columns = self._columns(self.of_node[node])
        each = np.arange(len(node))
        at_high = parts[:, ABOVE]
        left[each, columns[:, ABOVE]] = False
        right[each, columns[:, BELOW]] = False
        right[each[at_high], columns[at_high, INSIDE]] = False
        left[each[~at_high], columns[~at_high, INSIDE]] = False
        threshold = [gap.high if high else gap.low for gap, high in zip(gaps, at_high, strict=True)]
        goes_left = [
            gap.without <= (INSIDE if high else BELOW)
            for gap, high in zip(gaps, at_high, strict=True)
        ]
        column = np.array([gap.column for gap in gaps], np.int32)
        return column, np.array(threshold), np.array(goes_left, bool)
