"""Exact recourse for every refused person of one fold, one core, kernels compiled beforehand.

    python benchmarks/bench_exact.py [PART ...]

Prints median, p90, p99 and worst time per person, the share proved and the nodes searched. Forests
vote, gini, kernel percentiles; the paper's data are read from RACT_DATA_HOME. "methods" lays the
other searches beside the exact one; "compile" is what first use takes; "strength" asks for more
votes than the decision needs, and for plans that two models accept; "sums" asks boosted models,
LightGBM's, ours and ours with recourse, and with RACT_BEFORE, the folder of the sources of another
version, that one too; "changes" lays plans with at most three changes beside those without a
limit. These are in CPU time, so that they can be run on a busy machine.
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
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402

from ract import RecourseBoostingClassifier, RecourseForestClassifier  # noqa: E402
from ract._utils.status import Status  # noqa: E402
from ract.data import datasets  # noqa: E402
from ract.data.costs import make_cost  # noqa: E402
from ract.recourse.exact.search import ExactSearch  # noqa: E402
from ract.recourse.exact.several import SeveralSearch  # noqa: E402
from ract.recourse.leaves import LeafSearch  # noqa: E402
from ract.trees.readers import read_model  # noqa: E402

MAX_NODES = 2_000_000
PROVED = (Status.OPTIMAL, Status.NONE)


@cache
def fitted(name, weight, n_trees, depth, min_leaf):
    """A forest fitted on all folds but the first; encoded known people, and refused test people."""
    data = getattr(datasets, f"fetch_{name}")()
    y = data.target.to_numpy()
    train, test = next(StratifiedKFold(10).split(data.frame, y))
    model = RecourseForestClassifier(
        data.actions, cost="kernel-percentile", recourse_weight=weight, n_estimators=n_trees,
        max_depth=depth, min_samples_leaf=min_leaf, random_state=0, n_jobs=2,
    ).fit(data.frame.iloc[train], y[train])  # fmt: skip
    known, people = (model.encoder_.matrix(data.frame.iloc[rows]) for rows in (train, test))
    return model, known, people[~model.ensemble_.decide(people)]


def forest(name, weight, n_trees, depth, min_leaf):
    """A fitted forest's search, and the encoded people whom it refuses in the first fold."""
    model, _, refused = fitted(name, weight, n_trees, depth, min_leaf)
    return ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_), refused


def each(search, people, budget):
    """Milliseconds, status and nodes of each person."""
    search.solve(people[:1], budget)
    solutions = search.solve(people, budget, max_nodes=MAX_NODES, n_jobs=1)
    proved = np.isin(solutions.status, PROVED)
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


def soft(n_people=100):
    """scikit-learn's own forest, which averages probabilities."""
    data = datasets.fetch_fico()
    y = data.target.to_numpy()
    train, test = next(StratifiedKFold(10).split(data.frame, y))
    known = data.frame.iloc[train]
    forest = RandomForestClassifier(100, max_depth=8, random_state=0).fit(known, y[train])
    model = read_model(forest, known, data.actions)
    matrix = model.encoder.matrix(known)
    cost = make_cost("kernel-percentile").fit(list(matrix.T), model.encoder.weights)
    people = model.encoder.matrix(data.frame.iloc[test])
    people = people[~model.ensemble.decide(people)][:n_people]
    search = ExactSearch(model.ensemble, model.encoder.axes, cost)
    solutions = search.solve(people, 0.3, time_limit=10.0, n_jobs=1)
    proved = np.isin(solutions.status, PROVED)
    in_one = proved & (solutions.seconds <= 1)
    gaps = solutions.gap[~proved & solutions.found]
    print(
        f"soft forest, T=100, depth 8: {len(people)} people, proved in 1 s {in_one.mean():.0%}, in "
        f"10 s {proved.mean():.0%} (target 80%), median {np.median(solutions.seconds):.3f} s; of "
        f"the others {len(gaps)} with an action, gaps {np.round(gaps, 3).tolist()}"
    )


