"""DiRARTE's protocol: validity after retraining without a budget, at a cost that adds up.

As in the repository of DiRARTE (distributionally robust recourse for tree ensembles): two halves
of the people, XGBoost and scikit-learn's forest of 100 trees of depth 6 each, ten draws, refused
test people, *no budget*, and the sum of log-percentile shifts as cost. A plan for the model of one
half is valid if the same learner, trained on the other half, accepts it. Plans here are exact:
the cheapest, and the cheapest that win a share (strength), for their models and for ours. Where
theirs take all refused people, these are some of each draw. Rows are appended as they are done.

    python benchmarks/bench_dirarte.py --output results/dirarte/rows.csv [--draws 10] [--people 5]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from bench_robust_to import load, split_of
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from ract import RecourseBoostingClassifier, RecourseForestClassifier, find_recourse
from ract.data.costs import LogPercentileCost

SHAPE = {"n_estimators": 100, "max_depth": 6, "random_state": 0, "n_jobs": 1}
# Shares of votes; the mean probability of a forest, which is lower; of XGBoost, which is higher.
STRENGTHS = {"forest": (0.0, 0.55, 0.6), "XGBoost": (0.0, 0.9, 0.98)}
OTHERWISE = (0.0, 0.7, 0.8)
# Nodes end a search, so that no result depends on the machine; then its best plan counts.
LIMITS = {"max_nodes": 300, "time_limit": 120.0}


def learners(data):
    """Theirs, and ours with the defaults."""
    ours = {"desired": True, "random_state": 0}
    return {
        "XGBoost": XGBClassifier(**SHAPE),
        "forest": RandomForestClassifier(**SHAPE),
        "ract forest": RecourseForestClassifier(data.actions, **ours),
        "ract booster": RecourseBoostingClassifier(data.actions, **ours),
    }


def measure(name, title, draw, n_people):
    """Rows of one learner and draw, one for each strength."""
    data = load(name)
    A, B, test = split_of(data, 20 + draw)
    X, y = data.frame.reset_index(drop=True), data.target.to_numpy() == data.desired
    model, other = (learners(data)[title].fit(X.iloc[rows], y[rows]) for rows in (A, B))
    refused = X.iloc[test][np.asarray(model.predict(X.iloc[test])) == 0]
    at = np.linspace(0, len(refused) - 1, min(n_people, len(refused))).astype(int)
    people = refused.iloc[at]
    for strength in STRENGTHS.get(title, OTHERWISE):
        begun = process_time()
        plans = find_recourse(
            model,
            people,
            actions=data.actions,
            desired=model.classes_[1],
            strength=strength,
            cost=LogPercentileCost(),
            reference=X.iloc[A],
            budget=np.inf,
            explain=False,
            **LIMITS,
        )
        seconds, has = process_time() - begun, plans.found
        after = plans.counterfactuals[has]
        yield {
            "table": name,
            "model": title,
            "draw": draw,
            "strength": strength,
            "refused": len(people),
            "plans": int(has.sum()),
            "proved": int((plans.status == "optimal").sum()),
            "valid": int(np.sum(np.asarray(other.predict(after)) == 1)) if has.any() else 0,
            "cost": plans.cost[has].sum(),
            "changes": plans.n_changes[has].sum(),
            "seconds": seconds,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=["fico", "credit"])
    parser.add_argument("--models", nargs="*", default=["forest", "ract forest", "XGBoost"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--people", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("results/dirarte/rows.csv"))
    given = parser.parse_args()
    for draw in range(given.draws):
        for name in given.tables:
            for title in given.models:
                done = pd.read_csv(given.output) if given.output.exists() else pd.DataFrame()
                key = {"table": name, "model": title, "draw": draw}
                if len(done) and np.all([done[k] == v for k, v in key.items()], axis=0).any():
                    continue
                rows = pd.DataFrame(list(measure(name, title, draw, given.people)))
                given.output.parent.mkdir(parents=True, exist_ok=True)
                pd.concat([done, rows]).to_csv(given.output, index=False, float_format="%.5g")
    total = pd.read_csv(given.output).groupby(["table", "model", "strength"], sort=False).sum()
    per = total["plans"].clip(lower=1)
    found = {
        "refused": total["refused"],
        "has a plan": total["plans"] / total["refused"],
        "valid": total["valid"] / per,
        "cost": total["cost"] / per,
        "changes": total["changes"] / per,
        "proved": total["proved"] / per,
        "seconds": total["seconds"] / total["refused"],
    }
    print(pd.DataFrame(found).round(3).to_string())


if __name__ == "__main__":
    main()
