"""Carrying splits from the columns that a library sees back to the user's own.

A step that never goes down turns ``step(x) <= t`` into ``x <= T``, with T the largest double for
which it holds. T is found by bisection over the doubles in their order, by running the step
itself, so that no formula is guessed and every rounding is the library's own. Where an axis
has few values (categories, 0 and 1) a split is the set of values that go left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ract.encoding import Axis
from ract.errors import InvalidSpec
from ract.interop.seen import Seen, has_few_values

SIGN = np.int64(-(2**63))
ROWS_AT_A_TIME = 8_000


@dataclass(frozen=True)
class Splits:
    """The splits of all nodes on encoded columns.

    Parameters
    ----------
    column : int32 (nodes,)
        Encoded column where a threshold splits, -1 elsewhere.
    threshold : float64 (nodes,)
        -inf where nobody goes left, inf where everyone does.
    table : int64 (nodes,)
        Row of ``left`` where a set splits, -1 elsewhere.
    left, member : bool (sets, values)
        Which values of all axes with few values go left, and which belong to the set's axis.
    stem : int32 (values,)
        Encoded column that is 1 for a value; -1 for the zero of a 0/1 column.
    """

    column: np.ndarray
    threshold: np.ndarray
    table: np.ndarray
    left: np.ndarray
    member: np.ndarray
    stem: np.ndarray


def pull_back(seen: Seen) -> Splits:
    """The splits of a model on the encoded columns of its people."""
    reading = seen.reading
    n = len(reading.column)
    column, table = np.full(n, -1, np.int32), np.full(n, -1, np.int64)
    threshold = np.zeros(n)
    used = [int(j) for j in np.unique(reading.column[reading.column >= 0])]
    ordinal = [j for j in used if not has_few_values(seen.axis_of[j])]
    for j, cuts, found in _thresholds(seen, ordinal):
        here = np.flatnonzero(reading.column == j)
        column[here] = seen.axis_of[j].columns[0]
        threshold[here] = found[np.searchsorted(cuts, reading.threshold[here])]
    listed = [j for j in used if has_few_values(seen.axis_of[j])]
    values = Values.of([seen.axis_of[j] for j in listed])
    rows = values.seen_by(seen)
    left = [np.zeros((0, len(values.stem)), bool)]
    member = [np.zeros((0, len(values.stem)), bool)]
    n_sets = 0
    for j in listed:
        here = np.flatnonzero(reading.column == j)
        part = values.part[seen.axis_of[j].columns]
        sets, which = _sets(seen, here, rows[part, j])
        wide, own = (np.zeros((len(sets), len(values.stem)), bool) for _ in range(2))
        wide[:, part], own[:, part] = sets, True
        left.append(wide)
        member.append(own)
        table[here] = n_sets + which
        n_sets += len(sets)
    return Splits(
        column, threshold, table, np.concatenate(left), np.concatenate(member), values.stem
    )


@dataclass(frozen=True)
class Values:
    """The values of all axes that have few, end to end.

    stem : as in Splits. part : where the values of an axis stand, by its columns.
    """

    stem: np.ndarray
    part: dict[tuple[int, ...], slice]

    @classmethod
    def of(cls, axes: Sequence[Axis]) -> Values:
        """The values of some axes, of which one may come up more than once."""
        stem: list[int] = []
        part: dict[tuple[int, ...], slice] = {}
        for axis in axes:
            if axis.columns not in part:
                own = list(axis.columns) if axis.is_categorical else [-1, axis.columns[0]]
                part[axis.columns] = slice(len(stem), len(stem) + len(own))
                stem += own
        return cls(np.array(stem, np.int32), part)

    def seen_by(self, seen: Seen) -> np.ndarray:
        """The model's columns of one row per value (values, model's columns)."""
        rows = np.repeat(seen.matrix[:1], len(self.stem), axis=0)
        for columns, part in self.part.items():
            block = rows[part]
            block[:, list(columns)] = 0.0
            for row, column in zip(block, self.stem[part], strict=True):
                if column >= 0:
                    row[column] = 1.0
        return seen.columns(rows) if len(rows) else np.zeros((0, seen.reading.n_columns))


def _sets(seen: Seen, nodes: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which values of an axis go left at some nodes of one column: sets, and each node's."""
    reading = seen.reading
    cut, missing = reading.threshold[nodes], np.isnan(value)
    if not missing.any() and not any(int(node) in reading.codes for node in nodes):
        cuts, which = np.unique(cut, return_inverse=True)
        return value[None, :] <= cuts[:, None], which
    left = value[None, :] <= cut[:, None]
    for k, node in enumerate(nodes):
        if int(node) in reading.codes:
            whole = np.where(missing, -1, value).astype(np.int64)
            left[k] = np.isin(whole, reading.codes[int(node)])
        left[k, missing] = reading.missing_left[node]
    return left, np.arange(len(nodes))


