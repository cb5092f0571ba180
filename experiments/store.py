"""A folder of results that a run can be resumed from.

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

from ract._utils.errors import InvalidSpec, listing
from ract._utils.files import write_whole

SETTINGS, PARTS = "settings.json", "parts"
# Columns that say which row is which.
KEYS = ("Fold", "Method", "Alpha", "Delta", "Budget", "N_ESTIMATORS", "Model",
        "Direction", "Strength", "Changes")  # fmt: skip


class Store:
    """Results in a folder, which need not exist yet."""

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
        (self.folder / PARTS).mkdir(parents=True, exist_ok=True)
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
        self,
        name: str,
        data: str,
        number: int,
        tables: Mapping[str, pd.DataFrame],
        model: str = "",
    ) -> None:
        """Keep the tables of a fold; the one of its own name comes last: then the fold is done."""
        for table in sorted(tables, key=lambda table: table == name):
            text = tables[table].to_csv(index=False, lineterminator="\n")
            write_whole(self.folder / PARTS / f"{table}.{data}.{model}.{number:03d}.csv", text)

    def folds(self, name: str, data: str, model: str = "") -> set[int]:
        """Numbers of the folds that are done."""
        rows = self.read(name, data)
        if rows is not None and model:
            rows = rows[rows["Model"] == model]
        done = set() if rows is None else set(map(int, rows["Fold"]))
        return done | {int(part.name.split(".")[3]) for part in self._parts(name, data, model)}

    def collect(self) -> None:
        """Move finished folds into the files of their tables."""
        tables = {tuple(part.name.split(".")[:2]) for part in self._parts()}
        for table, data in sorted(tables):
            parts = self._parts(table, data)
            file = self.folder / table / f"{data}.csv"
            frames = [_as_text(part) for part in [file, *parts] if part.exists()]
            keys = [key for key in KEYS if key in frames[-1]]
            rows = pd.concat(frames).drop_duplicates(subset=keys, keep="last")
            rows = rows.sort_values("Fold", key=lambda fold: fold.astype(int), kind="stable")
            if "Model" in rows:  # models of a fold come one at a time
                rows = rows.sort_values(["Fold", "Model"], kind="stable")
            file.parent.mkdir(exist_ok=True)
            write_whole(file, rows.to_csv(index=False, lineterminator="\n"))
            for part in parts:
                part.unlink()

    def _parts(self, table: str = "*", data: str = "*", model: str = "*") -> list[Path]:
        return sorted((self.folder / PARTS).glob(f"{table}.{data}.{model}.*.csv"))

    def read(self, name: str, data: str) -> pd.DataFrame | None:
        """The table of a name for a data set, or None."""
        file = self.folder / name / f"{data}.csv"
        return pd.read_csv(file) if file.exists() else None


def _as_text(file: Path) -> pd.DataFrame:
    """Rows as they are written, so that they are written again as they are."""
    return pd.read_csv(file, dtype=str, keep_default_na=False)
