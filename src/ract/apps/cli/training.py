"""The people that models are trained on: a table in memory, or Parquet read in batches."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ract._utils.errors import optional_library
from ract.apps.cli.columns import desired_label, require_column, rows_with_class
from ract.apps.cli.messages import BadInput, say
from ract.apps.cli.options import TrainingData
from ract.data.csv import (
    TableFormat,
    as_read,
    is_parquet,
    name_of,
    naming_lines,
    read_whole,
    refuse_formatted_numbers,
    text_features,
)
from ract.data.target import check_classes, target_classes
from ract.models.out_of_core import open_dataset
from ract.models.table import MOST_ROWS
from ract.trees.fingerprint import data_fingerprint

# Values of a table that is read whole; as doubles they take 1.6 GB, and a fit holds some twice.
MOST_VALUES = 200_000_000

_OF_CELLS = ("decimal", "thousands", "missing", "codes", "words", "dates", "others")


@dataclass(frozen=True)
class Training:
    """What a model is fitted on.

    Parameters
    ----------
    X, y, weights
        The arguments of ``fit``.
    desired : label
    counts : Counter
        Number of people by class.
    n_features : int
    data : str or None
        Fingerprint of the people, by which other commands know them again.
    lines : context
        Turns a row in an error of fitting into a line of the file.
    """

    X: Any
    y: Any
    weights: Any
    desired: Any
    counts: Counter[Any]
    n_features: int
    data: str | None = None
    lines: AbstractContextManager[None] = field(default_factory=nullcontext)

    def evenly_spaced(self, n_rows: int, *, with_target: bool = False) -> Any:
        """At most so many of the people, spread evenly over the table."""
        if not self.is_stored:
            return self.X
        rows = np.unique(np.linspace(0, self.counts.total() - 1, n_rows).astype(int))
        left_out = (self.weights,) if with_target else (self.y, self.weights)
        names = [name for name in self.X.schema.names if name not in left_out]
        return self.X.take(rows, columns=names).to_pandas()

    @property
    def is_stored(self) -> bool:
        """Whether people are read in batches."""
        return isinstance(self.y, str)


def training_of(
    table: TrainingData, form: TableFormat, space: Any, weights: str | None
) -> Training:
    """The people of a table; a folder, or a Parquet file of many values, is read in batches."""
    path = Path(table.data)
    if path.is_dir() and not any(is_parquet(file) for file in path.rglob("*")):
        raise BadInput(f"{path} is a folder without Parquet files.")
    if path.is_dir() or (is_parquet(path) and path.exists() and _is_large(path)):
        return _stored(table, form, space, weights)
    X, y, counts, desired = training_set(table, form, space, weights)
    with naming_lines(table.data, form, X.index):
        data = data_fingerprint(X)
    grown_on = X.index if counts is None else X.index[counts.to_numpy() != 0]
    return Training(
        X,
        y.to_numpy(),
        None if counts is None else counts.to_numpy(),
        desired,
        Counter(y.tolist()),
        len(X.columns),
        data,
        naming_lines(table.data, form, grown_on),
    )


class Labelled(NamedTuple):
    """Features and classes of people, how much each of them counts, and the desired class."""

    X: pd.DataFrame
    y: pd.Series
    weights: pd.Series | None
    desired: Any


def training_set(
    table: TrainingData, form: TableFormat, space: Any, weights: str | None = None
) -> Labelled:
    """Features and target of a training table, people without a class set aside.

    The index holds their rows in the file.

    Parameters
    ----------
    table : TrainingData
    form : TableFormat
    space : ActionSpace or None
        What is known of the features.
    weights : str, optional
        Column of how much each person counts, which is no feature.
    """
    target, drop = table.target, table.drop or []
    frame = as_read(read_whole(table.data, form, text_features(space)), form, space or ())
    require_column(target, frame, "--target", table.data)
    for name in drop:
        require_column(name, frame, "--drop", table.data)
    frame = rows_with_class(frame, target, table.data)
    if weights is not None:
        require_column(weights, frame, "--weights", table.data)
        if space is not None and weights in space:
            raise BadInput(
                f"--weights names {weights!r}, which is a feature in the action file; take it out "
                "there."
            )
    unused = () if space is None else space.unused
    X = frame.drop(columns={*drop, *form.drop, *unused, weights}.intersection(frame) - {target})
    for name in X.columns:
        refuse_formatted_numbers(X[name], name)
    y = X.pop(target)
    classes = target_classes(y)
    check_classes(target, classes)
    if not len(X.columns):
        raise BadInput(f"{name_of(table.data)} has no column beside the target {target!r}.")
    counts = None if weights is None else frame[weights]
    return Labelled(X, y, counts, desired_label(table.desired, classes, space))


def _is_large(path: Path) -> bool:
    dataset = open_dataset(path)
    return bool(dataset.count_rows() * len(dataset.schema.names) > MOST_VALUES)


def _stored(table: TrainingData, form: TableFormat, space: Any, weights: str | None) -> Training:
    pyarrow = optional_library("pyarrow", "Parquet files", "parquet")
    dataset = open_dataset(table.data)
    drop = {*(table.drop or []), *form.drop} - {table.target, weights}
    changed = [name for name in _OF_CELLS if getattr(form, name) != getattr(TableFormat(), name)]
    if changed:
        raise BadInput(
            f"{table.data} is read in batches, in which values stay as they are; take "
            f"{changed[0]} out of the action file, and write the values into the table."
        )
    asked = [(table.target, "--target"), *((name, "--drop") for name in table.drop or [])]
    asked += [] if weights is None else [(weights, "--weights")]
    for name, option in asked:
        require_column(name, dataset.schema.names, option, table.data)
    fields = [field for field in dataset.schema if field.name not in drop]
    classes: Counter[Any] = Counter()
    for batch in dataset.to_batches(columns=[table.target]):
        column = batch.to_pandas()[table.target]
        if column.isna().any():
            raise BadInput(
                f"The target {table.target!r} is missing in some rows of {table.data}, which is "
                "read in batches; leave them out of it."
            )
        classes.update(column.tolist())
    labels = sorted(classes, key=str)
    check_classes(table.target, labels)
    desired = desired_label(table.desired, labels, space)
    say(
        f"Note: {table.data} is read in batches, {classes.total():,} people; whatever is measured "
        f"in addition to the fit is measured on at most {MOST_ROWS:,} of them."
    )
    return Training(
        dataset.replace_schema(pyarrow.schema(fields)),
        table.target,
        weights,
        desired,
        classes,
        len(fields) - (1 if weights is None else 2),
    )
