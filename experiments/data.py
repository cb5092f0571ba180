"""The data sets of the experiments, with what the paper's authors chose for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ract._utils.errors import InvalidSpec, listing
from ract.data import datasets
from ract.data.datasets import Dataset

Known = TypeVar("Known")
STRONG, WEAK = (0.2, 0.4, 0.6, 0.8, 1.0), (0.02, 0.04, 0.06, 0.08, 0.1)


@dataclass(frozen=True)
class DataSetting:
    """A data set with the weights that the authors compared, and the weights and risk selected.

    ``letter`` is what the recorded files call it.
    """

    name: str
    title: str
    letter: str
    forest_weights: tuple[float, ...]
    forest_weight: float
    tree_weight: float
    tree_risk: float = 0.3


DATA = {
    "fico": DataSetting("fico", "FICO", "f", STRONG, 1.0, 0.1),
    "compas": DataSetting("compas", "COMPAS", "c", WEAK, 0.06, 0.05),
    "credit": DataSetting("credit", "Credit", "p", STRONG, 0.2, 0.1),
    "bail": DataSetting("bail", "Bail", "b", WEAK, 0.1, 0.05),
}


def load(data: str, *, drop_duplicates: bool = False) -> Dataset:
    """A data set by its name, read or downloaded."""
    found: Dataset = getattr(datasets, f"fetch_{data}")(drop_duplicates=drop_duplicates)
    return found


def chosen(what: str, names: Sequence[str], known: Mapping[str, Known]) -> tuple[Known, ...]:
    """Those of some names, which may be joined by commas; all of them if there are none.

    >>> chosen("letter", ["b, c"], {"a": 1, "b": 2, "c": 3})
    (2, 3)
    """
    names = [part.strip() for name in names for part in name.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidSpec(f"Unknown {what} {listing(unknown)}; known are {listing(known, 20)}.")
    return tuple(value for name, value in known.items() if name in names or not names)
