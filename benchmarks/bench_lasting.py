"""Questions on plans that last, on the four data sets (RACT_DATA_HOME) or some of them.

``replicates``: are plans that several forests of parts of the people accept surer than plans of the
same cost that win more votes of one forest? Plans of half A, put to a forest of half B.

``more``: how many cheapest, strong and at-least plans are lost by people who do more than asked,
and what the proof that nobody is costs.

``fit``: how much longer a fit with ``lasting=0.9`` takes than one without, by part; on the loans
model too.

    python benchmarks/bench_lasting.py replicates fico compas
    python benchmarks/bench_lasting.py more
    python benchmarks/bench_lasting.py fit fico loans
    python benchmarks/bench_lasting.py # all of it on all
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import contextmanager
from time import process_time

import numpy as np
import pandas as pd

import ract.recourse.replicates as replicates_module
from experiments.benchmark.run import Fold, _accepted
from experiments.data import DATA
from ract import RecourseForestClassifier, find_recourse
from ract.data.datasets import load_loans
from ract.recourse import LastingWarning
from ract.recourse.replicates import AtStrengths

N_PEOPLE, BUDGET, SECONDS = 60, 0.3, 2.0


def forest(fold, rows, **given):
    """A forest with the defaults."""
    data = fold.data
    model = RecourseForestClassifier(data.actions, desired=data.desired, random_state=0, **given)
    return model.fit(data.frame.iloc[rows], data.target.to_numpy()[rows])


def refused_by(fold, model):
    """Some test people whom a model refuses."""
    new = fold.data.frame.iloc[fold.test]
    refused = new[model.predict(new) != fold.data.desired]
    return refused.iloc[np.linspace(0, len(refused) - 1, min(N_PEOPLE, len(refused))).astype(int)]


def replicates(fold):
    """Several forests in the search against one forest and a strength, by mean cost."""
    first, second = fold.halves
    parts = np.array_split(np.random.default_rng(0).permutation(first), 3)
    judge, whole = forest(fold, second), forest(fold, first)
    people = refused_by(fold, whole)
    asked = {"budget": BUDGET, "explain": False, "time_limit": SECONDS}
    rows = []
    for strength in (0.0, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
        plans = find_recourse(whole, people, strength=strength, **asked)
        rows.append((f"strength {strength:g}", *_row(plans, judge, fold)))
    thirds = [forest(fold, part) for part in parts]
    for k in (1, 2, 3):
        plans = find_recourse([whole, *thirds[:k]], people, **asked)
        rows.append((f"the forest and {k} of thirds", *_row(plans, judge, fold)))
    return pd.DataFrame(rows, columns=["plans", "found", "lasting", "kept", "cost", "unknown"])


def _row(plans, judge, fold):
    lasts, found = _accepted(judge, plans, fold.data.desired), plans.found
    return (
        found.mean(), lasts.mean(), lasts.sum() / max(found.sum(), 1), plans.cost[found].mean(),
        (plans.status == "unknown").mean(),
    )  # fmt: skip


def more(fold):
    """Who loses the decision by doing 1, 5 and 20% more."""
    data, rows = fold.data, []
    half = fold.halves[0]
    known, wanted = data.frame.iloc[half], data.target.to_numpy()[half] == data.desired
    directions = {  # of numbers that may change: with or against the desired class
        feature.name: 1 if np.corrcoef(known[feature.name], wanted)[0, 1] > 0 else -1
        for feature in data.actions
        if feature.kind in ("continuous", "integer") and feature.change != "fixed"
    }
    for name, given in (("defaults", {}), ("monotone", {"monotonic": directions})):
        model = forest(fold, half, **given)
        people = refused_by(fold, model)
        for options in ({}, {"strength": 0.6}, {"strength": 0.7}, {"at_least": True},
                        {"at_least": True, "strength": 0.7}):  # fmt: skip
            begun = process_time()
            plans = find_recourse(
                model, people, budget=BUDGET, explain=False, time_limit=SECONDS, **options
            )
            seconds, found = process_time() - begun, plans.found
            lost = [
                1 - _accepted(model, plans, data.desired, more=share).sum() / max(found.sum(), 1)
                for share in (0.01, 0.05, 0.2)
            ]
            beyond = plans.answers.beyond
            proved = np.nan if beyond is None else beyond[found].mean()
            rows.append(
                (name, str(options), found.mean(), *lost, proved, plans.cost[found].mean(),
                 1000 * seconds / len(people))
            )  # fmt: skip
    return pd.DataFrame(
        rows, columns=["model", "asked", "found", "lost at 1%", "5%", "20%", "proved", "cost", "ms"]
    )


def fit(data):
    """CPU time of a fit with ``lasting``, in fits without (the median of five)."""
    known = load_loans(2000) if data == "loans" else Fold.of(data, 1).data
    rows = np.arange(2000) if data == "loans" else Fold.of(data, 1).train
    people, labels = known.frame.iloc[rows], np.asarray(known.target)[rows]

    def seconds(**given):
        forest = RecourseForestClassifier(known.actions, random_state=0, **given)
        begun = process_time()
        forest.fit(people, labels)
        return process_time() - begun, forest

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LastingWarning)
        seconds(lasting=0.9)  # compiles
        plain = np.median([seconds()[0] for _ in range(5)])
        spent = dict.fromkeys(("replicates", "reading", "searches"), 0.0)
        with (
            timed(replicates_module, "fit_on", spent, "replicates"),
            timed(replicates_module, "inquire", spent, "reading"),
            timed(AtStrengths, "at", spent, "searches"),
        ):
            whole, forest = seconds(lasting=0.9)
    spent = {"all": whole, **spent, "the rest": whole - plain - sum(spent.values())}
    curve = forest.lasting_
    asked = {point.strength: point.refused for point in curve.points}
    promised = curve.strength_for(0.9)
    print(f"one fit: {plain:.3f} s; people tested by strength: {asked}; promised: {promised}")
    return pd.DataFrame([{name: value / plain for name, value in spent.items()}])


@contextmanager
def timed(owner, name, spent, key):
    """Add the CPU time of every call of a function to a sum."""
    own = getattr(owner, name)

    def call(*given, **options):
        begun = process_time()
        try:
            return own(*given, **options)
        finally:
            spent[key] += process_time() - begun

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["replicates", "more", "fit"], help="or all")
    parser.add_argument("data", nargs="*", default=list(DATA))
    given = parser.parse_args()
    questions = {
        "replicates": lambda data: replicates(Fold.of(data, 1)),
        "more": lambda data: more(Fold.of(data, 1)),
        "fit": fit,
    }
    for what, table_of in questions.items():
        for data in given.data if given.what in (None, what) else ():
            title = DATA[data].title if data in DATA else data
            table = table_of(data).round(3).to_string(index=False)
            print(f"{what}: {title}\n{table}\n", flush=True)


if __name__ == "__main__":
    main()
