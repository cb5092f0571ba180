"""Tables of people: those that a model is trained on, and those that it is asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import listing, optional_library
from ract.apps.cli.messages import BadInput, say
from ract.apps.cli.options import TrainingData
from ract.data.csv import (
    TableFormat,
    as_read,
    date_columns,
    is_parquet,
    name_of,
    naming_lines,
    place_of,
    read_whole,
    refuse_formatted_numbers,
    text_features,
)
from ract.data.encoder import Encoder
from ract.data.invalid_rows import set_aside_invalid
from ract.data.target import check_classes, rows_with_class, target_classes
from ract.trees.fingerprint import data_fingerprint, is_fingerprint_of

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


def training_set(
    table: TrainingData, form: TableFormat, space: Any, weights: str | None = None
) -> tuple[pd.DataFrame, pd.Series, pd.Series | None, Any]:
    """Features, classes and weights of a training table, and the desired class.

    People without a class are set aside; the index holds rows of the file.

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
    frame = with_known_class(frame, target, table.data)
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
    return X, y, counts, class_named(table.desired, classes, space)


def _is_large(path: Path) -> bool:
    from ract.models.out_of_core import open_dataset

    dataset = open_dataset(path)
    return bool(dataset.count_rows() * len(dataset.schema.names) > MOST_VALUES)


def _stored(table: TrainingData, form: TableFormat, space: Any, weights: str | None) -> Training:
    pyarrow = optional_library("pyarrow", "Parquet files", "parquet")
    from ract.models.out_of_core import open_dataset
    from ract.models.table import MOST_ROWS

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
    desired = class_named(table.desired, labels, space)
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


def with_known_class(frame: pd.DataFrame, target: str, source: str) -> pd.DataFrame:
    """The rows of a table that have a class; how many have none is said."""
    known = rows_with_class(frame, target, name_of(source))
    if len(known) < len(frame):
        say(
            f"Note: the target {target!r} is missing in {len(frame) - len(known)} of {len(frame)} "
            f"rows of {name_of(source)}; they are set aside."
        )
    return known


def class_named(name: str | None, classes: Sequence[Any], space: Any = None) -> Any:
    """The class that ``--desired`` names, or else the action space."""
    if name is None and space is not None:
        name = space.desired
    if name is None:
        raise BadInput(f"Say which class people want: --desired with one of {listing(classes)}.")
    by_text = _by_text(classes)
    if str(name) not in by_text:
        raise BadInput(f"--desired is {name!r}; the classes are {listing(classes)}.")
    return by_text[str(name)]


def model_columns(
    frame: pd.DataFrame,
    encoder: Encoder,
    source: str,
    id: str | None,
    form: TableFormat,
    *,
    strict: bool = True,
) -> pd.DataFrame:
    """The columns of a model, read as the format says, the rows named by the column ``id``.

    Numbers in a spreadsheet's writing are refused, if not ``strict`` only where they are the rule.
    """
    missing = [name for name in encoder.feature_names if name not in frame.columns]
    if missing:
        raise BadInput(
            f"{name_of(source)} lacks {listing(missing)}, which the model was trained on; it has "
            f"{listing(frame.columns, 30)}."
        )
    needed = [name for name in frame.columns if name in date_columns(form)]
    needed += [name for name in encoder.feature_names if name not in needed]
    people = as_read(frame[needed], form, encoder.space)[list(encoder.feature_names)]
    for axis in encoder.axes:
        if not axis.is_categorical:
            name = axis.feature.name
            refuse_formatted_numbers(people[name], name, most=0.0 if strict else 0.5)
    if id is not None:
        require_column(id, frame, "--id", source)
        people = people.set_index(pd.Index(frame[id].astype(str).to_numpy(object)))
    return people


@dataclass(frozen=True)
class HeldOut:
    """People in the columns of a model, with their classes and groups where these are known.

    ``n_invalid`` is how many rows beside them cannot be read.
    """

    frame: pd.DataFrame
    y: np.ndarray | None
    groups: np.ndarray | None
    n_invalid: int = 0


