"""The target of a table: the rows that have a class, and the two classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, listing


def rows_with_class(frame: pd.DataFrame, target: str, where: str = "the table") -> pd.DataFrame:
    """The rows of a table that have a class.

    >>> frame = pd.DataFrame({"age": [20, 30, 40], "good": [1, None, 0]})
    >>> rows_with_class(frame, "good")["good"].tolist()
    [1, 0]
    """
    unknown = frame[target].isna()
    if unknown.all():
        raise InvalidData(f"The target {target!r} is missing in every row of {where}.")
    if not unknown.any():
        return frame
    known = frame[~unknown]
    whole = known[target].dtype.kind == "f" and (known[target] % 1 == 0).all()
    return known.astype({target: np.int64}) if whole else known


def target_classes(y: pd.Series) -> list[Any]:
    """The classes of a target, sorted by their names."""
    return sorted(y.unique().tolist(), key=str)


def check_classes(target: str, classes: Sequence[Any]) -> None:
    """Refuse a target that has other than two classes, or amounts."""
    if len(classes) != 2:
        raise InvalidData(
            f"The target {target!r} has {len(classes)} class(es), {listing(classes)}; two are "
            "needed."
        )
    if any(isinstance(label, float) and not label.is_integer() for label in classes):
        raise InvalidData(
            f"The target {target!r} holds {listing(classes)}, which are amounts and not classes."
        )
