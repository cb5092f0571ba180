"""A table that is seen once, in batches: what is kept of each column.

Of a column of texts: how many people have each. Of a column of numbers: every value with the people
who have it, up to so many different values; beyond, neighbours are put together under the largest
of them, and how far the rank of any value may be off is known. Sketches of two parts add up. They
are merged like the digits of a binary number, so that a value is put together with others as often
as the number of batches has digits, not as often as there are batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData
from ract._utils.typing import TableLike
from ract.data.costs.distribution import Distribution
from ract.data.encoder import Encoder
from ract.data.frames import Role, Table, read_table

MOST_VALUES = 16_384  # of a column of numbers, distinguished
MOST_TEXTS = 10_000


class Points(NamedTuple):
    """Ascending values, people and weight of each, and what weight a rank may be off by."""

    values: np.ndarray
    counts: np.ndarray
    mass: np.ndarray
    error: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None) -> Points:
        """Those of some known values."""
        found, at, counts = np.unique(values, return_inverse=True, return_counts=True)
        mass = counts.astype(float) if weights is None else np.bincount(at, weights, len(found))
        return cls(found, counts.astype(float), mass)

    def joined(self, other: Points, most: int) -> Points:
        """Both together, with at most about so many values."""
        values, at = np.unique(np.append(self.values, other.values), return_inverse=True)
        counts, mass = (
            np.bincount(at, np.append(one, more), len(values))
            for one, more in ((self.counts, other.counts), (self.mass, other.mass))
        )
        return Points(values, counts, mass, self.error + other.error).thinned(most)

    def thinned(self, most: int) -> Points:
        """Neighbours put together under the largest of them; heavy values stay by themselves."""
        if len(self.values) <= most:
            return self
        width = 2 * self.mass.sum() / most
        place = ((np.cumsum(self.mass) - self.mass) / width).astype(np.int64)
        heavy = self.mass >= width
        new = np.append(True, (place[1:] != place[:-1]) | heavy[1:] | heavy[:-1])
        new[1] = True  # the smallest value is kept as it is
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(new)) - 1
        counts, mass = np.add.reduceat(self.counts, first), np.add.reduceat(self.mass, first)
        moved = float((mass - self.mass[last]).max())
        return Points(self.values[last], counts, mass, self.error + moved)


@dataclass
class ColumnSketch:
    """What is kept of one column.

    Parameters
    ----------
    role : str or None
        As ``Table.role``; None while nobody had a value.
    n_missing : int
    texts : dict
        Of a column of texts: people and weight of each.
    levels : dict
        Of a column of numbers: points of 1, 2, 4, ... batches by level.
    fraction : float or None
        A value that is not whole, if there is one: points may lose it.
    declared : tuple
        Categories that the column declares in their order, and whether that is one.
    """

    role: Role | None = None
    n_missing: int = 0
    texts: dict[Any, list[float]] = field(default_factory=dict)
    levels: dict[int, Points] = field(default_factory=dict)
    fraction: float | None = None
    declared: tuple[list[Any] | None, bool] = (None, False)

    @classmethod
    def of(cls, table: Table, name: str, weights: np.ndarray | None, most: int) -> ColumnSketch:
        """That of a column of one batch."""
        missing = table.missing(name)
        sketch = cls(n_missing=int(missing.sum()))
        known = ~missing
        if not known.any():
            return sketch
        sketch.role, some = table.role(name), None if weights is None else weights[known]
        sketch.declared = table.declared(name)
        if sketch.role == "label":
            codes, texts = pd.factorize(table.labels(name)[known])
            counts, mass = np.bincount(codes), np.bincount(codes, some)
            sketch.texts = {
                text: [float(n), float(m)] for text, n, m in zip(texts, counts, mass, strict=True)
            }
            return sketch
        values = table.numbers(name)[known]
        parts = values[values != np.floor(values)]
        sketch.fraction = float(parts[0]) if len(parts) else None
        sketch.levels = {0: Points.of(values, some).thinned(most)}
        return sketch

    def add(self, other: ColumnSketch, most: int, name: str) -> None:
        """Take in what is kept of a later part."""
        roles = {self.role, other.role} - {None}
        if len(roles) > 1 and "label" in roles:
            raise InvalidData(f"Column {name!r} is text in some parts and numbers in others.")
        if self.role is None:
            self.declared = other.declared
        elif other.role is not None and other.declared != self.declared:
            self.declared = (None, False)
        self.role = max(roles, key=("bool", "integer", "float", "label").index, default=None)
        self.n_missing += other.n_missing
        self.fraction = other.fraction if self.fraction is None else self.fraction
        for text, (n, m) in other.texts.items():
            own = self.texts.setdefault(text, [0.0, 0.0])
            own[0], own[1] = own[0] + n, own[1] + m
        if len(self.texts) > MOST_TEXTS:
            raise InvalidData(
                f"Column {name!r} has more than {MOST_TEXTS} different texts, too many for a "
                "feature; leave it out."
            )
        for level in sorted(other.levels):
            points, at = other.levels[level], level
            while at in self.levels:
                points, at = self.levels.pop(at).joined(points, most), at + 1
            self.levels[at] = points

    @property
    def points(self) -> Points:
        """All numbers together."""
        everything = Points(np.empty(0), np.empty(0), np.empty(0))
        for level in sorted(self.levels):
            one = self.levels[level]
            everything = everything.joined(one, len(everything.values) + len(one.values))
        return everything

    @property
    def error(self) -> float:
        """By what share of all people the rank of a value may be off; 0 if all is exact."""
        points = self.points
        return points.error / float(points.mass.sum()) if len(points.values) else 0.0

    def cells(self) -> np.ndarray:
        """Every value that is kept once, in the column's own terms, and None if some miss one."""
        values: list[Any] = list(self.texts)
        if self.role != "label":
            kept = self.points.values.tolist()
            kept += [] if self.fraction is None or self.fraction in kept else [self.fraction]
            plain: dict[Any, Any] = {"bool": bool, "integer": int}
            values = [plain.get(self.role, float)(value) for value in kept]
        out = np.empty(len(values) + (self.n_missing > 0), object)
        out[: len(values)] = values
        return out


