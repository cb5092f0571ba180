"""The paper's tables as Markdown, ours above the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from experiments.pages.markdown import page, spread, table
from experiments.paper.compare import by_method, selected
from experiments.paper.metrics import EXACT
from experiments.paper.recorded import Recorded, side_by_side
from experiments.paper.settings import EXPERIMENTS, METHOD_NAMES, Experiment
from experiments.store import Store


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
        experiment, rows = EXPERIMENTS[name], []
        for data, ours, theirs in side_by_side(name, store, recorded):
            for source, frame in (("ours", ours), ("recorded", theirs)):
                if frame is not None:
                    chosen = by_method(selected(experiment, data, frame))
                    cells = [_cell(own, wanted) for own in chosen.values()]
                    rows.append([data.title, source, frame["Fold"].nunique(), *cells])
        if rows:
            yield f"**{wanted.title}** ({_kind(experiment).lower()}; mean and "\
                "standard deviation over folds)"  # fmt: skip
            yield table(["data", "", "folds", *METHOD_NAMES.values()], rows)


def _kind(experiment: Experiment) -> str:
    return experiment.title.split(":")[0]


def _cell(rows: pd.DataFrame, wanted: PaperTable) -> str:
    """A number, or "n/a" where nobody was refused in most folds, as in the paper."""
    of_actions = wanted.measure in ("Valid-Cost", "Plausibility", "Budget-Validity")
    if of_actions and len(rows) and (rows["Valid-Cost"] == 0).mean() > 0.5:
        return "n/a"
    return spread(rows[wanted.measure].to_numpy(), wanted.digits)


def model_or_search(store: Store) -> str:
    """How much recourse the leaf search finds of what there is, by exact search."""
    rows = []
    for experiment in (EXPERIMENTS["forests"], EXPERIMENTS["trees"]):
        for data, ours, _ in side_by_side(experiment.name, store):
            for method, own in by_method(selected(experiment, data, ours)).items():
                means = [f"{own[column].mean():.3f}" for column in ("Recourse", *EXACT)]
                rows.append([_kind(experiment), data.title, METHOD_NAMES[method], *means])
    header = ["", "data", "method", "recourse, leaf search", "recourse, exact search", "unanswered"]
    return table(header, rows) if rows else ""


def exact_or_not(store: Store, recorded: Recorded | None) -> str:
    """Cost and validity by exact extraction, beside those of leaf search for the same people."""
    rows = []
    for data, ours, theirs in side_by_side("exact", store, recorded):
        for method, own in by_method(ours).items():
            if (own["Valid-Cost"] == 0).all():
                continue
            cells = []
            for measure in ("Budget-Validity", "Valid-Cost"):
                columns = [own[measure], own[f"{measure} (leaves)"]]
                if theirs is not None:
                    columns.append(by_method(theirs)[method][measure])
                cells += [f"{column.mean():.3f}" for column in columns]
            unanswered = f"{own[EXACT[1]].mean():.3f}"
            rows.append([data.title, METHOD_NAMES[method], *cells, unanswered])
    sources = ["exact", "leaf search", "recorded"][: 2 if recorded is None else 3]
    header = ["data", "method", *(f"validity, {source}" for source in sources)]
    header += [*(f"cost, {source}" for source in sources), "unanswered"]
    return table(header, rows) if rows else ""
