"""Fitting one tree beside scikit-learn's DecisionTreeClassifier on the same table.

    python benchmarks/bench_tree.py [small] [large] [growth] [compile]

CPU time of whole fits on one thread, kernels compiled beforehand; ratios within one run. The
paper's data are read from RACT_DATA_HOME.
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

import numpy as np  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

from ract import ActionSpace, Feature, RecourseTreeClassifier  # noqa: E402
from ract.data.datasets import fetch_credit, fetch_fico, load_loans  # noqa: E402


def cpu(repeats, function):
    """Least CPU time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def line(name, ours, peer, target):
    print(f"{name:46} {ours:8.3f} s {peer:8.3f} s   {ours / peer:5.2f}   (target: {target})")


def small():
    print(f"{'CPU of fit':46} {'ract':>10} {'sklearn':>10}   ratio")
    for data, targets in ((fetch_fico(), (0.5, 0.3)), (fetch_credit(), (1.0, 1.0))):
        X, y = data.frame.to_numpy(float), data.target.to_numpy()
        peer = cpu(5, lambda X=X, y=y: DecisionTreeClassifier(max_depth=64).fit(X, y))
        for criterion, target in zip(("gini", "error"), targets, strict=True):
            model = RecourseTreeClassifier(
                data.actions, recourse_weight=0.1, max_depth=64, criterion=criterion
            )
            model.fit(data.frame, data.target)
            ours = cpu(7, lambda m=model, d=data: m.fit(d.frame, d.target))
            line(f"{data.name}, {criterion}, weight 0.1, depth 64", ours, peer, target)


def wide_loans(n_people):
    """The loans model's numbers, with noisy copies up to 30 columns; half may change."""
    loans = load_loans(n_people, random_state=0)
    numbers = loans.frame.select_dtypes(["number", "bool"]).to_numpy(float)
    rng = np.random.default_rng(0)
    columns = [numbers]
    while sum(c.shape[1] for c in columns) < 30:
        columns.append(numbers + rng.normal(size=numbers.shape) * numbers.std(axis=0))
    X = np.ascontiguousarray(np.hstack(columns)[:, :30])
    changes = ["any" if j % 2 else "fixed" for j in range(30)]
    actions = ActionSpace(
        [Feature(f"x{j}", "continuous", c) for j, c in enumerate(changes)], limits=None
    )
    return X, (loans.target == loans.desired).to_numpy().astype(int), actions


def peak_memory(reset=False):
    """Highest resident memory so far, or since it was last reset, in bytes (Linux)."""
    if reset:
        with open("/proc/self/clear_refs", "w") as control:
            control.write("5")
    with open("/proc/self/status") as status:
        (kilobytes,) = (line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kilobytes) * 1024


def large():
    X, y, actions = wide_loans(1_000_000)
    model = RecourseTreeClassifier(actions, recourse_weight=0.1, max_depth=12)
    model.fit(X[:2000], y[:2000])
    before = peak_memory(reset=True)
    ours = cpu(1, lambda: model.fit(X, y))
    memory = peak_memory() - before
    peer = cpu(1, lambda: DecisionTreeClassifier(max_depth=12).fit(X, y))
    line("1 000 000 x 30 loans, depth 12", ours, peer, 0.6)
    allowed = 8 * X.size + 300e6
    print(
        f"  memory above the input {memory / 1e6:.0f} MB "
        f"(target: at most {allowed / 1e6:.0f} MB), {model.get_n_leaves()} leaves"
    )


def growth():
    sizes, times = [10_000, 30_000, 100_000, 300_000, 1_000_000], []
    X, y, actions = wide_loans(sizes[-1])
    for n in sizes:
        model = RecourseTreeClassifier(actions, recourse_weight=0.1, max_depth=12)
        times.append(cpu(1 if n > 100_000 else 2, lambda m=model, n=n: m.fit(X[:n], y[:n])))
        print(f"{n:>9} people {times[-1]:8.3f} s")
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"exponent of time in people: {slope:.2f}")


FIRST_FIT = """
import time, numpy as np
start = time.perf_counter()
from ract import RecourseTreeClassifier
loaded = time.perf_counter()
X = np.random.default_rng(0).normal(size=(500, 5))
RecourseTreeClassifier(recourse_weight=0.1, max_depth=4).fit(X, X[:, 0] > 0)
print(loaded - start, time.perf_counter() - loaded)
"""


def compile_time():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for name, target in (("cold: compiles", 6), ("cached: loads", 0.5)):
            out = subprocess.run(
                [sys.executable, "-c", FIRST_FIT],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            importing, fitting = map(float, out.stdout.split())
            print(
                f"first fit, {name:15} {fitting:6.2f} s (target: at most {target} s), "
                f"import {importing:.2f} s"
            )


def main():
    parts = {"small": small, "large": large, "growth": growth, "compile": compile_time}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(parts))
    for name in parser.parse_args().parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