def strength(n_people=200, settings=((0.1, 20), (0.3, 20), (0.1, 5))):
    """More votes than the decision needs, and two models at once; FICO, 100 trees, budget 0.3.

    Targets with the defaults at a strength of 0.8: median 10 ms, 99% 300 ms; with at most three
    changes median 20 ms.

    Repeated rows dropped, a fifth of the people for testing. CPU time of one person a call, the
    search prepared, at most 3 s each.
    """
    data = datasets.fetch_fico()
    kept = ~data.frame.duplicated().to_numpy()
    frame, y = data.frame[kept], data.target.to_numpy()[kept]
    order = np.random.default_rng(0).permutation(len(y))
    n = len(y) // 5
    test, half = order[:n], (order[n : 3 * n], order[3 * n :])
    print(
        "weight leaf changes asked of              median     p90      p99    worst  proved "
        "unknown   found  in 1 s  (CPU ms)"
    )
    for weight, leaf in settings:  # the defaults first
        whole, old, new = (
            RecourseForestClassifier(
                data.actions, desired=data.desired, recourse_weight=weight, min_samples_leaf=leaf,
                random_state=0, n_jobs=2,
            ).fit(frame.iloc[rows], y[rows])
            for rows in (order[n:], *half)
        )  # fmt: skip
        axes, cost = whole.encoder_.axes, whole.cost_
        people = whole.encoder_.matrix(frame.iloc[test])
        people = people[~whole.ensemble_.decide(people)][:n_people]
        searches = {
            f"all, strength {share}": ExactSearch(whole.ensemble_.stronger(share), axes, cost)
            for share in (0.51, 0.7, 0.8)
        } | {"two halves": SeveralSearch([old.ensemble_, new.ensemble_], axes, cost)}
        for changes in (None, 3):
            for name, search in searches.items():
                print(f"{weight:6.2f} {leaf:4} {changes!s:>7} {name:20}", end=" ")
                in_cpu_time(search, people, changes)


def in_cpu_time(search, people, changes, time_limit=3.0):
    """End a line."""
    times, found = [], []
    search.solve(people[:1], 0.3, max_changes=changes)
    for k in range(len(people)):
        start = time.process_time()
        answer = search.solve(
            people[k : k + 1], 0.3, max_changes=changes, time_limit=time_limit, n_jobs=1
        )
        times.append(1e3 * (time.process_time() - start))
        found.append((answer.status[0] in PROVED, answer.status[0] == Status.UNKNOWN,
                      answer.found[0]))  # fmt: skip
    low, high, most = np.quantile(times, (0.5, 0.9, 0.99))
    proved, unknown, has = np.mean(found, axis=0)
    soon = np.mean([one[0] and each <= 1000 for one, each in zip(found, times, strict=True)])
    print(
        f"{low:9.2f} {high:7.1f} {most:8.1f} {max(times):8.1f} {proved:7.1%} {unknown:7.1%} "
        f"{has:7.1%} {soon:7.1%}",
        flush=True,
    )


SIZES = ((100, 31), (300, 31), (500, 8))
SUMS_HEAD = (
    "data  model           trees leaves people   median     p90      p99    worst  proved unknown "
    "  found  in 1 s  (CPU ms)"
)


def boosters(data, n_trees, n_leaves):
    """Boosted models of a size, unfitted: the peer's, ours, and ours with recourse.

    500 x 8 is the committee as it is by default; a single model has the other sizes.
    """
    from lightgbm import LGBMClassifier

    shape = {"max_iter": n_trees, "max_leaf_nodes": n_leaves}
    alone = {"n_replicates": 0, **shape}
    ours = {"plain": {"recourse_weight": 0, **shape}, "recourse": {} if n_leaves == 8 else alone}
    yield (
        "LightGBM",
        LGBMClassifier(
            n_estimators=n_trees, num_leaves=n_leaves, random_state=0, n_jobs=1, verbose=-1
        ),
    )
    for kind, settings in ours.items():
        yield (
            kind,
            RecourseBoostingClassifier(
                data.actions, cost="kernel-percentile", random_state=0, **settings
            ),
        )


def sums(n_people=100):
    """Boosted models on the first fold of FICO and Adult, budget 0.3, at most 20 s a person.

    Targets: 100 x 31 all in 1000 ms, median 5; 300 x 31 97% in 1000 ms; 500 x 8 median 5.
    """
    print(SUMS_HEAD, flush=True)
    for name in ("fico", "adult"):
        data = getattr(datasets, f"fetch_{name}")()
        frame, y = data.frame.copy(), data.target.to_numpy()
        for column in frame.select_dtypes(exclude="number"):
            frame[column] = frame[column].astype("category")
        train, test = next(StratifiedKFold(10).split(frame, y))
        for size in SIZES:
            for kind, booster in boosters(data, *size):
                booster.fit(frame.iloc[train], y[train])
                model = read_model(booster, frame.iloc[train], data.actions)
                known, people = (model.encoder.matrix(frame.iloc[rows]) for rows in (train, test))
                cost = make_cost("kernel-percentile").fit(list(known.T), model.encoder.weights)
                people = people[~model.ensemble.decide(people)]
                people = people[np.random.default_rng(0).permutation(len(people))[:n_people]]
                search = ExactSearch(model.ensemble, model.encoder.axes, cost)
                print(f"{name:5} {kind:15} {size[0]:5} {size[1]:6} {len(people):6}", end=" ")
                in_cpu_time(search, people, None, time_limit=20.0)
    if os.environ.get("RACT_BEFORE"):
        before = {**os.environ, "PYTHONPATH": os.environ["RACT_BEFORE"], "RACT_BEFORE": ""}
        print("before:", flush=True)
        subprocess.run([sys.executable, __file__, "sums"], env=before, check=True)


