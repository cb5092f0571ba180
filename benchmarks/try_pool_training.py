"""Training for a limit on the pool's bad rate: points that outcome models hold good count more.

The parts of ``bench_pool_risk.py``, at other seeds. Points at which members of a booster learn are
judged by plain boosters of random halves of the training people, each point by the halves that its
person is not in:

    booster              as it is, cut to accept as many as the forest
    level .3             points with a higher predicted bad rate than this do not count
    level .3, heavier    the same, and the others count twice
    by outcome           points count in proportion to the predicted probability of a good outcome

Beside them a forest as it is and with a floor (``min_leaf_share``), and a booster with less weight
on recourse. Shown is the share of refused people whom ``pool_offers`` offers a plan, by the largest
rise of the bad rate. Rows are appended as they are done.

    python benchmarks/try_pool_training.py [fico loans credit_data] [--seeds 20 21 22]
        [--max-nodes 1000] [--output results/pool_risk/training.csv]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np
import pandas as pd
from bench_pool_risk import SEARCH, parts_of
from sklearn.metrics import roc_auc_score

from ract import OutcomeJudge, RecourseBoostingClassifier, RecourseForestClassifier
from ract.data.loans import LoansModel
from ract.evaluation import pool_offers
from ract.evaluation.outcomes import JudgedOutcomes
from ract.models.judge import first_half
from ract.trees import cooperation
from ract.trees.booster import boost
from ract.trees.log_odds import sigmoid

RISES, N_SPLITS = (0.0, 0.01, 0.02), 3
NOTHING = pd.DataFrame(columns=["table", "seed", "model"])
advise = cooperation.advice


class PointJudge:
    """Predicted bad rates of points, by plain boosters that have not seen their people."""

    def __init__(self, people, rows, rules):
        rng = np.random.default_rng(0)
        distinct, first, person = np.unique(
            rows.codes, axis=0, return_index=True, return_inverse=True
        )
        cuts = [first_half(rows.target[first], rng) for _ in range(N_SPLITS)]
        self.inside = np.column_stack([side for cut in cuts for side in (cut, ~cut)])
        self.place = {row.tobytes(): k for k, row in enumerate(distinct)}
        seeds = [int(seed) for seed in rng.integers(2**31 - 1, size=rules.max_iter)]
        rules = replace(rules, directions=())
        self.models = [
            boost(people, rows.take(np.flatnonzero(half[person])), rules, seeds)
            for half in self.inside.T
        ]

    def bad(self, rows):
        """Of the points among some rows."""
        home, points = rows.codes[: rows.n_people], rows.codes[rows.n_people :]
        at = np.array([self.place[row.tobytes()] for row in home])
        had_part = np.tile(self.inside[at], (len(points) // len(home), 1))
        good = np.column_stack([sigmoid(model.scores(points)) for model in self.models])
        return 1 - np.nanmean(np.where(had_part, np.nan, good), axis=1)


@contextmanager
def points_weighed(weigh) -> Iterator[None]:
    """Members learn at points that weigh so many times as much, by their predicted bad rate."""
    judges = []

    def advice(people, rows, rules, *rest, **how):
        judges[:] = [PointJudge(people, rows, rules)]
        return advise(people, rows, rules, *rest, **how)

    def grown(people, rows, *rest, **how):
        if len(rows.codes) > rows.n_people:
            weight = rows.weight.copy()
            weight[rows.n_people :] *= weigh(judges[0].bad(rows))
            rows = replace(rows, weight=weight)
        return boost(people, rows, *rest, **how)

    with mock.patch.multiple(cooperation, advice=advice, boost=grown):
        yield


def below(level, times, bad):
    """Points of at most this bad rate count so many times."""
    return np.where(bad <= level, times, 0.0)


WEIGHED = {
    "level .3, heavier": partial(below, 0.3, 2.0),
    "by outcome": lambda bad: 2 * (1 - bad),
    "level .4": partial(below, 0.4, 1.0),
    "level .3": partial(below, 0.3, 1.0),
}


def learners(actions, desired, seed, first):
    """Models to be fitted, by name; boosters accept as many people as the forest."""
    common = {"desired": desired, "random_state": seed}
    plain = RecourseForestClassifier(actions, **common)
    rate = float((plain.fit(*first).predict(first[0]) == desired).mean())
    booster = partial(RecourseBoostingClassifier, actions, approval_rate=rate, **common)
    return {
        "forest": plain,
        "forest, floor": RecourseForestClassifier(actions, min_leaf_share=0.5, **common),
        "booster": booster(),
        **{f"booster, {name}": booster() for name in WEIGHED},
        "booster, light": booster(recourse_weight=0.05),
    }


def measure(name, seed, done, max_nodes):
    """A row for each model that is not done."""
    (first, second, asked, outside), actions, desired = parts_of(name, seed)
    seeking, judge = (
        OutcomeJudge(actions, desired=desired, n_splits=5).fit(*part) for part in (second, asked)
    )
    truth = LoansModel().approval_probability
    if outside is not None:
        truth = OutcomeJudge(actions, desired=desired, n_splits=5).fit(*outside)
    for title, learner in learners(actions, desired, seed, first).items():
        if title in done:
            continue
        begun, weigh = process_time(), WEIGHED.get(title.removeprefix("booster, "))
        with points_weighed(weigh) if weigh else nullcontext():
            model = learner.fit(*first)
        score = model.predict_proba(second[0])[:, list(model.classes_).index(desired)]
        search = SEARCH | {"max_nodes": max_nodes}
        offers = pool_offers(model, *asked, judge, seeking, max_pool_risk=max(RISES), **search)
        plans, levels = offers.recourse, offers.levels
        has = plans.found
        ends = plans.outcomes[has]
        bad = JudgedOutcomes.of(truth, ends, plans.people[has]).bad if has.any() else np.zeros(0)
        n_today = len(asked[0]) - len(plans)
        row = {
            "table": name,
            "seed": seed,
            "model": title,
            "auc": roc_auc_score(second[1] == desired, score),
            "today": offers.today,
            "refused": len(plans),
        }
        for rise in RISES:
            kept = levels["offers"][(levels["high"] <= rise).cummin()]
            row[f"offered at {rise}"] = int(kept.iloc[-1]) if len(kept) else 0
        yield row | {
            "rise outside": (bad.sum() - len(bad) * offers.today) / max(n_today + len(bad), 1),
            "cost": float(plans.cost[has].mean()) if has.any() else np.nan,
            "seconds": process_time() - begun,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=["fico", "loans", "credit_data"])
    parser.add_argument("--seeds", type=int, nargs="*", default=[20, 21, 22])
    parser.add_argument("--max-nodes", type=int, default=SEARCH["max_nodes"])
    parser.add_argument("--output", type=Path, default=Path("results/pool_risk/training.csv"))
    given = parser.parse_args()
    for seed in given.seeds:
        for name in given.tables:
            rows = pd.read_csv(given.output) if given.output.exists() else NOTHING
            done = set(rows["model"][(rows["table"] == name) & (rows["seed"] == seed)])
            given.output.parent.mkdir(parents=True, exist_ok=True)
            for row in measure(name, seed, done, given.max_nodes):
                rows = pd.concat([rows, pd.DataFrame([row])])
                rows.to_csv(given.output, index=False, float_format="%.4g")
    rows = pd.read_csv(given.output)
    sums = rows.groupby(["table", "model"], sort=False)
    offered = (
        sums[[f"offered at {rise}" for rise in RISES]].sum().div(sums["refused"].sum(), axis=0)
    )
    means = sums[["auc", "today", "rise outside", "cost"]].mean()
    print(pd.concat([means, offered], axis=1).round(3).to_string())


if __name__ == "__main__":
    main()
