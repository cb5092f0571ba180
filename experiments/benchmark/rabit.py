"""Beside RABIT (Kanamori et al., NeurIPS 2025): boosted trees by its protocol, and by ours.

Its protocol: random stratified splits, a quarter of the people for testing, kernel percentile cost,
budget 0.2, recourse as the share of test people who are accepted or have a plan. In three of its
tables most test rows also stand in training, so that the same is asked again on *unseen* rows:
repeats are dropped, and test people whose features stand in training are left out.

Plans are found one leaf at a time, which is the kind of search that its results were recorded with
(it looks at 1000 leaves, this at all), and exactly. Lasting recourse: plans of a model of
one half of the training people that the model of the other half accepts; the cheapest plan of each
person, and the strongest within the budget.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from experiments.benchmark.models import MODELS, Model
from experiments.benchmark.tuning import described, tuned
from experiments.data import DataSetting
from experiments.store import Store
from experiments.tasks import Task, run_missing
from ract._utils.errors import InvalidSpec
from ract.data.actions import ActionSpace
from ract.data.datasets import Dataset, DataUnavailable
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse

SEEN, UNSEEN = "rabit", "rabit-unseen"
N_SPLITS, TEST_SIZE, BUDGET, COST = 10, 0.25, 0.2, "kernel-percentile"
# Of the refused people of a split, this many, evenly spread; and so long a search for each.
MAX_PEOPLE, SECONDS = 100, 1.0
SETTINGS = {
    "n_splits": N_SPLITS, "test_size": TEST_SIZE, "budget": BUDGET, "cost": COST,
    "max_people": MAX_PEOPLE, "seconds": SECONDS,
}  # fmt: skip

OURS = "ract.models.boosting:RecourseBoostingClassifier"
ALONE = "experiments.benchmark.single_booster:SingleBooster"
BOOSTERS = {
    model.name: model
    for model in (
        MODELS["lightgbm"],
        replace(MODELS["lightgbm"], name="lightgbm-tuned", title="LightGBM, tuned"),
        Model("ract-boosting", "ract boosting", OURS, {"budget": BUDGET, "cost": COST}, ours=True),
        Model(
            "ract-boosting-tuned", "ract boosting, single, tuned", ALONE,
            {"budget": BUDGET, "cost": COST, "n_replicates": 0}, ours=True,
        ),
    )
}  # fmt: skip
# Those whose settings are chosen on validation people of each split.
TUNED = ("lightgbm-tuned", "ract-boosting-tuned")


@dataclass(frozen=True)
class RabitTable(DataSetting):
    """A table of RABIT with its rules for features."""

    target: str = ""
    desired: str = ""
    fixed: tuple[str, ...] = ()
    increase: tuple[str, ...] = ()


def _table(name: str, title: str, *given: Any) -> RabitTable:
    return RabitTable(name, title, "", (), 0.0, 0.0, 0.0, *given)


TABLES = {
    table.name: table
    for table in (
        _table("fico", "FICO", "RiskPerformance", "Good", (
            "ExternalRiskEstimate", "MSinceOldestTradeOpen", "MSinceMostRecentTradeOpen",
            "AverageMInFile", "NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec",
            "NumTotalTrades", "NumTradesOpeninLast12M",
        )),
        _table("compas", "COMPAS", "two_year_recid", "No", ("race", "sex"), ("age",)),
        _table("adult", "Adult", "income", ">50K", (
            "marital-status", "race", "gender", "native-country",
        ), ("age",)),
        _table("bail", "Bail", "Recidivate", "No", (
            "White", "Super", "Married", "Felon", "Propty", "Person", "Male", "Tservd", "Follow",
        ), ("Age",)),
        _table("credit", "Credit", "DefaultNextMonth", "No", (
            "Married", "Single", "TotalOverdueCounts", "TotalMonthsOverdue",
        ), ("Age",)),
    )
}  # fmt: skip


def beside_rabit(
    models: Sequence[Model], data: Sequence[DataSetting], out: str | Path, **options: Any
) -> Store:
    """Run the models on the splits that are not done; options as in ``run_missing``."""
    for model in models:
        model.check()
    tasks = [
        Task(name, SETTINGS, N_SPLITS, n_people, partial(run_one, model, name), model.name)
        for model in models
        for name in (SEEN, UNSEEN)
    ]
    return run_missing(tasks, data, out, **options)


@lru_cache(maxsize=len(TABLES))
def read(name: str) -> Dataset:
    """A table of RABIT from the folder ``rabit`` in RACT_DATA_HOME, text as categories."""
    table, folder = TABLES[name], Path(os.environ.get("RACT_DATA_HOME", ".")).expanduser() / "rabit"
    file = folder / f"{name}.csv"
    if not file.exists():
        raise DataUnavailable(
            f"There is no {file}; put the tables of the repository kelicht/rabit (its folder "
            "rabit/datasets) into the folder rabit of the one that RACT_DATA_HOME names."
        )
    rows = pd.read_csv(file)
    target = rows.pop(table.target)
    actions = ActionSpace.infer(
        rows, fixed=table.fixed, increase=table.increase, desired=table.desired, limits=None
    )
    for column in rows.select_dtypes(exclude="number"):
        rows[column] = rows[column].astype("category")
    return Dataset(name, rows, target, table.desired, actions, f"{table.title}, as RABIT has it.")


def n_people(name: str) -> int:
    """How many people a table has."""
    return len(read(name).frame)


def split_of(name: str, protocol: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the training and the test people of a split."""
    data = read(name)
    rows = np.arange(len(data.frame))
    groups = data.frame.groupby(list(data.frame.columns), sort=False, observed=True)
    same = groups.ngroup().to_numpy()
    if protocol == UNSEEN:
        twice = pd.DataFrame({"features": same, "target": data.target.to_numpy()}).duplicated()
        rows = rows[~twice.to_numpy()]
    train, test = train_test_split(
        rows, test_size=TEST_SIZE, stratify=data.target.iloc[rows], random_state=number - 1
    )
    if protocol == UNSEEN:
        test = test[~np.isin(same[test], same[train])]
    return train, test


