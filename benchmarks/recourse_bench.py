"""ract as a method of RecourseBench, and its measures for a random forest of 100 trees.

    python benchmarks/recourse_bench.py [--tables adult compas credit] [--people 50]

``Ract`` follows the interface of a method there (charmlab/recourse_benchmarks, ``RecourseMethod``):
it is made from a model with ``raw_model``, ``data`` and ``feature_input_order``, is given factuals
that are encoded and normalised, and gives back counterfactuals in the same columns, NaN where there
are none. The package itself is not needed: ``Wrapped`` stands for its models here, tables are
scaled to 0..1 and encoded one-hot, and features that our data sets fix are its immutables. Measures
are worked out anew from its definitions: l2 is the sum of squares, a violation is an immutable
feature that changes, and seconds are those of all people together. l1 is what is minimised.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ract import ActionSpace, find_recourse
from ract.data import datasets


class Ract:
    """Cheapest plans by the sum of changes, within what is not immutable.

    Parameters
    ----------
    mlmodel : model of RecourseBench
        Whose ``raw_model`` is a tree, forest or boosted model that ract reads.
    hyperparams : dict, optional
        ``cost`` and ``time_limit``, as in ``ract.find_recourse``.
    """

    def __init__(self, mlmodel: Any, hyperparams: dict[str, Any] | None = None) -> None:
        self._mlmodel = mlmodel
        self._asked = {"cost": "l1", "time_limit": 10.0, "n_jobs": 1} | (hyperparams or {})
        self._reference = mlmodel.get_ordered_features(mlmodel.data.df)
        barred = tuple(mlmodel.data.immutables)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names such as age: the data say what is immutable
            space = ActionSpace.infer(self._reference, limits=None)
        self._space = space.with_features(
            replace(feature, change="fixed" if self._is_barred(feature, barred) else "any")
            for feature in space
        )

    @staticmethod
    def _is_barred(feature: Any, barred: tuple[str, ...]) -> bool:
        columns = feature.columns or (feature.name,)
        return any(name == own or name.startswith(f"{own}_") for name in columns for own in barred)

    def get_counterfactuals(self, factuals: pd.DataFrame) -> pd.DataFrame:
        """Counterfactuals in the order of the model's features; NaN where there are none."""
        people = self._mlmodel.get_ordered_features(factuals)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_recourse(
                self._mlmodel.raw_model, people, actions=self._space, desired=1, explain=False,
                reference=self._reference, **self._asked,
            )  # fmt: skip
        has_one = pd.Series(found.found, index=people.index)
        return found.counterfactuals.where(has_one, np.nan, axis=0)


@dataclass
class Wrapped:
    """What a method sees of a model there."""

    raw_model: Any
    data: Any
    feature_input_order: list[str]

    def get_ordered_features(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame[self.feature_input_order]


def wrapped(table: str, n_people: int) -> tuple[Wrapped, pd.DataFrame]:
    """A forest on an encoded, normalised table, and people whom it refuses."""
    data = getattr(datasets, f"fetch_{table}")()
    kinds = {feature.name: feature for feature in data.actions}
    groups = {c for f in data.actions for c in f.columns}
    words = [c for c in data.frame if c not in groups and kinds[c].is_categorical]
    frame = pd.get_dummies(data.frame, columns=words, dtype=float).astype(float)
    frame = (frame - frame.min()) / (frame.max() - frame.min()).replace(0, 1)
    y = (data.target.to_numpy() == data.desired).astype(int)
    train, test, y_train, _ = train_test_split(frame, y, test_size=0.2, random_state=0)
    forest = RandomForestClassifier(100, random_state=0).fit(train, y_train)
    fixed = [f for f in data.actions if not f.actionable]
    barred = [c for f in fixed for c in (f.columns or (f.name,))]
    seen = SimpleNamespace(df=train, immutables=barred)
    refused = test[forest.predict(test) == 0].head(n_people)
    return Wrapped(forest, seen, list(frame.columns)), refused


def measures(model: Wrapped, before: pd.DataFrame, after: pd.DataFrame) -> dict[str, float]:
    """Means over people, by the definitions of RecourseBench."""
    found = after.notna().all(axis=1)
    after, before = after[found], before[found]
    delta = (after - before).to_numpy()
    names = after.columns
    barred = [
        any(c == own or c.startswith(f"{own}_") for own in model.data.immutables) for c in names
    ]
    valid = model.raw_model.predict(after) == 1 if len(after) else np.zeros(0)
    return {
        "validity": float(valid.sum() / len(found)),
        "l0": float((~np.isclose(delta, 0, atol=1e-5)).sum(axis=1).mean()),
        "l1": float(np.abs(delta).sum(axis=1).mean()),
        "l2": float((delta**2).sum(axis=1).mean()),
        "linf": float(np.abs(delta).max(axis=1).mean()),
        "violations": float((~np.isclose(delta[:, barred], 0)).sum(axis=1).mean()),
    }


def main() -> None:
    """Print a line per table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=["adult", "compas", "credit"])
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    print(f"{'':8} people validity     l0     l1     l2   linf violations  clock s  CPU s")
    for table in asked.tables:
        model, people = wrapped(table, asked.people)
        method = Ract(model, {"time_limit": asked.seconds})
        method.get_counterfactuals(people.head(1))  # compiled before
        clock, cpu = time.perf_counter(), time.process_time()
        after = method.get_counterfactuals(people)
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        found = measures(model, people, after)
        numbers = " ".join(f"{found[name]:6.3f}" for name in ("l0", "l1", "l2", "linf"))
        print(
            f"{table:8} {len(people):6} {found['validity']:8.2f} {numbers} "
            f"{found['violations']:10.2f} {clock:8.1f} {cpu:6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
