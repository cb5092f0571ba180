"""Running the paper's experiments, into a folder of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.data import DATA, DataSetting, load
from experiments.paper.hold_outs import HoldOuts
from experiments.paper.population import Population
from experiments.paper.run import run_fold
from experiments.paper.settings import EXPERIMENTS, Experiment
from experiments.store import Store
from experiments.tasks import Task, run_missing


def reproduce(
    experiments: Sequence[Experiment], data: Sequence[DataSetting], out: str | Path, **options: Any
) -> Store:
    """Run the folds that are not done; the options are those of ``run_missing``."""
    tasks = [
        Task(e.name, e.settings(), e.n_folds, n_people, partial(run_one, e)) for e in experiments
    ]
    return run_missing(tasks, data, out, **options)


def run_one(experiment: Experiment, data: str, number: int) -> Mapping[str, pd.DataFrame]:
    """One fold: of forests in the order of the people, of trees a hold-out."""
    if experiment.model == "tree":
        fold = hold_outs(experiment, data).fold(number)
    else:
        fold = population(data).fold(experiment.n_folds, number)
    return run_fold(experiment, DATA[data], fold)


@lru_cache(maxsize=len(DATA) * len(EXPERIMENTS))
def hold_outs(experiment: Experiment, data: str) -> HoldOuts:
    """The hold-outs of an experiment, each made once in each process."""
    return HoldOuts(population(data), experiment, DATA[data])


@lru_cache(maxsize=len(DATA))
def population(data: str) -> Population:
    """The people of a data set, read once in each process."""
    return Population.of(load(data))


def n_people(data: str) -> int:
    """How many people a data set has."""
    return len(population(data).matrix)
