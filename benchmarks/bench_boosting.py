"""Boosting beside LightGBM: AUC, time, recourse, and recourse that lasts.

    python benchmarks/bench_boosting.py [speed] [lasting] [promise] [memory] [--data FICO ...]
                                        [--splits 3] [--people 80] [--threads 1]

speed     AUC on a quarter of the people and time of whole fits, in turns with LightGBM with the
          same settings and number of threads: plain with 31 leaves, and plain, cooperative
          (without replicates) and lasting (replicates and members) with the defaults. CPU time is
          to be trusted on a busy machine, but with several threads LightGBM's waiting counts too;
          wall-clock time, the least over the splits, on a quiet one.
lasting   Repeated rows are dropped; a fifth of the people is for testing and the others are halves
          A and B. Plans of refused test people by exact search on the model of A; one lasts if
          the model of B accepts the person who has carried it out. The strength, of a few, whose
          plans last for most of one half of these people is reported on the other half: alone,
          and with the strongest plan for those who have none of that strength; and the strongest
          for everyone. LightGBM's models and forests of ours (weight 0.3) are judged by the same
          rule.
promise   The same halves; the model of A is fitted with lasting=0.9, which measures on A alone how
          strong plans must be. Its plans, and the strongest for those who have none of that
          strength, are put to models of B, which differ in their random state: means, and the
          least and the largest share of promised plans that last.
memory    Peak memory above the table and time, 100 trees on 1 000 000 x 30.

Kernels are compiled, and loaded for each table, beforehand. Splits start at 0; settings were
chosen on splits 11 to 13. The data are read from RACT_DATA_HOME.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import argparse  # noqa: E402
import re  # noqa: E402
import time  # noqa: E402
from dataclasses import replace  # noqa: E402

import numpy as np  # noqa: E402
from bench_tree import peak_memory, wide_loans  # noqa: E402
from lightgbm import LGBMClassifier  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402

from ract import ActionSpace, import_model  # noqa: E402
from ract.data.datasets import (  # noqa: E402
    fetch_adult,
    fetch_bail,
    fetch_compas,
    fetch_credit,
    fetch_fico,
)
from ract.models.boosting import RecourseBoostingClassifier  # noqa: E402
from ract.models.forest import RecourseForestClassifier  # noqa: E402
from ract.recourse.exact.search import ExactSearch  # noqa: E402

DATA = {
    "FICO": fetch_fico, "COMPAS": fetch_compas, "Credit": fetch_credit, "Bail": fetch_bail,
    "Adult": fetch_adult,
}  # fmt: skip
STRENGTHS = (0, 0.6, 0.7, 0.8, 0.85, 0.9)
N_JUDGES = 4  # of the promise: one retraining differs from the next
MAX_NODES = 3000  # of a search; what it has found by then counts
LARGE = {
    "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 0.0, "max_features": None,
    "subsample": 1.0,
}  # fmt: skip
OURS = {
    "plain, 31 leaves": {"recourse_weight": 0, **LARGE},
    "plain": {"recourse_weight": 0},
    "cooperative": {"n_replicates": 0},
    "lasting": {},
}


def peer(large=False, n_threads=1):
    """LightGBM with the same settings."""
    shape = (
        {"num_leaves": 31, "min_child_samples": 20}
        if large
        else {
            "num_leaves": 8, "min_child_samples": 50, "reg_lambda": 1.0, "colsample_bynode": 0.6,
            "subsample": 0.8, "subsample_freq": 1,
        }
    )  # fmt: skip
    return LGBMClassifier(n_jobs=n_threads, verbose=-1, random_state=0, **shape)


def timed(model, *training):
    """The model, fitted, and the CPU and wall-clock time that it took."""
    starts = time.process_time(), time.perf_counter()
    model.fit(*training)
    return model, time.process_time() - starts[0], time.perf_counter() - starts[1]


def warm_up(data, n_threads=1):
    """Load every kernel for the types of a table."""
    for settings in OURS.values():
        model = RecourseBoostingClassifier(data.actions, max_iter=2, n_jobs=n_threads, **settings)
        model.fit(data.frame, data.target).predict_proba(data.frame)


def speed(given):
    print(
        f"{'':8} {'':18} {'AUC':>6} {'peer':>6} {'differs':>8} {'CPU s':>7} {'ratio':>6} "
        f"{'wall s':>7} {'ratio':>6}"
    )
    for name in given.data:
        data = DATA[name]()
        warm_up(data, given.threads)
        wanted = np.asarray(data.target == data.desired).astype(int)
        for kind, settings in OURS.items():
            found = []
            for split in range(given.splits):
                order = np.random.default_rng(split).permutation(len(wanted))
                test, train = np.split(order, [len(order) // 4])
                X, X_test = data.frame.iloc[train], data.frame.iloc[test]
                model = RecourseBoostingClassifier(
                    data.actions, random_state=0, n_jobs=given.threads, **settings
                )
                model, *ours = timed(model, X, data.target.to_numpy()[train])
                numbers, numbers_test = (model.encoder_.matrix(x) for x in (X, X_test))
                other = peer(kind.endswith("leaves"), given.threads)
                other, *theirs = timed(other, numbers, wanted[train])
                k = model.classes_.tolist().index(model.desired_)
                shares = model.predict_proba(X_test)[:, k], other.predict_proba(numbers_test)[:, 1]
                found.append([*(roc_auc_score(wanted[test], s) for s in shares), *ours, *theirs])
            auc, other, ours, _, theirs, _ = np.mean(found, axis=0)
            _, _, _, wall, _, other_wall = np.min(found, axis=0)
            print(
                f"{name:8} {kind:18} {auc:6.3f} {other:6.3f} {auc - other:+8.3f} {ours:7.3f} "
                f"{ours / theirs:6.2f} {wall:7.3f} {wall / other_wall:6.2f}",
                flush=True,
            )


def plainly_named(data):
    """The same people under names that LightGBM takes."""

    def plain(name):
        return re.sub("[^A-Za-z0-9_]", "_", name)

    features = [
        replace(f, name=plain(f.name), columns=tuple(map(plain, f.columns))) for f in data.actions
    ]
    actions = ActionSpace(features, data.actions.desired, limits=None)
    return replace(data, frame=data.frame.rename(columns=plain), actions=actions)


def without_repeats(fetch):
    """A data set, and its people and their classes without repeated rows."""
    data = plainly_named(fetch())
    kept = ~data.frame.duplicated().to_numpy()
    return data, data.frame[kept].reset_index(drop=True), data.target[kept].to_numpy()


def parts_of(n, split):
    """A fifth of the people for testing, and halves A and B of the others."""
    order = np.random.default_rng(split).permutation(n)
    return np.split(order, [n // 5, n // 5 + 2 * n // 5])


def lasting(given):
    print(
        f"{'':8} {'':12} {'AUC':>6} {'decides':>8} {'refused':>8} {'plan':>6} {'lasts':>6} "
        f"{'else strongest':>15} {'strongest':>10} {'ms':>6}"
    )
    for name in given.data:
        data, *data_of = without_repeats(DATA[name])
        for kind in ("LightGBM", "cooperative", "lasting", "forest"):
            found = [
                halves(data, *data_of, kind, split, given.people) for split in range(given.splits)
            ]
            auc, decides, refused, plan, lasts, both, most, seconds = np.mean(found, axis=0)
            print(
                f"{name:8} {kind:12} {auc:6.3f} {decides:8.3f} {refused:8.2f} {plan:6.2f} "
                f"{lasts:6.2f} {both:15.2f} {most:10.2f} {1000 * seconds:6.0f}",
                flush=True,
            )


def halves(data, X, y, kind, split, n_people):
    """One split: AUC of probabilities and of scores, shares of the refused, time of a search."""
    test, one, other = parts_of(len(X), split)
    planner, judge = (model_of(data, X.iloc[rows], y[rows], kind) for rows in (one, other))
    trees, wanted = planner.ensemble_, y[test] == data.desired
    matrix = planner.encoder_.matrix(X.iloc[test])
    k = planner.classes_.tolist().index(planner.desired_)
    auc = roc_auc_score(wanted, planner.predict_proba(X.iloc[test])[:, k])
    accepted = trees.decide(matrix)
    refused = matrix[~accepted][:n_people]

    def solved(goal, **options):
        search = ExactSearch(goal, planner.encoder_.axes, planner.cost_)
        answers = search.solve(refused, 0.3, max_nodes=MAX_NODES, **options)
        lasts = np.zeros(len(refused), bool)
        lasts[answers.found] = judge.ensemble_.decide(answers.values[answers.found])
        return answers.found, lasts

    start = time.perf_counter()
    plan, _ = solved(trees)
    seconds = (time.perf_counter() - start) / len(refused)
    _, strongest = solved(trees, strongest=True)
    alone, both = [], []
    for strength in STRENGTHS:
        has, lasts = solved(trees.stronger(strength) if strength else trees)
        alone.append(lasts)
        both.append(np.where(has, lasts, strongest))
    decides, report = roc_auc_score(wanted, trees.score(matrix)), slice(1, None, 2)
    return (
        auc, decides, 1 - accepted.mean(), plan[report].mean(), best_elsewhere(alone),
        best_elsewhere(both), strongest[report].mean(), seconds,
    )  # fmt: skip


def best_elsewhere(lasts):
    """Share of every second person's plans that last, at the strength best for the others."""
    best = max(lasts, key=lambda at_strength: at_strength[::2].mean())
    return best[1::2].mean()


