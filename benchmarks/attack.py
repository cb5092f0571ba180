"""Attacks on what the program states, at full size; every count of wrong answers must be 0.

``edge``: people on the edge of their budget, against brute force in exact fractions. ``plans``:
strongest plans, plans for whoever does more and few changes, against every value of small tables.
``forgery``: forged certificates, of which none may be verified except in entries that the check
names as not checked. ``limit``: searches in a forest of 600,000 nodes, of which each has to end
within 1.2 times its limit and 50 ms. That is read off the clock; a search that ends later is late
unless it was the machine that kept it waiting: CPU time of its thread after the limit, within the
same bound.

    python -m benchmarks.attack              # every suite
    python -m benchmarks.attack forgery

Each suite is one function that prints its counts and returns how many answers were wrong; the exit
code is 1 if any was.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from threading import Timer, get_ident
from time import clock_gettime, perf_counter, process_time, pthread_getcpuclockid

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    certify,
    find_recourse,
    import_model,
    verify,
)
from ract.data.costs import CombinedCost
from ract.data.datasets import load_loans
from ract.recourse.common import search
from tests.edges import wrong_at_the_edge
from tests.forgeries import forgeries

N_FORGERIES = 500
N_EDGES = 250  # cases, of up to 8 people each
N_TABLES = 100  # of 80 people each
LIMITS = (1.0, 5.0)  # seconds
SEARCHES = {
    "exact": {},
    "ranges": {"ranges": True},
    "alternatives": {"n_alternatives": 2},
    "at least": {"at_least": True},
    "margin": {"margin": 0.1},
    "strongest": {"strength": "most"},
    "strength": {"strength": 0.9},
    "few changes": {"max_changes": 3},
    "fewest": {"prefer": "fewest"},
    "l1": {"cost": "l1", "budget": np.inf},
    "mixture": {"cost": CombinedCost("l1", per_change=0.1, largest=0.4), "budget": np.inf},
    "earliest month": {"cost": "time", "budget": 12},
    "leaves": {"method": "leaves"},
    "rules": {"rules": ["LoanAmount <= 0.5 Income"]},
    "plausible": {"plausibility": "isolation_forest"},
    "effects": {"effects": {("Income", "LoanAmount"): 0.3}},
}


def edge() -> int:
    """Every search, the reach of training and the checker, where a plan costs just the budget."""
    outcomes = [wrong_at_the_edge(seed) for seed in range(N_EDGES)]
    n_people, wrong = sum(n for n, _ in outcomes), Counter(w for _, some in outcomes for w in some)
    print(f"edge: {n_people} people, wrong: {dict(wrong) or 0}")
    return wrong.total()


def limit() -> int:
    """Seconds of the slowest of three people in each search, for each limit."""
    loans, late = load_loans(6000), 0
    people = pd.get_dummies(loans.frame, dtype=float)
    forest = RandomForestClassifier(1000, max_leaf_nodes=301, random_state=0, n_jobs=2)
    forest.fit(people, loans.target)
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    refused = people[forest.predict(people) != loans.actions.desired][7:10]
    space = ActionSpace.infer(people, desired=loans.actions.desired, limits=None)
    paced = [replace(f, pace=0.1) if f.name == "Income" else f for f in space.features]
    space = replace(space, features=tuple(paced))
    print(f"limit: {n_nodes:,} nodes")
    for name, options in SEARCHES.items():
        given = {"cost": "percentile", "budget": 0.3} | options
        ruled = space.with_rules(*given.pop("rules", ()))
        cost = "percentile" if given["cost"] == "time" else given.pop("cost")
        model = import_model(forest, people, ruled, cost=cost)
        given["reference"] = people
        find_recourse(model, refused[:1], time_limit=0, **given)  # prepares, and loads kernels
        for seconds in LIMITS:
            with Overtime() as after:
                took = find_recourse(
                    model, refused, time_limit=seconds, n_jobs=1, **given
                ).answers.seconds
            over = took > 1.2 * seconds + 0.05
            really = over.any() and max(after.seconds) > 0.2 * seconds + 0.05
            late += int(really)
            how = ", late" if really else ", kept waiting by the machine" if over.any() else ""
            cpu = 1000 * max(after.seconds, default=0.0)
            print(
                f"limit, {name}, {seconds:g} s: {took.max():.2f} s, "
                f"{cpu:.0f} ms of CPU after the limit{how}",
                flush=True,
            )
    return late


class Overtime:
    """CPU seconds of each search's thread after its time was up, however busy the machine is.

    A thread of the clock's reads the CPU time of the search's thread when the limit is reached by
    the clock. If it comes to that late itself, all CPU time since the limit counts, as far as the
    time that passed allows.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __enter__(self) -> Overtime:
        self._timing, watched = search.Watch.timing, self

        @contextmanager
        def timing(watch: search.Watch, i: int) -> Iterator[np.ndarray]:
            clock, begun = pthread_getcpuclockid(get_ident()), perf_counter()
            limit, used = float(watch._limits[i]), []

            def read() -> None:
                used.append(clock_gettime(clock) - (perf_counter() - begun - limit))

            timer = Timer(limit, read)
            timer.start()
            with watched._timing(watch, i) as flag:
                yield flag
            timer.cancel()
            if used:
                watched.seconds.append(clock_gettime(clock) - used[0])

        search.Watch.timing = timing
        return self

    def __exit__(self, *_: object) -> None:
        search.Watch.timing = self._timing


