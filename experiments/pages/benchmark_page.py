"""The honest benchmark as Markdown and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.benchmark.models import MODELS
from experiments.benchmark.run import (
    BUDGET,
    CALIBRATED,
    LASTING,
    MAX_NODES,
    MAX_PEOPLE,
    MORE,
    N_FOLDS,
    NAME,
    PROMISE,
    STRENGTHS,
)
from experiments.data import DATA
from experiments.pages.figures import pyplot, save
from experiments.pages.markdown import page, spread, table
from experiments.store import Store

OURS, THEIRS = "#2f6fb0", "#7f7f7f"
INTRODUCTION = f"""\
Repeated rows are dropped (COMPAS and Bail have thousands). There are {N_FOLDS} shuffled stratified
folds, and people with the same features stay in one fold. (A third of COMPAS's distinct rows have
a twin with the other label; with the twins in different folds, scikit-learn's forest has an AUC
below one half.) One-hot groups change as a whole. Every model is searched exactly, with the same
cost (percentile, from the training people) and a budget of {BUDGET:g}.

The training people of each fold are split into two halves. A plan is found for a model of one half
and *lasts* if the same learner, trained on the other half, accepts the changed person. Plans are
found for {MAX_PEOPLE} refused test people, who are in neither half, in either direction (the two
halves exchange their parts). A search ends
after {MAX_NODES:,} nodes, not seconds, so that results are the same on every machine. AUC,
accuracy, share accepted and fit time are those of models of all training people of a fold. All
other columns are shares of refused people:

