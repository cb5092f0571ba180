"""Can training lead plans to where people do well? Models beside a bound, by a judge of others.

The splits of ``bench_robust_to.py``: half A trains, an outcome model of half B, which has no part
in training or searching, judges where the strongest plans of refused test people end. *earned*:
its probability is at the bar of a plain model that accepts as many, or above. *bound*: the share
of the same people who have any reachable point at the bar, by exact search in the judge's own
trees (at most, since a judge thinks well of points that were found with it; "unknown" where the
search ended before it could say). Models:

    forest, floor    desired leaves hold at least half desired people (``min_leaf_share=.5``)
    booster          its points are chosen by cross-fitted plain boosters
    booster, light   with less weight on recourse (.05)
    booster, anchors points of twice as many replicates, lifted further (strength .9)
    outcome model    no model to deploy: the points that an outcome model of half A holds best
    forest, anchors  fitted again with refused people where the booster's replicates hold them best

    python benchmarks/try_earned_training.py [fico loans compas credit bail credit_data]
        [--output results/earned_training/rows.csv]
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from bench_robust_to import load, measured, split_of
from sklearn.metrics import roc_auc_score

from experiments.benchmark.cut import with_trees
from ract import (
    OutcomeJudge,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    find_recourse,
)
from ract.trees.ensemble import TreeEnsemble

N_ANCHORS, WEIGHT = 400, 1.0
SEARCH = {"explain": False, "time_limit": 60.0, "max_nodes": 1000}


class Lifted(RecourseBoostingClassifier):
    """A booster whose points are lifted further."""

    anchor_strength = 0.9


def models(data, rate):
    """Learners by name; all accept about as many as the forest with the defaults."""
    common = {"desired": data.desired, "random_state": 0}
    forest, booster = RecourseForestClassifier, RecourseBoostingClassifier
    at = common | {"approval_rate": rate}
    return {
        "forest": forest(data.actions, **common),
        "forest, cut": forest(data.actions, **at),
        "forest, floor": forest(data.actions, min_leaf_share=0.5, **common),
        "booster": booster(data.actions, **at),
        "booster, light": booster(data.actions, recourse_weight=0.05, **at),
        "booster, anchors": Lifted(data.actions, n_replicates=12, **at),
    }


def with_anchors(data, X, y):
    """A forest that is fitted again with people where plain boosters hold them best."""
    first = RecourseForestClassifier(data.actions, desired=data.desired, random_state=0).fit(X, y)
    refused = X[first.predict(X) != data.desired]
    at = np.linspace(0, len(refused) - 1, min(N_ANCHORS, len(refused))).astype(int)
    booster = RecourseBoostingClassifier(data.actions, desired=data.desired, random_state=0)
    plans = find_recourse(booster.fit(X, y), refused.iloc[at], strength="most", **SEARCH)
    after = plans.counterfactuals[plans.found]
    again = RecourseForestClassifier(data.actions, desired=data.desired, random_state=0)
    weight = np.append(np.ones(len(X)), np.full(len(after), WEIGHT))
    label = np.append(y, np.full(len(after), data.desired))
    return again.fit(pd.concat([X, after]), label, sample_weight=weight)


def as_model(judge, model, bar):
    """An outcome model as one that decides, at a bar."""
    shift, scale = judge.curve_
    odds = np.log(bar / (1 - bar))
    share = 1 / (1 + np.exp(-(odds - shift) / scale))
    trees = replace(TreeEnsemble.joined(judge.judges_, 1), combine="mean", cutoff=float(share))
    return with_trees(model, trees)


def bound(judge, model, people, bar):
    """Who has a reachable point at the bar, by the judge's own trees: yes, or not known."""
    found = find_recourse(as_model(judge, model, bar), people, **SEARCH)
    return found.within_budget | found.accepted, found.status == "unknown"


def by_outcome_model(data, XA, yA, judge, model, people, bar):
    """Who is at the bar where an outcome model of half A holds them best, by the judge."""
    seeking = OutcomeJudge(data.actions, desired=data.desired, n_splits=2).fit(XA, yA)
    plans = find_recourse(as_model(seeking, model, bar), people, strength="most", **SEARCH)
    ends, moved = people.copy(), plans.outcomes[plans.found]
    ends.loc[moved.index] = moved.astype(ends.dtypes)
    after = judge.probability(ends)["probability"].to_numpy()
    return int(plans.found.sum()), float(after.mean()), int((after >= bar).sum())


def measure(name, k, n_people):
    """A row for each model."""
    data = load(name)
    A, B, test = split_of(data, k)
    X, y = data.frame.reset_index(drop=True), data.target.to_numpy()
    XA, XB, new = (X.iloc[rows] for rows in (A, B, test))
    judge = OutcomeJudge(data.actions, desired=data.desired, n_splits=3).fit(XB, y[B])
    plain = RecourseForestClassifier(data.actions, desired=data.desired, random_state=0).fit(
        XA, y[A]
    )
    rate = float((plain.predict(XB) == data.desired).mean())
    fitted = {title: model.fit(XA, y[A]) for title, model in models(data, rate).items()}
    fitted["forest, anchors"] = with_anchors(data, XA, y[A])
    for title, model in fitted.items():
        score = model.predict_proba(new)[:, list(model.classes_).index(data.desired)]
        accepted = model.predict(new) == data.desired
        refused = new[~accepted]
        at = np.linspace(0, len(refused) - 1, min(n_people, len(refused))).astype(int)
        people, bar = refused.iloc[at], judge.bar(float(accepted.mean()))
        plans = find_recourse(model, people, strength="most", **SEARCH)
        judged = plans.judged(judge, float(accepted.mean())).frame
        row = {
            "table": name,
            "split": k,
            "model": title,
            "auc": roc_auc_score(y[test] == data.desired, score),
            "approved": accepted.mean(),
            "refused": len(people),
            "plans": int(plans.found.sum()),
            "bar": bar,
            "after": judged["after"].mean(),
            "earned": int((judged["after"] >= bar).sum()),
            "surely": int((judged["verdict"] == "earned").sum()),
        }
        if title in ("forest", "booster"):
            has, unknown = bound(judge, fitted["booster"], people, bar)
            row |= {"bound": int(has.sum()), "bound unknown": int(unknown.sum())}
        yield row
        if title == "forest":
            n_plans, after, earned = by_outcome_model(
                data, XA, y[A], judge, fitted["booster"], people, bar
            )
            about = {"plans": n_plans, "bar": bar, "after": after, "earned": earned}
            whose = {"table": name, "split": k, "model": "outcome model", "refused": len(people)}
            yield whose | about


def main() -> None:
    rows = measured(measure, __doc__, 50, "earned_training")
    sums = rows.groupby(["table", "model"], sort=False)
    total = sums[["refused", "plans", "earned", "surely", "bound", "bound unknown"]].sum(
        min_count=1
    )
    shares = total.drop(columns="refused").div(total["refused"], axis=0)
    print(
        pd.concat([sums[["auc", "approved", "bar", "after"]].mean(), shares], axis=1)
        .round(3)
        .to_string()
    )


if __name__ == "__main__":
    main()