VALUES = {"a": range(5), "b": range(5), "c": ["low", "mid", "high"], "d": ["x", "y", "z"]}
WAYS = {"a": "any", "b": "increase", "c": "increase", "d": "any"}


def plans() -> int:
    """Strongest plans, plans for whoever does more, and few changes, beside every other value."""
    wrong, n_people = Counter(), 0
    for seed in range(N_TABLES):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({name: rng.choice(values, 80) for name, values in VALUES.items()})
        rank = table["c"].map(VALUES["c"].index)
        noise = rng.normal(0, 1.5, len(table))
        good = table["a"] + table["b"] * rng.choice([-1, 1]) + 2 * (rank == 1) + noise > 3
        space = ActionSpace(
            [
                Feature(name, "categorical", WAYS[name], categories=list(values))
                if name in "cd"
                else Feature(name, "integer", WAYS[name])
                for name, values in VALUES.items()
            ],
            desired=True,
            limits=None,
        )
        every = pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))
        for name, model in _models(seed, table, good, space):
            people = table[model.predict(table) != True][:4]  # noqa: E712  a class label
            if len(people):
                n_people += len(people)
                wrong.update(f"{name}, {what}" for what in _wrong_plans(model, people, every))
    print(f"plans: {n_people} people, wrong: {dict(wrong) or 0}")
    return wrong.total()


def _models(seed, table, good, space):
    """Models of every kind of decision that are neither all yes nor all no."""
    ours = {
        "tree": RecourseTreeClassifier(space, max_depth=4, random_state=seed),
        "forest": RecourseForestClassifier(space, n_estimators=9, random_state=seed),
        "cut forest": RecourseForestClassifier(
            space, n_estimators=9, approval_rate=0.4, random_state=seed
        ),
        "booster": RecourseBoostingClassifier(
            space, max_iter=8, min_samples_leaf=3, random_state=seed
        ),
    }
    for name, model in ours.items():
        yield name, model.fit(table, good)


def _score(model, people):
    """What a model counts: votes, the share in one tree's leaf, or a score."""
    if len(model.ensemble_.root) == 1:
        return model.predict_proba(people)[:, list(model.classes_).index(True)]
    return model.ensemble_.score(model.encoder_.matrix(people))


