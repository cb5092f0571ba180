"""The results that the paper's authors recorded, read from a folder; never part of this package.

The folder is laid out as their files are called here: ``main/f_forest.csv`` and so on. It is named
on the command line or by the environment variable RACT_RECORDED.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from experiments.data import DATA, DataSetting
from experiments.paper.settings import EXPERIMENTS
from experiments.store import Store
from ract._utils.errors import InvalidSpec

VARIABLE = "RACT_RECORDED"
# The authors recorded importances of the forests of the baseline comparison.
IMPORTANCE = "importance/fi_{}_forest.csv"


class Recorded:
    """A folder of recorded results, which must exist."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InvalidSpec(f"There is no folder of recorded results at {self.folder}.")

    @classmethod
    def find(cls, folder: str | Path | None) -> Recorded | None:
        """The folder that is named, or else that of the environment; None if there is none."""
        named = folder or os.environ.get(VARIABLE)
        return cls(named) if named else None

    def read(self, name: str, data: str) -> pd.DataFrame | None:
        """The rows of an experiment, or "importance", for a data set, or None; as in ``Store``."""
        file = IMPORTANCE if name == "importance" else EXPERIMENTS[name].recorded
        path = self.folder / file.format(DATA[data].letter)
        return pd.read_csv(path) if path.exists() else None


class Results(NamedTuple):
    """Results on a data set: ours, and the recorded ones, if there are any."""

    data: DataSetting
    ours: pd.DataFrame
    recorded: pd.DataFrame | None


def side_by_side(name: str, store: Store, recorded: Recorded | None = None) -> Iterator[Results]:
    """The results of a name on each data set for which we have some."""
    for data in DATA.values():
        ours = store.read(name, data.name)
        if ours is not None:
            theirs = None if recorded is None else recorded.read(name, data.name)
            yield Results(data, ours, theirs)
