"""Do plans survive a change of learner? Ours with several ways to search, put to other models.

A fifth of the people are for testing, the rest are halved (equal rows stay together; at most 8000
people of a table). The model of half A plans for refused test people, and models of half B judge:

    same         the same learner
    LightGBM     8 leaves, cut to accept as many of half A as the planner accepts of half B
    logistic     a logistic regression, cut alike
    features     the same learner without a quarter of the features, drawn anew
    drift        the same learner, where bad people count twice

Models: forests and boosters with the defaults, and boosters with limits relative to the person
(``limits="size"``, no budget). Plans: the strongest; those that win .8 of the model; and those
that win .8 of the model and of a plain booster of half A, as ``robust_to`` requires. "bound" is
no model to deploy and no strict bound: the best points by plain boosters of half *B*, which know
the judge's own people. Nothing here was used to choose a setting. Rows are appended as they come.

    python benchmarks/bench_robust_to.py [fico loans compas credit bail credit_data]
        [--splits 2] [--people 50] [--output results/robust_to/rows.csv]

What is there already is not made again; once everything is, the table is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments.benchmark.cut import with_trees
from experiments.spaces.tables import TABLES
from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    find_recourse,
)
from ract.recourse.find import inquire
from ract.recourse.plain_judges import PlainJudge

MOST, SEED, STRENGTH = 8000, 500, 0.8
SEARCH = {"explain": False, "time_limit": 1.0, "max_nodes": 1000}
PAPER = ("fico", "credit")  # with the paper's own action space, as in the findings on robustness
NAMES = {"compas": "compas_paper", "bail": "bail_paper"}
ALL_TABLES = ("fico", "loans", "compas", "credit", "bail", "credit_data")
CHANGES = ("same", "LightGBM", "logistic", "features", "drift")


def load(name):
    """A table; of the paper's tables with the paper's own action space."""
    table = TABLES[NAMES.get(name, name)]
    return table.load() if name in PAPER else table.dataset()


def split_of(data, k):
    """Rows of half A, of half B, and for testing."""
    y, rows = data.target.to_numpy(), np.arange(len(data.target))
    same = data.frame.groupby(list(data.frame.columns), sort=False, dropna=False).ngroup()
    if len(rows) > MOST:
        rows = np.sort(np.random.default_rng(SEED + k).choice(rows, MOST, replace=False))

    def parts(n, rows):
        splitter = StratifiedGroupKFold(n, shuffle=True, random_state=SEED + k)
        return [rows[part] for _, part in splitter.split(rows, y[rows], same.to_numpy()[rows])]

    test, *others = parts(5, rows)
    return *parts(2, np.sort(np.concatenate(others))), test


def words_as_columns(scaled):
    """Columns for learners that take numbers."""
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler()) if scaled else "passthrough"
    return make_column_transformer(
        (words, make_column_selector(dtype_exclude="number")), remainder=numbers
    )


class Cut:
    """Another learner that accepts a share of people whom it has not seen."""

    def __init__(self, learner, X, y, desired, others, rate):
        learner = make_pipeline(words_as_columns(not isinstance(learner, LGBMClassifier)), learner)
        self.model = learner.fit(X, y)
        self.position = list(self.model.classes_).index(desired)
        self.cut = np.quantile(self.score(others), 1 - rate)

    def score(self, X):
        return self.model.predict_proba(X)[:, self.position]

    def accepts(self, X):
        return self.score(X) >= self.cut


class Own:
    """A model of ract as a judge."""

    def __init__(self, model, names):
        self.model, self.names = model, names

    def accepts(self, X):
        return self.model.predict(X[self.names]) == self.model.desired_


def learners(data, rate):
    """By name: our learners as users would make them, the last at the forest's approval rate."""
    sized = ActionSpace(data.actions.features, data.desired, "size", "round")
    common = {"desired": data.desired, "random_state": 0}
    forest, booster = RecourseForestClassifier, RecourseBoostingClassifier
    return {
        "forest": lambda space: forest(space or data.actions, **common),
        "booster": lambda space: booster(space or data.actions, approval_rate=rate, **common),
        "booster, limits": lambda space: booster(
            space or sized, approval_rate=rate, budget=1.0, **common
        ),
    }


def judges(make, data, parts, rate, k):
    """The models of half B, by the change that each stands for."""
    (XA, _), (XB, yB) = parts
    names, desired = list(XB.columns), data.desired
    rng = np.random.default_rng(SEED + k)
    kept = [names[i] for i in np.sort(rng.permutation(len(names))[: round(0.75 * len(names))])]
    some = [f for f in make(None).actions if set(f.columns or (f.name,)) <= set(kept)]
    kept = [name for name in kept if any(name in (f.columns or (f.name,)) for f in some)]
    limits = make(None).actions
    fewer = ActionSpace(some, desired, limits.limits, limits.steps)
    bad = np.where(yB == desired, 1.0, 2.0)
    boosted = LGBMClassifier(num_leaves=8, verbose=-1, n_jobs=1)
    return {
        "same": Own(make(None).fit(XB, yB), names),
        "LightGBM": Cut(boosted, XB, yB, desired, XA, rate),
        "logistic": Cut(LogisticRegression(max_iter=1000), XB, yB, desired, XA, rate),
        "features": Own(make(fewer).fit(XB[kept], yB), kept),
        "drift": Own(make(None).fit(XB, yB, sample_weight=bad), names),
    }