def _thresholds(seen: Seen, columns: Sequence[int]) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """For each of the model's columns its cuts, in order, and the thresholds that they come to."""
    reading = seen.reading
    cuts = [np.unique(reading.threshold[reading.column == j]) for j in columns]
    sizes = [len(own) for own in cuts]
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
        rows = np.repeat(seen.matrix[:1], n_rows * x.shape[1], axis=0)
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
    found = np.split(largest(goes_left, low, high, width), np.cumsum(sizes)[:-1])
    return list(zip(columns, cuts, found, strict=True))


def _refuse_holes(seen: Seen, columns: Sequence[int]) -> None:
    """Zeros that a sparse matrix leaves out must go where zero itself would go."""
    reading = seen.reading
    if not (seen.sparse and reading.empty_is_missing):
        return
    here = np.isin(reading.column, columns)
    if ((reading.threshold[here] >= 0) != reading.missing_left[here]).any():
        raise InvalidSpec(
            "The steps before the model give a sparse matrix, whose zeros XGBoost takes as "
            "missing numbers; train with ColumnTransformer(..., sparse_threshold=0) or "
            "OneHotEncoder(sparse_output=False)."
        )


def largest(
    holds: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, width: int
) -> np.ndarray:
    """The largest doubles between some ends for which something holds that ceases to hold.

    -inf where it does not hold at the low end, inf where it still holds at the high end.

    Parameters
    ----------
    holds : callable
        From one row of doubles for each pair of ends to whether it holds for them.
    low, high : float64 (pairs,)
    width : int
        Into how many parts to cut at a time; asking for many at once saves time.

    Examples
    --------
    >>> ends = np.array([0.0, 0.0]), np.array([2.0, 3.0])
    >>> largest(lambda x: x * x <= np.array([[2.0], [3.0]]), *ends, width=8)
    array([1.41421356, 1.73205081])
    """
    never, always = ~holds(low[:, None])[:, 0], holds(high[:, None])[:, 0]
    below, above = _order(low), _order(high)
    part = np.arange(1, width, dtype=np.uint64)
    n_parts = np.uint64(width)
    while (below + 1 < above).any():
        gap = (above - below).view(np.uint64)[:, None]  # may be more than an int64 holds
        steps = gap // n_parts * part + gap % n_parts * part // n_parts
        middle = below[:, None] + steps.view(np.int64)
        inside = holds(_double(middle))
        n = np.where(inside.all(axis=1), width - 1, inside.argmin(axis=1))
        marks = np.column_stack([below, middle, above])
        below, above = (marks[np.arange(len(n)), n + k] for k in (0, 1))
    found = _double(below)
    found[always] = np.inf
    found[never] = -np.inf
    return found


def _order(x: np.ndarray) -> np.ndarray:
    """Whole numbers that are in the order of the doubles, without a gap."""
    bits = np.ascontiguousarray(x, np.float64).view(np.int64)
    return np.where(bits < 0, -(bits & ~SIGN), bits)


def _double(order: np.ndarray) -> np.ndarray:
    bits = np.where(order < 0, -order | SIGN, order)
    return bits.view(np.float64)
