"""The honest benchmark as Markdown and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ract.experiments.benchmark.models import MODELS
from ract.experiments.benchmark.run import BUDGET, MAX_PEOPLE, N_FOLDS, NAME
from ract.experiments.data import DATA
from ract.experiments.pages.figures import pyplot, save
from ract.experiments.pages.markdown import page, spread, table
from ract.experiments.store import Store

OURS, THEIRS = "#2f6fb0", "#7f7f7f"
INTRODUCTION = f"""\
Repeated rows are dropped (COMPAS and Bail have thousands), folds are shuffled, and people with the
same features stay in one fold. (Of COMPAS, a third of the distinct rows have a twin with the other
label; with the twins in different folds scikit-learn's forest has an AUC below one half.) One-hot
groups change as a whole, and every model is searched exactly, over all its leaves, with the same
cost (percentile, from the training people) and a budget of {BUDGET:g}. There are {N_FOLDS}
stratified folds; of the refused people of each at most {MAX_PEOPLE} are searched for, evenly
spread. *Recourse* is the share of test people who are accepted or for whom an action within the
budget was found; *unanswered* is the share for whom the search ended at its limit, so that the true
ratio lies between the first and the sum of both. Times are seconds of one core for a fold. Every
model has its library's defaults where nothing is said.
"""


def benchmark_page(store: Store, pictures: dict[str, str] | None = None) -> str:
    """Tables, where our forest stands, and pictures by data set (paths in Markdown)."""
    parts = ["## The honest benchmark", INTRODUCTION]
    for data in DATA.values():
        rows = store.read(NAME, data.name)
        if rows is not None:
            parts += [f"### {data.title}", _table(rows), _verdict(rows)]
            if pictures and data.name in pictures:
                parts.append(f"![AUC against recourse, {data.title}]({pictures[data.name]})")
    return page(*parts) if len(parts) > 2 else ""


def _table(rows: pd.DataFrame) -> str:
    lines = []
    for name, model in MODELS.items():
        mine = rows[rows["Model"] == name]
        if len(mine):
            lines.append(
                [
                    f"**{model.title}**" if model.ours else model.title,
                    len(mine),
                    *(spread(mine[c].to_numpy()) for c in ("AUC", "Accuracy", "Recourse")),
                    f"{mine['Unknown'].mean():.3f}",
                    f"{mine['Cost'].mean():.3f}",
                    f"{mine['Fit [s]'].mean():.2f}",
                    f"{mine['Search [s]'].mean():.2f}",
                ]
            )
    header = [
        "model", "folds", "AUC", "accuracy", "recourse", "unanswered", "cost", "fit in s",
        "search in s",
    ]  # fmt: skip
    return table(header, lines)


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC and recourse by model; in ``Best`` unknown recourse counts too."""
    rows = rows.assign(Best=rows["Recourse"] + rows["Unknown"])
    return rows.groupby("Model")[["AUC", "Recourse", "Best"]].mean()


def dominated_by(rows: pd.DataFrame, model: str, *, doubts: bool = False) -> list[str]:
    """Models of others that are at least as good in both AUC and recourse and better in one.

    With ``doubts``, people without an answer count as recourse for the others, not for ours.
    """
    found = means(rows)
    mine, theirs = found.loc[model], "Best" if doubts else "Recourse"
    return [
        str(name)
        for name, other in found.iterrows()
        if not MODELS[str(name)].ours
        and other["AUC"] >= mine["AUC"]
        and other[theirs] >= mine["Recourse"]
        and (other["AUC"] > mine["AUC"] or other[theirs] > mine["Recourse"])
    ]


def _verdict(rows: pd.DataFrame) -> str:
    lines = []
    for name, model in MODELS.items():
        if model.ours and (rows["Model"] == name).any():
            surely, perhaps = (_titles(dominated_by(rows, name, doubts=d)) for d in (False, True))
            text = "is on the Pareto front: no other library's model is as good in both"
            if surely:
                text = f"is beaten in both AUC and recourse by {surely}"
            elif perhaps:
                text += f" (if everyone without an answer had recourse, {perhaps} would be)"
            lines.append(f"- {model.title} {text}.")
    return "\n".join(lines)


def _titles(names: list[str]) -> str:
    return ", ".join(MODELS[name].title for name in names)


def draw_benchmark(store: Store, folder: Path) -> dict[str, Path]:
    """One picture for each data set: AUC against recourse, everyone on it."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for data in DATA.values():
        rows = store.read(NAME, data.name)
        if rows is not None:
            figure, axis = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
            _scatter(axis, rows)
            axis.set_title(data.title)
            drawn[data.name] = save(folder, f"benchmark-{data.name}", figure)
    return drawn


def _scatter(axis: Any, rows: pd.DataFrame) -> None:
    found = means(rows)
    for name, model in MODELS.items():
        if name in found.index:
            recourse, best, auc = found.loc[name, ["Recourse", "Best", "AUC"]]
            colour = OURS if model.ours else THEIRS
            axis.plot(
                recourse, auc, model.marker, color=colour, label=model.title, markersize=7
            )  # fmt: skip
            # What is unknown could still be recourse.
            axis.plot([recourse, best], [auc, auc], "-", color=colour)
    axis.set_xlabel("recourse ratio (line: unanswered)")
    axis.set_ylabel("AUC")
    axis.margins(0.08)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
