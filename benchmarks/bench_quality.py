"""Accuracy, AUC and recourse of forests, in the paper's protocol, recourse by exact search.

    python benchmarks/bench_quality.py [fico compas credit bail] [--drop-duplicates] [--folds 10]
                                       [--default] [--trees 200]

Ten stratified folds, not shuffled, budget 0.3, kernel percentiles; means over folds. One setting
per data set (SETTINGS), or the untouched defaults with --default, beside scikit-learn's forest.
With --drop-duplicates repeated rows are dropped and folds are shuffled: the files are ordered.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from ract import RecourseForestClassifier
from ract._utils.status import Status
from ract.data import datasets
from ract.recourse.common.search import Limits
from ract.recourse.exact.search import ExactSearch

SETTINGS = {
    "fico": {"recourse_weight": 0.1, "min_samples_leaf": 10},
    "compas": {"recourse_weight": 0.15, "min_samples_leaf": 10},
    "credit": {"recourse_weight": 0.5, "min_samples_leaf": 10},
    "bail": {"recourse_weight": 0.12, "min_samples_leaf": 1},
}
TARGETS = {
    "fico": (0.716, 0.796, 0.99),
    "compas": (0.67, 0.725, 0.985),
    "credit": (0.797, 0.75, 0.998),
    "bail": (0.85, 0.93, 0.86),
}


def recourse_ratio(model, X):
    """Share of people who are accepted or have an action within the budget; and the share open."""
    matrix = model.encoder_.matrix(X)
    refused = matrix[~model.ensemble_.decide(matrix)]
    search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    answers = search.attains(refused, model.budget_, Limits(max_nodes=2_000_000, n_jobs=2))
    return 1 - (answers != Status.FOUND).sum() / len(matrix), (
        answers == Status.UNKNOWN
    ).sum() / len(matrix)


def measure(data, options, folds, shuffle=False):
    """Mean accuracy, AUC and recourse of ours, and accuracy and AUC of scikit-learn's forest."""
    y = data.target.to_numpy()
    wanted = y == data.desired
    rows = []
    splitter = StratifiedKFold(folds, shuffle=shuffle, random_state=0 if shuffle else None)
    for train, test in splitter.split(data.frame, y):
        X, X_test = data.frame.iloc[train], data.frame.iloc[test]
        model = RecourseForestClassifier(data.actions, random_state=0, n_jobs=2, **options)
        start = time.perf_counter()
        model.fit(X, y[train])
        fitted = time.perf_counter() - start
        share = model.predict_proba(X_test)[:, list(model.classes_).index(data.desired)]
        accuracy, auc = model.score(X_test, y[test]), roc_auc_score(wanted[test], share)
        recourse, left_open = recourse_ratio(model, X_test)
        peer = RandomForestClassifier(
            n_estimators=options.get("n_estimators", 100),
            max_depth=options.get("max_depth"),
            random_state=0,
            n_jobs=2,
        ).fit(X.to_numpy(float), y[train])
        matrix = X_test.to_numpy(float)
        peer_share = peer.predict_proba(matrix)[:, list(peer.classes_).index(data.desired)]
        peer_scores = peer.score(matrix, y[test]), roc_auc_score(wanted[test], peer_share)
        rows.append((accuracy, auc, recourse, left_open, fitted, *peer_scores))
    return np.mean(rows, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(SETTINGS), help="fico compas credit bail")
    parser.add_argument("--drop-duplicates", action="store_true")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--default", action="store_true")
    parser.add_argument("--trees", type=int, default=200)
    chosen = parser.parse_args()
    print(
        f"{'data':8} {'acc':>6} {'AUC':>6} {'recourse':>8} {'open':>6} {'fit':>6}   "
        f"sklearn {'acc':>6} {'AUC':>6}   target"
    )
    for name in chosen.data:
        data = getattr(datasets, f"fetch_{name}")(drop_duplicates=chosen.drop_duplicates)
        options = {}
        if not chosen.default:
            options = {
                "n_estimators": chosen.trees, "max_depth": 16, "cost": "kernel-percentile",
                **SETTINGS[name],
            }  # fmt: skip
        a, u, r, o, s, pa, pu = measure(data, options, chosen.folds, shuffle=chosen.drop_duplicates)
        target = "" if chosen.default or chosen.drop_duplicates else str(TARGETS[name])
        print(
            f"{name:8} {a:6.3f} {u:6.3f} {r:8.4f} {o:6.3f} {s:5.1f}s   "
            f"        {pa:6.3f} {pu:6.3f}   {target}",
            flush=True,
        )


if __name__ == "__main__":
    main()