def run_one(model: Model, protocol: str, data: str, number: int) -> Mapping[str, pd.DataFrame]:
    """One model on one split."""
    train, test = split_of(data, protocol, number)
    row: dict[str, Any] = {"Fold": number, "Model": model.name}
    if model.name in TUNED:
        model = tuned(model, read(data), train, number)
        row["Settings"] = described(model)
    row |= evaluate(model, read(data), train, test, number)
    return {protocol: pd.DataFrame([row])}


def evaluate(
    model: Model, data: Dataset, train: np.ndarray, test: np.ndarray, number: int
) -> dict[str, Any]:
    """How well a model of the training people does, and how much recourse test people have."""

    def fitted(rows: np.ndarray) -> Any:
        learner = model.estimator(data, random_state=number)
        return learner.fit(data.frame.iloc[rows], data.target.to_numpy()[rows])

    begun = process_time()
    whole = fitted(train)
    seconds, new = process_time() - begun, data.frame.iloc[test]
    wanted = data.target.to_numpy()[test] == data.desired
    accepted = whole.predict(new) == data.desired
    share = whole.predict_proba(new)[:, list(whole.classes_).index(data.desired)]
    deciding = toward(whole, new) if model.ours else share
    found = {
        method: plans_of(model, data, whole, train, test, method=method)
        for method in ("leaves", "exact")
    }
    order = np.random.default_rng(number).permutation(train)
    planner, judge = (fitted(half) for half in np.array_split(order, 2))
    known = order[: (len(order) + 1) // 2]

    def lasting(**options: Any) -> float:
        plans = plans_of(model, data, planner, known, test, **options)
        after = plans.encoder.decode(plans.after, like=plans.people)
        return float((plans.found & (judge.predict(after) == data.desired)).mean())

    refused = 1 - accepted.mean()
    return {
        "AUC": float(roc_auc_score(wanted, share)),
        "AUC, deciding": float(roc_auc_score(wanted, deciding)),
        "Accuracy": float((accepted == wanted).mean()), "Accepted": float(accepted.mean()),
        "People": len(found["exact"]),
        "By leaves": float(accepted.mean() + refused * found["leaves"].found.mean()),
        "Exact": float(accepted.mean() + refused * found["exact"].found.mean()),
        "Unknown": float((found["exact"].status == "unknown").mean()),
        "Lasting": lasting(), "Lasting, strongest": lasting(strength="most"), "Fit [s]": seconds,
    }  # fmt: skip


def plans_of(
    model: Model, data: Dataset, fitted: Any, known: np.ndarray, test: np.ndarray, **options: Any
) -> Recourse:
    """Plans of some refused test people, by costs that are learned from the model's people."""
    new = data.frame.iloc[test]
    refused = new[fitted.predict(new) != data.desired]
    some = np.linspace(0, len(refused) - 1, min(MAX_PEOPLE, len(refused))).astype(int)
    given: dict[str, Any] = {} if model.ours else {"actions": data.actions, "desired": data.desired}
    return find_recourse(
        fitted, refused.iloc[some], reference=data.frame.iloc[known], cost=COST, budget=BUDGET,
        explain=False, time_limit=SECONDS, **given, **options,
    )  # fmt: skip


def recorded(folder: str | Path) -> pd.DataFrame:
    """Means of RABIT's recorded results (``results_comparison.csv`` of its repository)."""
    file = Path(folder) / "results_comparison.csv"
    if not file.exists():
        raise InvalidSpec(f"There are no results that RABIT's authors recorded at {file}.")
    rows = pd.read_csv(file)
    columns = ["accuracy", "AUC", "recourse", "time"]
    return rows.groupby(["dataset", "method", "gamma"])[columns].mean().reset_index()


def toward(model: Any, people: Any) -> np.ndarray:
    """The score that decides, larger for the desired class."""
    ahead: np.ndarray = model.decision_function(people)
    return ahead if model.classes_[1] == model.desired_ else -ahead
