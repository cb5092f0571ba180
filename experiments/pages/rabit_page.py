"""Beside RABIT: a table and a picture for each of its tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.benchmark.rabit import (
    BOOSTERS,
    BUDGET,
    MAX_PEOPLE,
    SECONDS,
    SEEN,
    TABLES,
    UNSEEN,
    RabitTable,
)
from experiments.benchmark.rabit_weights import NAME as WEIGHTS
from experiments.benchmark.rabit_weights import PROTOCOLS as PROTOCOL_OF_WEIGHTS
from experiments.benchmark.tuning import FEWEST, LEAVES, MAX_TREES, RATES
from experiments.pages.figures import pyplot, save
from experiments.pages.markdown import page, spread, table
from experiments.store import Store

COLUMNS = {
    "AUC": "AUC", "AUC, deciding": "of the deciding score", "Accuracy": "accuracy",
    "By leaves": "recourse by leaves", "Exact": "exact", "Unknown": "unknown",
    "Lasting": "lasting", "Lasting, strongest": "strongest", "Fit [s]": "fit, CPU s",
}  # fmt: skip
PROTOCOLS = {SEEN: "its protocol", UNSEEN: "unseen rows"}
COLOURS = dict(zip(BOOSTERS, ("#7f7f7f", "#d98c3f", "#2f6fb0", "#4b8b3b"), strict=True))
LEAST_LABELLED = 0.05  # smaller weights are in the table
APART = 0.12  # of the width and height of a picture: points that are closer share a label
MEANS = ["AUC", "AUC, deciding", "Exact"]
LEAST_WIDTH = 0.04  # of the axis of AUC: smaller differences of a few splits are noise


def _or(values: Sequence[float]) -> str:
    *first, last = (f"{value:g}" for value in sorted(values))
    return f"{', '.join(first)} or {last}"


INTRODUCTION = f"""\
## Beside RABIT

RABIT (Kanamori et al., NeurIPS 2025) boosts trees for recourse. Its protocol: random stratified
splits, a quarter of the people for testing, kernel percentile cost, budget {BUDGET:g}. *Recourse*
is the share of test people who are accepted or have a plan: *by leaves*, found one leaf at a time
as in its recorded results (RABIT tries 1000 random leaves, ours all), and by *exact* search. In
three of its tables most test rows also occur in training; for *unseen rows* repeats are dropped
and nobody is tested whose features occur in training. RABIT's results are recorded for its
protocol only, on ten splits, and not for Credit.

Plans are found for {MAX_PEOPLE} refused test people of each split, at equal distances in the
table, and a search ends after {SECONDS:g} s; *unknown* is the share of them for whom exact search
could not decide by then, and they count as without a plan. *Lasting*: a plan is found for a model
of one half of the training people; the share of refused people whose plan the model of the other
half accepts, for their cheapest plan and for their *strongest* one within the budget. Fit times
are of one thread on a busy machine; recorded ones are of its authors' machine.