def held_out(
    source: str,
    form: TableFormat,
    model: Any,
    *,
    target: str | None = None,
    is_required: bool = False,
    groups: str | None = None,
    id: str | None = None,
    strict: bool = False,
) -> HeldOut:
    """Read held-out people for a model; rows that cannot be read are set aside and counted.

    Parameters
    ----------
    source : str
        Their file.
    form : TableFormat
    model : fitted classifier
    target : str, optional
        Column of their classes; people without one are set aside.
    is_required : bool
        Refuse a table that lacks the target.
    groups, id : str, optional
        Columns of their groups and names.
    strict : bool
        Refuse a table with a row that cannot be read.
    """
    whole = read_whole(source, form, text_features(model.encoder_.space))
    y = None
    if target is not None and (is_required or target in whole.columns):
        require_column(target, whole, "--target", source)
        whole = with_known_class(whole, target, source)
        y = _classes(as_read(whole[[target]], form), target, model.classes_.tolist(), source)
    if groups is not None:
        require_column(groups, whole, "--groups", source)
    labels = None if groups is None else whole[groups].to_numpy()
    frame = model_columns(whole, model.encoder_, source, id, form, strict=strict)
    frame, invalid = set_aside_invalid(frame, model.encoder_)
    if invalid.messages:
        first, message = next(iter(invalid.messages.items()))
        place = place_of(source, form, int(whole.index[first]))
        if strict:
            raise BadInput(f"In {place}: {message}")
        refuse_invalid(source, invalid.n_rows, list(invalid.messages.values()))
        say(
            f"Note: {len(invalid.messages)} of {invalid.n_rows} rows of {name_of(source)} cannot "
            f"be read and are set aside. The first is {place}: {message}"
        )
        y, labels = (None if part is None else part[invalid.valid] for part in (y, labels))
    return HeldOut(frame, y, labels, len(invalid.messages))


def training_table(
    file: Any, people: HeldOut, source: str | None, form: TableFormat, target: str | None = None
) -> HeldOut | None:
    """The training table: the one that is named, or the people if the model was trained on them.

    Parameters
    ----------
    file : ModelFile
        Its summary has the fingerprint of the training table.
    people : HeldOut
    source : str or None
    form : TableFormat
    target : str, optional
        Column of the classes, where they are needed and the table has them.
    """
    if source is not None:
        return held_out(source, form, file.model, target=target)
    trained_on = str(file.summary.get("data"))
    return people if is_fingerprint_of(trained_on, people.frame) else None


def refuse_invalid(source: str, n_rows: int, messages: Sequence[str]) -> None:
    """Refuse a table of which no row can be read, with what is wrong with the first."""
    if len(messages) == n_rows:
        raise BadInput(f"No row of {name_of(source)} can be read. The first: {messages[0]}")


def require_column(name: str, frame: Any, option: str, source: str) -> None:
    """Refuse an option that names a column which is not in a frame, or in a list of names."""
    columns = list(getattr(frame, "columns", frame))
    if name not in columns:
        raise BadInput(
            f"{option} names {name!r}, but {name_of(source)} has no such column; it has "
            f"{listing(columns, 30)}."
        )


def _classes(frame: pd.DataFrame, target: str, classes: list[Any], source: str) -> np.ndarray:
    """The target with the model's own labels."""
    by_text = _by_text(classes)
    texts = frame[target].astype(str)
    unknown = sorted(set(texts) - set(by_text))
    if unknown:
        raise BadInput(
            f"Column {target!r} of {name_of(source)} has {listing(unknown)}; the model's classes "
            f"are {listing(classes)}."
        )
    return texts.map(by_text).to_numpy()


def _by_text(classes: Sequence[Any]) -> dict[str, Any]:
    """Classes by how they may be written: 1.0 also as 1, and the other way round."""
    written = {str(label): label for label in classes}
    for label in classes:
        if isinstance(label, (int, float)) and not isinstance(label, bool):
            written |= {str(float(label)): label, f"{label:g}": label}
    return written
