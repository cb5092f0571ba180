"""Rules between features: seconds per person beside the same search without them.

    python benchmarks/bench_rules.py [--people 20] [--seconds 20]

A scikit-learn forest of 100 trees of depth 5 on the loans data, numbers without limits or steps, so
that rules add up any value. Seconds are of the processor, one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ract import ActionSpace, Feature, find_recourse
from ract.data import load_loans

RULES = {
    "an order": ["Debt <= Savings"],
    "a sum": ["2 * Debt + LoanAmount <= Income"],
    "two sums": ["Debt <= Savings", "LoanAmount <= 0.5 * Income"],
    "an implication": ["if LoanAmount <= 30000 then Savings >= 20000"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    loans = load_loans(3000, random_state=0)
    table = loans.frame.select_dtypes("number")
    forest = RandomForestClassifier(100, max_depth=5, random_state=0).fit(table, loans.target)
    features = [Feature(n, change="fixed" if n == "Age" else "any") for n in table]
    space = ActionSpace(features, loans.desired, limits=None, steps=None)
    people = table[forest.predict(table) != loans.desired].head(given.people)
    known = {"reference": table, "explain": False, "time_limit": given.seconds, "n_jobs": 1}
    for cost in ("percentile", "l1"):
        for name, rules in {"none": [], **RULES}.items():
            ruled = space.with_rules(*rules)
            seconds, proved = [], 0
            for i in range(len(people)):
                start = time.process_time()
                plan = find_recourse(forest, people.iloc[[i]], actions=ruled, cost=cost, **known)
                seconds.append(time.process_time() - start)
                proved += plan.status[0] in ("optimal", "none")
            middle, longest = np.median(seconds), np.max(seconds)
            line = f"{cost:<11}{name:<16}{middle:.3f} / {longest:.2f} s, proved {proved}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
