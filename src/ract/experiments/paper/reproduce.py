"""Running the paper's experiments: what is not done yet, into a folder of results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ract.errors import InvalidSpec
from ract.experiments.paper.hold_outs import HoldOuts
from ract.experiments.paper.people import Fold, Population, load
from ract.experiments.paper.run import run_fold
from ract.experiments.paper.settings import DATA, EXPERIMENTS, DataSetting, Experiment
from ract.experiments.progress import Task, run_all
from ract.experiments.store import Store


def reproduce(
    experiments: Sequence[Experiment],
    data: Sequence[DataSetting],
    out: str | Path,
    *,
    n_folds: int | None = None,
    n_jobs: int = 1,
    quiet: bool = False,
) -> Store:
    """Run the folds that are not done.

    Parameters
    ----------
    experiments : sequence of Experiment
    data : sequence of DataSetting
    out : path
        Folder of results, new or from an earlier run with the same settings.
    n_folds : int, optional
        Only the first folds of each experiment.
    n_jobs : int
        Processes.
    quiet : bool
        Show no progress.
    """
    if n_folds is not None and n_folds < 1:
        raise InvalidSpec(f"folds must be 1 or more, got {n_folds}.")
    store = Store(out)
    sizes = {setting.name: len(population(setting.name).matrix) for setting in data}
    store.open({experiment.name: experiment.settings() for experiment in experiments})
    try:
        for experiment in experiments:
            tasks = [
                Task(
                    f"{experiment.name}, {setting.title}, fold {number}",
                    sizes[setting.name],
                    (experiment.name, setting.name, number, str(out)),
                )
                for setting in data
                for number in _missing(store, experiment, setting, n_folds)
            ]
            run_all(run_one, tasks, n_jobs=n_jobs, quiet=quiet)
            collect(store, experiment, data)
    finally:  # an interrupted run keeps what it has
        for experiment in experiments:
            collect(store, experiment, data)
    return store


def _missing(
    store: Store, experiment: Experiment, data: DataSetting, n_folds: int | None
) -> list[int]:
    last = experiment.n_folds if n_folds is None else min(n_folds, experiment.n_folds)
    done = store.folds(experiment.name, data.name)
    return [number for number in range(1, last + 1) if number not in done]


def run_one(experiment: str, data: str, number: int, out: str) -> None:
    """Run one fold and keep its results."""
    chosen = EXPERIMENTS[experiment]
    fold = fold_of(experiment, data, number)
    Store(out).add_fold(experiment, data, number, run_fold(chosen, DATA[data], fold))


def collect(store: Store, experiment: Experiment, data: Sequence[DataSetting]) -> None:
    """Move finished folds of an experiment into its files."""
    tables = {"results": experiment.name, "importance": "importance"}
    for setting in data:
        store.collect(experiment.name, setting.name, tables)


def fold_of(experiment: str, data: str, number: int) -> Fold:
    """A fold of an experiment: of forests in the order of the people, of trees a hold-out."""
    chosen = EXPERIMENTS[experiment]
    if chosen.model == "tree":
        return hold_outs(experiment, data).fold(number)
    return population(data).fold(chosen.n_folds, number)


@lru_cache(maxsize=len(DATA) * len(EXPERIMENTS))
def hold_outs(experiment: str, data: str) -> HoldOuts:
    """The hold-outs of an experiment, each made once in each process."""
    return HoldOuts(population(data), EXPERIMENTS[experiment], DATA[data])


@lru_cache(maxsize=len(DATA))
def population(data: str) -> Population:
    """The people of a data set, read once in each process."""
    return Population.of(load(DATA[data]))
