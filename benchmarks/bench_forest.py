"""Fitting and predicting with a forest beside scikit-learn's and LightGBM's on the same table.

    python benchmarks/bench_forest.py [paper] [wide] [memory] [predict] [threads]

CPU and wall time of whole calls with two threads on both sides, kernels compiled beforehand;
ratios within one run. The paper's data are read from RACT_DATA_HOME.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "2")

import argparse  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
from bench_tree import peak_memory, wide_loans  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

from ract.data.datasets import fetch_bail, fetch_credit, fetch_fico  # noqa: E402
from ract.models.forest import RecourseForestClassifier  # noqa: E402

THREADS = 2
SHARED = {"n_jobs": THREADS, "random_state": 0}


def clock(repeats, *functions):
    """Least CPU and wall time of several functions that take turns (functions x 2)."""
    times = []
    for _ in range(repeats):
        for function in functions:
            start = time.process_time(), time.perf_counter()
            function()
            times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    return np.reshape(times, (repeats, len(functions), 2)).min(axis=0)


def line(name, ours, peer, target):
    (cpu, wall), (peer_cpu, peer_wall) = ours, peer
    print(
        f"{name:44} {cpu:7.2f} s {peer_cpu:7.2f} s {cpu / peer_cpu:6.2f}   "
        f"{wall:7.2f} s {wall / peer_wall:6.2f}   (target: {target} of the CPU)",
        flush=True,
    )


def head(title):
    print(f"{title:44} {'CPU':>9} {'peer':>9} {'ratio':>6}   {'wall':>9} {'ratio':>6}")


def warm_up(data):
    model = RecourseForestClassifier(data.actions, n_estimators=2, max_depth=4)
    model.fit(data.frame, data.target).predict_proba(data.frame)


def paper():
    head("fit, T=200, depth 16, min leaf 1, weight 0.2")
    for fetch, target in ((fetch_fico, 0.5), (fetch_bail, 0.5), (fetch_credit, 0.6)):
        data = fetch()
        warm_up(data)
        X, y = data.frame.to_numpy(float), data.target.to_numpy()
        shared = {"n_estimators": 200, "max_depth": 16, "min_samples_leaf": 1, **SHARED}
        model = RecourseForestClassifier(data.actions, recourse_weight=0.2, **shared)
        peer = RandomForestClassifier(**shared)
        ours, theirs = clock(
            3,
            lambda m=model, d=data: m.fit(d.frame, d.target),
            lambda m=peer, X=X, y=y: m.fit(X, y),
        )
        line(f"{data.name} beside scikit-learn", ours, theirs, target)


def wide():
    X, y, actions = wide_loans(200_000)
    shared = {"n_estimators": 10, "min_samples_leaf": 20, **SHARED}
    model = RecourseForestClassifier(actions, recourse_weight=0.2, max_bins=255, **shared)
    model.fit(X[:2000], y[:2000])
    model.fit(X, y)
    leaves = len(model.ensemble_.leaves) // 10
    peer = RandomForestClassifier(**shared)
    times = clock(
        2, lambda: model.fit(X, y), lambda: peer.fit(X, y), lambda: lightgbm_forest(X, y, leaves)
    )
    head(f"fit, 200 000 x 30, T=10, {leaves} leaves a tree")
    line("beside scikit-learn", times[0], times[1], 0.35)
    line("beside LightGBM", times[0], times[2], 0.6)


def lightgbm_forest(X, y, leaves):
    """A LightGBM forest of as many leaves a tree, on as many people and features a split."""
    import lightgbm

    sampled = 1 - np.exp(-1)  # distinct people in a bootstrap sample
    lightgbm.LGBMClassifier(
        boosting_type="rf", n_estimators=10, num_leaves=leaves, min_child_samples=20,
        min_child_weight=0.0, max_bin=255, bagging_fraction=sampled, bagging_freq=1,
        feature_fraction_bynode=5 / 30, verbose=-1, **SHARED,
    ).fit(X, y)  # fmt: skip


def memory():
    X, y, actions = wide_loans(1_000_000)
    model = RecourseForestClassifier(
        actions, n_estimators=10, min_samples_leaf=20, recourse_weight=0.2, **SHARED
    )
    model.fit(X[:2000], y[:2000])
    before = peak_memory(reset=True)
    ((cpu, wall),) = clock(1, lambda: model.fit(X, y))
    above = peak_memory() - before
    nodes = len(model.ensemble_.feature)
    print(
        f"fit, 1 000 000 x 30, T=10, {nodes} nodes: {above / 1e6:.0f} MB above the input "
        f"(target: below 1500 MB), {cpu:.1f} s CPU, {wall:.1f} s wall"
    )


def predict():
    head("predict_proba, T=200, depth 16, everyone")
    for data in (fetch_fico(), fetch_credit()):
        X, y = data.frame.to_numpy(float), data.target.to_numpy()
        shared = {"n_estimators": 200, "max_depth": 16, **SHARED}
        model = RecourseForestClassifier(data.actions, recourse_weight=0.2, **shared)
        model.fit(data.frame, data.target).predict_proba(data.frame)
        peer = RandomForestClassifier(**shared).fit(X, y)
        ours, theirs = clock(
            7,
            lambda m=model, d=data: m.predict_proba(d.frame),
            lambda m=peer, X=X: m.predict_proba(X),
        )
        line(f"{data.name} beside scikit-learn", ours, theirs, 0.5)


def threads():
    for data in (fetch_fico(), fetch_credit()):
        warm_up(data)
        models = [
            RecourseForestClassifier(
                data.actions, n_estimators=200, max_depth=16, n_jobs=n, random_state=0
            )
            for n in (1, THREADS)
        ]
        times = clock(3, *(lambda m=m, d=data: m.fit(d.frame, d.target) for m in models))
        one, two = times[:, 1]
        print(
            f"{data.name}: {one:.2f} s with one thread, {two:.2f} s with {THREADS}, "
            f"{one / two:.2f} times as fast (target: at least 1.7)"
        )


def main():
    parts = {
        "paper": paper, "wide": wide, "memory": memory, "predict": predict, "threads": threads,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(parts))
    for name in parser.parse_args().parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
