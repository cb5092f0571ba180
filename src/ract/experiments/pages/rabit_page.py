"""Beside RABIT: a table and a picture for each of its tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ract.experiments.benchmark.rabit import BOOSTERS, BUDGET, SEEN, TABLES, UNSEEN
from ract.experiments.pages.figures import pyplot, save
from ract.experiments.pages.markdown import page, spread, table
from ract.experiments.store import Store

COLUMNS = ["AUC", "Accuracy", "By leaves", "Exact", "Lasting", "Fit [s]"]
PROTOCOLS = {SEEN: "its protocol", UNSEEN: "unseen rows"}
COLOURS = ("#7f7f7f", "#2f6fb0")
INTRODUCTION = f"""\
### Beside RABIT

RABIT (Kanamori et al., NeurIPS 2025) boosts trees for recourse. By its protocol: random splits, a
quarter of the people for testing, kernel percentile cost, budget {BUDGET:g}; *recourse* is the
share of test people who are accepted or have a plan, found one leaf at a time, as its recorded
results were (it looks at 1000 random leaves, ours at all), and exactly. On *unseen rows* repeats
are dropped and nobody is tested whose features stand in training. *Lasting*: the share of refused
people with a plan of a model of one half of the training people that the model of the other half
accepts.
"""


def rabit_page(
    store: Store, pictures: dict[str, str] | None = None, recorded: pd.DataFrame | None = None
) -> str:
    """A part for each table that has rows; empty if none has."""
    parts = [INTRODUCTION]
    head = [
        "",
        "",
        "splits",
        "AUC",
        "accuracy",
        "recourse by leaves",
        "exact",
        "lasting",
        "fit, CPU s",
    ]
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
        parts += [f"**{data.title}**", table(head, cells)]
        if pictures and f"rabit-{data.name}" in pictures:
            parts.append(f"![Recourse against AUC, {data.title}]({pictures[f'rabit-{data.name}']})")
    return page(*parts) if len(parts) > 1 else ""


def _results(store: Store, data: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Protocol, model and rows of everything that was run on a table."""
    found = []
    for protocol in PROTOCOLS:
        rows = store.read(protocol, data)
        if rows is None:
            continue
        for name in BOOSTERS:
            own = rows[rows["Model"] == name]
            if len(own):
                found.append((protocol, name, own))
    return found


def _recorded_cells(rows: pd.DataFrame) -> list[list[object]]:
    """Recorded means: without a weight, and with three of its weights."""
    kept = rows[(rows["method"] == "Vanilla") | rows["gamma"].isin((0.002, 0.0025, 0.005))]
    return [
        ["recorded", f"RABIT, gamma {row['gamma']:g}" if row["gamma"] else "its plain booster", 10,
         f"{row['AUC']:.3f}", f"{row['accuracy']:.3f}", f"{row['recourse']:.3f}", "", "",
         f"{row['time']:.1f}"]
        for _, row in kept.iterrows()
    ]  # fmt: skip


def draw_rabit(store: Store, folder: Path, recorded: pd.DataFrame | None = None) -> dict[str, Path]:
    """A picture for each table: recourse against AUC, by leaves (hollow) and exact."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for data in TABLES.values():
        found = [part for part in _results(store, data.name) if part[0] == SEEN]
        if not found:
            continue
        figure, axis = plt.subplots(figsize=(6.4, 3.3), layout="constrained")
        for colour, (_, name, rows) in zip(COLOURS, found, strict=False):
            x, title = np.mean(rows["AUC"]), BOOSTERS[name].title
            axis.plot(x, np.mean(rows["By leaves"]), "o", color=colour, fillstyle="none")
            axis.plot(x, np.mean(rows["Exact"]), "o", color=colour, label=f"{title}, exact")
        if recorded is not None:
            own = recorded[(recorded["dataset"] == data.title) & (recorded["method"] != "OAF")]
            own = own.sort_values("gamma")
            axis.plot(own["AUC"], own["recourse"], "D-", color="#000000", lw=0.8, markersize=3,
                      label="RABIT, recorded (by leaves)")  # fmt: skip
        axis.set_xlabel("AUC")
        axis.set_ylabel(f"recourse within {BUDGET:g} (hollow: by leaves)")
        axis.set_title(data.title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
        drawn[f"rabit-{data.name}"] = save(folder, f"rabit-{data.name}", figure)
    return drawn