@dataclass
class TableSketch:
    """What is kept of a table.

    Parameters
    ----------
    columns : dict of ColumnSketch
    n_people : int
        With a weight.
    classes : dict
        By class: people, whatever their weight.
    most : int
        Different values of a column of numbers that are distinguished.
    """

    columns: dict[str, ColumnSketch]
    n_people: int
    classes: dict[Any, int]
    most: int = MOST_VALUES

    @classmethod
    def of(
        cls,
        X: TableLike,
        weights: np.ndarray | None,
        classes: dict[Any, int],
        most: int = MOST_VALUES,
    ) -> TableSketch:
        """That of one batch; weights are above 0 for everyone."""
        table = read_table(X)
        columns = {name: ColumnSketch.of(table, name, weights, most) for name in table.names}
        return cls(columns, table.n_rows, classes, most)

    def __add__(self, later: TableSketch) -> TableSketch:
        whole = deepcopy(self)
        whole += later
        return whole

    def __iadd__(self, later: TableSketch) -> TableSketch:
        if list(self.columns) != list(later.columns):
            raise InvalidData(
                "Parts of the table differ in their columns, or in the order of these."
            )
        for name, column in self.columns.items():
            column.add(later.columns[name], self.most, name)
        self.n_people += later.n_people
        for label, n in later.classes.items():
            self.classes[label] = self.classes.get(label, 0) + n
        return self

    def table(self) -> Table:
        """A table with each value once, from which an action space can be completed."""
        return _SketchTable(self)

    def distributions(self, encoder: Encoder) -> Sequence[Distribution]:
        """The distribution of the known values of every encoded column."""
        found: list[Distribution] = []
        for axis in encoder.axes:
            feature = axis.feature
            if not feature.is_categorical or feature.columns:
                for name in feature.table_columns:
                    found.append(_distribution(self.columns[name].points))
                continue
            column = self.columns[feature.name]
            held = column.texts
            if column.role != "label":
                points = column.points
                held = {v: [n, m] for v, n, m in zip(*points[:3], strict=True)}
            n, m = np.array(list(held.values())).sum(axis=0)
            for category in feature.categories:
                own = held.get(category, [0.0, 0.0])
                found.append(_of_zero_and_one(n - own[0], m - own[1], *own))
            if axis.has_missing:  # among people who have a category, nobody has none
                found.append(_of_zero_and_one(n, m, 0.0, 0.0))
        return found

    @property
    def error(self) -> float:
        """The largest error of a column's ranks."""
        return max(column.error for column in self.columns.values())


class _SketchTable(Table):
    """Columns of different lengths, each with every value that was kept of it once."""

    def __init__(self, sketch: TableSketch) -> None:
        super().__init__(list(sketch.columns), sketch.n_people)
        self._columns = sketch.columns
        self._keeps = True

    def role(self, name: str) -> Role:
        return self._columns[name].role or "float"

    def _raw(self, name: str) -> np.ndarray:
        cells = self._columns[name].cells()
        numbers = self._columns[name].role in ("bool", "integer", "float")
        return np.array([np.nan if v is None else v for v in cells], float) if numbers else cells

    def quartiles(self, name: str) -> tuple[float, float, float]:
        points = self._columns[name].points
        end = np.cumsum(points.counts)  # as of everyone's value, one after the other
        low, middle, high = (
            float(np.interp(place, *_two_at(place, points.values, end)))
            for place in np.array([0.25, 0.5, 0.75]) * (end[-1] - 1)
        )
        return low, middle, high

    def cells(self, name: str) -> np.ndarray:
        return self._columns[name].cells()

    def declared(self, name: str) -> tuple[list[Any] | None, bool]:
        return self._columns[name].declared


def _two_at(place: float, values: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions before and after a place among everyone's values in order, and the values there."""
    at = np.floor(place) + np.array([0.0, 1.0])
    return at, values[np.minimum(np.searchsorted(end, at, side="right"), len(values) - 1)]


def _distribution(points: Points) -> Distribution:
    counts = points.counts.astype(np.int64)
    return Distribution(points.values, counts, np.cumsum(points.mass))


def _of_zero_and_one(n_0: float, mass_0: float, n_1: float, mass_1: float) -> Distribution:
    points = Points(np.array([0.0, 1.0]), np.array([n_0, n_1]), np.array([mass_0, mass_1]))
    some = points.counts > 0
    return _distribution(Points(points.values[some], points.counts[some], points.mass[some]))
