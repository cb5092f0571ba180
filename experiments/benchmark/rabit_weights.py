"""What recourse costs beside RABIT: AUC against recourse over weights of recourse.

On Adult by RABIT's protocol, where most people are refused and have little room, and on unseen rows
of Bail, where few rows are left. Splits, costs, budget and searches are those of ``rabit``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from experiments.benchmark import rabit
from experiments.benchmark.models import Model
from experiments.benchmark.tuning import tuned
from experiments.data import DataSetting
from experiments.store import Store
from experiments.tasks import Task, run_missing

NAME = "rabit-weights"
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
PROTOCOLS = {"adult": rabit.SEEN, "bail": rabit.UNSEEN}


def over_weights(
    models: Sequence[Model], data: Sequence[DataSetting], out: str | Path, **options: Any
) -> Store:
    """Run our models, on the tables that have a curve, on the splits that are not done."""
    settings = {**rabit.SETTINGS, "weights": WEIGHTS}
    tasks = [
        Task(NAME, settings, rabit.N_SPLITS, rabit.n_people, partial(run_one, model), model.name)
        for model in models
        if model.ours
    ]
    return run_missing(tasks, [one for one in data if one.name in PROTOCOLS], out, **options)


def run_one(model: Model, name: str, number: int) -> Mapping[str, pd.DataFrame]:
    """One model on one split, with each weight."""
    data, (train, test) = rabit.read(name), rabit.split_of(name, PROTOCOLS[name], number)
    shape = tuned(model, data, train, number) if model.name in rabit.TUNED else model
    rows = []
    for weight in WEIGHTS:
        one = replace(shape, options={**shape.options, "recourse_weight": weight})
        row = {"Fold": number, "Model": model.name, "Alpha": weight}
        rows.append(row | _judged(one, data, train, test, number))
    return {NAME: pd.DataFrame(rows)}


def _judged(
    model: Model, data: Any, train: np.ndarray, test: np.ndarray, number: int
) -> dict[str, float]:
    learner = model.estimator(data, random_state=number)
    learner.fit(data.frame.iloc[train], data.target.to_numpy()[train])
    new, wanted = data.frame.iloc[test], data.target.to_numpy()[test] == data.desired
    share = learner.predict_proba(new)[:, list(learner.classes_).index(data.desired)]
    accepted = float((learner.predict(new) == data.desired).mean())
    found = rabit.plans_of(model, data, learner, train, test).found.mean()
    return {
        "AUC": float(roc_auc_score(wanted, share)),
        "AUC, deciding": float(roc_auc_score(wanted, rabit.toward(learner, new))),
        "Accepted": accepted,
        "Exact": float(accepted + (1 - accepted) * found),
    }
