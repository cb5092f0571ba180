"""Where a forest is cut: votes, as they were cut once, beside the mean share of leaves.

    python benchmarks/bench_cuts.py [fico compas credit bail credit_data]

*majority*: the default. *votes*: the same forest, cut at the number of votes that approves nearest
to the wanted share of the training people, its probabilities held on the decision's side of one
half, as they were with a cut before. *mean share*: ``approval_rate``. The wanted share is that of
desired people in training (0.7 where that is above 0.7 already, so that a cut asks for more). A
random third of the people is for testing, 6000 people at most; means over seeds. Recourse: people
who are accepted or have a plan within a budget of 0.3.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.bench_missing import credit_data
from ract import ActionSpace, RecourseForestClassifier
from ract._utils.status import Status
from ract.data import datasets
from ract.recourse.exact.search import ExactSearch

TABLES, MOST, BUDGET = ("fico", "compas", "credit", "bail", "credit_data"), 6000, 0.3


def table(name):
    """People, whether each is desired, and what they may do."""
    if name == "credit_data":
        frame, good = credit_data()
        return frame, good == 1, ActionSpace.infer(frame, desired=True, limits=None)
    data = getattr(datasets, f"fetch_{name}")(drop_duplicates=True)
    good = (data.target == data.desired).to_numpy()
    return data.frame, good, ActionSpace(list(data.actions), desired=True, limits=None)


def measured(ensemble, model, people, good, share):
    """Approved, AUC, Brier score, accuracy and recourse of one decision."""
    decided = ensemble.decide(people)
    search = ExactSearch(ensemble, model.encoder_.axes, model.cost_)
    has = search.attains(people[~decided], BUDGET) == Status.FOUND
    return (
        decided.mean(), roc_auc_score(good, share), brier_score_loss(good, share),
        (decided == good).mean(), (decided.sum() + has.sum()) / len(people),
    )  # fmt: skip


def lines(name, seed):
    """What each decision gives on one split."""
    frame, good, actions = table(name)
    rows = np.random.default_rng(seed).permutation(len(good))[:MOST]
    train, test = train_test_split(rows, test_size=1 / 3, random_state=seed)
    wanted = min(good[train].mean(), 0.7)
    fits = {
        kind: RecourseForestClassifier(actions, desired=True, random_state=seed, **given).fit(
            frame.iloc[train], good[train]
        )
        for kind, given in (("majority", {}), ("mean share", {"approval_rate": wanted}))
    }
    for kind, model in fits.items():
        people, share = model.encoder_.matrix(frame.iloc[test]), None
        share = model.predict_proba(frame.iloc[test])[:, list(model.classes_).index(True)]
        yield kind, measured(model.ensemble_, model, people, good[test], share)
        if kind == "majority":
            known = model.encoder_.matrix(frame.iloc[train])
            votes = model.ensemble_.score(known)
            each = np.arange(1, model.ensemble_.n_trees + 1)
            approves = (votes[:, None] >= each).mean(axis=0)
            cut = replace(model.ensemble_, cutoff=int(each[np.abs(approves - wanted).argmin()]))
            decided = cut.decide(people)
            below = np.nextafter(0.5, 0)
            clamped = np.where(decided, np.maximum(share, 0.5), np.minimum(share, below))
            yield "votes", measured(cut, model, people, good[test], clamped)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    print("| table | decided by | approved | AUC | Brier score | accuracy | recourse |")
    print("|---|---|---|---|---|---|---|")
    for name in asked.tables:
        found = {}
        for seed in range(asked.seeds):
            for kind, numbers in lines(name, seed):
                found.setdefault(kind, []).append(numbers)
        for kind in ("majority", "votes", "mean share"):
            means = np.mean(found[kind], axis=0)
            print(
                f"| {name} | {kind} | " + " | ".join(f"{m:.3f}" for m in means) + " |", flush=True
            )


if __name__ == "__main__":
    main()