- *plan today*: there is a plan within the budget;
- *lasting, best*: it lasts too, at the strength that was best on the other folds;
- *lasting, calibrated*: the same at the strength that `ract.calibrate` found on the planner's half
  for a promise of {PROMISE:.0%}; people without a plan of that strength get the strongest one.
  *without*: the same without those people (published methods: with their published setting). For
  every model, the cheapest plan of a strength is calibrated (`rule="strength"`); forests
  of `ract` now promise their strongest plan instead ([what promises are
  worth](results-learners.md#what-promises-are-worth));
- *kept*: the share of plans of that strength that last; *promises*: in how many directions, two
  per fold, a strength was found;
- *3 changes*: the same with at most three changes;
- *earned*: plans of the calibrated strength (the strongest ones where there is none) that an
  outcome model calls earned;
- *5% more*: the share of cheapest plans that are still accepted when every changed number moves
  {MORE:.0%} further;
- *cost*: of plans at the calibrated strength; *unknown*: the search ended at its limit without a
  plan or a proof that there is none (largest share over strengths and numbers of changes). Shares
  of people are therefore lower bounds. RobX proves nothing, so people without a plan are unknown.

A table shows the models that were run on all of its folds.

Times are seconds of one core: for a fit, and for the search of a plan.
"""
IN_SHORT = """\
In short. A plan *lasts* if the same learner, trained on other people, accepts it too. Plain models
are those of other libraries and our forest without a weight on recourse; robust methods are those
of Forel et al. and RobX. Each column shows the best of them, at the strength or setting that is
best on the other folds. Columns are shares of refused people with a plan that lasts. *Calibrated*
counts the strongest plan for people without a plan of the calibrated strength; *promises kept*
leaves them out.
"""


def benchmark_page(store: Store, pictures: dict[str, str] | None = None) -> str:
    """Tables, and pictures by data set (paths in Markdown)."""
    parts = ["## The benchmark: plans that last", INTRODUCTION, *_in_short(store)]
    n_before = len(parts)
    for data in DATA.values():
        rows, lasting = store.read(NAME, data.name), store.read(LASTING, data.name)
        if rows is not None and lasting is not None:
            parts += [f"### {data.title}", *_tables(rows, lasting)]
            for name in (data.name, f"{data.name}-strength"):
                if pictures and name in pictures:
                    parts.append(f"![Lasting recourse, {data.title}]({pictures[name]})")
    return page(*parts) if len(parts) > n_before else ""


def _in_short(store: Store) -> list[str]:
    """One line for each data set, of what our forest and the best of others reach."""
    lines = []
    for data in DATA.values():
        rows, lasting = store.read(NAME, data.name), store.read(LASTING, data.name)
        if rows is None or lasting is None or "ract" not in set(rows["Model"]):
            continue
        own = {name: lasting[lasting["Model"] == name] for name in MODELS}
        auc = rows.groupby("Model")["AUC"].mean()
        n_folds = rows.groupby("Model")["Fold"].nunique()
        # Who was not run on all folds is not compared.
        there = [name for name in MODELS if n_folds.get(name, 0) == n_folds["ract"]]
        others = [name for name in there if name == "ract-plain" or not MODELS[name].ours]
        robust = [name for name in others if MODELS[name].method is not None]
        plain = [name for name in others if name not in robust]
        if not plain:
            continue
        calibrated = _of(own["ract"], CALIBRATED, 0)
        cheapest = sorted(_mean(_of(own[name], "0", 0)) for name in plain)
        best = [
            max((_mean(best_elsewhere(own[name], 0)) for name in names), default=float("nan"))
            for names in (plain, robust)
        ]
        lines.append(
            [
                data.title, rows["Fold"].nunique(),
                f"{auc[plain].max():.3f}, {auc['ract']:.3f}",
                f"{cheapest[0]:.0%} to {cheapest[-1]:.0%}, "
                f"{_mean(_of(own['ract'], '0', 0)):.0%}",
                *(f"{value:.0%}" for value in best),
                f"**{_mean(calibrated):.0%}**", f"{_mean(_of(own['ract'], CALIBRATED, 3)):.0%}",
                share(calibrated, "Kept", "Promised"),
            ]
        )  # fmt: skip
    head = [
        "data", "folds", "AUC: best plain model, `ract`", "cheapest plans that last: plain, `ract`",
        "best plain model", "robust methods", "`ract`, calibrated", "the same, 3 changes",
        "promises kept",
    ]  # fmt: skip
    return [IN_SHORT, table(head, lines)] if lines else []


def _tables(rows: pd.DataFrame, lasting: pd.DataFrame) -> list[str]:
    quality, few = [], []
    for name, model in MODELS.items():
        mine, own = rows[rows["Model"] == name], lasting[lasting["Model"] == name]
        if not len(mine):
            continue
        title = f"**{model.title}**" if model.ours else model.title
        cheapest, calibrated = (_of(own, strength, 0) for strength in ("0", CALIBRATED))
        quality.append(
            [
                title, len(mine), *(spread(mine[c].to_numpy()) for c in ("AUC", "Accuracy")),
                f"{mine['Accepted'].mean():.2f}", share(cheapest, "Plans"),
                share(best_elsewhere(own, 0), "Lasting"), share(calibrated, "Lasting"),
                share(calibrated, "Kept"), share(calibrated, "Kept", "Promised"),
                f"{int((calibrated['Promised'] > 0).sum())}/{len(calibrated)}",
            ]
        )  # fmt: skip
        short = _of(own, CALIBRATED, 3)
        per_plan = calibrated["Search [s]"].sum() / max(calibrated["Refused"].sum(), 1)
        cost = f"{calibrated['Cost'].mean():.3f}" if calibrated["Cost"].notna().any() else "n/a"
        few.append(
            [
                title, share(_of(own, "0", 3), "Plans"), share(best_elsewhere(own, 3), "Lasting"),
                share(short, "Lasting"), share(calibrated, "Earned"),
                share(cheapest, "More", "Plans"), cost,
                _most_unknown(own), f"{mine['Fit [s]'].mean():.2f}", f"{per_plan:.3f}",
                f"{mine['Bootstrap'].mean():.2f}",
            ]
        )  # fmt: skip
    first = table(
        ["model", "folds", "AUC", "accuracy", "accepted", "plan today", "lasting, best",
         "lasting, calibrated", "without", "kept", "promises"],
        quality,
    )  # fmt: skip
    second = table(
        ["model", "3 changes: plan today", "lasting, best", "lasting, calibrated", "earned",
         "5% more", "cost", "unknown", "fit in s", "plan in s",
         "cheapest plan lasts, bootstrap"],
        few,
    )  # fmt: skip
    return [first, second]


def share(rows: pd.DataFrame, hits: str, of: str = "Refused") -> str:
    """A share of people over all rows."""
    n = rows[of].sum()
    return f"{rows[hits].sum() / n:.2f}" if n and rows[hits].notna().any() else "n/a"


def _most_unknown(rows: pd.DataFrame) -> str:
    """The largest share of people of whom nothing is known, over strengths and changes."""
    sums = rows.groupby(["Strength", "Changes"])[["Unknown", "Refused"]].sum()
    return f"{(sums['Unknown'] / sums['Refused']).max():.2f}" if len(sums) else "n/a"


def _of(rows: pd.DataFrame, strength: str, changes: int) -> pd.DataFrame:
    return rows[(rows["Strength"].astype(str) == strength) & (rows["Changes"] == changes)]


def best_elsewhere(rows: pd.DataFrame, changes: int) -> pd.DataFrame:
    """Of each fold, the rows of the strength at which most plans lasted on the other folds."""
    names = [name for name in rows["Strength"].astype(str).unique() if name != CALIBRATED]
    at = {name: _of(rows, name, changes) for name in names}
    chosen = []
    for fold in rows["Fold"].unique():

        def lasting(name: str, fold: int = fold) -> float:
            others = at[name][at[name]["Fold"] != fold]
            others = others if len(others) else at[name]
            return float(others["Lasting"].sum() / max(others["Refused"].sum(), 1))

        best = max(names, key=lasting)
        chosen.append(at[best][at[best]["Fold"] == fold])
    return pd.concat(chosen) if chosen else rows


def draw_benchmark(store: Store, folder: Path) -> dict[str, Path]:
    """Two pictures for each data set: AUC and strength against lasting recourse."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for data in DATA.values():
        rows, lasting = store.read(NAME, data.name), store.read(LASTING, data.name)
        if rows is None or lasting is None:
            continue
        for name, draw in ((data.name, _scatter), (f"{data.name}-strength", _lines)):
            figure, axis = plt.subplots(figsize=(6.4, 3.3), layout="constrained")
            draw(axis, rows, lasting)
            axis.set_title(data.title)
            axis.grid(alpha=0.3)
            axis.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
            drawn[name] = save(folder, f"benchmark-{name}", figure)
    return drawn


def _scatter(axis: Any, rows: pd.DataFrame, lasting: pd.DataFrame) -> None:
    """AUC against lasting recourse; a line from the cheapest plans' share."""
    for name, model in MODELS.items():
        mine, own = rows[rows["Model"] == name], lasting[lasting["Model"] == name]
        if len(mine):
            at = [_mean(part) for part in (_of(own, "0", 0), _of(own, CALIBRATED, 0))]
            auc, colour = mine["AUC"].mean(), OURS if model.ours else THEIRS
            axis.plot(at, [auc, auc], "-", color=colour, lw=0.8, alpha=0.6)
            axis.plot(at[1], auc, model.marker, color=colour, label=model.title, markersize=7)
    axis.set_xlabel("refused people with a plan that lasts (line: from their cheapest plans)")
    axis.set_ylabel("AUC")
    axis.margins(0.08)


def _lines(axis: Any, rows: pd.DataFrame, lasting: pd.DataFrame) -> None:
    """Lasting recourse against what plans must win."""
    strengths: Sequence[float] = [max(strength, 0.5) for strength in STRENGTHS]
    for name, model in MODELS.items():
        own = lasting[lasting["Model"] == name]
        if len(own) and model.method is None:
            shares = [_mean(_of(own, f"{strength:g}", 0)) for strength in STRENGTHS]
            colour = OURS if model.ours else THEIRS
            axis.plot(strengths, shares, model.marker + "-", color=colour, label=model.title, lw=1,
                      markersize=4)  # fmt: skip
    axis.set_xlabel("strength of plans")
    axis.set_ylabel("refused people with a plan that lasts")
    axis.set_ylim(-0.02, 1.02)


def _mean(rows: pd.DataFrame) -> float:
    return float(rows["Lasting"].sum() / np.maximum(rows["Refused"].sum(), 1))
