"""Exact recourse for every refused person of one fold, one core, kernels compiled beforehand.

    python benchmarks/bench_exact.py [targets] [growth] [compile] [threads]

Prints median, p90, p99 and worst time per person, the share proved and the nodes searched. Forests
vote, gini, kernel percentiles; the paper's data are read from RACT_DATA_HOME.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import argparse  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from functools import cache  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402

from ract import RecourseForestClassifier, datasets  # noqa: E402
from ract.recourse.exact import ExactSearch  # noqa: E402
from ract.recourse.solutions import NONE, OPTIMAL  # noqa: E402

MAX_NODES = 2_000_000


@cache
def forest(name, weight, n_trees, depth, min_leaf):
    """A fitted forest's search, and the encoded people whom it refuses in the first fold."""
    data = getattr(datasets, f"fetch_{name}")()
    y = data.target.to_numpy()
    train, test = next(StratifiedKFold(10).split(data.frame, y))
    model = RecourseForestClassifier(
        data.actions, cost="kernel-percentile", recourse_weight=weight, n_estimators=n_trees,
        max_depth=depth, min_samples_leaf=min_leaf, random_state=0, n_jobs=2,
    ).fit(data.frame.iloc[train], y[train])  # fmt: skip
    matrix = model.encoder_.matrix(data.frame.iloc[test])
    search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    return search, matrix[~model.ensemble_.decide(matrix)]


def each(search, people, budget):
    """Milliseconds, status and nodes of each person."""
    search.solve(people[:1], budget)
    solutions = search.solve(people, budget, max_nodes=MAX_NODES, n_jobs=1)
    proved = np.isin(solutions.status, (OPTIMAL, NONE))
    return 1e3 * solutions.seconds, proved, solutions.nodes


def line(name, weight, n_trees, depth, min_leaf, budget, target, most=None):
    search, people = forest(name, weight, n_trees, depth, min_leaf)
    people = people[:most]
    times, proved, nodes = each(search, people, budget)
    print(
        f"{name:7} {weight:5.2f} {n_trees:4} {depth:5} {min_leaf:4} {budget:6.1f} {len(people):6} "
        f"{np.median(times):8.2f} {np.quantile(times, 0.9):8.1f} {np.quantile(times, 0.99):8.1f} "
        f"{times.max():9.1f} {proved.mean():7.1%} {np.median(nodes):6.0f} {nodes.max():8} {target}",
        flush=True,
    )


def head():
    print(
        "data   weight    T depth leaf budget people   median      p90      p99     worst  proved "
        " nodes    worst  target (ms)"
    )


def targets():
    head()
    line("fico", 0.5, 200, 16, 10, 0.3, "median 5, p99 60, all in 1000")
    line("fico", 0.1, 200, 16, 10, 0.3, "median 10, p99 300, all in 5000")
    line("fico", 0.1, 200, 16, 10, np.inf, "median 10, 99% in 1000")
    line("fico", 0.0, 200, 16, 10, 0.3, "median 6, 99% in 10000")
    line("fico", 0.1, 100, 8, 1, 0.3, "median 2, all in 100")
    line("fico", 0.0, 100, 8, 1, 0.3, "median 2, all in 100")
    line("compas", 0.15, 200, 16, 10, 0.3, "median 2, all in 500")
    line("bail", 0.1, 200, 16, 10, 0.3, "median 2, all in 500")
    line("credit", 0.2, 200, 16, 10, 0.3, "median 5, all in 500")


def growth():
    head()
    for n_trees in (50, 100, 200, 400, 800):
        line("fico", 0.1, n_trees, 8, 10, 0.3, "", most=100)
    for depth in (4, 8, 12, 16):
        line("fico", 0.1, 200, depth, 10, 0.3, "", most=100)


FIRST = """
import time, numpy as np
from ract import RecourseTreeClassifier
from ract.recourse import exact
X = np.random.default_rng(0).normal(size=(500, 5))
model = RecourseTreeClassifier(max_depth=4).fit(X, X[:, 0] > 0)
start = time.perf_counter()
exact.ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_).solve(X[:3])
print(time.perf_counter() - start)
"""


def compile_time():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for name, target in (("cold: compiles", 6), ("cached: loads", 0.3)):
            out = subprocess.run(
                [sys.executable, "-c", FIRST],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            print(
                f"first search, {name:15} {float(out.stdout):6.2f} s (target: at most {target} s)"
            )


def threads():
    search, people = forest("fico", 0.1, 200, 16, 10)
    search.solve(people[:2], 0.3)
    times = []
    for n_jobs in (1, 2):
        start = time.perf_counter()
        search.solve(people, 0.3, max_nodes=MAX_NODES, n_jobs=n_jobs)
        times.append(time.perf_counter() - start)
    print(f"two threads are {times[0] / times[1]:.2f} x as fast as one (target: at least 1.7)")


def main():
    parts = {"targets": targets, "growth": growth, "compile": compile_time, "threads": threads}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(parts))
    for name in parser.parse_args().parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
