"""The two dials of training, weight and floor: accuracy against lasting recourse."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ract.experiments.data import DATA
from ract.experiments.pages.figures import pyplot, save
from ract.experiments.pages.markdown import page, table
from ract.experiments.store import Store

NAME = "defaults"
DIALS = ["min_samples_leaf", "recourse_weight", "min_leaf_share"]
COLOURS = ("#2f6fb0", "#c0662b", "#4b8b3b", "#7f7f7f")
INTRODUCTION = """\
### Accuracy against lasting recourse, over weight and floor

Forests with every pair of `recourse_weight` and `min_leaf_share` (the floor), on splits other than
the folds above (`benchmarks/choose_defaults.py`): a fifth of the people for testing, plans of a
forest of one half of the others, put to a forest of the other half. *lasting*: the share of
refused people with a plan of a strength that lasts, and at the best strength (*best*); without a
strongest plan for those who have none.
"""


def dials_page(store: Store, pictures: dict[str, str] | None = None) -> str:
    """A table and, if there is one, a picture for each data set that has rows."""
    parts = [INTRODUCTION]
    for data in DATA.values():
        rows = store.read(NAME, data.name)
        if rows is not None:
            n_splits, n_people = rows["split"].nunique(), int(rows["people"].max())
            said = f"**{data.title}**, {n_splits} splits, up to {n_people} refused people in each:"
            parts += [said, _table(rows)]
            if pictures and f"dials-{data.name}" in pictures:
                picture = pictures[f"dials-{data.name}"]
                parts.append(f"![Accuracy against lasting recourse, {data.title}]({picture})")
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


def draw_dials(store: Store, folder: Path) -> dict[str, Path]:
    """A picture for each data set: a line for each floor, a point for each weight."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for data in DATA.values():
        rows = store.read(NAME, data.name)
        if rows is None:
            continue
        figure, axis = plt.subplots(figsize=(6.4, 3.3), layout="constrained")
        for colour, (floor, part) in zip(
            COLOURS, summary(rows).groupby("min_leaf_share"), strict=False
        ):
            axis.plot(part["best"], part["accuracy"], "o-", color=colour, label=f"floor {floor:g}",
                      lw=1, markersize=5)  # fmt: skip
            for _, point in part.iterrows():
                axis.annotate(f"{point['recourse_weight']:g}", (point["best"], point["accuracy"]),
                              xytext=(3, 3), textcoords="offset points", fontsize=7)  # fmt: skip
        axis.set_xlabel("refused people with a plan that lasts, best strength (numbers: weight)")
        axis.set_ylabel("accuracy")
        axis.set_title(data.title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
        drawn[f"dials-{data.name}"] = save(folder, f"dials-{data.name}", figure)
    return drawn
