"""Boosting beside LightGBM: AUC, time, recourse, and recourse that lasts.

    python benchmarks/bench_boosting.py [speed] [lasting] [promise] [memory] [--data FICO ...]
                                        [--splits 3] [--people 80]

speed     AUC on a quarter of the people and CPU time of whole fits on one thread, in turns with
          LightGBM with the same settings: plain with 31 leaves, and plain, cooperative (without
          replicates) and lasting (replicates and members) with the defaults.
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
memory    Peak memory above the table, 100 trees on 1 000 000 x 30.

Kernels are compiled beforehand. Splits start at 0; settings were chosen on splits 11 to 13. The
data are read from RACT_DATA_HOME.
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
from ract.boosting import RecourseBoostingClassifier  # noqa: E402
from ract.datasets import fetch_bail, fetch_compas, fetch_credit, fetch_fico  # noqa: E402
from ract.forest import RecourseForestClassifier  # noqa: E402
from ract.recourse.exact.search import ExactSearch  # noqa: E402

DATA = {"FICO": fetch_fico, "COMPAS": fetch_compas, "Credit": fetch_credit, "Bail": fetch_bail}
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
    "cooperative": {"n_replicates": 0, "anchor_strength": 0.5},
    "lasting": {},
}


def peer(large=False):
    """LightGBM with the same settings."""
    shape = (
        {"num_leaves": 31, "min_child_samples": 20}
        if large
        else {
            "num_leaves": 8, "min_child_samples": 50, "reg_lambda": 1.0, "colsample_bynode": 0.6,
            "subsample": 0.8, "subsample_freq": 1,
        }
    )  # fmt: skip
    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **shape)


def timed(model, *training):
    """The model, fitted, and the CPU time that it took."""
    start = time.process_time()
    model.fit(*training)
    return model, time.process_time() - start


def warm_up():
    data = fetch_compas()
    for settings in OURS.values():
        model = RecourseBoostingClassifier(data.actions, max_iter=2, **settings)
        model.fit(data.frame, data.target).predict_proba(data.frame)


def speed(n_splits, _):
    print(f"{'':8} {'':18} {'AUC':>6} {'peer':>6} {'differs':>8} {'CPU s':>7} {'ratio':>6}")
    for name, fetch in DATA.items():
        data = fetch()
        wanted = np.asarray(data.target == data.desired).astype(int)
        for kind, settings in OURS.items():
            found = []
            for split in range(n_splits):
                order = np.random.default_rng(split).permutation(len(wanted))
                test, train = np.split(order, [len(order) // 4])
                X, X_test = data.frame.iloc[train], data.frame.iloc[test]
                model = RecourseBoostingClassifier(data.actions, random_state=0, **settings)
                model, ours = timed(model, X, data.target.to_numpy()[train])
                numbers, numbers_test = (model.encoder_.matrix(x) for x in (X, X_test))
                other = peer(large=kind.endswith("leaves"))
                other, theirs = timed(other, numbers, wanted[train])
                k = model.classes_.tolist().index(model.desired_)
                shares = model.predict_proba(X_test)[:, k], other.predict_proba(numbers_test)[:, 1]
                found.append([*(roc_auc_score(wanted[test], s) for s in shares), ours, theirs])
            auc, other, ours, theirs = np.mean(found, axis=0)
            print(
                f"{name:8} {kind:18} {auc:6.3f} {other:6.3f} {auc - other:+8.3f} {ours:7.3f} "
                f"{ours / theirs:6.2f}",
                flush=True,
            )


def plainly_named(data):
    """The same people under names that LightGBM takes."""

    def plain(name):
        return re.sub("[^A-Za-z0-9_]", "_", name)

    features = [
        replace(f, name=plain(f.name), columns=tuple(map(plain, f.columns))) for f in data.actions
    ]
    actions = ActionSpace(features, data.actions.desired)
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


def lasting(n_splits, n_people):
    print(
        f"{'':8} {'':12} {'AUC':>6} {'decides':>8} {'refused':>8} {'plan':>6} {'lasts':>6} "
        f"{'else strongest':>15} {'strongest':>10} {'ms':>6}"
    )
    for name, fetch in DATA.items():
        data, *data_of = without_repeats(fetch)
        for kind in ("LightGBM", "cooperative", "lasting", "forest"):
            found = [halves(data, *data_of, kind, split, n_people) for split in range(n_splits)]
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


def promise(n_splits, n_people):
    print(
        f"{'':8} {'split':>5} {'strength':>8} {'people':>6} {'promised':>8} {'of these last':>13} "
        f"{'least':>6} {'most':>6} {'lasts':>6} {'else strongest':>15} {'fit, CPU s':>10}"
    )
    for name, fetch in DATA.items():
        data, X, y = without_repeats(fetch)
        for split in range(n_splits):
            test, one, other = parts_of(len(X), split)
            planner = RecourseBoostingClassifier(data.actions, lasting=0.9, random_state=0)
            planner, seconds = timed(planner, X.iloc[one], y[one])
            training = X.iloc[other], y[other]
            judges = [model_of(data, *training, "lasting", k) for k in range(N_JUDGES)]
            new = X.iloc[test]
            refused = new[planner.predict(new) != planner.desired_].head(n_people)
            plans = planner.recourse(refused, max_nodes=MAX_NODES)
            after = plans.encoder.decode(plans.after, like=plans.people)
            accepted = np.array([judge.predict(after) == judge.desired_ for judge in judges])
            lasts, kept = plans.found & accepted, plans.promised
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


def memory(_, __):
    X, y, actions = wide_loans(1_000_000)
    model = RecourseBoostingClassifier(actions, random_state=0, recourse_weight=0)
    model.fit(X[:2000], y[:2000])
    before = peak_memory(reset=True)
    model, seconds = timed(model, X, y)
    peak = (peak_memory() - before) / 2**30
    _, theirs = timed(peer(), X, y)
    print(
        f"1 000 000 x {X.shape[1]}: {peak:.2f} GB above the table, {seconds:.0f} s of CPU, "
        f"{seconds / theirs:.2f} of the peer's"
    )


if __name__ == "__main__":
    parts = {"speed": speed, "lasting": lasting, "promise": promise, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--data", nargs="*", choices=list(DATA), default=list(DATA))
    parser.add_argument("--people", type=int, default=80)
    given = parser.parse_args()
    warm_up()
    DATA = {name: DATA[name] for name in given.data}
    for part in given.parts or ["speed", "lasting"]:
        parts[part](given.splits, given.people)
