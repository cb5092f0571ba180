"""Columns of a table: the features of a model, the target, groups and names of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ract._fingerprint import is_fingerprint_of
from ract._unread import without_unread
from ract.cli.failures import BadInput
from ract.cli.messages import say
from ract.cli.options import TrainingData
from ract.cli.tables import (
    name_of,
    naming_lines,
    place_of,
    read_whole,
    refuse_formatted_numbers,
    refuse_unread,
)
from ract.encoding import Encoder
from ract.errors import InvalidData, listing
from ract.tables import TableFormat, as_read
from ract.tables.read import date_columns


class Labelled(NamedTuple):
    """Features and classes of people, and how much each of them counts."""

    X: pd.DataFrame
    y: pd.Series
    weights: pd.Series | None


def features_and_target(
    table: TrainingData,
    form: TableFormat,
    space: Any = None,
    *,
    weights: str | None = None,
    frame: pd.DataFrame | None = None,
) -> Labelled:
    """Features and target of a training table, people without a class set aside.

    The index holds their rows in the file.

    Parameters
    ----------
    table : TrainingData
    form : TableFormat
    space : ActionSpace, optional
        What is known of the features.
    weights : str, optional
        Column of how much each person counts, which is no feature.
    frame : DataFrame, optional
        The table, if it was read already.
    """
    target, drop = table.target, table.drop or []
    if frame is None:
        frame = read_whole(table.data, form, text_features(space))
    frame = as_read(frame, form, space or ())
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
    left_out = [name for name in frame.columns if name in {*drop, *form.drop, weights}]
    for name in frame.columns.difference(left_out):
        refuse_formatted_numbers(frame[name], name)
    y = frame[target]
    classes = classes_of(y)
    check_classes(target, classes)
    X = frame.drop(columns=[target, *(name for name in left_out if name != target)])
    if not len(X.columns):
        raise BadInput(f"{name_of(table.data)} has no column beside the target {target!r}.")
    return Labelled(X, y, None if weights is None else frame[weights])


def training_set(
    table: TrainingData, form: TableFormat, space: Any, weights: str | None = None
) -> tuple[Labelled, Any]:
    """Features, target and weights of a training table, and the desired class."""
    people = features_and_target(table, form, space, weights=weights)
    label = desired_class(table.desired, classes_of(people.y), space)
    with naming_lines(table.data, form, people.X.index):
        Encoder(people.X, space)  # refuses here what it would refuse later, without lines
    return people, label


def with_known_class(frame: pd.DataFrame, target: str, source: str) -> pd.DataFrame:
    """The rows of a table that have a class; how many have none is said."""
    unknown = frame[target].isna()
    if unknown.all():
        raise BadInput(f"The target {target!r} is missing in every row of {name_of(source)}.")
    if unknown.any():
        say(
            f"Note: the target {target!r} is missing in {int(unknown.sum())} of {len(frame)} rows "
            f"of {name_of(source)}; they are set aside."
        )
        known = frame[~unknown]
        whole = known[target].dtype.kind == "f" and (known[target] % 1 == 0).all()
        return known.astype({target: np.int64}) if whole else known
    return frame


def classes_of(y: pd.Series) -> list[Any]:
    """The classes of a target, sorted by their names."""
    return sorted(y.unique().tolist(), key=str)


def check_classes(target: str, classes: Sequence[Any]) -> None:
    """Refuse a target that has other than two classes, or amounts."""
    if len(classes) != 2:
        raise BadInput(
            f"The target {target!r} has {len(classes)} class(es), {listing(classes)}; two are "
            "needed."
        )
    if any(isinstance(label, float) and not label.is_integer() for label in classes):
        raise BadInput(
            f"The target {target!r} holds {listing(classes)}, which are amounts and not classes."
        )


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


def text_columns(encoder: Encoder) -> list[str]:
    """Columns whose categories are texts, even if they look like numbers."""
    return text_features(encoder.space)


def text_features(space: Any) -> list[str]:
    """Features of a space whose categories are texts."""
    return [
        feature.name
        for feature in space or ()
        if feature.categories
        and not feature.columns
        and all(isinstance(value, str) for value in feature.categories)
    ]


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
    whole = read_whole(source, form, text_columns(model.encoder_))
    y = None
    if target is not None and (is_required or target in whole.columns):
        require_column(target, whole, "--target", source)
        whole = with_known_class(whole, target, source)
        y = _classes(as_read(whole[[target]], form), target, model.classes_.tolist(), source)
    if groups is not None:
        require_column(groups, whole, "--groups", source)
    labels = None if groups is None else whole[groups].to_numpy()
    frame = model_columns(whole, model.encoder_, source, id, form, strict=strict)
    n_invalid = 0
    with naming_lines(source, form, whole.index):
        try:
            model.encoder_.encode(frame)  # refuses here what it would refuse later, without lines
        except InvalidData:
            if strict:
                raise
            frame, unread = without_unread(frame, model.encoder_)
            if not unread.messages:
                raise
            _say_unread(source, form, whole.index, unread)
            n_invalid = len(unread.messages)
            y, labels = (None if part is None else part[unread.rows] for part in (y, labels))
    return HeldOut(frame, y, labels, n_invalid)


def _say_unread(source: str, form: TableFormat, rows: Any, unread: Any) -> None:
    """Say how many rows are set aside, and what is wrong with the first."""
    refuse_unread(source, unread.n_rows, list(unread.messages.values()))
    first, message = next(iter(unread.messages.items()))
    say(
        f"Note: {len(unread.messages)} of {unread.n_rows} rows of {name_of(source)} cannot be read "
        f"and are set aside. The first is {place_of(source, form, int(rows[first]))}: {message}"
    )


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
