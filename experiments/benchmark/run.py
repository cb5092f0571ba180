"""The honest benchmark: what a user would deploy, and how much recourse of it lasts.

Repeated rows are dropped, folds are shuffled, and people with the same features stay in one fold,
so that nobody is tested on a person seen in training. The training people of a fold are cut into
two halves; plans are found on a model of one half and put to the same learner's model of the other,
and the other way round, for refused test people, who are in neither:

    fold      |------- half A -------|------- half B -------|--- test ---|
    there              plans                  judge           people
    back               judge                  plans           people

One-hot groups change as a whole. The search is exact. The same cost (the share of people whom one
has to overtake, at most, in any feature) and budget hold for every model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from experiments.benchmark.models import Model
from experiments.data import DATA, DataSetting, load
from experiments.store import Store
from experiments.tasks import Task, run_missing
from ract._utils.errors import InvalidSpec
from ract.data.actions import ActionSpace
from ract.data.datasets import Dataset
from ract.models.judge import OutcomeJudge
from ract.recourse.calibration import calibrate
from ract.recourse.find import Inquiry, inquire
from ract.recourse.replicates import AtStrengths
from ract.recourse.result import Recourse

NAME, LASTING, CALIBRATED = "benchmark", "lasting", "calibrated"
N_FOLDS = 5
BUDGET = 0.3
# Of the refused people of a fold, this many in either direction, evenly spread.
MAX_PEOPLE = 25
# With both directions of five folds that makes 250 people a cell: a share of .9 is known to .02.
# How hard plans are searched for: by nodes, so that no result depends on the machine. Seconds only
# end what would never end. Forests that vote need some 100 nodes for their strongest plan; those
# that average, and boosted trees, often 10 000 and more for the proof that none is stronger. What
# was found by then counts as a plan.
MAX_NODES = 1_000
LIMITS: dict[str, Any] = {"max_nodes": MAX_NODES, "time_limit": 60.0}
# What plans must win (0: what the decision needs), and how many changes they may have (0: any).
STRENGTHS, CHANGES = (0.0, 0.6, 0.7, 0.8, 0.9), (0, 3)
# For the calibrated strength: what is promised, and how many refused people are asked.
PROMISE, N_ASKED = 0.9, 300
# The share by which people do more than their plan asks.
MORE = 0.05
COLUMNS = [
    "Fold", "Model", "Direction", "Strength", "Changes", "Needed", "Refused", "Plans", "Unknown",
    "Lasting", "More", "Cost", "Search [s]", "Promised", "Kept", "Earned",
]  # fmt: skip
SETTINGS = {
    "n_folds": N_FOLDS, "budget": BUDGET, "max_people": MAX_PEOPLE, "max_nodes": MAX_NODES,
    "strengths": list(STRENGTHS), "changes": list(CHANGES), "promise": PROMISE,
    "n_asked": N_ASKED, "more": MORE,
}  # fmt: skip


def benchmark(
    models: Sequence[Model], data: Sequence[DataSetting], out: str | Path, **options: Any
) -> Store:
    """Run the models on the folds that are not done; options as in ``run_missing``."""
    for model in models:
        model.check()
    tasks = [
        Task(NAME, SETTINGS, N_FOLDS, n_people, partial(run_one, model), model.name)
        for model in models
    ]
    return run_missing(tasks, data, out, **options)


def run_one(model: Model, data: str, number: int) -> Mapping[str, pd.DataFrame]:
    """One model on one fold."""
    fold = Fold.of(data, number)
    row, lasting = evaluate(fold, model)
    return {NAME: pd.DataFrame([row]), LASTING: pd.DataFrame(lasting, columns=COLUMNS)}


@dataclass(frozen=True)
class Fold:
    """One fold of a data set: rows of its two halves of training people and of its test people."""

    data: Dataset
    number: int
    halves: tuple[np.ndarray, np.ndarray]
    test: np.ndarray

    @classmethod
    def of(cls, data: str, number: int) -> Fold:
        """A fold by its number; people with the same features stay in one half."""
        train, test = folds_of(data)[number - 1]
        return cls.cut(dataset(data), number, train, test)

    @classmethod
    def cut(cls, data: Dataset, number: int, train: np.ndarray, test: np.ndarray) -> Fold:
        """Cut training people into halves."""
        known = data.frame.iloc[train]
        same = known.groupby(list(known.columns), sort=False, dropna=False).ngroup().to_numpy()
        splitter = StratifiedGroupKFold(2, shuffle=True, random_state=number)
        first, second = next(splitter.split(known, data.target.iloc[train], same))
        return cls(data, number, (train[first], train[second]), test)

    @property
    def train(self) -> np.ndarray:
        """Both halves."""
        return np.concatenate(self.halves)

    def fitted(self, model: Model, rows: np.ndarray) -> Any:
        """A model of some people."""
        data = self.data
        labels = model.labels(data, data.target.to_numpy()[rows])
        learner = model.estimator(data, random_state=self.number)
        return learner.fit(data.frame.iloc[rows], labels)


def evaluate(fold: Fold, model: Model) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A row on the model of all training people, and rows on how long plans last."""
    data, new = fold.data, fold.data.frame.iloc[fold.test]
    begun = process_time()
    whole = fold.fitted(model, fold.train)
    fit_time = process_time() - begun
    label, desired = data.target.to_numpy()[fold.test] == data.desired, model.desired(data)
    score = whole.predict_proba(new)[:, list(whole.classes_).index(desired)]
    accepted = whole.predict(new) == desired
    row = {
        "Fold": fold.number, "Model": model.name,
        "Accuracy": float((accepted == label).mean()), "AUC": float(roc_auc_score(label, score)),
        "Accepted": float(accepted.mean()), "Fit [s]": fit_time, "Bootstrap": np.nan,
    }  # fmt: skip
    rng = np.random.default_rng(fold.number)
    again = fold.fitted(model, rng.choice(fold.train, len(fold.train)))
    if len(_refused(fold, whole, desired)):
        plans = _inquiry(fold, model, whole, fold.train).answered()
        row["Bootstrap"] = float(_accepted(again, plans, desired).mean())
    halves = [fold.fitted(model, half) for half in fold.halves]
    rows = [
        {"Fold": fold.number, "Model": model.name, "Direction": k} | found
        for k in (0, 1)
        if len(_refused(fold, halves[k], desired))
        for found in directed(fold, model, halves[k], halves[1 - k], fold.halves[k])
    ]
    return row, rows