def changes(n_people=300, most=3, tables=("fico", "compas", "credit")):
    """Plans with at most three changes, with and without reasons for having none; budget 0.3.

    Target: at most 5 times the CPU time of plans without a limit on changes, for every model.
    """
    print("data   model     explain  people   no limit  most 3   times   without a plan (CPU s)")
    for name in tables:
        data = getattr(datasets, f"fetch_{name}")()
        train, test = next(StratifiedKFold(5).split(data.frame, data.target))
        for kind, estimator in (
            ("forest", RecourseForestClassifier), ("booster", RecourseBoostingClassifier),
        ):  # fmt: skip
            model = estimator(data.actions, desired=data.desired, random_state=0)
            model.fit(data.frame.iloc[train], data.target.iloc[train])
            people = data.frame.iloc[test]
            people = people[model.predict(people) != data.desired][:n_people]
            for explain in (False, True):
                seconds, without = [], []
                for limit in (None, most):
                    given = {"max_changes": limit, "explain": explain, "n_jobs": 1}
                    model.recourse(people[:1], budget=0.3, **given)
                    start = time.process_time()
                    found = model.recourse(people, budget=0.3, **given)
                    seconds.append(time.process_time() - start)
                    without.append(int((~found.found).sum()))
                times = seconds[1] / seconds[0]
                print(
                    f"{name:6} {kind:9} {explain!s:7} {len(people):7} {seconds[0]:10.2f} "
                    f"{seconds[1]:7.2f} {times:7.2f}   {without[0]}, {without[1]}",
                    flush=True,
                )


DEMO = """
import os, sys
from pathlib import Path
from ract.apps.cli.demo import demo
demo(n_people=3, budget=0.3, random_state=0, output=Path("audit.html"))
print(sum(os.times()[:2]), file=sys.stderr)
"""


def compile_time():
    """CPU time of ``ract demo`` on first use and afterwards; the difference is compiling."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first use", "afterwards"):
            out = subprocess.run(
                [sys.executable, "-c", DEMO], capture_output=True, text=True, check=True,
                cwd=folder, env={**os.environ, "NUMBA_CACHE_DIR": folder},
            )  # fmt: skip
            seconds.append(float(out.stderr.split()[-1]))
            print(f"ract demo, {name}: {seconds[-1]:.1f} s of CPU", flush=True)
    print(f"compiling takes {seconds[0] - seconds[1]:.1f} s of CPU (target: at most 15)")


def threads():
    search, people = forest("fico", 0.1, 200, 16, 10)
    search.solve(people[:2], 0.3)
    times = []
    for n_jobs in (1, 2):
        start = time.perf_counter()
        search.solve(people, 0.3, max_nodes=MAX_NODES, n_jobs=n_jobs)
        times.append(time.perf_counter() - start)
    print(f"two threads are {times[0] / times[1]:.2f} x as fast as one (target: at least 1.7)")


def methods():
    """Whom each search serves, at what cost and in what CPU time; 100 trees."""
    print(
        "data   weight budget people method                    served  proved  mean cost  dearer  "
        "median ms   p99 ms"
    )
    for name, weight, budget in (("fico", 0.1, 0.3), ("fico", 0.1, np.inf), ("fico", 0.0, 0.3)):
        model, _, people = fitted(name, weight, 100, 16, 10)
        axes = model.encoder_.axes
        basis = model.ensemble_, axes, model.cost_
        exact = ExactSearch(*basis)
        searches = {
            "exact": exact,
            "all leaves": LeafSearch(*basis),
        }
        cheapest = exact.solve(people, budget).cost
        for method, search in searches.items():
            print(f"{name:6} {weight:6.2f} {budget:6.1f} {len(people):6} {method:24}", end=" ")
            compare(search, people, budget, cheapest)


def compare(search, people, budget, cheapest):
    """End a line; dearer: by how much, on average, than the cheapest of the people served."""
    times, solutions = [], search.solve(people, budget, n_jobs=1)
    for k in range(len(people)):
        start = time.process_time()
        search.solve(people[k : k + 1], budget, n_jobs=1)
        times.append(1e3 * (time.process_time() - start))
    found, proved = solutions.found, np.isin(solutions.status, PROVED)
    cost, least = (c[found].mean() if found.any() else np.nan for c in (solutions.cost, cheapest))
    print(
        f"{found.mean():7.1%} {proved.mean():7.1%} {cost:10.3f} {cost - least:7.3f} "
        f"{np.median(times):10.2f} {np.quantile(times, 0.99):8.1f}",
        flush=True,
    )


def main():
    parts = {
        "targets": targets,
        "strength": strength,
        "soft": soft,
        "sums": sums,
        "changes": changes,
        "growth": growth,
        "compile": compile_time,
        "threads": threads,
        "methods": methods,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(parts))
    chosen = parser.parse_args().parts or list(parts)
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known are {', '.join(parts)}")
    for name in chosen:
        parts[name]()


if __name__ == "__main__":
    main()
