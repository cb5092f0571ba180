"""Cheapest plans under costs that add up: CPU seconds a person and the share that is proved.

    python benchmarks/bench_additive.py [ROW ...] [--first N] [--people N] [--each]

l1 in standard deviations, no budget, the rules of the data sets, refused people of a test fold, one
thread, kernels compiled beforehand; at most ``--seconds`` of wall time each. Settings of the search
were chosen on people 20 to 39 (and models of the first fold); what is reported begins at 40. Data
are read from RACT_DATA_HOME. Rows are data:model[:strength][:changes], such as fico:forest:0.7 or
credit:rf5::3; "objectives" asks FICO's XGBoost model for each of them.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import argparse  # noqa: E402
import time  # noqa: E402
from functools import cache  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402

from ract import RecourseForestClassifier  # noqa: E402
from ract._utils.status import Status  # noqa: E402
from ract.data import datasets  # noqa: E402
from ract.data.costs import CombinedCost, ScaledCost  # noqa: E402
from ract.recourse.additive.search import AdditiveSearch  # noqa: E402
from ract.recourse.problem import RecourseProblem  # noqa: E402

ROWS = (
    "credit:rf5", "fico:xgb", "fico:lgb", "fico:forest", "fico:forest:0.7", "credit:rf5::3",
    "fico:xgb::3", "fico:lgb::3", "fico:forest::3", "fico:forest:0.7:3", "objectives",
)  # fmt: skip
OBJECTIVES = {
    "sum": (ScaledCost("std", norm="l1"), None),
    "sum + .2 per change": (CombinedCost("std", per_change=0.2), None),
    "half of the largest": (CombinedCost("std", largest=0.5), None),
    "fewest, then cheapest": (ScaledCost("std", norm="l1"), "fewest"),
    "cheapest, then fewest": (ScaledCost("std", norm="l1"), "cheapest"),
}
PROVED = (Status.OPTIMAL, Status.NONE)


@cache
def fitted(name, kind):
    """A model fitted on all folds but the first, known people, and refused ones of the first."""
    data = getattr(datasets, f"fetch_{name}")()
    y = (data.target.to_numpy() == data.desired).astype(int)
    train, test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(data.frame, y))
    known, new = data.frame.iloc[train], data.frame.iloc[test]
    model = untrained(kind, data.actions).fit(known, y[train])
    return data, model, known, new[model.predict(new) == 0]


def untrained(kind, actions):
    """A model by its name."""
    if kind == "forest":
        return RecourseForestClassifier(actions=actions, desired=1, n_jobs=1, random_state=0)
    if kind == "xgb":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1, random_state=0)
    if kind == "lgb":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)  # 100 trees of 31 leaves
    depth = None if kind == "rf" else int(kind.removeprefix("rf"))
    return RandomForestClassifier(100, max_depth=depth, random_state=0)


def line(label, name, kind, cost, asked, *, strength=None, changes=None, prefer=None):
    """Search for some people, one at a time, and print a line."""
    data, model, known, refused = fitted(name, kind)
    people = refused.iloc[asked.first : asked.first + asked.people]
    rules = {} if kind == "forest" else {"actions": data.actions, "desired": 1}
    problem = RecourseProblem(model, reference=known, budget=np.inf, cost=cost, **rules)
    question = problem.encoded(people).at_strength(strength)
    search = AdditiveSearch(question.goal, question.encoder.axes, question.cost)
    limits = {"max_changes": changes, "time_limit": asked.seconds, "n_jobs": 1}
    times, proved = [], []
    for row in question.matrix[:, None]:
        begun = time.process_time()
        answers = search.solve(row, np.inf, prefer=prefer, **limits)
        times.append(time.process_time() - begun)
        proved.append(answers.status[0] in PROVED)
        if asked.each:
            print(
                f"  {len(times) - 1:3} {answers.cost[0]:9.5f} {answers.bound[0]:9.5f} "
                f"{Status(answers.status[0]).name:8} {answers.nodes[0]:7} {times[-1]:8.4f}"
            )
    low, high = np.quantile(times, (0.5, 0.9))
    print(
        f"{label:28} {len(times):6} {low:8.4f} {high:8.3f} {np.mean(times):8.3f} "
        f"{max(times):8.2f} {np.mean(proved):7.1%}",
        flush=True,
    )


def main():
    """Print the rows that were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", default=ROWS)
    parser.add_argument("--first", type=int, default=40)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--each", action="store_true")
    asked = parser.parse_args()
    print(f"{'':28} people   median      p90     mean    worst  proved  (CPU seconds)")
    for row in asked.rows:
        if row == "objectives":
            for label, (cost, prefer) in OBJECTIVES.items():
                line(f"  {label}", "fico", "xgb", cost, asked, prefer=prefer)
            continue
        name, kind, strength, changes, *_ = (*row.split(":"), "", "")
        given = {"strength": float(strength) if strength else None}
        given["changes"] = int(changes) if changes else None
        line(row, name, kind, ScaledCost("std", norm="l1"), asked, **given)


if __name__ == "__main__":
    main()
