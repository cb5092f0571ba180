"""A folder of results that a run can be taken up from.

    settings.json            what the results were made with
    forests/fico.csv         results of an experiment, fold after fold
    importance/fico.csv      another table of the same folds
    parts/                   folds that are not yet in those files, one file each

A fold is done when its results are in one of the files. Files are written whole, so that whatever
interrupts a run, no fold is ever half there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ract._files import write_whole
from ract.errors import InvalidSpec, listing

SETTINGS, PARTS, RESULTS = "settings.json", "parts", "results"


class Store:
    """Results in a folder.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def open(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Make the folder ready for some experiments, or refuse it if it is for other ones.

        Parameters
        ----------
        settings : mapping
            By experiment, everything that its results depend on.
        """
        wanted = json.loads(json.dumps(settings))
        known = self._settings()
        for name, setting in wanted.items():
            before = known.get(name, setting)
            if before != setting:
                keys = sorted(k for k in {*before, *setting} if before.get(k) != setting.get(k))
                raise InvalidSpec(
                    f"{self.folder} holds results of {name!r} with other settings (they differ in "
                    f"{listing(keys)}); name another folder. Nothing was changed."
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**known, **wanted}, indent=1, sort_keys=True)
        write_whole(self.folder / SETTINGS, text + "\n")

    def _settings(self) -> dict[str, Any]:
        file = self.folder / SETTINGS
        if file.exists():
            settings: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return settings
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise InvalidSpec(
                f"{self.folder} is not empty and holds no {SETTINGS}, so it is no folder of "
                "results; name another one. Nothing was changed."
            )
        return {}

    def add_fold(
        self, experiment: str, data: str, number: int, tables: Mapping[str, pd.DataFrame]
    ) -> None:
        """Keep the tables of a fold; "results" comes last, since it says that the fold is done."""
        folder = self.folder / PARTS
        folder.mkdir(exist_ok=True)
        for table in sorted(tables, key=lambda name: name == RESULTS):
            text = tables[table].to_csv(index=False, lineterminator="\n")
            write_whole(folder / f"{experiment}.{data}.{table}.{number:03d}.csv", text)

    def folds(self, experiment: str, data: str) -> set[int]:
        """Numbers of the folds that are done."""
        rows = self.read(experiment, data)
        done = set() if rows is None else {int(number) for number in rows["Fold"]}
        parts = self._parts(experiment, data, RESULTS)
        return done | {int(file.suffixes[-2][1:]) for file in parts}

    def collect(self, experiment: str, data: str, tables: Mapping[str, str]) -> None:
        """Move finished folds into the files of their tables.

        Parameters
        ----------
        tables : mapping
            By table, the name of its folder.
        """
        for table in sorted(tables, key=lambda name: name == RESULTS):
            parts = self._parts(experiment, data, table)
            if not parts:
                continue
            file = self.folder / tables[table] / f"{data}.csv"
            frames = [_as_text(part) for part in parts]
            if file.exists():
                frames.insert(0, _as_text(file))
            rows = pd.concat(frames).drop_duplicates(subset=_keys(frames[-1]), keep="last")
            rows = rows.sort_values("Fold", key=lambda fold: fold.astype(int), kind="stable")
            if "Model" in rows:  # models of a fold come one at a time
                rows = rows.sort_values(["Fold", "Model"], kind="stable")
            file.parent.mkdir(exist_ok=True)
            write_whole(file, rows.to_csv(index=False, lineterminator="\n"))
            for part in parts:
                part.unlink()

    def _parts(self, experiment: str, data: str, table: str) -> list[Path]:
        return sorted((self.folder / PARTS).glob(f"{experiment}.{data}.{table}.*.csv"))

    def read(self, name: str, data: str) -> pd.DataFrame | None:
        """The table of a name for a data set, or None."""
        file = self.folder / name / f"{data}.csv"
        return pd.read_csv(file) if file.exists() else None


def _as_text(file: Path) -> pd.DataFrame:
    """Rows as they are written, so that they are written again as they are."""
    return pd.read_csv(file, dtype=str, keep_default_na=False)


def _keys(rows: pd.DataFrame) -> list[str]:
    known = ("Fold", "Method", "Alpha", "Delta", "Budget", "N_ESTIMATORS", "Model")
    return [name for name in known if name in rows]
