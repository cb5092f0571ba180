"""How many plans can be sent: ours and others, every model cut at one approval rate.

The training people of a fold are cut into two halves (see ``run``). A model of one half plans and a
model of the other says what lasts, and the other way round. Each is cut so that it approves the
table's rate of the half that it was *not* fitted on, which has no part in the test: in-sample
scores would cut every learner elsewhere.

    fold      |------- half A -------|------- half B -------|--- test ---|
    planner           fitted              cut chosen           people
    judge           cut chosen             fitted

The rate of a table is that of its plain forest, the better of scikit-learn's and ours without
recourse, on the training people of the first fold; .7 if that would refuse under a tenth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.benchmark.cut import Scored
from experiments.benchmark.run import N_FOLDS, Fold, folds, without_colons
from experiments.benchmark.sendable_models import PLAIN, Entry, Options
from experiments.spaces.tables import TABLES, Table
from experiments.store import Store
from experiments.tasks import Task, run_missing
from ract.data.datasets import Dataset
from ract.evaluation.metrics import Sendable, sendable
from ract.recourse.result import Recourse

NAME = "sendable"
# Of the refused people of a fold, this many in either direction: 250 a cell with five folds.
MAX_PEOPLE = 25
LEAST_REFUSED, OTHERWISE = 0.1, 0.7
VALIDATION = 0.25
# Nodes end a search, so that no result depends on the machine; seconds what would never end.
LIMITS: dict[str, Any] = {"max_nodes": 2_000, "time_limit": 60.0}
SETTINGS = {
    "n_folds": N_FOLDS, "max_people": MAX_PEOPLE, "least_refused": LEAST_REFUSED,
    "otherwise": OTHERWISE, "max_nodes": LIMITS["max_nodes"],
}  # fmt: skip


def run_sendable(
    entries: Sequence[Entry],
    tables: Sequence[Table],
    out: str | Path,
    *,
    max_people: int = MAX_PEOPLE,
    **options: Any,
) -> Store:
    """Run the models on the folds that are not done; options as in ``run_missing``."""
    tasks = []
    for entry in entries:
        settings = {**SETTINGS, "max_people": max_people, **entry.settings()}
        run = partial(run_one, entry, max_people)
        tasks.append(Task(name_of(entry), settings, N_FOLDS, n_people, run, entry.name))
    return run_missing(tasks, tables, out, **options)


def name_of(entry: Entry) -> str:
    """Where the results of a model are kept: when its settings change, those of others stay."""
    return f"{NAME}-{entry.name}"


def run_one(entry: Entry, max_people: int, table: str, number: int) -> Mapping[str, pd.DataFrame]:
    """One model on one fold."""
    fold = fold_of(table, number)
    rows = pd.DataFrame(list(rows_of(fold, entry, approval_rate(table), max_people)))
    return {name_of(entry): rows}


def rows_of(fold: Fold, entry: Entry, rate: float, max_people: int) -> Iterator[dict[str, Any]]:
    """A row for each direction."""
    chosen = best_choice(fold, entry)
    fitted = [fit_half(fold, entry, k, chosen, rate) for k in (0, 1)]
    cut = [
        scored.cut(rate, fold.data.frame.iloc[fold.halves[1 - k]])
        for k, scored in enumerate(fitted)
    ]
    new = fold.data.frame.iloc[fold.test]
    for k in (0, 1):
        plain = plain_forest(fold.data.name, fold.number, k)
        plain = plain.cut(rate, fold.data.frame.iloc[fold.halves[1 - k]])
        planner = Planner(fold, entry, k, cut[k], plain.approves(new), max_people)
        plain_auc = _auc(fold.data, plain, fold.test)
        yield planner.row(cut[1 - k]) | {
            "Rate": rate, "Plain AUC": plain_auc,
            "Chosen": "; ".join(f"{name}={value}" for name, value in chosen.items()),
        }  # fmt: skip


@dataclass(frozen=True)
class Planner:
    """A model of one half that plans for refused test people.

    Parameters
    ----------
    fold : Fold
    entry : Entry
    half : int
        Which half it was fitted on.
    model : Scored
        Cut at the rate of the table.
    plain : bool (test people,)
        Whom the plain forest approves.
    max_people : int
    """

    fold: Fold
    entry: Entry
    half: int
    model: Scored
    plain: np.ndarray
    max_people: int

    def row(self, judge: Scored) -> dict[str, Any]:
        """What comes of plans, which a judge is asked about."""
        fold, data = self.fold, self.fold.data
        new, label = data.frame.iloc[fold.test], data.target.to_numpy()[fold.test]
        approved, wanted = self.model.approves(new), label == data.desired
        position = _evenly(np.flatnonzero(~approved), self.max_people)
        people = new.iloc[position]
        row: dict[str, Any] = {
            "Fold": fold.number, "Model": self.entry.name, "Direction": self.half,
            "AUC": self.model.auc(new, wanted),
            "Approved": float(approved.mean()), "Bad": _share(~wanted[approved]),
            "Plain bad": _share(~wanted[self.plain]), "Refused": len(people),
        }  # fmt: skip
        begun = process_time()
        plans = self.model.recourse(people, **LIMITS, explain=False, **self.entry.search)
        seconds = process_time() - begun
        sent = sendable(plans, others=judge.approves, reference=self._known)
        return row | _counts(sent, plans, ~self.plain[position]) | {
            "Search [ms]": 1000 * seconds / max(len(people), 1),
        }  # fmt: skip

    @property
    def _known(self) -> pd.DataFrame:
        return self.fold.data.frame.iloc[self.fold.halves[self.half]]


def _counts(sent: Sendable, plans: Recourse, plain_refused: np.ndarray) -> dict[str, Any]:
    """Counts of a row: people by check, of those with a plan, and what plans are like."""
    people = sent.people
    found = plans.found
    names = [axis.feature.name for axis in plans.encoder.axes]
    passing = plans.changed[people["sendable"].to_numpy(dtype=bool)]
    used = passing.any(axis=0) if len(passing) else np.zeros(len(names), bool)
    aside = people[["few", "safe", "size", "lasts"]].all(axis=1)
    return {
        "Plans": int(people["plan"].sum()),
        **{check: int(people[check].sum()) for check in ("few", "safe", "size", "round", "lasts")},
        "Sendable": int(people["sendable"].sum()), "Aside": int(aside.sum()),
        "Not proved": int((people["proof"] == "not proved").sum()),
        "Unknown": int((plans.status == "unknown").sum()),
        "Plain refused": int(plain_refused.sum()),
        "Plain sendable": int(people["sendable"].to_numpy(dtype=bool)[plain_refused].sum()),
        "Cost": float(plans.cost[found].mean()) if found.any() else np.nan,
        "Changes": float(plans.n_changes[found].mean()) if found.any() else np.nan,
        "Features": ";".join(np.array(names)[used]),
    }  # fmt: skip


def fit_half(
    fold: Fold, entry: Entry, half: int, chosen: Options, rate: float | None = None
) -> Scored:
    """A model of one half, with its score."""
    return _fit(fold, entry, fold.halves[half], chosen, rate)


def _fit(
    fold: Fold, entry: Entry, rows: np.ndarray, chosen: Options, rate: float | None = None
) -> Scored:
    data = fold.data
    known, target = data.frame.iloc[rows], data.target.to_numpy()[rows]
    fitted = entry.estimator(data, fold.number, chosen, rate).fit(known, target)
    space = entry.space(data)
    return Scored.of(fitted, known, space, data.desired, by_leaves=entry.by_leaves)


def best_choice(fold: Fold, entry: Entry) -> Options:
    """The choice of the highest AUC inside the first half."""
    if not entry.choices:
        return {}
    rows, data = fold.halves[0], fold.data
    fitting, held = train_test_split(
        rows, test_size=VALIDATION, stratify=data.target.iloc[rows], random_state=fold.number
    )

    def auc(choice: Options) -> float:
        return _auc(data, _fit(fold, entry, fitting, choice), held)

    return max(entry.choices, key=auc)


@lru_cache(maxsize=2)
def plain_forest(table: str, number: int, half: int) -> Scored:
    """The better of the two plain forests of a half, by the other half."""
    fold = fold_of(table, number)
    fitted = [fit_half(fold, entry, half, best_choice(fold, entry)) for entry in PLAIN]
    return max(fitted, key=lambda scored: _auc(fold.data, scored, fold.halves[1 - half]))


@lru_cache(maxsize=len(TABLES))
def approval_rate(table: str) -> float:
    """The rate at which every model of a table approves."""
    fold = fold_of(table, 1)
    approved = [
        plain_forest(table, 1, half).approves(fold.data.frame.iloc[fold.halves[1 - half]])
        for half in (0, 1)
    ]
    rate = float(np.concatenate(approved).mean())
    return round(rate, 3) if 1 - rate >= LEAST_REFUSED else OTHERWISE


@lru_cache(maxsize=len(TABLES))
def fold_of(table: str, number: int) -> Fold:
    """A fold of a table by its number."""
    data = dataset(table)
    return Fold.cut(data, number, *folds(data)[number - 1])


@lru_cache(maxsize=len(TABLES))
def dataset(table: str) -> Dataset:
    """A table, read once in each process, in columns whose names every library takes."""
    return without_colons(TABLES[table].dataset())


def n_people(table: str) -> int:
    """How many people a table has."""
    return len(dataset(table).frame)


def _auc(data: Dataset, scored: Scored, rows: np.ndarray) -> float:
    return scored.auc(data.frame.iloc[rows], (data.target == data.desired).to_numpy()[rows])


def _evenly(rows: np.ndarray, most: int) -> np.ndarray:
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int)]


def _share(flags: np.ndarray) -> float:
    return float(flags.mean()) if len(flags) else float("nan")
