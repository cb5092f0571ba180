"""The honest benchmark: what a user would deploy, and how much recourse it leaves.

Repeated rows are dropped, folds are shuffled, and people with the same features stay in one fold,
so that nobody is tested on a person seen in training. One-hot groups change as a whole. All leaves
are searched, exactly. Everyone is judged by the same cost (the share of people whom one has to
overtake, at most, in any feature) and budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
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
from ract.errors import InvalidSpec, listing
from ract.experiments.benchmark.models import MODELS, Entry
from ract.experiments.paper.people import load
from ract.experiments.paper.settings import DATA, DataSetting
from ract.experiments.progress import Task, run_all
from ract.experiments.store import Store
from ract.interop import read_model
from ract.recourse.exact.search import ExactSearch
from ract.status import Status

NAME = "benchmark"
N_FOLDS = 5
BUDGET = 0.3
# Of the refused people of a fold, this many are searched for, evenly spread; and so hard.
MAX_PEOPLE, MAX_NODES = 100, 10_000
COLUMNS = (
    "Fold", "Model", "Accuracy", "AUC", "Recourse", "Unknown", "Cost", "Fit [s]", "Search [s]",
)  # fmt: skip


def settings() -> dict[str, Any]:
    """What the results of the benchmark depend on, for files."""
    return {
        "n_folds": N_FOLDS, "budget": BUDGET, "max_people": MAX_PEOPLE, "max_nodes": MAX_NODES,
    }  # fmt: skip


def benchmark(
    data: Sequence[DataSetting],
    models: Sequence[Entry],
    out: str | Path,
    *,
    n_folds: int | None = None,
    n_jobs: int = 1,
    quiet: bool = False,
) -> Store:
    """Run the folds and models that are not done; the parameters are those of ``reproduce``."""
    if n_folds is not None and n_folds < 1:
        raise InvalidSpec(f"folds must be 1 or more, got {n_folds}.")
    for model in models:
        model.check()
    store = Store(out)
    sizes = {setting.name: len(people(setting.name).frame) for setting in data}
    store.open({NAME: settings()})
    try:
        tasks = [
            Task(
                f"{model.title}, {setting.title}, fold {number}",
                sizes[setting.name],
                (model.name, setting.name, number, str(out)),
            )
            for setting in data
            for model in models
            for number in range(1, min(n_folds or N_FOLDS, N_FOLDS) + 1)
            if number not in done(store, setting.name, model.name)
        ]
        run_all(run_one, tasks, n_jobs=n_jobs, quiet=quiet)
    finally:
        for setting in data:
            for model in MODELS.values():
                store.collect(f"{NAME}-{model.name}", setting.name, {"results": NAME})
    return store


def done(store: Store, data: str, model: str) -> set[int]:
    """Folds of a model that are done."""
    rows = store.read(NAME, data)
    known = set() if rows is None else {int(k) for k in rows.loc[rows["Model"] == model, "Fold"]}
    return known | store.folds(f"{NAME}-{model}", data)


def run_one(model: str, data: str, number: int, out: str) -> None:
    """Judge one model on one fold and keep the row."""
    row = judged(people(data), MODELS[model], number, folds_of(data)[number - 1])
    table = pd.DataFrame([row], columns=list(COLUMNS))
    Store(out).add_fold(f"{NAME}-{model}", data, number, {"results": table})


def judged(
    data: Dataset, entry: Entry, number: int, fold: tuple[np.ndarray, np.ndarray]
) -> dict[str, Any]:
    """One model on one fold: positions of its training and test people."""
    target = data.target.to_numpy()
    train, test = fold
    known, new = data.frame.iloc[train], data.frame.iloc[test]
    begun = process_time()
    model = entry.fit(data, known, target[train], random_state=number)
    fitted = process_time() - begun
    wanted = target[test] == data.desired
    desired = entry.desired(data)
    tree = read_model(model, data.frame, data.actions, desired=desired)
    accepted, score = tree.decide(new), _scores(model, new, desired)
    cost = PercentileCost().fit(
        list(tree.encoder.matrix(known).T), np.ones(tree.encoder.n_columns)
    )  # fmt: skip
    begun = process_time()
    search = ExactSearch(tree.ensemble, tree.encoder.axes, cost)
    refused = tree.encoder.matrix(new[~accepted])
    asked = refused[np.linspace(0, len(refused) - 1, min(MAX_PEOPLE, len(refused))).astype(int)]
    solutions = search.solve(asked, BUDGET, max_nodes=MAX_NODES)
    share = float((~accepted).mean()) / max(len(asked), 1)
    return {
        "Fold": number,
        "Model": entry.name,
        "Accuracy": float((accepted == wanted).mean()),
        "AUC": float(roc_auc_score(wanted, score)),
        "Recourse": 1.0 - share * float((~solutions.found).sum()),
        "Unknown": share * float((solutions.status == Status.UNKNOWN).sum()),
        "Cost": float(solutions.cost[solutions.found].mean()) if solutions.found.any() else np.nan,
        "Fit [s]": fitted,
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


def _scores(model: Any, people_: pd.DataFrame, desired: Any) -> np.ndarray:
    """The model's own probability of the desired class."""
    column = list(model.classes_).index(desired)
    return np.asarray(model.predict_proba(people_))[:, column]


@lru_cache(maxsize=len(DATA))
def people(data: str) -> Dataset:
    """A data set without repeated rows, read once in each process."""
    return without_colons(load(DATA[data], drop_duplicates=True))


@lru_cache(maxsize=len(DATA))
def folds_of(data: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a data set, made once in each process."""
    return folds(people(data))


def without_colons(data: Dataset) -> Dataset:
    """The same people in columns whose names LightGBM takes."""

    def plain(name: str) -> str:
        return name.replace(":", " ")

    features = [
        replace(f, name=plain(f.name), columns=tuple(map(plain, f.columns))) for f in data.actions
    ]
    actions = ActionSpace(features, data.actions.desired)
    return replace(data, frame=data.frame.rename(columns=plain), actions=actions)


def chosen_models(names: Sequence[str]) -> tuple[Entry, ...]:
    """Models by their names, all of them if there are none."""
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        raise InvalidSpec(f"Unknown model {listing(unknown)}; known are {listing(MODELS, 20)}.")
    return tuple(entry for name, entry in MODELS.items() if name in names or not names)
