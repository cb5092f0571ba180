"""The honest benchmark: what a user would deploy, and how much recourse it leaves.

Repeated rows are dropped, folds are shuffled, and people with the same features stay in one fold,
so that nobody is tested on a person seen in training. One-hot groups change as a whole. All leaves
are searched, exactly. The same cost (the share of people whom one has to overtake, at most, in any
feature) and budget hold for every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from ract.actions import ActionSpace
from ract.costs import PercentileCost
from ract.datasets import Dataset
from ract.experiments.benchmark.models import Model
from ract.experiments.data import DATA, DataSetting, load
from ract.experiments.store import Store
from ract.experiments.tasks import Task, run_missing
from ract.interop import read_model
from ract.recourse.exact.search import ExactSearch
from ract.status import Status

NAME = "benchmark"
N_FOLDS = 5
BUDGET = 0.3
# Of the refused people of a fold, this many are searched for, evenly spread; and so hard.
MAX_PEOPLE, MAX_NODES = 100, 10_000
SETTINGS = {
    "n_folds": N_FOLDS, "budget": BUDGET, "max_people": MAX_PEOPLE, "max_nodes": MAX_NODES,
}  # fmt: skip


def benchmark(
    models: Sequence[Model], data: Sequence[DataSetting], out: str | Path, **options: Any
) -> Store:
    """Run the models on the folds that are not done; options as in ``run_missing``."""
    for model in models:
        model.check()
    tasks = [
        Task(NAME, SETTINGS, N_FOLDS, n_people, partial(run_one, model), model.name)
        for model in models
    ]
    return run_missing(tasks, data, out, **options)


def run_one(model: Model, data: str, number: int) -> Mapping[str, pd.DataFrame]:
    """One model on one fold."""
    row = evaluate(dataset(data), model, number, folds_of(data)[number - 1])
    return {NAME: pd.DataFrame([row])}


def evaluate(
    data: Dataset, model: Model, number: int, fold: tuple[np.ndarray, np.ndarray]
) -> dict[str, Any]:
    """A row of results: one model on one fold, the positions of its training and test people."""
    target = data.target.to_numpy()
    train, test = fold
    known, new = data.frame.iloc[train], data.frame.iloc[test]
    begun = process_time()
    fitted = model.fit(data, known, target[train], random_state=number)
    fit_time = process_time() - begun
    label, desired = target[test] == data.desired, model.desired(data)
    score = fitted.predict_proba(new)[:, list(fitted.classes_).index(desired)]
    tree = read_model(fitted, data.frame, data.actions, desired=desired)
    accepted = tree.decide(new)
    cost = PercentileCost().fit(
        list(tree.encoder.matrix(known).T), np.ones(tree.encoder.n_columns)
    )  # fmt: skip
    begun = process_time()
    search = ExactSearch(tree.ensemble, tree.encoder.axes, cost)
    refused = tree.encoder.matrix(new[~accepted])
    some = np.linspace(0, len(refused) - 1, min(MAX_PEOPLE, len(refused))).astype(int)
    solutions = search.solve(refused[some], BUDGET, max_nodes=MAX_NODES)
    share = float((~accepted).mean()) / max(len(some), 1)
    return {
        "Fold": number,
        "Model": model.name,
        "Accuracy": float((accepted == label).mean()),
        "AUC": float(roc_auc_score(label, score)),
        "Recourse": 1.0 - share * float((~solutions.found).sum()),
        "Unknown": share * float((solutions.status == Status.UNKNOWN).sum()),
        "Cost": float(solutions.cost[solutions.found].mean()) if solutions.found.any() else np.nan,
        "Fit [s]": fit_time,
        "Search [s]": process_time() - begun,
    }


def folds(data: Dataset) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test people of each fold, as positions.

    Of COMPAS, a third of the distinct rows have a twin with the same features and the other label.
    Were the two in different folds, a model would be taught the wrong answer to its test: a forest
    with leaves of one person then has an AUC below one half.
    """
    same = data.frame.groupby(list(data.frame.columns), sort=False).ngroup().to_numpy()
    splitter = StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=0)
    return list(splitter.split(data.frame, data.target, same))


@lru_cache(maxsize=len(DATA))
def dataset(data: str) -> Dataset:
    """A data set without repeated rows, read once in each process."""
    return without_colons(load(data, drop_duplicates=True))


@lru_cache(maxsize=len(DATA))
def folds_of(data: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a data set, made once in each process."""
    return folds(dataset(data))


def n_people(data: str) -> int:
    """How many people a data set has."""
    return len(dataset(data).frame)


def without_colons(data: Dataset) -> Dataset:
    """The same people in columns whose names LightGBM takes."""

    def plain(name: str) -> str:
        return name.replace(":", " ")

    features = [
        replace(f, name=plain(f.name), columns=tuple(map(plain, f.columns))) for f in data.actions
    ]
    actions = ActionSpace(features, data.actions.desired)
    return replace(data, frame=data.frame.rename(columns=plain), actions=actions)