def _wrong_plans(model, people, every):
    """What is wrong about anybody's plans."""
    encoded, accepted = model.encoder_.matrix(every), model.predict(every) == True  # noqa: E712
    score, levels = _score(model, every), VALUES["c"].index
    answers = {
        "strongest": model.recourse(people, strength="most", budget=1.0),
        "at least": model.recourse(people, at_least=True, budget=1.0),
        **{k: model.recourse(people, max_changes=k, budget=1.0) for k in (1, 2, 3)},
    }
    for i, (_, person) in enumerate(people.iterrows()):
        own = model.encoder_.matrix(people.iloc[[i]])
        cost = model.cost_.between(np.repeat(own, len(every), 0), encoded)
        ahead = every["c"].map(levels) >= levels(person["c"])
        may = accepted & (every["b"] >= person["b"]) & ahead & (cost <= 1 + 1e-9)
        n_changes = (every != person).sum(axis=1)
        for what, found in answers.items():
            few = may & (n_changes <= what) if isinstance(what, int) else may
            if found.found[i] != few.any():
                yield f"{what}: found or not"
            elif not few.any():
                continue
            elif isinstance(what, int) and abs(found.cost[i] - cost[few].min()) > 1e-9:
                yield f"{what} changes: cost"
        plan = answers["strongest"]
        if (
            plan.found[i]
            and _score(model, plan.counterfactuals.iloc[[i]])[0] < score[may].max() - 1e-9
        ):
            yield "strongest: not the most"
        at_least = answers["at least"]
        if at_least.found[i] and at_least.answers.beyond[i]:
            end, more = at_least.counterfactuals.iloc[i], np.ones(len(every), bool)
            for name in VALUES:
                rank = every[name].map(levels) if name == "c" else every[name]
                to, at = (levels(v) if name == "c" else v for v in (end[name], person[name]))
                if name == "d" or to == at:
                    more &= (rank == to).to_numpy()
                else:
                    more &= (rank >= to if to > at else rank <= to).to_numpy()
            if not accepted[more].all():
                yield "at least: someone who does more is refused"


def forgery() -> int:
    """Certificates of a tree and a forest, with and without witness file and training table."""
    loans = load_loans(1500)
    people, training = loans.frame[700:1000], loans.frame[:800]
    settings = {"recourse_weight": 0, "budget": 0.15, "random_state": 0}
    models = {
        "tree": RecourseTreeClassifier(loans.actions, max_depth=5, **settings),
        "forest": RecourseForestClassifier(loans.actions, n_estimators=15, max_depth=5, **settings),
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, model) in enumerate(models.items()):
            model.fit(training, loans.target[:800])
            path = Path(folder) / f"{name}.npy"
            record = certify(model, people, groups="Education", witnesses=path).to_dict()
            model.training_rows_ = None  # as in a model that was read from a file
            for given in ({}, {"training": training}, {"witnesses": path}):
                how = {"groups": "Education", "none_sample": 0, **given}
                if not verify(record, model, people, **how):
                    raise AssertionError("The honest certificate is not verified.")
                outcomes = Counter(
                    _outcome(one, verify(one.record, model, people, **how))
                    for one in forgeries(record, N_FORGERIES, seed=k)
                )
                wrong += outcomes["wrong"]
                print(f"forgery, {name}, {' '.join(given) or 'neither'}: {dict(outcomes)}")
    return wrong


def _outcome(one, found) -> str:
    """What became of a forgery."""
    if one.is_wrongly_verified(found):
        return "wrong"
    if found.problems:
        return "found out"
    return "verified, entry named as not checked" if found else "not verified"


SUITES: dict[str, Callable[[], int]] = {
    "edge": edge, "plans": plans, "forgery": forgery, "limit": limit,
}  # fmt: skip


def main() -> None:
    """Run the suites that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    chosen = parser.parse_args().suites or list(SUITES)
    unknown = [name for name in chosen if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    warnings.simplefilter("ignore")
    total = 0
    for name in chosen:
        start = process_time()
        wrong = SUITES[name]()
        total += wrong
        print(f"{name}: {wrong} wrong, {process_time() - start:.0f} s of CPU")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
