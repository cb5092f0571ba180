"""Binning and reach of a large table beside scikit-learn's binning of the same table.

    python benchmarks/bench_grid.py [--people 1000000] [--columns 30] [--cells 255]

Prints wall times, their ratio, and memory above the input per entry. Compile time is apart.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings

import numpy as np
from sklearn.preprocessing import KBinsDiscretizer

from ract import ActionSpace, Feature
from ract.trees.training import TrainingSetting, Weights, prepare


def make_table(n_people: int, n_columns: int) -> np.ndarray:
    """Thirds of normal, integer and skewed columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_people, n_columns))
    X[:, 1::3] = np.round(X[:, 1::3] * 20)
    X[:, 2::3] = np.exp(X[:, 2::3])
    return X


def grid_and_reach(X: np.ndarray, n_cells: int) -> object:
    """All that training does before the first split."""
    space = ActionSpace([Feature(f"x{j}", "continuous") for j in range(X.shape[1])], limits=None)
    setting = TrainingSetting(space, "percentile", 0.3, n_cells)
    weights = Weights(None, np.ones(len(X)))
    return prepare(X, np.zeros(len(X), np.uint8), weights, setting, with_reach=True)


def sklearn_bins(X: np.ndarray, n_cells: int) -> np.ndarray:
    """Quantile binning of the same table by scikit-learn."""
    binner = KBinsDiscretizer(n_cells, encode="ordinal", strategy="quantile")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns with few distinct values get fewer bins
        return binner.fit_transform(X)


def best_of(repeats: int, function, *arguments) -> float:
    """Least wall time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--cells", type=int, default=255)
    options = parser.parse_args()
    X = make_table(options.people, options.columns)

    start = time.perf_counter()
    grid_and_reach(X[:1000], options.cells)
    print(f"first use (compile or load)   {time.perf_counter() - start:8.2f} s")

    ours = best_of(3, grid_and_reach, X, options.cells)
    peer = best_of(3, sklearn_bins, X, options.cells)
    tracemalloc.start()
    grid_and_reach(X, options.cells)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"ract grid and reach           {ours:8.2f} s")
    print(f"scikit-learn KBinsDiscretizer {peer:8.2f} s")
    print(f"ratio                         {ours / peer:8.2f}   (target: at most 3)")
    print(f"peak memory above the input   {peak / X.size:8.2f} bytes per entry (target: at most 8)")


if __name__ == "__main__":
    main()
