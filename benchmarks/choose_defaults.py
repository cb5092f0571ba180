"""Which leaf size, weight and floor forests should have by default, judged by lasting recourse.

    python benchmarks/choose_defaults.py [fico compas credit bail] --output results/defaults
        [--splits 2] [--leaves 20 50 5] [--weights 0 0.1 0.3] [--floors 0 0.4 0.5] [--people 60]
        [--small N] [--only-read]

Of each split a fifth of the people are for testing, the rest are halved. Plans of some strength
are searched for on the forest of one half; a plan lasts if the forest of the other half accepts it
too. Lasting recourse is the share of refused test people with such a plan within the budget.
Repeated rows are dropped and people with the same features stay together, as in the benchmark,
but the splits are not those that it reports. ``--small`` gives each half that many people only,
for what small tables need; give it a folder of its own.

Rows are appended to a file for each data set as they come, and those that are there are not made
again; `python -m experiments.reproduce --report` shows them. Then
every data set gets the setting that is best on the others: the most lasting recourse, at the best
strength of each, among settings that lose at most ``--max-auc-loss`` of AUC.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import replace
from functools import cache
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from experiments.benchmark.run import BUDGET, dataset
from experiments.data import DATA
from ract import RecourseForestClassifier
from ract._utils.status import Status
from ract.recourse.exact.search import ExactSearch

SEED = 16  # of the splits; the benchmark's folds have seed 0
TIME_LIMIT = 1.0  # seconds of a person's search
STRENGTHS = (0.6, 0.7, 0.8, 0.9)
SETTING = ["min_samples_leaf", "recourse_weight", "min_leaf_share"]
TASK = ["data", "split", "people", *SETTING]


def grid(leaves, weights, floors):
    """Settings to compare. Without a weight labels follow majorities: a floor to 0.5 is idle."""
    for setting in itertools.product(leaves, weights, floors):
        if setting[1] > 0 or setting[2] == 0 or setting[2] > 0.5:
            yield dict(zip(SETTING, setting, strict=True))


@cache
def split_of(name, number):
    """Rows of one half, of the other half, and for testing."""
    data = dataset(name)
    same = data.frame.groupby(list(data.frame.columns), sort=False).ngroup().to_numpy()
    target = data.target.to_numpy()

    def parts(n, rows, seed):
        splitter = StratifiedGroupKFold(n, shuffle=True, random_state=seed)
        return [rows[part] for _, part in splitter.split(rows, target[rows], same[rows])]

    fifths = parts(5, np.arange(len(target)), SEED + number // 5)
    test = fifths.pop(number % 5)
    return *parts(2, np.sort(np.concatenate(fifths)), SEED), test


def measure(name, number, n_people, setting, small=None):
    """A row of results for each strength. small: how many people each half has, instead of all."""
    data, (*halves, test) = dataset(name), split_of(name, number)
    if small is not None:
        halves = [np.random.default_rng(number).permutation(rows)[:small] for rows in halves]
    model, judge = (
        RecourseForestClassifier(
            data.actions, desired=data.desired, random_state=number, **setting
        ).fit(data.frame.iloc[rows], data.target.iloc[rows])
        for rows in halves
    )
    assert model.encoder_.column_names == judge.encoder_.column_names
    table, wanted = data.frame.iloc[test], data.target.to_numpy()[test] == data.desired
    people = model.encoder_.matrix(table)
    accepted = model.ensemble_.decide(people)
    share = model.predict_proba(table)[:, list(model.classes_).index(data.desired)]
    quality = {
        "auc": roc_auc_score(wanted, share),
        "accuracy": (accepted == wanted).mean(),
        "accepted": accepted.mean(),
    }
    refused = people[~accepted]
    asked = refused[np.linspace(0, len(refused) - 1, min(n_people, len(refused))).astype(int)]
    n_asked = len(asked)
    for strength in STRENGTHS:
        stronger = replace(model.ensemble_, cutoff=ceil(strength * model.ensemble_.n_trees))
        search = ExactSearch(stronger, model.encoder_.axes, model.cost_)
        answers = search.solve(asked, BUDGET, time_limit=TIME_LIMIT)
        yield quality | {
            "strength": strength,
            "found": answers.found.sum() / n_asked,
            "lasting": judge.ensemble_.decide(answers.values[answers.found]).sum() / n_asked,
            "unknown": (answers.status == Status.UNKNOWN).sum() / n_asked,
            "seconds": answers.seconds.sum() / n_asked,
        }
        # Who has no plan of this strength has none of a higher one.
        asked = asked[answers.status != Status.NONE]


def rows_in(folder):
    """What was measured so far."""
    parts = [pd.read_csv(file) for file in sorted(folder.glob("*.csv"))]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=TASK)


def run(output, tasks, small=None):
    """Append the rows of tasks that have none yet."""
    output.mkdir(parents=True, exist_ok=True)
    done = set(rows_in(output)[TASK].itertuples(index=False, name=None))
    for task in tasks:
        if tuple(task[name] for name in TASK) in done:
            continue
        begun = time.perf_counter()
        setting = {name: task[name] for name in SETTING}
        rows = measure(task["data"], task["split"], task["people"], setting, small)
        table = pd.DataFrame([task | row for row in rows])
        file = output / f"{task['data']}.csv"
        table.to_csv(file, mode="a", header=not file.exists(), index=False)
        print(
            *task.values(), f"lasting {table['lasting'].max():.2f}",
            f"{time.perf_counter() - begun:.0f} s", flush=True,
        )  # fmt: skip


def summary(rows):
    """One line for each data set and setting: means over splits, lasting recourse by strength."""
    by = ["data", *SETTING]
    means = rows.groupby(by)[["auc", "accuracy", "accepted"]].mean()
    lasting = rows.pivot_table("lasting", by, "strength")
    best = lasting.max(axis=1).rename("best")
    unknown = rows.groupby(by)["unknown"].max()
    seconds = rows.groupby(by)["seconds"].mean()
    return pd.concat([means, lasting, best, unknown, seconds], axis=1)


def losses(table):
    """The same beside the best of each data set's settings, in AUC and accuracy."""
    lost = table[["auc", "accuracy"]].groupby("data").max() - table[["auc", "accuracy"]]
    return lost.assign(lasting=table["best"])


