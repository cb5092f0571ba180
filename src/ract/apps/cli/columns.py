"""People in the columns of a model, with their classes, groups and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import listing
from ract.apps.cli.messages import BadInput, say
from ract.data import target as targets
from ract.data.csv import (
    TableFormat,
    as_read,
    date_columns,
    name_of,
    place_of,
    read_whole,
    refuse_formatted_numbers,
    text_features,
)
from ract.data.encoder import Encoder
from ract.data.invalid_rows import set_aside_invalid
from ract.trees.fingerprint import is_fingerprint_of


def rows_with_class(frame: pd.DataFrame, target: str, source: str) -> pd.DataFrame:
    """The rows of a table that have a class; how many have none is said."""
    known = targets.rows_with_class(frame, target, name_of(source))
    if len(known) < len(frame):
        say(
            f"Note: the target {target!r} is missing in {len(frame) - len(known)} of {len(frame)} "
            f"rows of {name_of(source)}; they are set aside."
        )
    return known


def desired_label(name: str | None, classes: Sequence[Any], space: Any = None) -> Any:
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
        whole = rows_with_class(whole, target, source)
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