def directed(
    fold: Fold, model: Model, planner: Any, judge: Any, half: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Rows of one direction: plans of a planner of one half, put to a judge of the other."""
    desired = model.desired(fold.data)

    def measured(name: str, changes: int, find: Callable[[], Recourse]) -> dict[str, Any]:
        begun = process_time()
        plans = find()
        seconds, found = process_time() - begun, plans.found
        lasts = _accepted(judge, plans, desired)
        return {
            "Strength": name, "Changes": changes, "Refused": len(plans),
            "Plans": int(found.sum()), "Unknown": int((plans.status == "unknown").sum()),
            "Lasting": int(lasts.sum()),
            "More": int(_accepted(planner, plans, desired, more=MORE).sum()),
            "Cost": float(plans.cost[found].mean()) if found.any() else np.nan,
            "Search [s]": seconds, "lasts": lasts, "plans": plans,
        }  # fmt: skip

    if model.method is not None:
        yield from _by_method(fold, model, planner, half, measured)
        return
    needed = _needed(fold, model, half)

    for changes in CHANGES:
        plans_of = AtStrengths(_inquiry(fold, model, planner, half, changes))

        def at(
            strength: Any, changes: int = changes, plans_of: AtStrengths = plans_of
        ) -> dict[str, Any]:
            name = strength if isinstance(strength, str) else f"{strength:g}"
            return measured(name, changes, partial(plans_of.at, strength))

        for strength in STRENGTHS:
            yield _written(at(strength))
        most = given = at("most")
        yield _written(most)
        promised = {"Promised": 0, "Kept": 0}
        if needed is not None:
            given = at(needed)
            promised = {"Promised": given["Plans"], "Kept": given["Lasting"]}
        earned = float("nan") if changes else _earned(fold, half, given["plans"])
        row = given if needed is None else _with_fallback(given, most)
        yield _written(row) | promised | {
            "Strength": CALIBRATED, "Needed": needed, "Earned": earned,
        }  # fmt: skip


def _by_method(
    fold: Fold,
    model: Model,
    planner: Any,
    half: np.ndarray,
    measured: Callable[[str, int, Callable[[], Recourse]], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Rows of a published method: its settings, and the published one in the calibrated place."""
    assert model.method is not None
    data, desired = fold.data, model.desired(fold.data)
    for changes in CHANGES:
        method = model.method(
            planner, _refused(fold, planner, desired), actions=data.actions,
            reference=data.frame.iloc[half], desired=desired, budget=BUDGET,
            max_changes=changes or None, **LIMITS,
        )  # fmt: skip
        yield _written(measured("0", changes, method.cheapest))
        for setting in method.settings:
            find = partial(method.plans, setting)
            yield _written(measured(f"setting {setting:g}", changes, find))
        row = measured(CALIBRATED, changes, method.plans)
        earned = float("nan") if changes else _earned(fold, half, row["plans"])
        yield _written(row) | {"Promised": 0, "Kept": 0, "Earned": earned}


def _needed(fold: Fold, model: Model, half: np.ndarray) -> float | None:
    """The strength for the promise, found on the planner's own half."""
    data = fold.data
    given: dict[str, Any] = {} if model.ours else {"actions": data.actions}
    curve = calibrate(
        model.estimator(data, random_state=fold.number), data.frame.iloc[half],
        model.labels(data, data.target.to_numpy()[half]), n_refused=N_ASKED,
        lasting=PROMISE, random_state=fold.number, desired=model.desired(data), budget=BUDGET,
        rule="strength", **LIMITS, **given,
    )  # fmt: skip
    return curve.strength_for(PROMISE)


def _written(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("lasts", "plans")}


def _with_fallback(row: dict[str, Any], most: dict[str, Any]) -> dict[str, Any]:
    """The same, with the strongest plan for those who have none."""
    found, strongest = row["plans"].found, most["plans"].found
    lasts = np.where(found, row["lasts"], most["lasts"])
    cost = np.where(found, row["plans"].cost, most["plans"].cost)[found | strongest]
    return row | {
        "Plans": int((found | strongest).sum()), "Lasting": int(lasts.sum()),
        "Unknown": int(((row["plans"].status == "unknown") & ~strongest).sum()),
        "Cost": float(cost.mean()) if len(cost) else np.nan,
    }  # fmt: skip


def _refused(fold: Fold, fitted: Any, desired: Any) -> pd.DataFrame:
    """Some of the test people whom a model refuses."""
    new = fold.data.frame.iloc[fold.test]
    refused = new[fitted.predict(new) != desired]
    some = np.linspace(0, len(refused) - 1, min(MAX_PEOPLE, len(refused))).astype(int)
    return refused.iloc[some]


def _inquiry(fold: Fold, model: Model, fitted: Any, known: np.ndarray, changes: int = 0) -> Inquiry:
    """The question of refused test people, with costs that are learned from the planner's own."""
    data, desired = fold.data, model.desired(fold.data)
    given: dict[str, Any] = {} if model.ours else {"actions": data.actions, "desired": desired}
    return inquire(
        fitted, _refused(fold, fitted, desired), reference=data.frame.iloc[known],
        cost="percentile", budget=BUDGET, max_changes=changes or None, explain=False,
        **LIMITS, **given,
    )  # fmt: skip


def _accepted(judge: Any, plans: Recourse, desired: Any, *, more: float = 0.0) -> np.ndarray:
    """Whom a model accepts after their plans, or after doing more than they ask."""
    after = plans.after.copy()
    for axis in plans.encoder.axes if more else ():
        if axis.feature.kind not in ("continuous", "integer"):
            continue
        j = axis.columns[0]
        moved = after[:, j] != plans.before[:, j]
        step = more * np.abs(after[:, j])
        if axis.feature.kind == "integer":
            step = np.ceil(step)
        further = after[:, j] + np.sign(after[:, j] - plans.before[:, j]) * step
        after[moved, j] = np.clip(further, *axis.feature.bounds)[moved]
    table = plans.encoder.decode(after, like=plans.people)
    return np.asarray((judge.predict(table) == desired) & plans.found)


def _earned(fold: Fold, half: np.ndarray, plans: Recourse) -> float:
    """How many plans are earned, by a judge of outcomes of the same half; NaN where it has none."""
    if plans.desired != fold.data.desired:
        return float("nan")
    judge = _judge(fold.data.name, fold.number, bool(half[0] == fold.halves[0][0]))
    try:
        verdict = judge.judged(plans).frame["verdict"].to_numpy()
    except InvalidSpec:  # too few people are accepted to say what those at the margin are like
        return float("nan")
    return int((verdict == "earned").sum())


@lru_cache(maxsize=2)
def _judge(data: str, number: int, first: bool) -> OutcomeJudge:
    """The judge of one half, fitted once for all models."""
    fold = Fold.of(data, number)
    rows = fold.halves[0 if first else 1]
    judge = OutcomeJudge(fold.data.actions, n_splits=4, random_state=number)
    return judge.fit(fold.data.frame.iloc[rows], fold.data.target.to_numpy()[rows])


def folds(data: Dataset) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test people of each fold, as positions.

    Of COMPAS, a third of the distinct rows have a twin with the same features and the other label.
    Were the two in different folds, a model would be taught the wrong answer to its test: a forest
    with leaves of one person then has an AUC below one half.
    """
    same = (
        data.frame.groupby(list(data.frame.columns), sort=False, dropna=False).ngroup().to_numpy()
    )
    splitter = StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=0)
    return list(splitter.split(data.frame, data.target, same))


@lru_cache(maxsize=len(DATA))
def dataset(data: str) -> Dataset:
    """A data set without repeated rows, read once in each process."""
    return replace(without_colons(load(data, drop_duplicates=True)), name=data)


@lru_cache(maxsize=len(DATA))
def folds_of(data: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a data set, made once in each process."""
    return folds(dataset(data))


def n_people(data: str) -> int:
    """How many people a data set has."""
    return len(dataset(data).frame)


def without_colons(data: Dataset) -> Dataset:
    """The same people in columns whose names LightGBM takes."""

    def plain(name: str) -> str:
        return name.replace(":", " ")

    features = [
        replace(f, name=plain(f.name), columns=tuple(map(plain, f.columns))) for f in data.actions
    ]
    actions = ActionSpace(features, data.actions.desired, limits=None)
    return replace(data, frame=data.frame.rename(columns=plain), actions=actions)
