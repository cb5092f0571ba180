"""Columns of a table: the features of a model, the target, groups and names of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._fingerprint import data_fingerprint
from ract.cli.failures import BadInput
from ract.cli.options import Csv, TrainingData
from ract.cli.tables import name_of, naming_lines, read_whole, refuse_formatted_numbers
from ract.encoding import Encoder
from ract.errors import listing


def features_and_target(table: TrainingData, csv: Csv) -> tuple[pd.DataFrame, pd.Series]:
    """Features and target of a training table; two classes, nothing missing."""
    frame, target, drop = read_whole(table.data, csv), table.target, table.drop or []
    for name in frame.columns.difference(drop):
        refuse_formatted_numbers(frame[name], name)
    require_column(target, frame, "--target", table.data)
    for name in drop:
        require_column(name, frame, "--drop", table.data)
    y = frame[target]
    n_missing = int(y.isna().sum())
    if n_missing:
        raise BadInput(f"The target {target!r} is missing in {n_missing} row(s) of {table.data}.")
    classes = classes_of(y)
    if len(classes) != 2:
        raise BadInput(
            f"The target {target!r} has {len(classes)} class(es), {listing(classes)}; two are "
            "needed."
        )
    if any(isinstance(label, float) and not label.is_integer() for label in classes):
        raise BadInput(
            f"The target {target!r} holds {listing(classes)}, which are amounts and not classes."
        )
    X = frame.drop(columns=[target, *(name for name in drop if name != target)])
    if not len(X.columns):
        raise BadInput(f"{name_of(table.data)} has no column beside the target {target!r}.")
    return X, y


def training_set(table: TrainingData, csv: Csv, space: Any) -> tuple[pd.DataFrame, pd.Series, Any]:
    """Features and target of a training table, and the desired class."""
    X, y = features_and_target(table, csv)
    label = desired_class(table.desired, classes_of(y), space)
    with naming_lines(table.data, csv):
        Encoder(X, space)  # refuses here what it would refuse later, when lines are not known
    return X, y, label


def classes_of(y: pd.Series) -> list[Any]:
    """The classes of a target, sorted by their names."""
    return sorted(y.unique().tolist(), key=str)


def desired_class(name: str | None, classes: Sequence[Any], space: Any = None) -> Any:
    """The class that ``--desired`` names, or else the action space."""
    if name is None and space is not None:
        name = space.desired
    if name is None:
        raise BadInput(f"Say which class people want: --desired with one of {listing(classes)}.")
    for label in classes:
        if str(label) == str(name):
            return label
    raise BadInput(f"--desired is {name!r}; the classes are {listing(classes)}.")


def model_columns(
    frame: pd.DataFrame, encoder: Encoder, source: str, id: str | None
) -> pd.DataFrame:
    """The columns of a model, the rows named by the column ``id``."""
    missing = [name for name in encoder.feature_names if name not in frame.columns]
    if missing:
        raise BadInput(
            f"{name_of(source)} lacks {listing(missing)}, which the model was trained on; it has "
            f"{listing(frame.columns, 30)}."
        )
    people = frame[list(encoder.feature_names)]
    for axis in encoder.axes:
        if not axis.is_categorical:
            refuse_formatted_numbers(people[axis.feature.name], axis.feature.name)
    if id is not None:
        require_column(id, frame, "--id", source)
        people = people.set_index(pd.Index(frame[id].astype(str).to_numpy(object)))
    return people


def text_columns(encoder: Encoder) -> list[str]:
    """Columns whose categories are texts, even if they look like numbers."""
    return [
        axis.feature.name
        for axis in encoder.axes
        if axis.is_categorical
        and not axis.feature.columns
        and all(isinstance(value, str) for value in axis.feature.categories)
    ]


@dataclass(frozen=True)
class HeldOut:
    """People in the columns of a model, with their classes and groups where these are known."""

    frame: pd.DataFrame
    y: np.ndarray | None
    groups: np.ndarray | None


def held_out(
    source: str,
    csv: Csv,
    model: Any,
    *,
    target: str | None = None,
    is_required: bool = False,
    groups: str | None = None,
    id: str | None = None,
) -> HeldOut:
    """Read held-out people for a model.

    Parameters
    ----------
    source : str
        Their file.
    csv : Csv
    model : fitted classifier
    target : str, optional
        Column of their classes.
    is_required : bool
        Refuse a table that lacks the target.
    groups, id : str, optional
        Columns of their groups and names.
    """
    whole = read_whole(source, csv)
    for name in text_columns(model.encoder_):
        if name in whole.columns:
            whole[name] = whole[name].astype(str)
    y = None
    if target is not None and (is_required or target in whole.columns):
        y = _classes(whole, target, model.classes_.tolist(), source)
    if groups is not None:
        require_column(groups, whole, "--groups", source)
    labels = None if groups is None else whole[groups].to_numpy()
    frame = model_columns(whole, model.encoder_, source, id)
    with naming_lines(source, csv):
        model.encoder_.encode(frame)  # refuses here what it would refuse later, without lines
    return HeldOut(frame, y, labels)


def training_table(file: Any, people: HeldOut, source: str | None, csv: Csv) -> Any:
    """The training table: the one that is named, or the people if the model was trained on them.

    Parameters
    ----------
    file : ModelFile
        Its summary has the fingerprint of the training table.
    people : HeldOut
    source : str or None
    csv : Csv
    """
    if source is not None:
        return held_out(source, csv, file.model).frame
    trained_on = file.summary.get("data")
    return people.frame if data_fingerprint(people.frame) == trained_on else None


def require_column(name: str, frame: pd.DataFrame, option: str, source: str) -> None:
    """Refuse an option that names a column which is not there."""
    if name not in frame.columns:
        raise BadInput(
            f"{option} names {name!r}, but {name_of(source)} has no such column; it has "
            f"{listing(list(frame.columns), 30)}."
        )


def _classes(frame: pd.DataFrame, target: str, classes: list[Any], source: str) -> np.ndarray:
    """The target with the model's own labels."""
    require_column(target, frame, "--target", source)
    by_text = {str(label): label for label in classes}
    texts = frame[target].astype(str)
    unknown = sorted(set(texts) - set(by_text))
    if unknown:
        raise BadInput(
            f"Column {target!r} of {name_of(source)} has {listing(unknown)}; the model's classes "
            f"are {listing(classes)}."
        )
    return texts.map(by_text).to_numpy(object)
