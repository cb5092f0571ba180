"""Running one fold of one experiment."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from experiments.data import DataSetting
from experiments.paper.evaluate import evaluate
from experiments.paper.grow import Grower, Growth
from experiments.paper.metrics import ACTIONS, DETAILS, EXACT, LEAVES, QUALITY
from experiments.paper.population import Fold
from experiments.paper.relabel import relabelled
from experiments.paper.settings import OAF, RACT, RISKS, VANILLA, Experiment
from ract.trees.ensemble import TreeEnsemble

Row = dict[str, Any]


def run_fold(experiment: Experiment, data: DataSetting, fold: Fold) -> dict[str, pd.DataFrame]:
    """Every model of an experiment on one fold.

    Returns
    -------
    dict
        By the name of the experiment, its results in the columns of the recorded files, and ours;
        for the baseline comparison of forests also "importance". Times are seconds of one core.
    """
    grower = Grower.of(fold)
    if experiment.model == "tree":
        return {experiment.name: _table(experiment, _tree_rows(experiment, data, fold, grower))}
    rows, importances = [], []
    for row, ensemble in _forest_rows(experiment, data, fold, grower):
        rows.append(row)
        shares = _importance(ensemble, fold.known.shape[1])
        keys = {key: row[key] for key in experiment.keys}
        importances.append(keys | dict(zip(fold.population.names, shares, strict=True)))
    tables = {experiment.name: _table(experiment, rows)}
    if experiment.name == "forests":
        tables["importance"] = pd.DataFrame(importances)
    return tables


def columns_of(experiment: Experiment) -> list[str]:
    """Columns of the results: those of the recorded files, then ours."""
    if experiment.search == "exact":
        return [*experiment.keys, *QUALITY, *ACTIONS, EXACT[1], *LEAVES]
    quality = [name for name in QUALITY if experiment.model == "forest" or name != "AUC"]
    ours = EXACT if experiment.search == "leaves" else ()
    return [*experiment.keys, *quality, *ACTIONS, *DETAILS, *ours]


def _table(experiment: Experiment, rows: Any) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=columns_of(experiment))


def _forest_rows(
    experiment: Experiment, data: DataSetting, fold: Fold, grower: Grower
) -> Iterator[tuple[Row, TreeEnsemble]]:
    for n_trees in experiment.n_trees:
        models = _models(experiment, data)
        growths = [
            Growth.of(experiment, weight, budget, only_actionable=method == OAF)
            for method, weight, budget in models
        ]
        grower.forests(growths, 1, seed=0)  # so that no time is that of compiling
        seed = _seed(experiment.name, data.name, fold.number, n_trees)
        forests = grower.forests(growths, n_trees, seed)
        for (method, weight, budget), (ensemble, seconds) in zip(models, forests, strict=True):
            evaluation = evaluate(experiment, fold, ensemble)
            keys = {"Fold": fold.number, "Method": method, "Alpha": weight,
                    "N_ESTIMATORS": n_trees, "Time [s]": seconds}  # fmt: skip
            # A model that knows nothing of recourse is the same for every budget.
            for own in [budget] if weight > 0 else experiment.budgets:
                yield keys | {"Budget": own} | evaluation.row(own), ensemble


def _models(experiment: Experiment, data: DataSetting) -> list[tuple[str, float, float]]:
    """Method, weight and budget of every forest."""
    first = experiment.budgets[0]
    recourse = [(RACT, w, b) for b in experiment.budgets for w in experiment.weights(data)]
    return [(VANILLA, 0.0, first), (OAF, 0.0, first), *recourse]


def _tree_rows(
    experiment: Experiment, data: DataSetting, fold: Fold, grower: Grower
) -> Iterator[Row]:
    for weight in (0.0, max(experiment.weights(data))):  # so that no time is that of compiling
        grower.tree(Growth.of(experiment, weight, experiment.budgets[0]), with_reach=True)
    keys: Row = {"Fold": fold.number, "Alpha": 0.0, "Delta": 1.0}
    for method in (VANILLA, OAF):
        begun = process_time()
        grown = grower.tree(Growth.of(experiment, 0.0, 0.0, only_actionable=method == OAF))
        keys["Time [s]"] = process_time() - begun
        evaluation = evaluate(experiment, fold, grown.ensemble)
        for budget in experiment.budgets:
            yield keys | {"Method": method, "Budget": budget} | evaluation.row(budget)
    for budget in experiment.budgets:
        for weight in experiment.weights(data):
            begun = process_time()
            grown = grower.tree(Growth.of(experiment, weight, budget), with_reach=True)
            labels = relabelled(grown.tree, grown.people, RISKS)
            keys = {"Fold": fold.number, "Method": RACT, "Alpha": weight, "Budget": budget,
                    "Time [s]": process_time() - begun}  # fmt: skip
            known: dict[bytes, Row] = {}
            for risk, label in zip(RISKS, labels, strict=True):
                if label.tobytes() not in known:
                    ensemble = grown.relabelled(label)
                    known[label.tobytes()] = evaluate(experiment, fold, ensemble).row(budget)
                yield keys | {"Delta": risk} | known[label.tobytes()]


def _importance(ensemble: TreeEnsemble, n_columns: int) -> np.ndarray:
    """Mean over trees of the share of splits by column, of the trees that split at all."""
    tree = np.repeat(np.arange(ensemble.n_trees), np.diff([*ensemble.root, len(ensemble.feature)]))
    inside = ensemble.feature >= 0
    counts = np.zeros((ensemble.n_trees, n_columns))
    np.add.at(counts, (tree[inside], ensemble.feature[inside]), 1)
    shares = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).sum(axis=0)
    return shares / max(shares.sum(), 1)


def _seed(*parts: Any) -> int:
    """A seed of its own for every model, whatever else is run."""
    return zlib.crc32(repr(parts).encode())