LightGBM has its defaults, or is *tuned*: of {len(LEAVES) * len(RATES) * len(FEWEST)} settings
({_or(LEAVES)} leaves, learning rate {_or(RATES)}, at least {_or(FEWEST)} people in a leaf, up to
{MAX_TREES} trees by early stopping), the one with the highest AUC on a fifth of the training
people of each split, refitted on all of them. `ract boosting` has its defaults; *single* is
`n_replicates=0` with a target probability of one half, tuned in the same way without recourse.
Times of tuned models exclude the tuning. *AUC of the deciding score* differs where probabilities
come from other trees than decisions do. (`python -m experiments.benchmark --beside-rabit`)
"""


def rabit_page(
    store: Store, pictures: dict[str, str] | None = None, recorded: pd.DataFrame | None = None
) -> str:
    """A part for each table that has rows; empty if none has."""
    parts = [INTRODUCTION]
    head = ["rows", "model", "splits", *COLUMNS.values()]
    for data in TABLES.values():
        cells = [
            [PROTOCOLS[protocol], BOOSTERS[name].title, len(rows)]
            + [spread(rows[column].to_numpy()) for column in COLUMNS]
            for protocol, name, rows in _results(store, data.name)
        ]
        if not cells:
            continue
        if recorded is not None:
            cells += _recorded_cells(recorded[recorded["dataset"] == data.title])
        parts += [f"### {data.title}, as RABIT has it", table(head, cells)]
        if pictures and f"rabit-{data.name}" in pictures:
            parts.append(f"![Recourse against AUC, {data.title}]({pictures[f'rabit-{data.name}']})")
        parts += _weights_part(store, data, pictures or {})
    return page(*parts) if len(parts) > 1 else ""


def _weights_part(store: Store, data: RabitTable, pictures: dict[str, str]) -> list[str]:
    """AUC and recourse by weight, of a table that has them."""
    rows = store.read(WEIGHTS, data.name)
    if rows is None:
        return []
    said = PROTOCOLS[PROTOCOL_OF_WEIGHTS[data.name]]
    means = rows.groupby(["Model", "Alpha"])[MEANS].mean()
    cells = [
        [BOOSTERS[name].title, f"{weight:g}", *(f"{value:.3f}" for value in values)]
        for (name, weight), values in zip(means.index, means.to_numpy(), strict=True)
    ]
    parts = [
        f"By weight of recourse ({said}, {_splits(rows)}):",
        table(["model", "weight", "AUC", "of the deciding score", "exact recourse"], cells),
    ]
    if f"rabit-weights-{data.name}" in pictures:
        file = pictures[f"rabit-weights-{data.name}"]
        parts.append(f"![Recourse against AUC over weights, {data.title}]({file})")
    return parts


def _splits(rows: pd.DataFrame) -> str:
    n = rows["Fold"].nunique()
    return "one split" if n == 1 else f"means of {n} splits"


def _results(store: Store, data: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Protocol, model and rows on a table, of the splits on which all of its models were run."""
    found = []
    for protocol in PROTOCOLS:
        rows = store.read(protocol, data)
        if rows is None:
            continue
        rows = rows[rows["Model"].isin(BOOSTERS)]
        n_models = rows.groupby("Fold")["Model"].transform("nunique")
        rows = rows[n_models == rows["Model"].nunique()]
        found += [(protocol, name, rows[rows["Model"] == name]) for name in BOOSTERS]
    return [part for part in found if len(part[2])]


def _recorded_cells(rows: pd.DataFrame) -> list[list[object]]:
    """Recorded means: without a weight, and with three of its weights."""
    rows = rows[(rows["method"] == "Vanilla") | rows["gamma"].isin((0.002, 0.0025, 0.005))]
    return [
        ["recorded", f"RABIT, gamma {row['gamma']:g}" if row["gamma"] else "its plain booster", 10,
         f"{row['AUC']:.3f}", "", f"{row['accuracy']:.3f}", f"{row['recourse']:.3f}",
         "", "", "", "", f"{row['time']:.1f}"]
        for _, row in rows.sort_values("gamma").iterrows()
    ]  # fmt: skip


