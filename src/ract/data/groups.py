"""Groups of people, given as a column or as everyone's label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.typing import ColumnLike, TableLike
from ract.data.frames import as_narwhals, read_table

MOST = 50


def group_masks(X: TableLike, groups: str | ColumnLike) -> dict[Any, np.ndarray]:
    """Who is in which group.

    Parameters
    ----------
    X : frame or array
        People.
    groups : str or array (people,)
        A column of X, or everyone's group.

    Returns
    -------
    dict
        From a group's label, in order, to a boolean array over people.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "f"]})
    >>> {group: inside.tolist() for group, inside in group_masks(people, "sex").items()}
    {'f': [True, False, True], 'm': [False, True, False]}
    """
    n_rows, column = read_table(X).n_rows, groups
    if isinstance(groups, str):
        frame = as_narwhals(X)
        if frame is None or groups not in frame.columns:
            names = [] if frame is None else frame.columns
            raise InvalidSpec(
                f"groups is {groups!r}, which is not a column; the columns are {listing(names)}."
            )
        column = frame[groups].to_native()
    labels, declared = pd.Series(np.asarray(column)), None
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        declared = column.dtype.categories
    if labels.shape != (n_rows,):
        raise InvalidData(f"X has {n_rows} rows but groups has shape {labels.shape}.")
    if labels.isna().any():
        raise InvalidData(f"groups has {int(labels.isna().sum())} missing values.")
    observed = sorted_groups(labels.unique().tolist())
    if empty := [] if declared is None else [g for g in declared.tolist() if g not in observed]:
        raise InvalidData(f"Nobody is in the group {listing(empty)}.")
    return {group: (labels == group).to_numpy() for group in observed}


def members_of(X: TableLike, groups: str | ColumnLike | None) -> dict[Any, np.ndarray]:
    """Who is in which group; everyone is in one without a label if there are none."""
    if groups is None:
        return {None: np.ones(len(X), np.bool_)}
    return group_masks(X, groups)


def sorted_groups(groups: Iterable[Any]) -> list[Any]:
    """Labels of groups in their order, if they are not too many; None is none."""
    named = sorted((g for g in groups if g is not None), key=lambda g: (str(type(g)), g))
    if len(named) > MOST:
        raise InvalidData(
            f"groups has {len(named)} different values, more than {MOST}; cut them into fewer."
        )
    return named
