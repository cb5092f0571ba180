"""The results that the paper's authors recorded, read from a folder; never part of this package.

The folder is laid out as their files are called here: ``main/f_forest.csv`` and so on. It is named
on the command line or by the environment variable RACT_RECORDED.
"""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from ract.errors import InvalidSpec
from ract.experiments.paper.settings import IMPORTANCE, DataSetting, Experiment

VARIABLE = "RACT_RECORDED"


class Recorded:
    """A folder of recorded results.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InvalidSpec(f"There is no folder of recorded results at {self.folder}.")

    @classmethod
    def find(cls, folder: str | Path | None) -> Recorded | None:
        """The folder that is named, or else that of the environment; None if there is none."""
        named = folder or os.environ.get(VARIABLE)
        return cls(named) if named else None

    def read(self, experiment: Experiment, data: DataSetting) -> pd.DataFrame | None:
        """The recorded rows of an experiment on a data set, or None."""
        return self._read(experiment.recorded.format(data.letter))

    def importance(self, data: DataSetting) -> pd.DataFrame | None:
        """The recorded importances of the forests on a data set, or None."""
        return self._read(IMPORTANCE.format(data.letter))

    def _read(self, name: str) -> pd.DataFrame | None:
        file = self.folder / name
        return pd.read_csv(file) if file.exists() else None