def draw_rabit(store: Store, folder: Path, recorded: pd.DataFrame | None = None) -> dict[str, Path]:
    """A picture for each table: recourse against AUC, by either protocol; and over weights."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for data in TABLES.values():
        found = _results(store, data.name)
        if not found:
            continue
        figure, axes = plt.subplots(
            1, 2, figsize=(7.6, 3.5), layout="constrained", sharey=True, squeeze=False
        )
        if recorded is not None:
            theirs = recorded[(recorded["dataset"] == data.title) & (recorded["method"] != "OAF")]
            theirs = theirs.sort_values("gamma")
            if len(theirs):
                axes[0, 0].plot(theirs["AUC"], theirs["recourse"], "D-", color="#000000", lw=0.8,
                                markersize=3, label="RABIT, recorded (by leaves)")  # fmt: skip
        for axis, (protocol, said) in zip(axes[0], PROTOCOLS.items(), strict=True):
            for kind, name, rows in found:
                if kind == protocol:
                    _draw_model(axis, name, rows.mean(numeric_only=True))
            axis.set(xlabel="AUC", title=f"{data.title}, {said}")
            axis.grid(alpha=0.3)
            low, high = axis.get_xlim()
            room = max(0.0, LEAST_WIDTH - (high - low)) / 2
            axis.set_xlim(low - room, high + room)
        axes[0, 0].set_ylabel(
            f"accepted or with recourse within {BUDGET:g}\n"
            "(hollow: by leaves; cross: strongest plan lasts)"
        )
        lowest = min(axes[0, 0].dataLim.y0, axes[0, 1].dataLim.y0)
        axes[0, 0].set_ylim(max(0.0, np.floor(10 * lowest - 0.5) / 10), 1.03)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7)
        drawn[f"rabit-{data.name}"] = save(folder, f"rabit-{data.name}", figure)
    return drawn | _draw_weights(store, folder)


def _draw_weights(store: Store, folder: Path) -> dict[str, Path]:
    """A picture for each table that has them: AUC and recourse by weight of recourse."""
    plt, drawn = pyplot(), {}
    for name, protocol in PROTOCOL_OF_WEIGHTS.items():
        rows, peers = store.read(WEIGHTS, name), store.read(protocol, name)
        if rows is None:
            continue
        figure, axis = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
        scale = np.array([1 / max(np.ptp(rows["AUC"]), LEAST_WIDTH), 1.0])
        for model in [model for model in BOOSTERS if (rows["Model"] == model).any()]:
            means = rows[rows["Model"] == model].groupby("Alpha")[MEANS].mean()
            axis.plot(means["AUC"], means["Exact"], "o-", color=COLOURS[model], markersize=4,
                      lw=1, label=BOOSTERS[model].title)  # fmt: skip
            beside = (5, 3) if model == "ract-boosting" else (-5, -9)
            last = None
            for weight in sorted(map(float, means.index), reverse=True):
                at = means.loc[weight, ["AUC", "Exact"]].to_numpy(float)
                far = last is None or np.abs(at - last) @ scale > APART
                if weight >= LEAST_LABELLED and far:
                    last = at
                    axis.annotate(f"{weight:g}", at, beside, fontsize=7,
                                  textcoords="offset points", color=COLOURS[model],
                                  ha="left" if beside[0] > 0 else "right")  # fmt: skip
        if peers is not None:
            peers = peers[peers["Fold"].isin(rows["Fold"])]
            for model in ("lightgbm", "lightgbm-tuned"):
                mean = peers[peers["Model"] == model][["AUC", "Exact"]].mean()
                axis.plot(mean["AUC"], mean["Exact"], "s", color=COLOURS[model],
                          label=BOOSTERS[model].title)  # fmt: skip
        axis.set(
            xlabel="AUC", ylabel=f"accepted or with recourse within {BUDGET:g}, exact",
            title=f"{TABLES[name].title}, {PROTOCOLS[protocol]}: weights of recourse",
            ylim=(0, 1.06),
        )  # fmt: skip
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, loc="lower left")
        drawn[f"rabit-weights-{name}"] = save(folder, f"rabit-weights-{name}", figure)
    return drawn


def _draw_model(axis: Any, name: str, means: pd.Series) -> None:
    """Exact recourse (full), by leaves (hollow), and what lasts of the strongest plans (cross)."""
    colour, x = COLOURS[name], means["AUC"]
    lasting = means["Accepted"] + (1 - means["Accepted"]) * means["Lasting, strongest"]
    axis.plot(x, means["Exact"], "o", color=colour, label=BOOSTERS[name].title)
    axis.plot(x, means["By leaves"], "o", color=colour, fillstyle="none")
    axis.plot(x, lasting, "x", color=colour)
