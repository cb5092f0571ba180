"""Experiments run fold by fold in processes, into a folder that a run can be resumed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from joblib import Parallel, delayed

from experiments.store import Store
from ract._utils.errors import InvalidSpec
from ract._utils.progress import track


class Named(Protocol):
    """A data set, of which only the name matters here."""

    @property
    def name(self) -> str:
        """Its name."""


@dataclass(frozen=True)
class Task:
    """What is run fold by fold on each data set: an experiment, or one model of the benchmark.

    Parameters
    ----------
    name : str
        Of its results in the store.
    settings : mapping
        Everything that its results depend on.
    n_folds : int
    n_people : callable
        Takes the name of a data set; larger ones take longer.
    run : callable
        Takes the name of a data set and the number of a fold, and returns the fold's tables by
        name. It must be known to other processes.
    model : str
        Whose rows these are, if the results hold those of several.
    """

    name: str
    settings: Mapping[str, Any]
    n_folds: int
    n_people: Callable[[str], int]
    run: Callable[[str, int], Mapping[str, pd.DataFrame]]
    model: str = ""

    def missing(self, store: Store, data: str, n_folds: int | None) -> list[int]:
        """Numbers of the folds of a data set, up to some number, that are not done."""
        last = self.n_folds if n_folds is None else min(n_folds, self.n_folds)
        done = store.folds(self.name, data, self.model)
        return [number for number in range(1, last + 1) if number not in done]


def run_missing(
    tasks: Sequence[Task],
    data: Sequence[Named],
    out: str | Path,
    *,
    n_folds: int | None = None,
    n_jobs: int = 1,
    progress: bool = True,
) -> Store:
    """Run the folds that are not done: the first of everything, then the second, and so on.

    A run that is ended early then has as many folds of each. Large data sets come first.

    Parameters
    ----------
    tasks : sequence of Task
    data : sequence of data sets
    out : path
        Folder of results, new or from an earlier run with the same settings.
    n_folds : int, optional
        Only the first folds of each task.
    n_jobs : int
        Processes; with 1 everything runs in this one.
    progress : bool
        Show a bar with the time left.
    """
    if n_folds is not None and n_folds < 1:
        raise InvalidSpec(f"folds must be 1 or more, got {n_folds}.")
    store = Store(out)
    # The data are read before the folder is made: without them nothing is left behind.
    sizes = {setting.name: task.n_people(setting.name) for task in tasks for setting in data}
    store.open({task.name: task.settings for task in tasks})
    missing = [
        (task, name, number)
        for name in sorted(sizes, key=lambda name: -sizes[name])
        for task in tasks
        for number in task.missing(store, name, n_folds)
    ]
    missing.sort(key=lambda fold: fold[2])
    done = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run)(store, *fold) for fold in missing
    )
    total, show = sum(sizes[name] for _, name, _ in missing), progress and bool(missing)
    try:
        for _ in track(done, total, "Running folds", size=sizes.__getitem__, show=show):
            pass
    finally:  # an interrupted run keeps what it has
        store.collect()
    return store


def _run(store: Store, task: Task, data: str, number: int) -> str:
    store.add_fold(task.name, data, number, task.run(data, number), task.model)
    return data
