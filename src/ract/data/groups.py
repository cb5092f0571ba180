"""Groups of people, given as a column or as everyone's label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract.data.frames import is_frame, read_table

MOST = 50


def groups_of(X: Any, groups: Any) -> dict[Any, np.ndarray]:
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
    >>> {group: inside.tolist() for group, inside in groups_of(people, "sex").items()}
    {'f': [True, False, True], 'm': [False, True, False]}
    """
    n_rows = read_table(X).n_rows
    if isinstance(groups, str):
        names = list(read_table(X).names) if is_frame(X) else []
        if groups not in names:
            raise InvalidSpec(
                f"groups is {groups!r}, which is not a column; the columns are {listing(names)}."
            )
        labels = pd.Series(np.asarray(X[groups]))
        declared = X[groups].cat.categories if _is_categorical(X[groups]) else None
    else:
        labels = pd.Series(np.asarray(groups))
        declared = groups.cat.categories if _is_categorical(groups) else None
    if labels.shape != (n_rows,):
        raise InvalidData(f"X has {n_rows} rows but groups has shape {labels.shape}.")
    if labels.isna().any():
        raise InvalidData(f"groups has {int(labels.isna().sum())} missing values.")
    observed = in_order(labels.unique().tolist())
    empty = [] if declared is None else [g for g in declared.tolist() if g not in observed]
    if empty:
        raise InvalidData(f"Nobody is in the group {listing(empty)}.")
    return {group: (labels == group).to_numpy() for group in observed}


def members_of(X: Any, groups: Any) -> dict[Any, np.ndarray]:
    """Who is in which group; everyone is in one without a label if there are none."""
    if groups is None:
        return {None: np.ones(len(X), np.bool_)}
    return groups_of(X, groups)


def in_order(groups: Iterable[Any]) -> list[Any]:
    """Labels of groups in their order, if they are not too many; None is none."""
    named = sorted((g for g in groups if g is not None), key=lambda g: (str(type(g)), g))
    if len(named) > MOST:
        raise InvalidData(
            f"groups has {len(named)} different values, more than {MOST}; cut them into fewer."
        )
    return named


def _is_categorical(column: Any) -> bool:
    return isinstance(getattr(column, "dtype", None), pd.CategoricalDtype)
