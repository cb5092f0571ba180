"""The two dials of training, weight and floor: accuracy and AUC against lasting recourse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from experiments.data import DATA
from experiments.pages.figures import pyplot, save
from experiments.pages.markdown import page, table
from experiments.store import Store

NAME = "defaults"
DIALS = ["min_samples_leaf", "recourse_weight", "min_leaf_share"]
COLOURS = ("#2f6fb0", "#c0662b", "#4b8b3b", "#7f7f7f")
INTRODUCTION = """\
### Accuracy and AUC against lasting recourse, over weight and floor

Forests with every pair of `recourse_weight` and `min_leaf_share` (the floor), on splits other than
the folds above (`benchmarks/choose_defaults.py`): a fifth of the people is for testing; plans are
found for a forest of one half of the others and given to a forest of the other half. *lasting*:
the share of refused people with a plan of that strength that lasts; *best*: at the best strength.
People without a plan of that strength count as without one.
"""


def dials_page(store: Store, pictures: dict[str, str] | None = None) -> str:
    """A table and, if there is one, a picture for each data set that has rows."""
    parts = [INTRODUCTION]
    for data in DATA.values():
        rows = store.read(NAME, data.name)
        if rows is not None:
            n_splits, n_people = rows["split"].nunique(), int(rows["people"].max())
            said = f"**{data.title}**, {n_splits} splits, up to {n_people} refused people in each:"
            parts += [said, _table(rows), _ends(rows)]
            if pictures and f"dials-{data.name}" in pictures:
                picture = pictures[f"dials-{data.name}"]
                parts.append(f"![Accuracy, AUC and lasting recourse, {data.title}]({picture})")
    return page(*parts) if len(parts) > 1 else ""


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each pair of dials: means over splits, lasting recourse by strength and best."""
    quality = rows.groupby(DIALS)[["auc", "accuracy", "accepted"]].mean()
    lasting = rows.pivot_table("lasting", DIALS, "strength")
    return quality.join(lasting).assign(best=lasting.max(axis=1)).reset_index()


def _table(rows: pd.DataFrame) -> str:
    means, strengths = summary(rows), sorted(rows["strength"].unique())
    cells = [
        [f"{row[name]:g}" for name in DIALS]
        + [f"{row['auc']:.3f}", f"{row['accuracy']:.3f}", f"{row['accepted']:.2f}"]
        + [f"{row[name]:.2f}" for name in (*strengths, "best")]
        for _, row in means.iterrows()
    ]
    head = ["leaves of", "weight", "floor", "AUC", "accuracy", "accepted"]
    return table([*head, *(f"lasting, {strength:g}" for strength in strengths), "best"], cells)


def _ends(rows: pd.DataFrame) -> str:
    """What the most lasting recourse of a table costs, in words."""
    means = summary(rows)
    lasting = means.sort_values(["best", "auc"]).iloc[-1]
    words = [
        f"{what} ({_at(row)}) {row[name]:.3f}, with lasting recourse {row['best']:.2f}"
        for name, what in (("auc", "AUC"), ("accuracy", "accuracy"))
        for row in (means.sort_values(name).iloc[-1],)
    ]
    return (
        f"The highest {words[0]}; the highest {words[1]}. Most lasting recourse: "
        f"{lasting['best']:.2f} ({_at(lasting)}), with AUC {lasting['auc']:.3f} and accuracy "
        f"{lasting['accuracy']:.3f}."
    )


def _at(row: pd.Series) -> str:
    return f"weight {row['recourse_weight']:g}, floor {row['min_leaf_share']:g}"


def draw_dials(store: Store, folder: Path) -> dict[str, Path]:
    """A picture for each data set: a line for each floor, a point for each weight."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for data in DATA.values():
        rows = store.read(NAME, data.name)
        if rows is None:
            continue
        figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.3), layout="constrained")
        for axis, name, called in zip(axes, ("accuracy", "auc"), ("accuracy", "AUC"), strict=True):
            _draw(axis, summary(rows), name)
            axis.set_ylabel(called)
        figure.suptitle(data.title)
        figure.supxlabel(
            "refused people with a plan that lasts, best strength (numbers: weight)", fontsize=9
        )
        axes[0].legend(fontsize=7)
        drawn[f"dials-{data.name}"] = save(folder, f"dials-{data.name}", figure)
    return drawn


def _draw(axis: Any, means: pd.DataFrame, name: str) -> None:
    """One line for each floor, from the least weight to the largest."""
    for colour, (floor, part) in zip(COLOURS, means.groupby("min_leaf_share"), strict=False):
        axis.plot(part["best"], part[name], "o-", color=colour, label=f"floor {floor:g}", lw=1,
                  markersize=5)  # fmt: skip
        for _, point in part.iterrows():
            axis.annotate(f"{point['recourse_weight']:g}", (point["best"], point[name]),
                          xytext=(3, 3), textcoords="offset points", fontsize=7)  # fmt: skip
    axis.grid(alpha=0.3)
