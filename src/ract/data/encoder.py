"""Tables to encoded columns and back.

Numbers keep their column, with NaN where they are missing; a categorical feature becomes one 0/1
column per category and, if it has missing values, one more for those. Columns are encoded when
they are asked for, one at a time, so that a large table is never held twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ract._utils.errors import InvalidData, listing
from ract._utils.typing import TableLike
from ract.data.actions import ActionSpace, Feature, check_kind, unrestricted
from ract.data.actions.rules import barred_of
from ract.data.costs.protocols import MissingCell
from ract.data.frames import Table, first_true, read_table


@dataclass(frozen=True, slots=True)
class Axis:
    """A feature and the encoded columns that hold it: one, or one per category.

    The last column of a categorical feature with missing values is 1 for people without a value.
    ``entered`` are the positions of the categories that may be entered; None for all of them.
    ``barred`` are those between which nobody moves, from the first to the second of each pair.
    """

    feature: Feature
    columns: tuple[int, ...]
    entered: tuple[int, ...] | None = None
    barred: tuple[tuple[int, int], ...] = ()

    def __setstate__(self, state: list[Any]) -> None:
        """Restore a pickle; one of an earlier version ends before the latest fields."""
        for name, value in zip(
            self.__slots__, [*state, *(None, ())[len(state) - 2 :]], strict=True
        ):
            object.__setattr__(self, name, value)

    @property
    def is_categorical(self) -> bool:
        """Whether its cells are categories."""
        return self.feature.is_categorical

    @property
    def has_missing(self) -> bool:
        """Whether it has a cell, the last one, for people without a value."""
        return self.feature.missing is not None

    def without_supply(self) -> Axis:
        """The same axis, on which nobody supplies a missing value."""
        if not self.feature.may_supply:
            return self
        return replace(self, feature=replace(self.feature, missing="stays", supply_cost=None))

    def may_switch(self) -> np.ndarray:
        """Whether a person may leave one category (row) for another (column), or stay.

        The last row and column of an axis with missing values are those of people without one:
        they may supply any category or stay, and nobody joins them.
        """
        source, target = np.indices((len(self.columns), len(self.columns)))
        up, down = self.feature.may_rise, self.feature.may_fall
        moves = (up & (target > source)) | (down & (target < source))
        if self.has_missing:
            moves[-1] = self.feature.may_supply
            moves[:, -1] = False
        if self.entered is not None:
            moves &= np.isin(target, self.entered)
        for pair in self.barred:
            moves[pair] = False
        return (source == target) | moves


class Encoder:
    """Turns tables like the training table into encoded columns, and back.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or array
        The training table.
    actions : ActionSpace, optional
        Without one, kinds are read off the table and every feature may change.

    Attributes
    ----------
    space : ActionSpace
        The action space with every blank filled from the training table.
    axes : tuple of Axis
    column_names : tuple of str
        Names of the encoded columns; a category of a text column is called "feature=value".

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
    >>> encoder = Encoder(frame)
    >>> encoder.column_names
    ('age', 'job=clerk', 'job=cook')
    >>> encoder.matrix(frame)
    array([[20.,  1.,  0.],
           [40.,  0.,  1.]])
    >>> encoder.decode([[30.0, 0.0, 1.0]], like=frame)
       age   job
    0   30  cook
    """

    def __init__(self, frame: TableLike | Table, actions: ActionSpace | None = None) -> None:
        table = read_table(frame)
        if actions is None:
            actions = unrestricted(table)
        used = tuple(name for name in table.names if name not in actions.unused)
        self._describe(actions.complete(table), used)
        for axis in self.axes:
            if axis.is_categorical:  # numbers were checked when the space was completed
                _check_axis(table, axis)

    @classmethod
    def of_space(cls, space: ActionSpace, feature_names: Sequence[str]) -> Encoder:
        """The encoder of a completed action space, without its training table.

        Parameters
        ----------
        space : ActionSpace
            With every blank filled, as in ``encoder.space``.
        feature_names : sequence of str
            The columns of the table in their order.
        """
        encoder = cls.__new__(cls)
        encoder._describe(space, tuple(feature_names))
        return encoder

    def _describe(self, space: ActionSpace, feature_names: tuple[str, ...]) -> None:
        self.space = space
        self.feature_names = feature_names
        self.axes, self.column_names = _layout(space)
        self._axis_of_column = {j: axis for axis in self.axes for j in axis.columns}

    @property
    def weights(self) -> np.ndarray:
        """Cost weight of each encoded column; 0 for those of missing categories."""
        weights = np.array([self._axis_of_column[j].feature.weight for j in range(self.n_columns)])
        weights[[axis.columns[-1] for axis in self.axes if _marks_missing(axis)]] = 0.0
        return weights

    @property
    def missing_cells(self) -> tuple[MissingCell, ...]:
        """Which columns hold missing values, for learning a cost."""
        features = ((axis.columns, axis.feature) for axis in self.axes if axis.has_missing)
        return tuple(
            MissingCell(columns, f.is_categorical, f.may_supply, f.supply_cost, f.weight)
            for columns, f in features
        )

    @property
    def feature_of_column(self) -> np.ndarray:
        """Position, among the table's own columns, of what each encoded column encodes."""
        position = {name: k for k, name in enumerate(self.feature_names)}
        names_by_axis = [
            axis.feature.columns or (axis.feature.name,) * len(axis.columns) for axis in self.axes
        ]
        return np.array([position[name] for names in names_by_axis for name in names])

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.column_names)

    def encode(
        self, frame: TableLike | Table, *, kinds: bool = True, undeclared: bool = False
    ) -> EncodedColumns:
        """Check a table and give its encoded columns, each made when it is asked for.

        kinds: whether whole numbers must be whole. A model decides on any numbers, such as those
        that people end at when effects follow their actions. undeclared: whether values may be
        missing in features that have no missing cell. A model decides on them too: all columns of
        such a feature are NaN.
        """
        table = read_table(frame)
        self.check_names(table)
        if not undeclared:
            self._refuse_undeclared(table)
        for axis in self.axes:
            if kinds or axis.is_categorical:
                _check_axis(table, axis)
        return EncodedColumns(table, self.axes)

    def _refuse_undeclared(self, table: Table) -> None:
        names = [axis.feature.name for axis in self.axes if not axis.feature.columns]
        if found := [n for n in names if self.space[n].missing is None and table.missing(n).any()]:
            row = first_true(table.missing(found[0]))
            raise InvalidData(
                f"Column(s) {listing(found, 30)} have missing values, the first in row {row} of "
                f"{found[0]!r}, which training did not have and no feature allows; fill or drop "
                "them first."
            )

    def matrix(
        self, frame: TableLike | Table, *, kinds: bool = True, undeclared: bool = False
    ) -> np.ndarray:
        """The same as one float matrix (people x columns)."""
        columns = self.encode(frame, kinds=kinds, undeclared=undeclared)
        matrix = np.empty((columns.n_rows, len(columns)))
        for j in range(len(columns)):  # one at a time: a large table is not held twice
            matrix[:, j] = columns[j]
        return matrix

    def decode(self, matrix: ArrayLike, like: TableLike | Table) -> Any:
        """The table that encodes to a matrix, in the library, names and dtypes of ``like``.

        The index of ``like`` is kept when it has as many rows as the matrix.
        """
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_columns:
            raise InvalidData(
                f"Expected a matrix of {self.n_columns} encoded columns, got shape {matrix.shape}."
            )
        table = read_table(like)
        columns: dict[str, np.ndarray] = {}
        for axis in self.axes:
            columns |= _decoded(axis, matrix[:, list(axis.columns)])
        same_length = table.n_rows == len(matrix)
        return table.like({name: columns[name] for name in table.names}, keep_index=same_length)

    def narrow(self, table: TableLike | Table) -> dict[int, Any]:
        """The axes whose numbers a table holds with fewer digits than a double, and their types."""
        table = read_table(table)
        types = {
            a: None if axis.is_categorical else table.narrow_float(axis.feature.name)
            for a, axis in enumerate(self.axes)
        }
        return {a: kind for a, kind in types.items() if kind is not None}

    def held(
        self,
        matrix: np.ndarray,
        narrow: Mapping[int, Any],
        least: np.ndarray | None = None,
        most: np.ndarray | None = None,
    ) -> np.ndarray:
        """A matrix as the columns of a table hold it, whose ``narrow`` axes are given.

        A value that rounds beyond ``least`` or ``most`` (rows x axes; NaN for no end) steps back.
        """
        stored = matrix.copy() if narrow else matrix
        for a, kind in narrow.items():
            j = self.axes[a].columns[0]
            near = matrix[:, j].astype(kind)  # NaN stays NaN
            infinite = near.dtype.type(np.inf)
            if least is not None:
                near = np.where(near < least[:, a], np.nextafter(near, infinite), near)
            if most is not None:
                near = np.where(near > most[:, a], np.nextafter(near, -infinite), near)
            stored[:, j] = near
        return stored

    def check_names(self, table: Table) -> None:
        """Refuse a table that does not have the columns of training."""
        missing = [name for name in self.feature_names if name not in table.names]
        extra = [name for name in table.names if name not in self.feature_names]
        if missing or extra:
            faults = [f"lacks {listing(missing)}"] if missing else []
            faults += [f"has {listing(extra)} that training did not have"] if extra else []
            raise InvalidData(f"The table {' and '.join(faults)}.")


