"""Answers as frames whose columns and types depend on what is asked, never on who is asked.

Engines and files want to know both before anybody was searched for, and the same for every part.
Columns that hold values of features are texts: a column of a table has one type, and the next
feature has another. A number reads back from its text as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from ract.data.invalid_rows import set_aside_invalid
from ract.io.decider import decided
from ract.recourse.by_person import COLUMNS as PLANS
from ract.recourse.reachable import recourse_status
from ract.recourse.reasons.result import COLUMNS as REASONS

Kind = Literal["text", "number", "integer", "truth"]
Schema = dict[str, Kind]

PERSON = "person"  # the first column of every answer: the key of the row it is about

# The type of a column in pandas, by its kind. Whole numbers and truths can be missing.
PANDAS: dict[Kind, Any] = {
    "text": "string",
    "number": "float64",
    "integer": "Int64",
    "truth": "boolean",
}

_KINDS: dict[Any, Kind] = {
    None: "text",
    object: "text",
    float: "number",
    "int64": "integer",
    bool: "truth",
}

_WIDE: Schema = {
    "status": "text",
    "cost": "number",
    "strength": "number",
    "lasting": "number",
    "changes": "integer",
    "only supplied": "truth",
}


def schema_of(what: str, model: Any, options: Mapping[str, Any]) -> Schema:
    """Columns of an answer beside the person, and their kinds."""
    if what == "decisions":
        return {
            "prediction": _kind_of(model.model.classes),
            "probability": "number",
            "message": "text",
        }
    if what == "has_recourse":
        return {"status": "text", "message": "text"}
    if what == "plans" and options.get("form", "long") == "wide":
        new: Schema = {
            f"new {axis.feature.name}": "text" if axis.is_categorical else "number"
            for axis in model.encoder_.axes
        }
        return {**_WIDE, **new, "message": "text"}
    columns = PLANS if what == "plans" else REASONS
    return {name: _KINDS[kind] for name, kind in columns.items() if name != PERSON}


def answers_to(what: str, model: Any, X: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """The answers about some people, whose positions are in the column of persons."""
    given = dict(options)
    if what == "decisions":
        return decided(model, X)
    if what == "has_recourse":
        return _has_recourse(model, X, given)
    if what == "reasons":
        return model.reasons(X, **given).to_frame()
    form = given.pop("form", "long")
    found = model.recourse(X, **given)
    if form == "long":
        return found.to_frame()
    return found.to_frame("wide").rename_axis(PERSON).reset_index()


def fitted_to(schema: Schema, answers: pd.DataFrame, key: Any) -> pd.DataFrame:
    """Answers with the columns and types of a schema, and keys in place of positions.

    Parameters
    ----------
    schema : dict
    answers : DataFrame
    key : array (people,)
        Of pandas, so that its type stays as it is.
    """
    columns: dict[str, Any] = {PERSON: key.take(answers[PERSON].to_numpy(np.intp))}
    answers = answers.reindex(columns=[*schema])  # a feature that nobody changes is not in them
    for name, kind in schema.items():
        column = answers[name]
        if kind == "text" and not isinstance(column.dtype, pd.StringDtype):
            column = column.map(lambda value: None if pd.isna(value) else str(value))
        columns[name] = column.astype(PANDAS[kind]).array
    return pd.DataFrame(columns)


def _has_recourse(model: Any, X: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    status = recourse_status(model, X, **options)
    messages: dict[int, str] = {}
    if (status == "invalid").any():
        messages = set_aside_invalid(X, model.encoder_)[1].messages
    said = [messages.get(i) for i in range(len(X))]
    return pd.DataFrame({PERSON: X.index, "status": status, "message": said})


def _kind_of(classes: np.ndarray) -> Kind:
    """The kind of a column that holds classes."""
    kinds: dict[str, Kind] = {"b": "truth", "i": "integer", "u": "integer", "f": "number"}
    return kinds.get(classes.dtype.kind, "text")