def found(which, model, people, parts, rate):
    """Plans of a model, as strong as they can be or of a strength, perhaps of a booster too."""
    if which != "strength of both":
        strength = "most" if which == "strongest" else STRENGTH
        return find_recourse(model, people, strength=strength, **SEARCH)
    (XA, yA), (XB, _) = parts
    inside, outside = (model.encoder_.matrix(X, kinds=False) for X in (XA, XB))
    judge = PlainJudge.fitted("boosting", inside, yA == model.desired_, outside, rate)
    inquiry = inquire(model, people, **SEARCH)
    return inquiry.agreed(judge.trees(inside.shape[1]), STRENGTH)


def bound(model, people, parts):
    """Where the plain boosters of half B, the judge's own people, hold people best."""
    (_, _), (XB, yB) = parts
    theirs = type(model)(**model.get_params()).fit(XB, yB)
    trees = theirs.probability_ensemble_
    scores = trees.score(theirs.encoder_.matrix(people))
    ends = people.copy()
    for group in np.array_split(np.argsort(scores), 6):
        above = replace(trees, cutoff=float(scores[group].max()) + 1e-6)
        plans = find_recourse(
            with_trees(theirs, above), people.iloc[group], strength="most", **SEARCH
        )
        after = plans.counterfactuals[plans.found]
        ends.loc[after.index] = after.astype(ends.dtypes)
    return ends


def measure(name, k, n_people):
    """Rows of one split: a model, a way to search and what becomes of the plans."""
    data = load(name)
    A, B, test = split_of(data, k)
    X, y = data.frame.reset_index(drop=True), data.target.to_numpy()
    parts, new = ((X.iloc[A], y[A]), (X.iloc[B], y[B])), X.iloc[test]
    first = RecourseForestClassifier(data.actions, desired=data.desired, random_state=0)
    rate = float((first.fit(*parts[0]).predict(parts[1][0]) == data.desired).mean())
    for title, make in learners(data, rate).items():
        begun = process_time()
        model = make(None).fit(*parts[0])
        score = model.predict_proba(new)[:, list(model.classes_).index(data.desired)]
        auc = roc_auc_score(y[test] == data.desired, score)
        refused = new[model.predict(new) != data.desired]
        at = np.linspace(0, len(refused) - 1, min(n_people, len(refused))).astype(int)
        people, own_rate = refused.iloc[at], float((model.predict(new) == data.desired).mean())
        about = judges(make, data, parts, own_rate, k)
        fitted = process_time() - begun
        for plans_are in ("strongest", "strength", "strength of both"):
            begun = process_time()
            plans = found(plans_are, model, people, parts, own_rate)
            has, after = plans.found, plans.counterfactuals[plans.found]
            row = {
                "table": name,
                "split": k,
                "model": title,
                "plans": plans_are,
                "auc": auc,
                "approved": own_rate,
                "refused": len(people),
                "found": int(has.sum()),
                "unknown": int((plans.status == "unknown").sum()),
                "cost": float(plans.cost[has].mean()) if has.any() else np.nan,
            }
            row |= {c: int(about[c].accepts(after).sum()) if has.any() else 0 for c in CHANGES}
            yield row | {"fit s": fitted, "search s": process_time() - begun}
        if title == "booster":
            ends = bound(model, people, parts)
            row = {
                "table": name,
                "split": k,
                "model": title,
                "plans": "bound",
                "refused": len(people),
                "found": len(people),
            }
            yield row | {c: int(about[c].accepts(ends).sum()) for c in CHANGES[1:3]}


def report(rows):
    """Of all refused people and of those with a plan, the share whose plan is accepted."""
    sums = rows.groupby(["table", "model", "plans"], sort=False)
    total = sums[["refused", "found", "unknown", *CHANGES]].sum(min_count=1)
    means = sums[["auc", "approved", "cost"]].mean()
    shares = total[list(CHANGES)].div(total["refused"], axis=0)
    kept = total[list(CHANGES)].div(total["found"].clip(lower=1), axis=0).add_prefix("kept ")
    has = (total["found"] / total["refused"]).rename("has a plan")
    return pd.concat([total["refused"], means, has, shares, kept], axis=1).round(3)


def measured(
    measure: Callable[[str, int, int], Iterable[dict[str, Any]]], about: str, people: int, name: str
) -> pd.DataFrame:
    """The rows of every table and split, of which those that are stored are not measured again."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(ALL_TABLES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--people", type=int, default=people)
    parser.add_argument("--output", type=Path, default=Path(f"results/{name}/rows.csv"))
    given = parser.parse_args()
    for k in range(given.splits):
        for table in given.tables:
            done = pd.read_csv(given.output) if given.output.exists() else pd.DataFrame()
            if len(done) and ((done["table"] == table) & (done["split"] == k)).any():
                continue
            rows = pd.DataFrame(list(measure(table, k, given.people)))
            given.output.parent.mkdir(parents=True, exist_ok=True)
            pd.concat([done, rows]).to_csv(given.output, index=False, float_format="%.4g")
    return pd.read_csv(given.output)


def main() -> None:
    print(report(measured(measure, __doc__, 50, "robust_to")).to_string())


if __name__ == "__main__":
    main()