def promise(given):
    print(
        f"{'':8} {'split':>5} {'strength':>8} {'people':>6} {'promised':>8} {'of these last':>13} "
        f"{'least':>6} {'most':>6} {'lasts':>6} {'else strongest':>15} {'fit, CPU s':>10}"
    )
    for name in given.data:
        data, X, y = without_repeats(DATA[name])
        for split in range(given.splits):
            test, one, other = parts_of(len(X), split)
            planner = RecourseBoostingClassifier(data.actions, lasting=0.9, random_state=0)
            planner, seconds, _ = timed(planner, X.iloc[one], y[one])
            training = X.iloc[other], y[other]
            judges = [model_of(data, *training, "lasting", k) for k in range(N_JUDGES)]
            new = X.iloc[test]
            refused = new[planner.predict(new) != planner.desired_].head(given.people)
            plans = planner.recourse(refused, max_nodes=MAX_NODES)
            after = plans.encoder.decode(plans.after, like=plans.people)
            accepted = np.array([judge.predict(after) == judge.desired_ for judge in judges])
            lasts, kept = plans.found & accepted, plans.lasts
            by_judge = lasts[:, kept].mean(axis=1) if kept.any() else np.full(N_JUDGES, np.nan)
            strength = planner.lasting_.strength_for(0.9)
            print(
                f"{name:8} {split:5} {strength or np.nan:8.2f} {len(refused):6} {kept.mean():8.2f} "
                f"{by_judge.mean():13.2f} {by_judge.min():6.2f} {by_judge.max():6.2f} "
                f"{(lasts & kept).mean():6.2f} {lasts.mean():15.2f} {seconds:10.0f}",
                flush=True,
            )
            print(planner.lasting_, flush=True)


