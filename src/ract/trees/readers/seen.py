"""What a model sees of people: their encoded rows, as its library would compare them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype
from scipy.sparse import issparse
from sklearn.base import TransformerMixin

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.typing import TableLike
from ract.data.encoder import Axis, Encoder
from ract.data.frames import is_frame, read_table, take_rows
from ract.trees.readers.doubles import largest
from ract.trees.readers.reading import LibraryTrees
from ract.trees.readers.steps import TracedColumn, as_trained

MOST_PEOPLE = 1000
# Ends of a column to try, from the widest; some steps refuse large or negative numbers.
WIDEST = 1e300
LOW_ENDS = (-WIDEST, -1e100, -3e38, -1e18, -1e9, -1e6, -1e3, -1.0, 0.0, 1e-300, 1e-9)
HIGH_ENDS = (WIDEST, 1e100, 3e38, 1e18, 1e9, 1e6, 1e3, 1.0, 0.0)


class Seen:
    """The way from encoded rows to the columns that a model's library compares.

    Parameters
    ----------
    encoder : Encoder
    people : table of the user's kind
    columns : sequence of TracedColumn
        Where each of the model's columns comes from.
    reading : LibraryTrees
    steps : sequence of fitted transformers
        What the table goes through before the model; nothing for a model alone.

    Attributes
    ----------
    people, matrix : table, float (people, encoded columns)
        Some of the people, from all over the table, and the same encoded.
    someone : float (1, encoded columns)
        A person who has a value in every column.
    axis_of, part_of, curved : lists
        For each of the model's columns the axis that it depends on; where the axis is a one-hot
        group of the table's own columns, which of them; and whether a function was applied to it.
    """

    def __init__(
        self,
        encoder: Encoder,
        people: TableLike,
        columns: Sequence[TracedColumn],
        reading: LibraryTrees,
        steps: Sequence[TransformerMixin],
    ) -> None:
        self.encoder, self.reading, self.steps = encoder, reading, steps
        n = read_table(people).n_rows
        rows = np.unique(np.linspace(0, n - 1, MOST_PEOPLE).astype(np.int64))
        self.people = take_rows(people, rows)
        self.matrix = encoder.matrix(self.people)
        self._like = _with_room(people, encoder) if steps else people
        self._marks = _marks_of_missing(people)
        places = [_place(encoder, column.position) for column in columns]
        self.axis_of = [axis for axis, _ in places]
        self.part_of = [part for _, part in places]
        self.curved = [column.curved for column in columns]
        self.someone = self._complete()
        self.sparse = False
        if steps:
            self._check_width(len(columns))
        else:
            self._values = [self._category_values(j) for j in range(len(columns))]

    def _complete(self) -> np.ndarray:
        """The first person, with the first known value in place of a missing one."""
        someone = self.matrix[:1].copy()
        for axis in self.encoder.axes:
            columns = list(axis.columns)
            if axis.has_missing and axis.is_categorical:
                someone[0, columns] = np.arange(len(columns)) == someone[0, columns[:-1]].argmax()
            elif axis.has_missing:
                values = self.matrix[:, columns[0]]
                known = values[~np.isnan(values)]
                someone[0, columns[0]] = known[0] if len(known) else axis.feature.bounds[0]
        return someone

    def of_values(self, column: int, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The model's columns of people with some values in an encoded column."""
        rows = np.repeat(self.someone, len(values), axis=0)
        rows[:, column] = values
        return self.columns(rows)

    def without_value(self) -> np.ndarray:
        """The model's columns of people without a value: that of each in its own axis.

        NaN where the axis has no missing values.
        """
        found = np.full(len(self.axis_of), np.nan)
        for axis in self.encoder.axes:
            mine = [j for j, each in enumerate(self.axis_of) if each is axis]
            if not (axis.has_missing and mine):
                continue
            row, name = self.someone.copy(), axis.feature.name
            row[0, list(axis.columns)] = 0.0 if axis.is_categorical else np.nan
            if axis.is_categorical:
                row[0, axis.columns[-1]] = 1.0
            try:
                found[mine] = self.columns(row)[0, mine]
            except (ValueError, TypeError) as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise InvalidData(
                    f"Column {name!r} has missing values, which a step before the model does not "
                    f"take ({reason})."
                ) from None
            if np.isnan(found[mine]).any() and not self.reading.takes_missing:
                raise InvalidData(
                    f"Column {name!r} has missing values, which the model does not take; put a "
                    "SimpleImputer before it, or fill them in first."
                )
        return found

    def columns(self, matrix: np.ndarray) -> np.ndarray:
        """The model's columns of encoded rows; NaN is what its library takes as missing."""
        with np.errstate(all="ignore"):
            seen = self._through_steps(matrix) if self.steps else self._directly(matrix)
            if self.reading.rounds:
                seen = seen.astype(np.float32)
            if self.reading.near_zero and not self.sparse:
                seen = np.where(np.abs(seen) <= self.reading.near_zero, seen.dtype.type(0), seen)
            return seen

    def _directly(self, matrix: np.ndarray) -> np.ndarray:
        seen = np.empty((len(matrix), len(self.axis_of)))
        for j, (axis, part, values) in enumerate(
            zip(self.axis_of, self.part_of, self._values, strict=True)
        ):
            if values is None:
                seen[:, j] = matrix[:, axis.columns[part]]
            else:
                code = matrix[:, list(axis.columns)].argmax(axis=1)
                seen[:, j] = np.append(values, np.nan)[code]  # missing ones come last
        return seen

    def _through_steps(self, matrix: np.ndarray) -> np.ndarray:
        table: Any = self.encoder.decode(matrix, like=self._like)
        if isinstance(self._like, np.ndarray):
            table = table.astype(self._like.dtype)
        for name, mark in self._marks.items():
            table[name] = table[name].where(table[name].notna(), mark)
        table = as_trained(self.steps, table)
        for step in self.steps:
            table = step.transform(table)
        self.sparse = bool(issparse(table))
        if not self.sparse:
            return np.asarray(table, dtype=_float_type(table))
        if not self.reading.empty_is_missing:
            return table.toarray()
        kept = table.tocoo()
        seen = np.full(kept.shape, np.nan)
        seen[kept.row, kept.col] = kept.data
        return seen

    def _check_width(self, n_columns: int) -> None:
        width = self._through_steps(self.matrix[:1]).shape[1]
        if not width == n_columns == self.reading.n_columns:
            raise InvalidSpec(
                f"The steps before the model make {width} columns, where {n_columns} were "
                f"expected and the model takes {self.reading.n_columns}."
            )

    def _category_values(self, j: int) -> np.ndarray | None:
        """What a model without steps sees of each category of an axis; None if it has none."""
        axis, labels = self.axis_of[j], self.reading.labels.get(j)
        if not axis.is_categorical or axis.feature.columns:
            return None
        if labels is not None:
            code = {label: float(k) for k, label in enumerate(labels)}
            return np.array([code.get(value, np.nan) for value in axis.feature.categories])
        try:
            return np.array([float(value) for value in axis.feature.categories])
        except (TypeError, ValueError):
            raise InvalidData(
                f"Column {axis.feature.name!r} holds text, but the model takes numbers; pass the "
                "table and the pipeline that the model was trained with."
            ) from None

    def domain(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest values of encoded columns that the steps accept."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column may be missing for all
            least, most = (end(self.matrix[:, columns], axis=0) for end in (np.nanmin, np.nanmax))
        someone = self.someone[0, columns]
        least, most = np.fmin(least, someone), np.fmax(most, someone)
        return self._widest(columns, LOW_ENDS, least), self._widest(columns, HIGH_ENDS, most)

    def _widest(
        self, columns: np.ndarray, ends: Sequence[float], observed: np.ndarray
    ) -> np.ndarray:
        """The first of some ends that is accepted and beyond what is observed, for each column.

        Where a function is applied, the last value that is accepted before the next end.
        """
        if not self.steps or self._accepts(columns, ends[0]):
            return np.full(len(columns), ends[0])
        widest = observed.copy()
        for k in range(len(columns)):
            column, outside = columns[k : k + 1], ends[0]
            for end in ends:
                beyond = end <= observed[k] if ends[0] < 0 else end >= observed[k]
                if beyond and self._accepts(column, end):
                    widest[k] = end
                    break
                outside = end if beyond else outside
            if widest[k] != ends[0] and any(self.curved[j] for j in self._made_of(column)):
                widest[k] = self._last_accepted(column, widest[k], outside)
        return widest

    def _last_accepted(self, column: np.ndarray, inside: float, outside: float) -> float:
        """The last value of a column that is accepted on the way to one that is not."""
        side = 1.0 if outside > inside else -1.0

        def accepts(x: np.ndarray) -> np.ndarray:
            return np.array([[self._accepts(column, side * value) for value in x[0]]])

        ends = np.array([side * inside]), np.array([side * outside])
        last = float(largest(accepts, *ends, width=2)[0])
        return side * last if np.isfinite(last) else inside

    def _made_of(self, columns: np.ndarray) -> list[int]:
        """The model's columns that are made of some encoded ones."""
        return [j for j, axis in enumerate(self.axis_of) if axis.columns[0] in columns]

    def undefined_up_to(self, j: int) -> float:
        """The largest number of which a function makes a missing value that the model takes.

        -inf if there is none.
        """
        if not (self.curved[j] and self.reading.takes_missing):
            return -np.inf
        column = self.axis_of[j].columns[0]

        def undefined(x: np.ndarray) -> np.ndarray:
            return np.isnan(self.of_values(column, x[0])[:, j])[None]

        try:
            ends = np.array([-WIDEST]), self.someone[0, [column]]
            return float(largest(undefined, *ends, width=256)[0])
        except ValueError:  # a step accepts no such number
            return -np.inf

    def tightened(self) -> Encoder:
        """The encoder, with bounds that the steps reject moved to where they take values.

        Box-Cox takes nothing below zero, whatever an action space allows.
        """
        axes = {axis.columns[0]: axis for axis in self.axis_of if not has_few_values(axis)}
        columns = np.array(list(axes), np.int64)
        bounds = np.array([axis.feature.bounds for axis in axes.values()]).reshape(-1, 2)
        if not self.steps or all(self._accepts(columns, ends) for ends in bounds.T):
            return self.encoder
        features = {feature.name: feature for feature in self.encoder.space}
        for k, (low, high) in enumerate(zip(*self.domain(columns), strict=True)):
            feature = axes[columns[k]].feature
            if feature.kind == "integer":
                low, high = np.ceil(low), np.floor(high)
            if not self._accepts(columns[k : k + 1], bounds[k, 0]):
                feature = replace(feature, lower=low)
            if not self._accepts(columns[k : k + 1], bounds[k, 1]):
                feature = replace(feature, upper=high)
            features[feature.name] = feature
        space = self.encoder.space.with_features(features.values())
        return Encoder.of_space(space, self.encoder.feature_names)

    def _accepts(self, columns: np.ndarray, value: float | np.ndarray) -> bool:
        row = self.someone.copy()
        row[0, columns] = value
        try:
            seen = self.columns(row)[0]
        except ValueError:
            return False
        mine = self._made_of(columns)
        finite = np.isfinite(seen[[j for j in mine if self.curved[j]]]).all()
        return bool(finite and (self.sparse or not np.isnan(seen[mine]).any()))


def has_few_values(axis: Axis) -> bool:
    """Whether an axis is a list of values rather than a range of numbers."""
    return axis.is_categorical or axis.feature.kind == "binary"


def _place(encoder: Encoder, position: int) -> tuple[Axis, int]:
    """The axis of a column of the table, and which of the axis's columns it is."""
    name = encoder.feature_names[position]
    for axis in encoder.axes:
        if name in axis.feature.columns:
            return axis, axis.feature.columns.index(name)
        if axis.feature.name == name:
            return axis, 0
    raise AssertionError(name)


def _with_room(people: Any, encoder: Encoder) -> TableLike:
    """A table of the same kind, whose whole numbers may take any value that is tried on them."""
    if not is_frame(people):
        array = np.asarray(people)[:1]
        return array.astype(np.float64) if array.dtype.kind in "iu" else array
    numbers = {axis.feature.name for axis in encoder.axes if not has_few_values(axis)}
    if isinstance(people, pd.DataFrame):
        label_of = dict(zip(encoder.feature_names, people.columns, strict=True))
        whole = [label_of[name] for name in numbers if people[label_of[name]].dtype.kind in "iu"]
        return people[:1].astype(dict.fromkeys(whole, np.float64))
    frame = nw.from_native(people, eager_only=True)[:1]
    whole = [name for name in numbers if frame.schema[name].is_integer()]
    return frame.with_columns(nw.col(name).cast(nw.Float64) for name in whole).to_native()


def _marks_of_missing(people: TableLike) -> dict[str, object]:
    """What stands for a missing value in each pandas column of objects; encoders tell them apart.

    A column with more than one such mark is refused.
    """
    if not isinstance(people, pd.DataFrame):
        return {}
    marks: dict[str, object] = {}
    for name in filter(lambda name: is_object_dtype(people[name]), people.columns):
        kinds = {type(value): value for value in people[name][people[name].isna()]}
        if len(kinds) > 1:
            raise InvalidData(
                f"Column {name!r} marks missing values in {len(kinds)} ways, "
                f"{listing([kind.__name__ for kind in kinds])}, which a step may tell apart; use "
                "one of them."
            )
        marks |= dict.fromkeys([name] if kinds else [], next(iter(kinds.values()), None))
    return marks


def _float_type(table: object) -> np.dtype | type:
    kind = getattr(table, "dtype", None)
    return kind if kind in (np.float16, np.float32, np.float64) else np.float64
