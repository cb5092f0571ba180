"""The paper's figures, drawn from our results; recorded means are marked where they are at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.paper.compare import by_method, importances, selected
from experiments.paper.recorded import Recorded, Results, side_by_side
from experiments.paper.settings import EXPERIMENTS, METHOD_NAMES, METHODS, RACT
from experiments.store import Store
from ract._utils.errors import InvalidSpec

COLOURS = {"Baseline": "#7f7f7f", "Baseline (OAF)": "#d98c3f", "RACT": "#2f6fb0"}
FORMATS = ("png", "svg")


def draw_figures(store: Store, recorded: Recorded | None, folder: Path) -> list[Path]:
    """Draw every figure for which there are results; returns the SVG files."""
    pyplot()  # before anything is made
    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "comparison-forests": _comparison("forests", store, recorded),
        "comparison-trees": _comparison("trees", store, recorded),
        "tradeoff-forests": _tradeoff_forests(store, recorded),
        "tradeoff-trees": _tradeoff_trees(store),
        "complexity": _by_column("complexity", "N_ESTIMATORS", store),
        "budget-forests": _by_column("budget-forests", "Budget", store),
        "budget-trees": _by_column("budget-trees", "Budget", store),
        "importance": _importance(store, recorded),
    }
    return [save(folder, name, figure) for name, figure in figures.items() if figure is not None]


def pyplot() -> Any:
    """Set up matplotlib to draw the same file from the same numbers, or say how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise InvalidSpec('Figures need matplotlib: pip install "ract[plot]".') from None
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "ract", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    return plt


def save(folder: Path, name: str, figure: Any) -> Path:
    """Write a figure in both formats, without a date, so that the same results give the same."""
    for suffix in FORMATS:
        about = {"Date": None} if suffix == "svg" else {}
        figure.savefig(folder / f"{name}.{suffix}", dpi=150, metadata=about)
    pyplot().close(figure)
    return folder / f"{name}.svg"


def _panels(
    measures: Sequence[str],
    results: Iterable[Results],
    draw: Callable[[Any, str, Results], None],
) -> Any:
    """One panel for each measure (rows) and data set (columns); None without results."""
    results = list(results)
    if not results:
        return None
    size = (2.4 * len(results), 1.9 * len(measures) + 0.4)
    figure, axes = pyplot().subplots(
        len(measures), len(results), figsize=size, squeeze=False, layout="constrained"
    )
    for line, measure in zip(axes, measures, strict=True):
        line[0].set_ylabel(measure)
        for axis, result in zip(line, results, strict=True):
            draw(axis, measure, result)
    for axis, result in zip(axes[0], results, strict=True):
        axis.set_title(result.data.title)
    return figure


def _comparison(name: str, store: Store, recorded: Recorded | None) -> Any:
    experiment = EXPERIMENTS[name]
    measures = ("Accuracy", "Recourse") if name == "trees" else ("Accuracy", "AUC", "Recourse")

    def draw(axis: Any, measure: str, results: Results) -> None:
        data, ours, theirs = results
        for k, (method, rows) in enumerate(by_method(selected(experiment, data, ours)).items()):
            deviation = rows[measure].std(ddof=1) if len(rows) > 1 else 0.0
            mean = rows[measure].mean()
            axis.bar(k, mean, yerr=deviation, color=COLOURS[method], width=0.7)
            if theirs is not None:
                chosen = by_method(selected(experiment, data, theirs))[method]
                axis.plot([k], [chosen[measure].mean()], "kD", markersize=3)
        axis.set_xticks(range(3), METHOD_NAMES.values())
        axis.set_ylim(0, 1.05)

    return _panels(measures, side_by_side(name, store, recorded), draw)


