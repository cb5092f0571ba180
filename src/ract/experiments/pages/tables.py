"""The paper's tables as Markdown, ours above the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from ract.experiments.pages.markdown import page, spread, table
from ract.experiments.paper.compare import selected
from ract.experiments.paper.measures import EXACT
from ract.experiments.paper.recorded import Recorded
from ract.experiments.paper.settings import (
    DATA,
    EXPERIMENTS,
    METHOD_NAMES,
    METHODS,
    DataSetting,
    Experiment,
)
from ract.experiments.store import Store


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: one measure of some experiments, by data set and method."""

    title: str
    measure: str
    experiments: tuple[str, ...]
    digits: int = 3


TABLES = (
    PaperTable("Accuracy", "Accuracy", ("trees", "forests")),
    PaperTable("Recourse ratio", "Recourse", ("trees", "forests")),
    PaperTable(
        "Running time of training in seconds (ours: of one core; recorded: on the clock, all cores "
        "of an Apple M1 Pro)", "Time [s]", ("trees", "forests"), 2,
    ),
    PaperTable("Cost of the actions found", "Valid-Cost", ("trees", "forests")),
    PaperTable("Plausibility (outlier score)", "Plausibility", ("trees", "forests")),
    PaperTable(
        "Validity under the causal recourse constraint: share of refused people with an action "
        "within the budget", "Budget-Validity", ("causal-trees", "causal-forests"),
    ),
    PaperTable(
        "Validity by exact extraction: share of the refused people searched for who have an "
        "action within the budget", "Budget-Validity", ("exact",),
    ),
    PaperTable("Cost by exact extraction", "Valid-Cost", ("exact",)),
)  # fmt: skip


def paper_tables(store: Store, recorded: Recorded | None) -> str:
    """All tables of the paper for which there are results."""
    return page(*(one for table in TABLES for one in _paper_table(table, store, recorded)))


def _paper_table(wanted: PaperTable, store: Store, recorded: Recorded | None) -> Iterator[str]:
    for name in wanted.experiments:
        experiment = EXPERIMENTS[name]
        rows = []
        for data in DATA.values():
            ours = store.read(name, data.name)
            if ours is None:
                continue
            theirs = None if recorded is None else recorded.read(experiment, data)
            sources = [("ours", ours)] + ([] if theirs is None else [("recorded", theirs)])
            for source, frame in sources:
                cells = _cells(experiment, data, frame, wanted)
                rows.append([data.title, source, frame["Fold"].nunique(), *cells])
        if rows:
            yield f"**{wanted.title}** ({experiment.title.split(':')[0].lower()}; mean and "\
                "standard deviation over folds)"  # fmt: skip
            yield table(["data", "", "folds", *METHOD_NAMES.values()], rows)


def _cells(
    experiment: Experiment, data: DataSetting, rows: pd.DataFrame, wanted: PaperTable
) -> list[str]:
    chosen = selected(experiment, data, rows)
    return [
        _nobody_refused(chosen[chosen["Method"] == method], wanted) for method in METHODS
    ]  # fmt: skip


def _nobody_refused(rows: pd.DataFrame, wanted: PaperTable) -> str:
    """A number, or "n/a" where nobody was refused in most folds, as in the paper."""
    of_actions = wanted.measure in ("Valid-Cost", "Plausibility", "Budget-Validity")
    if of_actions and len(rows) and (rows["Valid-Cost"] == 0).mean() > 0.5:
        return "n/a"
    return spread(rows[wanted.measure].to_numpy(), wanted.digits)


def model_or_search(store: Store, names: Sequence[str] = ("forests", "trees")) -> str:
    """How much recourse the leaf search finds of what there is, by exact search."""
    rows = []
    for name in names:
        experiment = EXPERIMENTS[name]
        for data in DATA.values():
            ours = store.read(name, data.name)
            if ours is None:
                continue
            chosen = selected(experiment, data, ours)
            for method in METHODS:
                of_method = chosen[chosen["Method"] == method]
                means = [of_method[column].mean() for column in ("Recourse", *EXACT)]
                rows.append(
                    [experiment.title.split(":")[0], data.title, METHOD_NAMES[method],
                     *(f"{mean:.3f}" for mean in means)]
                )  # fmt: skip
    header = ["", "data", "method", "recourse, leaf search", "recourse, exact search", "unanswered"]
    return table(header, rows) if rows else ""


def exact_or_not(store: Store, recorded: Recorded | None) -> str:
    """Cost and validity by exact extraction, beside those of leaf search for the same people."""
    experiment, rows = EXPERIMENTS["exact"], []
    for data in DATA.values():
        ours = store.read("exact", data.name)
        if ours is None:
            continue
        theirs = None if recorded is None else recorded.read(experiment, data)
        for method in METHODS:
            mine = ours[ours["Method"] == method]
            if (mine["Valid-Cost"] == 0).all():
                continue
            cells = []
            for measure in ("Budget-Validity", "Valid-Cost"):
                means = [mine[measure], mine[f"{measure} (leaves)"]]
                if theirs is not None:
                    means.append(theirs.loc[theirs["Method"] == method, measure])
                cells += [f"{values.mean():.3f}" for values in means]
            unanswered = f"{mine[EXACT[1]].mean():.3f}"
            rows.append([data.title, METHOD_NAMES[method], *cells, unanswered])
    sources = ["exact", "leaf search", "recorded"][: 2 if recorded is None else 3]
    header = ["data", "method", *(f"validity, {source}" for source in sources)]
    header += [*(f"cost, {source}" for source in sources), "unanswered"]
    return table(header, rows) if rows else ""
