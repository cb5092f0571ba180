"""A training table as learners take it: read, weighed, encoded and binned once.

What reading depends on stands in a ``TableSpec``, which an estimator makes from its parameters;
nothing here knows estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import pandas as pd
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from ract._utils.errors import InvalidData, listing
from ract._utils.typing import ColumnLike, Label, TableLike
from ract.data.actions import ActionSpace
from ract.data.frames import drop_columns, read_table, take_rows
from ract.models.parameters import ClassWeight, desired_label
from ract.trees.training import TrainingSet, TrainingSetting, Weights, prepare, space_for_part

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

# A Parquet file, a folder of them, or a pyarrow data set; and what ``fit`` takes.
Stored: TypeAlias = "str | Path | Dataset"
Source: TypeAlias = "TableLike | Stored"

# Rows of a stored table that stay in memory: for what is measured on them after growing, and else.
MOST_ROWS, FEW_ROWS = 100_000, 5_000


@dataclass(frozen=True)
class TableSpec(TrainingSetting):
    """What reading a training table depends on, beside how people and costs are described.

    Parameters
    ----------
    desired : label or None
        The class that people want, if a parameter names it.
    class_weight : dict, "balanced" or None
    with_reach : bool
        Whether everyone's reach is worked out.
    n_rows_kept : int
        How many rows of an out-of-core table stay in memory.
    n_jobs : int or None
    show : bool
        Whether to show a progress bar.
    """

    desired: Label | None
    class_weight: ClassWeight
    with_reach: bool
    n_rows_kept: int
    n_jobs: int | None = None
    show: bool = False

    def serves(self, other: TableSpec) -> bool:
        """Whether a table that was read for this spec does for another one."""
        names = ("actions", "cost", "budget", "max_bins", "desired", "class_weight")
        same = all(getattr(self, name) == getattr(other, name) for name in names)
        return same and (self.with_reach or not other.with_reach)


@dataclass(frozen=True)
class TrainingRows:
    """Training rows in memory: everyone with a weight, or evenly spaced rows of a stored table.

    Parameters
    ----------
    X : frame or array
    rows : int (rows,) or slice
        Which of everyone with a weight they are.
    desired : bool (rows,)
    weights : Weights
    n_all : int
        Everyone with a weight.
    """

    X: TableLike
    rows: np.ndarray | slice
    desired: np.ndarray
    weights: Weights
    n_all: int

    @property
    def is_everyone(self) -> bool:
        """Whether nobody was left out."""
        return len(self.desired) == self.n_all

    @classmethod
    def joined(cls, parts: Sequence[TrainingRows]) -> TrainingRows:
        """Those of all parts, in their order."""
        filled = [part for part in parts if len(part.desired)]
        first = np.cumsum([0, *(part.n_all for part in parts)])
        rows = [
            np.asarray(part.rows) + before for part, before in zip(parts, first[:-1], strict=True)
        ]
        sample = [part.weights.sample for part in filled if part.weights.sample is not None]
        growing = np.concatenate([part.weights.growing for part in filled])
        return cls(
            pd.concat([part.X for part in filled], ignore_index=True),  # type: ignore[misc]
            np.concatenate(rows),
            np.concatenate([part.desired for part in filled]),
            Weights(np.concatenate(sample) if sample else None, growing),
            int(first[-1]),
        )


@dataclass(frozen=True)
class Prepared:
    """A training table that was read once, good for any weight of recourse.

    Parameters
    ----------
    spec : TableSpec
    classes : array of two labels
    desired : label
    feature_names : array of str, optional
        None if columns have no names.
    training : TrainingSet
    in_memory : TrainingRows
    growing : int (people,) or range
        Rows of everyone with a weight, of so many in all:
    n_rows : int
    grid_error : float, optional
        Of a stored table: by what share of people the rank of a threshold may be off.
    """

    spec: TableSpec
    classes: np.ndarray
    desired: Label
    feature_names: np.ndarray | None
    training: TrainingSet
    in_memory: TrainingRows
    growing: np.ndarray | range
    n_rows: int
    grid_error: float | None = None

    @property
    def state(self) -> dict[str, Any]:
        """What a ``FitState`` needs to know of the table."""
        return {
            "classes": self.classes,
            "desired": self.desired,
            "encoder": self.training.encoder,
            "cost": self.training.cost,
            "n_features_in": len(self.training.encoder.feature_names),
            "feature_names_in": self.feature_names,
            "training_rows": self.training.rows,
            "grid_error": self.grid_error,
        }

    def part(self, rows: np.ndarray, *, with_reach: bool) -> TrainingSet:
        """Some of the rows in memory, read as a training table of their own.

        Categories are everybody's, so that encoders of different parts give the same columns.
        """
        known, spec = self.in_memory, self.spec
        X, desired = take_rows(known.X, rows), known.desired[rows].astype(np.uint8)
        space = space_for_part(spec.actions, read_table(known.X), read_table(X))
        spec = replace(spec, actions=space)
        return prepare(X, desired, known.weights.of(rows), spec, with_reach=with_reach)


def is_stored(X: object) -> TypeGuard[Stored]:
    """Whether X is a path or a pyarrow data set rather than a table."""
    return isinstance(X, (str, Path)) or type(X).__module__ == "pyarrow._dataset"


def read_in_memory(
    spec: TableSpec,
    X: TableLike,
    y: np.ndarray,
    sample_weight: ColumnLike | None,
    feature_names: np.ndarray | None,
) -> Prepared:
    """Read, encode, bin and price a table that was checked as scikit-learn does."""
    table = read_table(X)
    table.refuse_empty_columns()
    if len(y) != table.n_rows:
        raise InvalidData(f"X has {table.n_rows} rows but y has {len(y)}.")
    classes = binary_classes(y)
    wanted = desired_label(spec.desired, spec.actions, classes)
    weights = weights_of(sample_weight, y, spec.class_weight)
    growing = np.flatnonzero(weights.growing > 0)
    return prepare_rows(spec, X, y, classes, wanted, weights, growing, feature_names)


def prepare_rows(
    spec: TableSpec,
    X: TableLike,
    y: np.ndarray,
    classes: np.ndarray,
    wanted: Label,
    weights: Weights,
    growing: np.ndarray,
    feature_names: np.ndarray | None,
) -> Prepared:
    """Encode, bin and price some rows of a table."""
    people = X if len(growing) == len(y) else take_rows(X, growing)
    desired = (y == wanted)[growing]
    training = prepare(
        people,
        desired.astype(np.uint8),
        weights.of(growing),
        spec,
        with_reach=spec.with_reach,
        n_jobs=spec.n_jobs,
    )
    in_memory = TrainingRows(people, slice(None), desired, training.weights, len(desired))
    return Prepared(spec, classes, wanted, feature_names, training, in_memory, growing, len(y))


def binary_classes(y: np.ndarray) -> np.ndarray:
    """The two classes of a target, in order."""
    different = pd.unique(y)
    if y.dtype.kind not in "biuSU":
        check_classification_targets(different)
    classes = np.sort(different)
    n = len(classes)
    if n > 2:
        raise InvalidData(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}: {n} classes, {listing(classes.tolist())}."
        )
    if n < 2:
        raise InvalidData(
            f"The target has only one class, {classes.tolist()[0]!r}; two are needed."
        )
    return classes


def weights_of(
    sample_weight: ColumnLike | None, y: np.ndarray, class_weight: ClassWeight
) -> Weights:
    """How much each person counts."""
    weights = None
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != y.shape:
            raise InvalidData(f"sample_weight has shape {weights.shape}, y has {y.shape}.")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise InvalidData("sample_weight must be finite and 0 or more for everyone.")
        if not (weights > 0).any():
            raise InvalidData("sample_weight is zero for everyone.")
    growing = np.ones(len(y)) if weights is None else weights
    if class_weight is not None:
        growing = growing * compute_sample_weight(class_weight, y)
    return Weights(weights, growing)


def as_classes(decided: np.ndarray, classes: np.ndarray, desired: Label) -> np.ndarray:
    """The desired class where it was decided for, the other one elsewhere."""
    other = classes[classes != desired][0]
    return np.where(decided, desired, other).astype(classes.dtype)


def used_columns(X: Any, actions: ActionSpace | None) -> TableLike:
    """A table without the columns that an action space keeps from models."""
    used: TableLike = drop_columns(X, frozenset() if actions is None else actions.unused)
    return used
