"""A booster's settings, chosen on validation people: one small search, the same for every booster.

A fifth of the training people is for validation. Each of twelve settings is fitted on the others,
with as many trees as early stopping allows, and the one that ranks validation people best (AUC) is
taken for all training people. Of a recourse-aware booster the plain one is asked, which takes a
fraction of the time: what is looked for is how large trees should be and how many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from experiments.benchmark.models import Model
from ract.data.datasets import Dataset

LEAVES, RATES, FEWEST = (8, 15, 31), (0.1, 0.05), (20, 100)
MAX_TREES, NO_CHANGE, VALIDATION = 500, 20, 0.2
SETTINGS = {
    "leaves": LEAVES, "rates": RATES, "fewest": FEWEST, "max_trees": MAX_TREES,
    "no_change": NO_CHANGE, "validation": VALIDATION,
}  # fmt: skip


def tuned(model: Model, data: Dataset, rows: np.ndarray, random_state: int) -> Model:
    """The model with the settings that rank validation people among some people best."""
    fitting, held = train_test_split(
        rows, test_size=VALIDATION, stratify=data.target.iloc[rows], random_state=random_state
    )
    tried = [
        _tried(_with(model, _named(model, *shape)), data, fitting, held, random_state)
        for shape in product(LEAVES, RATES, FEWEST)
    ]
    return max(tried, key=lambda pair: pair[0])[1]


def described(model: Model) -> str:
    """The settings that were chosen, in words."""
    leaves, rate, fewest, trees = (
        model.options[name] for name in (*_named(model, 0, 0, 0), _trees(model))
    )
    return f"{leaves} leaves, rate {rate:g}, {fewest} people, {trees} trees"


def _named(model: Model, leaves: int, rate: float, fewest: int) -> dict[str, Any]:
    """Settings as the model calls them."""
    names = ("max_leaf_nodes", "min_samples_leaf") if model.ours else (
        "num_leaves", "min_child_samples"
    )  # fmt: skip
    return {names[0]: leaves, "learning_rate": rate, names[1]: fewest}


def _trees(model: Model) -> str:
    return "max_iter" if model.ours else "n_estimators"


def _with(model: Model, options: Mapping[str, Any]) -> Model:
    return replace(model, options={**model.options, **options})


def _tried(
    model: Model, data: Dataset, fitting: np.ndarray, held: np.ndarray, random_state: int
) -> tuple[float, Model]:
    """AUC of validation people, and the model with as many trees as that took."""
    stopped = _ours if model.ours else _lightgbm
    auc, n_trees = stopped(model, data, fitting, held, random_state)
    return auc, _with(model, {_trees(model): n_trees})


def _ours(
    model: Model, data: Dataset, fitting: np.ndarray, held: np.ndarray, random_state: int
) -> tuple[float, int]:
    plain = model.estimator(data, random_state=random_state).set_params(
        recourse_weight=0, cost="percentile", max_iter=MAX_TREES, early_stopping=True
    )  # fmt: skip
    plain.fit(data.frame.iloc[fitting], data.target.to_numpy()[fitting])
    share = plain.predict_proba(data.frame.iloc[held])[:, list(plain.classes_).index(data.desired)]
    return float(roc_auc_score(data.target.iloc[held] == data.desired, share)), plain.n_iter_


def _lightgbm(
    model: Model, data: Dataset, fitting: np.ndarray, held: np.ndarray, random_state: int
) -> tuple[float, int]:
    import lightgbm

    wanted = (data.target == data.desired).to_numpy()
    options = {**model.options, "objective": "binary", "metric": "auc", "seed": random_state}
    learning = lightgbm.Dataset(data.frame.iloc[fitting], wanted[fitting])
    booster = lightgbm.train(
        options, learning, MAX_TREES,
        valid_sets=[learning.create_valid(data.frame.iloc[held], wanted[held])],
        callbacks=[lightgbm.early_stopping(NO_CHANGE, verbose=False)],
    )  # fmt: skip
    return booster.best_score["valid_0"]["auc"], booster.best_iteration