def choose(lost, max_auc_loss, *, each):
    """The setting with the most lasting recourse on some data sets; None if all lose too much.

    The loss of AUC counts on each of the data sets or in their mean.
    """
    sets = lost.groupby(SETTING)
    auc = sets["auc"].max() if each else sets["auc"].mean()
    means = sets.mean()[sets.size() == sets.size().max()]
    good = means["lasting"][auc[means.index] <= max_auc_loss]
    return good.idxmax() if len(good) else None


def report(rows, max_auc_loss):
    """Print the whole table, and the choice for each data set by the others."""
    table = summary(rows)
    lost = losses(table)
    with pd.option_context("display.width", 200, "display.max_rows", None):
        print(table.round(3).to_string(), end="\n\n")
        print("Means over data sets, AUC and accuracy below the best of each:")
        print(lost.groupby(SETTING).mean().sort_values("lasting").round(4).to_string())
    names = table.index.unique("data")
    for each in (False, True):
        print(f"\nAUC at most {max_auc_loss:g} below the best, {'on each' if each else 'mean'}:")
        for name in (*names, None):
            others = lost if name is None else lost.drop(name, level="data")
            chosen = choose(others, max_auc_loss, each=each)
            if chosen is None:
                print(f"{name or 'all':8}no setting")
                continue
            named = zip(SETTING, chosen, strict=True)
            text = f"{name or 'all':8}" + ", ".join(f"{key}={value:g}" for key, value in named)
            if name is not None:
                here = lost.loc[(name, *chosen)]
                text += f": lasting {here.lasting:.3f}, AUC -{here.auc:.4f}, "
                text += f"accuracy -{here.accuracy:.4f}"
            print(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=list(DATA), help="data sets; all by default")
    parser.add_argument("--output", type=Path, required=True, help="folder of rows")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument(
        "--people", type=int, default=60, help="refused people who are searched for"
    )
    parser.add_argument("--leaves", type=int, nargs="+", default=[20, 50, 5])
    parser.add_argument("--weights", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    parser.add_argument("--floors", type=float, nargs="+", default=[0.0, 0.4, 0.5])
    parser.add_argument("--small", type=int, help="people in each half; all by default")
    parser.add_argument("--max-auc-loss", type=float, default=0.003)
    parser.add_argument(
        "--only-read", action="store_true", help="report on the rows that are there"
    )
    given = parser.parse_args()
    settings = list(grid(given.leaves, given.weights, given.floors))
    tasks = [
        {"data": data, "split": split, "people": given.people, **setting}
        for split, setting, data in itertools.product(range(given.splits), settings, given.data)
    ]
    if not given.only_read:
        run(given.output, tasks, given.small)
    rows = rows_in(given.output).merge(pd.DataFrame(tasks), on=TASK)
    report(rows, given.max_auc_loss)


if __name__ == "__main__":
    main()
