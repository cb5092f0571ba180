"""People who judge a model: their table, their true classes and their groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._fingerprint import data_fingerprint
from ract.cli.failures import BadInput
from ract.cli.options import Csv
from ract.cli.tables import name_of, no_column, people_of, read_whole, text_columns
from ract.errors import listing


@dataclass(frozen=True)
class HeldOut:
    """People in the columns of a model, with what else their file tells."""

    frame: pd.DataFrame
    truth: np.ndarray | None
    groups: np.ndarray | None


def held_out(
    source: str,
    csv: Csv,
    model: Any,
    *,
    target: str | None = None,
    is_asked: bool = False,
    groups: str | None = None,
    id: str | None = None,
) -> HeldOut:
    """Read people for a model.

    Parameters
    ----------
    source : str
        Their file.
    csv : Csv
    model : fitted classifier
    target : str, optional
        Column of their true classes; unless it is asked for, it may be missing.
    is_asked : bool
    groups, id : str, optional
        Columns of their groups and names.
    """
    whole = read_whole(source, csv)
    for name in text_columns(model.encoder_):
        if name in whole.columns:
            whole[name] = whole[name].astype(str)
    truth = None
    if target is not None and (is_asked or target in whole.columns):
        truth = _truth(whole, target, model.classes_.tolist(), source)
    if groups is not None and groups not in whole.columns:
        raise no_column(groups, whole.columns, "--groups", source)
    labels = None if groups is None else whole[groups].to_numpy()
    return HeldOut(people_of(whole, model.encoder_, source, id), truth, labels)


def training_people(file: Any, people: HeldOut, source: str | None, csv: Csv) -> Any:
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


def _truth(whole: pd.DataFrame, target: str, classes: list[Any], source: str) -> np.ndarray:
    if target not in whole.columns:
        raise no_column(target, whole.columns, "--target", source)
    by_text = {str(label): label for label in classes}
    told = whole[target].astype(str)
    unknown = sorted(set(told) - set(by_text))
    if unknown:
        raise BadInput(
            f"Column {target!r} of {name_of(source)} has {listing(unknown)}; the model's classes "
            f"are {listing(classes)}."
        )
    truth = np.empty(len(told), dtype=object)
    truth[:] = [by_text[text] for text in told]
    return truth