def _tradeoff_forests(store: Store, recorded: Recorded | None) -> Any:
    def draw(axis: Any, measure: str, results: Results) -> None:
        _, ours, theirs = results
        sources = ((ours, "-o", COLOURS[RACT], "ours"), (theirs, "D", "black", "recorded"))
        for rows, style, colour, label in sources:
            if rows is not None:
                of_ract = by_method(rows)[RACT].groupby("Alpha")[measure].mean()
                axis.plot(of_ract.index, of_ract, style, color=colour, markersize=3, label=label)
        for method in METHODS[:2]:
            axis.axhline(
                by_method(ours)[method][measure].mean(), color=COLOURS[method], linestyle="--",
                label=METHOD_NAMES[method],
            )  # fmt: skip
        axis.set_xlabel("λ")

    return _with_legend(
        _panels(("AUC", "Recourse"), side_by_side("forests", store, recorded), draw)
    )


def _tradeoff_trees(store: Store) -> Any:
    def draw(axis: Any, measure: str, results: Results) -> None:
        for alpha, group in by_method(results.ours)[RACT].groupby("Alpha"):
            means = group.groupby("Delta")[measure].mean()
            axis.plot(means.index, means, "-o", markersize=2, label=f"λ={alpha:g}")
        axis.set_xlabel("δ")

    return _with_legend(_panels(("Accuracy", "Recourse"), side_by_side("trees", store), draw))


def _with_legend(figure: Any) -> Any:
    """A figure with a legend in its first panel."""
    if figure is not None:
        figure.axes[0].legend(fontsize=6)
    return figure


def _by_column(name: str, column: str, store: Store) -> Any:
    """How accuracy (or AUC) and recourse move with a column: baselines, and RACT by weight."""
    of_trees = EXPERIMENTS[name].model == "tree"
    base, quality = ("trees", "Accuracy") if of_trees else ("forests", "AUC")

    def draw(axis: Any, measure: str, results: Results) -> None:
        data, ours, _ = results
        rows = _with_base(ours, store.read(base, data.name))
        if of_trees:
            rows = rows[(rows["Method"] != RACT) | (rows["Delta"] == data.tree_risk)]
        weights = np.sort(rows.loc[rows["Method"] == RACT, "Alpha"].unique())
        for (name, weight), group in rows.groupby(["Method", "Alpha"], sort=False):
            method, means = str(name), group.groupby(column)[measure].mean()
            is_ract = method == RACT
            shade = 0.35 + 0.65 * float((weights <= weight).mean()) if is_ract else 1.0
            axis.plot(
                means.index, means, "-o", markersize=3, color=COLOURS[method], alpha=shade,
                label=f"λ={weight:g}" if is_ract else METHOD_NAMES[method],
            )  # fmt: skip
        axis.set_xlabel("T" if column == "N_ESTIMATORS" else "ε")
        if measure == quality:
            axis.legend(fontsize=5)

    return _panels((quality, "Recourse"), side_by_side(name, store), draw)


def _with_base(rows: pd.DataFrame, base: pd.DataFrame | None) -> pd.DataFrame:
    """The rows of an experiment, and of the same folds of the baseline comparison, the middle."""
    if base is None:
        return rows
    return pd.concat([rows, base[base["Fold"].isin(rows["Fold"])].assign(N_ESTIMATORS=200)])


def _importance(store: Store, recorded: Recorded | None) -> Any:
    results = list(side_by_side("importance", store, recorded))
    if not results:
        return None
    figure, axes = pyplot().subplots(2, 2, figsize=(10, 7), layout="constrained")
    for axis, (data, ours, theirs) in zip(axes.flat, results, strict=False):
        mine = importances(data, ours)
        other = None if theirs is None else importances(data, theirs).reindex(mine.index)
        at = np.arange(len(mine))
        for k, method in enumerate(METHODS):
            axis.bar(
                at + 0.27 * (k - 1), mine[method], 0.27, color=COLOURS[method],
                label=METHOD_NAMES[method],
            )  # fmt: skip
            if other is not None:
                axis.plot(at + 0.27 * (k - 1), other[method], "kD", markersize=2)
        axis.set_xticks(at, mine.index, rotation=90, fontsize=5)
        axis.set_title(data.title)
    for axis in axes.flat[len(results) :]:
        axis.set_axis_off()
    axes.flat[0].legend(fontsize=6)
    return figure
