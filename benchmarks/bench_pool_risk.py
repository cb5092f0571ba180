"""How many refused people keep a plan if the accepted pool may get no worse, or little worse.

People are dealt into four parts: a forest with the defaults and the judge that seeks are of the
first two, the people who are asked about are the third and judge each other, and an outcome model
of the fourth, which has no part in any of it, says what the rise of the bad rate really is (on the
loans model, the truth). Raw rows are kept, and those that are there are not made again.

    python benchmarks/bench_pool_risk.py [fico loans compas credit bail credit_data] [--limited]
        [--output results/pool_risk/rows.csv]

With --limited the models are boosters with limits relative to the person, which approve as many
training people as those forests; their rows stand in a file of their own.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from bench_robust_to import ALL_TABLES, load

from ract import (
    ActionSpace,
    OutcomeJudge,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    load_loans,
)
from ract.data.loans import LoansModel
from ract.evaluation import pool_offers
from ract.evaluation.outcomes import JudgedOutcomes

RISES, ASKED = (0.0, 0.01, 0.02, 0.999), 600
# Nodes end a search, so that no result depends on how busy the machine is.
SEARCH = {"time_limit": 60.0, "max_nodes": 1000}


def parts_of(name, seed):
    """Frames and labels of four parts; the action space and the desired class."""
    if name == "loans":
        drawn = [load_loans(n, random_state=4 * seed + k) for k, n in enumerate((1000, 1000, 600))]
        found = [(one.frame, np.asarray(one.target)) for one in drawn]
        return [*found, None], drawn[0].actions, drawn[0].desired
    data = load(name)
    order = np.random.default_rng(700 + seed).permutation(len(data.frame))[:8000]
    n = len(order)
    cuts = np.split(order, [n // 4, n // 2, n // 2 + min(ASKED, n // 4)])
    X, y = data.frame, data.target.to_numpy()
    found = [(X.iloc[rows].reset_index(drop=True), y[rows]) for rows in cuts]
    return found, data.actions, data.desired


def measure(name, seed, limited):
    """A row for each limit."""
    (first, second, asked, outside), actions, desired = parts_of(name, seed)
    model = RecourseForestClassifier(actions, desired=desired, random_state=seed).fit(*first)
    if limited:
        model = RecourseBoostingClassifier(
            ActionSpace(actions.features, desired, "size"),
            desired=desired,
            approval_rate=float((model.predict(first[0]) == desired).mean()),
            random_state=seed,
        ).fit(*first)
    seeking, judge = (
        OutcomeJudge(actions, desired=desired, n_splits=5).fit(*part) for part in (second, asked)
    )
    truth = LoansModel().approval_probability
    if outside is not None:
        truth = OutcomeJudge(actions, desired=desired, n_splits=5).fit(*outside)
    for rise in RISES:
        begun = process_time()
        offers = pool_offers(model, *asked, judge, seeking, max_pool_risk=rise, **SEARCH)
        plans, accepted = offers.recourse, ~np.isin(asked[0].index, offers.recourse.labels)
        has = plans.found
        ends = plans.outcomes[has]
        bad = JudgedOutcomes.of(truth, ends, plans.people[has]).bad if has.any() else np.zeros(0)
        n_today = int(accepted.sum())
        apart = (bad.sum() - len(bad) * offers.today) / max(n_today + len(bad), 1)
        yield {
            "table": name,
            "seed": seed,
            "limit": rise,
            "asked": len(accepted),
            "refused": len(plans),
            "offered": int(has.sum()),
            "level": offers.level,
            "today": offers.today,
            "rise": offers.rise.value,
            "rise high": offers.rise.high,
            "rise outside": apart,
            "cost": float(plans.cost[has].mean()) if has.any() else np.nan,
            "seconds": process_time() - begun,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(ALL_TABLES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limited", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    if given.output is None:
        kind = "limited" if given.limited else "rows"
        given.output = Path(f"results/pool_risk/{kind}.csv")
    for seed in range(given.seeds):
        for name in given.tables:
            done = pd.read_csv(given.output) if given.output.exists() else pd.DataFrame()
            if len(done) and ((done["table"] == name) & (done["seed"] == seed)).any():
                continue
            rows = pd.DataFrame(list(measure(name, seed, given.limited)))
            given.output.parent.mkdir(parents=True, exist_ok=True)
            pd.concat([done, rows]).to_csv(given.output, index=False, float_format="%.4g")
    rows = pd.read_csv(given.output)
    rows["share offered"] = rows["offered"] / rows["refused"]
    shown = ["share offered", "today", "rise", "rise high", "rise outside", "cost", "seconds"]
    print(rows.groupby(["table", "limit"], sort=False)[shown].mean().round(3).to_string())


if __name__ == "__main__":
    main()
