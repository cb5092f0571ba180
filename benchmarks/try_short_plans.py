"""Can training make short plans last? Refitting with people who carried out their short plans.

    python benchmarks/try_short_plans.py [fico compas] [--splits 2]

A forest is fitted; some refused training people get the strongest plan of at most three changes,
and are added to the training people as they would be after it, with the desired class and a weight;
the forest is fitted again. One or two rounds. Plans of the forest of one half of the people are put
to the forest of the other half, which was fitted in the same way. The splits are those of
``choose_defaults.py``, not the benchmark's.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from choose_defaults import split_of
from sklearn.metrics import roc_auc_score

from experiments.benchmark.run import BUDGET, dataset
from ract import RecourseForestClassifier, find_recourse

N_ADDED, N_PEOPLE, CHANGES, SECONDS = 300, 60, 3, 1.0
# Weight of recourse, rounds, weight of an added row.
SETTINGS = ((0.1, 0, 0.0), (0.3, 0, 0.0), (0.1, 1, 0.3), (0.1, 1, 1.0), (0.1, 2, 1.0))


def spread_over(rows, n):
    """At most n of some rows, evenly."""
    return rows[np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(int)] if len(rows) else rows


def fitted(data, rows, recourse_weight, n_rounds, weight, seed):
    """A forest, refitted with people after their short plans."""
    X, y, w = data.frame.iloc[rows], data.target.to_numpy()[rows], np.ones(len(rows))

    def fit(X, y, w):
        forest = RecourseForestClassifier(
            data.actions, desired=data.desired, recourse_weight=recourse_weight, random_state=seed
        )
        return forest.fit(X, y, sample_weight=w)

    model, people = fit(X, y, w), X
    for _ in range(n_rounds):
        refused = spread_over(np.flatnonzero(model.predict(people) != data.desired), N_ADDED)
        plans = find_recourse(
            model, people.iloc[refused], strength="most", max_changes=CHANGES, budget=BUDGET,
            explain=False, time_limit=SECONDS,
        )  # fmt: skip
        after = plans.counterfactuals[plans.found]
        X = pd.concat([X, after], ignore_index=True)
        y = np.append(y, np.full(len(after), data.desired))
        w = np.append(w, np.full(len(after), weight))
        model = fit(X, y, w)
    return model


def measure(name, split):
    """One row per setting."""
    data, (first, second, test) = dataset(name), split_of(name, split)
    table, wanted = data.frame.iloc[test], data.target.to_numpy()[test] == data.desired
    for recourse_weight, n_rounds, weight in SETTINGS:
        model, judge = (
            fitted(data, rows, recourse_weight, n_rounds, weight, seed)
            for seed, rows in enumerate((first, second))
        )  # fmt: skip
        accepted = model.predict(table) == data.desired
        share = model.predict_proba(table)[:, list(model.classes_).index(data.desired)]
        row = {
            "data": name, "split": split, "recourse weight": recourse_weight, "rounds": n_rounds,
            "weight": weight,
            "AUC": roc_auc_score(wanted, share), "accuracy": (accepted == wanted).mean(),
            "accepted": accepted.mean(),
        }  # fmt: skip
        people = table.iloc[spread_over(np.flatnonzero(~accepted), N_PEOPLE)]
        for strength in (0.7, 0.8, "most"):
            plans = find_recourse(
                model, people, strength=strength, max_changes=CHANGES, budget=BUDGET,
                explain=False, time_limit=SECONDS,
            )  # fmt: skip
            lasts = (judge.predict(plans.counterfactuals) == data.desired) & plans.found
            row |= {f"plans, {strength}": plans.found.mean(), f"last, {strength}": lasts.mean()}
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["fico", "compas"])
    parser.add_argument("--splits", type=int, default=2)
    given = parser.parse_args()
    rows = []
    for name in given.data:
        for split in range(given.splits):
            for row in measure(name, split):
                rows.append(row)
                print(*(v if isinstance(v, str) else f"{v:.3f}" for v in row.values()), flush=True)
    means = (
        pd.DataFrame(rows)
        .drop(columns="split")
        .groupby(["data", "recourse weight", "rounds", "weight"])
        .mean()
    )
    print(means.round(3).to_string())


if __name__ == "__main__":
    main()