class EncodedColumns(Sequence[np.ndarray]):
    """Encoded float columns of a checked table, made one at a time."""

    def __init__(self, table: Table, axes: Sequence[Axis]) -> None:
        self._table = table
        self._where = {j: (axis, k) for axis in axes for k, j in enumerate(axis.columns)}
        self.n_rows = table.n_rows

    def __len__(self) -> int:
        return len(self._where)

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[np.ndarray]: ...
    def __getitem__(self, index: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        if isinstance(index, slice):
            return [self[j] for j in range(*index.indices(len(self)))]
        axis, k = self._where[range(len(self))[index]]
        feature = axis.feature
        if feature.columns:
            return self._table.numbers(feature.columns[k])
        if feature.is_categorical:
            codes = codes_of(self._table, feature)
            column = (codes == k).astype(np.float64)
            if not axis.has_missing:
                column[codes == len(feature.categories)] = np.nan
            return column
        return self._table.numbers(feature.name)


def codes_of(table: Table, feature: Feature) -> np.ndarray:
    """Position of each person's category among the feature's categories.

    -1 where it is unknown, the number of categories where it is missing.
    """
    asked = feature.name, tuple(feature.categories)
    if asked not in table.codes:
        labels, observed = pd.factorize(table.labels(feature.name))
        position = {category: k for k, category in enumerate(feature.categories)}
        codes = [*(position.get(value, -1) for value in observed), len(position)]
        # The label of a missing value is -1.
        table.codes[asked] = np.array(codes, dtype=np.int32)[labels]
    return table.codes[asked]


def _marks_missing(axis: Axis) -> bool:
    """Whether the last column of an axis is for people without a value."""
    return axis.has_missing and axis.is_categorical


def _layout(space: ActionSpace) -> tuple[tuple[Axis, ...], tuple[str, ...]]:
    axes: list[Axis] = []
    names: list[str] = []
    for feature in space:
        if feature.columns:
            column_names = list(feature.columns)
        elif feature.is_categorical:
            column_names = [f"{feature.name}={category}" for category in feature.categories]
            column_names += [] if feature.missing is None else [f"{feature.name}=missing"]
        else:
            column_names = [feature.name]
        columns = tuple(range(len(names), len(names) + len(column_names)))
        axes.append(Axis(feature, columns, barred=barred_of(space.rules, feature)))
        names += column_names
    return tuple(axes), tuple(names)


def _check_axis(table: Table, axis: Axis) -> None:
    feature = axis.feature
    if feature.columns:
        _check_group(table, feature)
    elif feature.is_categorical:
        _check_categories(table, feature)
    else:
        assert feature.kind is not None  # a completed space has kinds
        check_kind(feature.name, feature.kind, table.numbers(feature.name))


def _check_group(table: Table, feature: Feature) -> None:
    table.require_known(feature.columns, f"The one-hot group {feature.name!r} takes")
    total = np.zeros(table.n_rows)
    for column in feature.columns:
        values = table.numbers(column)
        check_kind(column, "binary", values)
        total += values
    if (row := first_true(total != 1)) is not None:
        raise InvalidData(
            f"The columns of one-hot group {feature.name!r} must sum to 1 in every row; "
            f"row {row} sums to {total[row]:g}."
        )


def _check_categories(table: Table, feature: Feature) -> None:
    if (row := first_true(codes_of(table, feature) < 0)) is not None:
        value = table.labels(feature.name)[row]
        raise InvalidData(
            f"Column {feature.name!r} holds {value!r} in row {row}, which is not one of its "
            f"categories: {listing(feature.categories, 20)}."
        )


def _decoded(axis: Axis, block: np.ndarray) -> dict[str, np.ndarray]:
    feature = axis.feature
    if feature.columns:
        return {name: block[:, k] for k, name in enumerate(feature.columns)}
    if feature.is_categorical:
        categories = np.empty(len(feature.categories) + 1, dtype=object)
        categories[:-1] = feature.categories  # the last is None, of a missing value
        code = np.where(np.isnan(block[:, 0]), len(feature.categories), block.argmax(axis=1))
        return {feature.name: categories[code]}
    return {feature.name: block[:, 0]}