def model_of(data, X, y, kind, seed=0):
    if kind == "forest":
        return RecourseForestClassifier(data.actions, recourse_weight=0.3, random_state=0).fit(X, y)
    if kind != "LightGBM":
        return RecourseBoostingClassifier(data.actions, random_state=seed, **OURS[kind]).fit(X, y)
    return import_model(peer().fit(X, y), X, actions=data.actions, desired=data.desired)


def memory(given):
    X, y, actions = wide_loans(1_000_000)
    model = RecourseBoostingClassifier(
        actions, random_state=0, recourse_weight=0, n_jobs=given.threads
    )
    model.fit(X[:100_000], y[:100_000])
    before = peak_memory(reset=True)
    model, seconds, wall = timed(model, X, y)
    peak = (peak_memory() - before) / 2**30
    _, theirs, other_wall = timed(peer(n_threads=given.threads), X, y)
    print(
        f"1 000 000 x {X.shape[1]}: {peak:.2f} GB above the table, {seconds:.0f} s of CPU, "
        f"{seconds / theirs:.2f} of the peer's, and {wall:.0f} s of time, {wall / other_wall:.2f} "
        "of the peer's"
    )


if __name__ == "__main__":
    parts = {"speed": speed, "lasting": lasting, "promise": promise, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--data", nargs="*", choices=list(DATA), default=list(DATA)[:4])
    parser.add_argument("--people", type=int, default=80)
    parser.add_argument("--threads", type=int, default=1, help="of speed and memory")
    given = parser.parse_args()
    for part in given.parts or ["speed", "lasting"]:
        parts[part](given)
