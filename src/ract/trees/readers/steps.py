"""Following columns through the steps of a pipeline, from the user's table to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn import preprocessing
from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.typing import TableLike
from ract.data.frames import is_frame
from ract.trees.readers.wrappers import layers_of

# Each column by itself, and never downward where the input goes up.
RISING = (
    preprocessing.StandardScaler,
    preprocessing.MinMaxScaler,
    preprocessing.MaxAbsScaler,
    preprocessing.RobustScaler,
    preprocessing.QuantileTransformer,
    preprocessing.PowerTransformer,
    preprocessing.KBinsDiscretizer,
)
# Functions of NumPy that rise with their argument wherever they are defined, to the last digit;
# the cube root does not.
FUNCTIONS = (
    *(np.log, np.log2, np.log10, np.log1p, np.sqrt, np.exp, np.exp2, np.expm1),
    *(np.sinh, np.arcsinh, np.tanh, np.arctan, np.floor, np.ceil, np.trunc, np.rint),
)
SUPPORTED_STEPS = (
    "ColumnTransformer, Pipeline, 'passthrough', 'drop', OneHotEncoder, OrdinalEncoder, "
    "SimpleImputer, KBinsDiscretizer(encode='ordinal'), "
    + ", ".join(kind.__name__ for kind in RISING[:-1])
    + " and FunctionTransformer of a function of NumPy that rises: "
    + ", ".join(function.__name__ for function in FUNCTIONS)
)


@dataclass(frozen=True)
class TracedColumn:
    """A column on its way to the model.

    Parameters
    ----------
    position : int
        Which column of the user's table it comes from.
    by_category : bool
        Whether a step takes its values as categories, without order.
    altered : bool
        Whether its values are no longer the user's own.
    curved : bool
        Whether a function of NumPy was applied to it, which may be undefined below some number.
    known : list, optional
        The only categories that a step takes; others are an error to it.
    """

    position: int
    by_category: bool = False
    altered: bool = False
    curved: bool = False
    known: list[Any] | None = None


def unwrapped(model: object) -> tuple[list[TransformerMixin], Any]:
    """The steps before a model, and the model, of pipelines and wrappers in each other."""
    *around, last = layers_of(model)
    pipelines = (layer for layer in around if isinstance(layer, Pipeline))
    steps = [step for pipeline in pipelines for _, step in pipeline.steps[:-1]]
    return [step for step in steps if step is not None and step != "passthrough"], last


def first_columns(
    steps: Sequence[TransformerMixin], names: Sequence[str], is_frame: bool
) -> list[TracedColumn]:
    """The columns of a table in the order in which the first step was trained on them."""
    trained = getattr(steps[0], "feature_names_in_", None)
    if trained is None or not is_frame:
        n = getattr(steps[0], "n_features_in_", len(names))
        if n != len(names):
            raise InvalidData(f"The model was trained on {n} columns, the table has {len(names)}.")
        return [TracedColumn(j) for j in range(len(names))]
    missing = [name for name in trained if name not in names]
    if missing:
        raise InvalidData(f"The table lacks {listing(missing)}, which the model was trained on.")
    position = {name: j for j, name in enumerate(names)}
    return [TracedColumn(position[name]) for name in trained]


def as_trained(steps: Sequence[TransformerMixin], table: TableLike) -> TableLike:
    """A table as the first step was trained on it: a frame with its names, or an array."""
    names = getattr(steps[0], "feature_names_in_", None) if steps else None
    if steps and names is None and is_frame(table):
        return np.asarray(table)
    if names is not None and not is_frame(table):
        return pd.DataFrame(np.asarray(table), columns=list(names))
    return table


def follow(step: Any, columns: list[TracedColumn]) -> list[TracedColumn]:
    """The columns that a fitted step makes of some columns."""
    if isinstance(step, str) and step == "passthrough":
        return columns
    if type(step) is FunctionTransformer and not step.kw_args:
        if step.func is None:
            return columns
        if step.func in FUNCTIONS:
            return [replace(column, altered=True, curved=True) for column in columns]
    if type(step) is Pipeline:
        for _, inner in step.steps:
            columns = columns if inner is None else follow(inner, columns)
        return columns
    if type(step) is ColumnTransformer:
        return _through_selection(step, columns)
    if type(step) is SimpleImputer:
        return _through_imputer(step, columns)
    if type(step) is OrdinalEncoder:
        return [_as_category(step, k, column) for k, column in enumerate(columns)]
    if type(step) is OneHotEncoder:
        widths = _widths(step)
        return [
            _as_category(step, k, column)
            for k, (column, width) in enumerate(zip(columns, widths, strict=True))
            for _ in range(width)
        ]
    if type(step) not in RISING or getattr(step, "encode", "ordinal") != "ordinal":
        raise InvalidSpec(
            f"The step {step!r} before the model is not supported; supported are {SUPPORTED_STEPS}."
        )
    return [replace(column, altered=True) for column in columns]


def _as_category(step: TransformerMixin, k: int, column: TracedColumn) -> TracedColumn:
    """What an encoder of categories makes of the k-th of its columns."""
    if column.altered:
        raise InvalidSpec(
            f"{type(step).__name__} comes after a step that changes values; only columns of the "
            "table itself can be taken as categories."
        )
    known = step.categories_[k].tolist() if step.handle_unknown == "error" else None
    return replace(column, by_category=True, altered=True, known=known)


def _widths(encoder: OneHotEncoder) -> list[int]:
    """How many columns a one-hot encoder makes of each column."""
    rare = getattr(encoder, "infrequent_categories_", None)
    widths = []
    for k, categories in enumerate(encoder.categories_):
        width = len(categories)
        if rare is not None and rare[k] is not None:
            width -= len(rare[k]) - 1  # rare categories share one column
        dropped = encoder.drop_idx_ is not None and encoder.drop_idx_[k] is not None
        widths.append(width - int(dropped))
    return widths


def _through_imputer(imputer: SimpleImputer, columns: list[TracedColumn]) -> list[TracedColumn]:
    """Columns stay, if only what is missing counts as missing; indicators come after them."""
    marks = imputer.missing_values
    if not pd.isna(marks):
        raise InvalidSpec(
            f"SimpleImputer takes {marks!r} as missing; only NaN and None are supported."
        )
    said = imputer.indicator_.features_ if imputer.add_indicator else []
    if len(imputer.get_feature_names_out()) != len(columns) + len(said):
        raise InvalidSpec(
            "SimpleImputer drops columns that had no value in training; leave them out, or train "
            "it with keep_empty_features=True."
        )
    return columns + [replace(columns[k], altered=True, by_category=False) for k in said]


def _through_selection(
    chooser: ColumnTransformer, columns: list[TracedColumn]
) -> list[TracedColumn]:
    names = list(getattr(chooser, "feature_names_in_", []))
    left_over = set(range(len(columns)))
    made: list[TracedColumn] = []
    for name, step, selection in chooser.transformers_:
        if name == "remainder":
            chosen = sorted(left_over)
        else:
            chosen = _positions(selection, names, len(columns))
        left_over -= set(chosen)
        if chosen and not (isinstance(step, str) and step == "drop"):
            made += follow(step, [columns[j] for j in chosen])
    return made


def _positions(selection: Any, names: list[str], n: int) -> list[int]:
    """Positions of the columns that a fitted ColumnTransformer selects for a step."""
    if isinstance(selection, slice):
        if isinstance(selection.start, str) or isinstance(selection.stop, str):
            selection = pd.Index(names).slice_indexer(selection.start, selection.stop)
        return list(range(n)[selection])
    chosen = [selection] if isinstance(selection, (str, int, np.integer)) else list(selection)
    if chosen and all(isinstance(one, (bool, np.bool_)) for one in chosen):
        return [j for j, one in enumerate(chosen) if one]
    position = {name: j for j, name in enumerate(names)}
    return [position[one] if isinstance(one, str) else range(n)[one] for one in chosen]
