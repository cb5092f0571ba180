"""The paper's figures, drawn from our results; recorded means are marked where they are at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract.errors import InvalidSpec
from ract.experiments.paper.compare import importances, selected
from ract.experiments.paper.recorded import Recorded
from ract.experiments.paper.settings import (
    DATA,
    EXPERIMENTS,
    METHOD_NAMES,
    METHODS,
    RACT,
    DataSetting,
)
from ract.experiments.store import Store

COLOURS = {"Baseline": "#7f7f7f", "Baseline (OAF)": "#d98c3f", "RACT": "#2f6fb0"}
FORMATS = ("png", "svg")


def draw_figures(store: Store, recorded: Recorded | None, folder: Path) -> list[Path]:
    """Draw every figure for which there are results; returns the SVG files."""
    pyplot()  # before anything is made
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name in ("forests", "trees"):
        drawn.append(save(folder, f"comparison-{name}", _comparison(name, store, recorded)))
    drawn.append(save(folder, "tradeoff-forests", _tradeoff_forests(store, recorded)))
    drawn.append(save(folder, "tradeoff-trees", _tradeoff_trees(store)))
    drawn.append(save(folder, "complexity", _by_column("complexity", "N_ESTIMATORS", store)))
    for name in ("budget-forests", "budget-trees"):
        drawn.append(save(folder, name, _by_column(name, "Budget", store)))
    drawn.append(save(folder, "importance", _importance(store, recorded)))
    return [file for file in drawn if file is not None]


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


def save(folder: Path, name: str, figure: Any) -> Path | None:
    """Write a figure in both formats, without a date, so that the same results give the same."""
    if figure is None:
        return None
    for suffix in FORMATS:
        about = {"Date": None} if suffix == "svg" else {}
        figure.savefig(folder / f"{name}.{suffix}", dpi=150, metadata=about)
    pyplot().close(figure)
    return folder / f"{name}.svg"


def _panels(
    rows: Sequence[str],
    columns: Sequence[DataSetting],
    draw: Callable[[Any, str, DataSetting], None],
) -> Any:
    """One panel for each measure (rows) and data set (columns)."""
    plt = pyplot()
    size = (2.4 * len(columns), 1.9 * len(rows) + 0.4)
    figure, axes = plt.subplots(
        len(rows), len(columns), figsize=size, squeeze=False, layout="constrained"
    )
    for axis, setting in zip(axes[0], columns, strict=True):
        axis.set_title(setting.title)
    for line, measure in zip(axes, rows, strict=True):
        line[0].set_ylabel(measure)
        for axis, setting in zip(line, columns, strict=True):
            draw(axis, measure, setting)
    return figure


def _known(store: Store, name: str) -> dict[str, pd.DataFrame]:
    found = {data: store.read(name, data) for data in DATA}
    return {data: rows for data, rows in found.items() if rows is not None}


def _comparison(name: str, store: Store, recorded: Recorded | None) -> Any:
    experiment, results = EXPERIMENTS[name], _known(store, name)
    if not results:
        return None
    measures = ("Accuracy", "Recourse") if name == "trees" else ("Accuracy", "AUC", "Recourse")

    def draw(axis: Any, measure: str, data: DataSetting) -> None:
        mine = selected(experiment, data, results[data.name])
        theirs = None if recorded is None else recorded.read(experiment, data)
        for k, method in enumerate(METHODS):
            values = mine.loc[mine["Method"] == method, measure]
            axis.bar(k, values.mean(), yerr=_deviation(values), color=COLOURS[method], width=0.7)
            if theirs is not None:
                chosen = selected(experiment, data, theirs)
                mean = chosen.loc[chosen["Method"] == method, measure].mean()
                axis.plot([k], [mean], "kD", markersize=3)
        axis.set_xticks(range(3), [METHOD_NAMES[method] for method in METHODS])
        axis.set_ylim(0, 1.05)

    return _panels(measures, [DATA[name] for name in results], draw)


def _deviation(values: pd.Series) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _tradeoff_forests(store: Store, recorded: Recorded | None) -> Any:
    results = _known(store, "forests")
    if not results:
        return None

    def draw(axis: Any, measure: str, data: DataSetting) -> None:
        sources = [(results[data.name], "-o", COLOURS[RACT], "ours")]
        theirs = None if recorded is None else recorded.read(EXPERIMENTS["forests"], data)
        if theirs is not None:
            sources.append((theirs, "D", "black", "recorded"))
        for rows, style, colour, label in sources:
            of_ract = rows[rows["Method"] == RACT].groupby("Alpha")[measure].mean()
            axis.plot(of_ract.index, of_ract, style, color=colour, markersize=3, label=label)
        for method in METHODS[:2]:
            rows = results[data.name]
            mean = rows.loc[rows["Method"] == method, measure].mean()
            axis.axhline(
                mean, color=COLOURS[method], linestyle="--", label=METHOD_NAMES[method]
            )  # fmt: skip
        axis.set_xlabel("λ")
        if measure == "AUC" and data.name == next(iter(results)):
            axis.legend(fontsize=6)

    return _panels(("AUC", "Recourse"), [DATA[name] for name in results], draw)


def _tradeoff_trees(store: Store) -> Any:
    results = _known(store, "trees")
    if not results:
        return None

    def draw(axis: Any, measure: str, data: DataSetting) -> None:
        rows = results[data.name]
        of_ract = rows[rows["Method"] == RACT]
        for alpha, group in of_ract.groupby("Alpha"):
            means = group.groupby("Delta")[measure].mean()
            axis.plot(means.index, means, "-o", markersize=2, label=f"λ={alpha:g}")
        axis.set_xlabel("δ")
        if measure == "Accuracy" and data.name == next(iter(results)):
            axis.legend(fontsize=6)

    return _panels(("Accuracy", "Recourse"), [DATA[name] for name in results], draw)


def _by_column(name: str, column: str, store: Store) -> Any:
    """How accuracy (or AUC) and recourse move with a column: baselines, and RACT by weight."""
    experiment, results = EXPERIMENTS[name], _known(store, name)
    if not results:
        return None
    base = "trees" if experiment.model == "tree" else "forests"
    quality = "Accuracy" if experiment.model == "tree" else "AUC"

    def draw(axis: Any, measure: str, data: DataSetting) -> None:
        rows = _with_base(results[data.name], store.read(base, data.name))
        if experiment.model == "tree":
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

    return _panels((quality, "Recourse"), [DATA[name] for name in results], draw)


def _with_base(rows: pd.DataFrame, base: pd.DataFrame | None) -> pd.DataFrame:
    """The rows of an experiment, and of the same folds of the baseline comparison, the middle."""
    if base is None:
        return rows
    return pd.concat([rows, base[base["Fold"].isin(rows["Fold"])].assign(N_ESTIMATORS=200)])


def _importance(store: Store, recorded: Recorded | None) -> Any:
    results = _known(store, "importance")
    if not results:
        return None
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for axis, (name, rows) in zip(axes.flat, results.items(), strict=False):
        data = DATA[name]
        theirs = None if recorded is None else recorded.importance(data)
        features = [str(column) for column in rows if column not in EXPERIMENTS["forests"].keys]
        at = np.arange(len(features))
        for k, method in enumerate(METHODS):
            means = importances(data, rows, method)[features]
            axis.bar(
                at + 0.27 * (k - 1), means, 0.27, color=COLOURS[method], label=METHOD_NAMES[method]
            )  # fmt: skip
            if theirs is not None:
                means = importances(data, theirs, method).reindex(features)
                axis.plot(at + 0.27 * (k - 1), means, "kD", markersize=2)
        axis.set_xticks(at, features, rotation=90, fontsize=5)
        axis.set_title(data.title)
    for axis in axes.flat[len(results) :]:
        axis.set_axis_off()
    axes.flat[0].legend(fontsize=6)
    return figure
