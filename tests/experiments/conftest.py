"""Small experiments on made-up people, and results recorded of other ones."""

import dataclasses

import pandas as pd
import pytest

from experiments.benchmark import run as bench
from experiments.data import DATA
from experiments.paper import reproduce as repro
from experiments.paper.population import Population
from experiments.paper.run import run_fold
from experiments.paper.settings import EXPERIMENTS
from tests.experiments.builders import fold_of, made_up


@pytest.fixture
def small(monkeypatch):
    """Experiments of a few trees and folds on made-up people, whatever data set is named."""

    def load(data, *, drop_duplicates=False):
        return made_up(120 + 10 * list(DATA).index(data))

    monkeypatch.delenv("RACT_RECORDED", raising=False)  # those are of other people
    for module in (repro, bench):
        monkeypatch.setattr(module, "load", load)
    for cached in (repro.population, repro.hold_outs, bench.dataset, bench.folds_of, bench._judge):
        cached.cache_clear()
    for name, experiment in list(EXPERIMENTS.items()):
        sizes = tuple(max(size // 50, 1) for size in experiment.n_trees)
        fewer = dataclasses.replace(experiment, n_trees=sizes, n_folds=3, max_depth=6)
        monkeypatch.setitem(EXPERIMENTS, name, fewer)
    yield
    for cached in (repro.population, repro.hold_outs, bench.dataset, bench.folds_of, bench._judge):
        cached.cache_clear()


@pytest.fixture
def recorded(tmp_path, small):
    """A folder of recorded results: our own columns, from another seed of made-up people."""
    folder = tmp_path / "recorded"
    for name in ("forests", "trees"):
        experiment, data = EXPERIMENTS[name], DATA["compas"]
        population = Population.of(made_up(140, seed=1))
        frames = [
            run_fold(experiment, data, fold_of(population, experiment, data, k))[name]
            for k in (1, 2, 3)
        ]
        rows = pd.concat(frames)
        rows = pd.concat([rows.assign(Fold=rows["Fold"] + 3 * k) for k in range(4)])
        file = folder / experiment.recorded.format("c")
        file.parent.mkdir(parents=True, exist_ok=True)
        rows.drop(columns=["Recourse (exact)", "Unknown (exact)"]).to_csv(file, index=False)
    return folder
