"""How often the judge of outcomes is right, on the loans model, whose truth is known.

    python benchmarks/bench_earned.py [--seeds 3] [--people 2000] [--asked 300]

Forests of several weights and strengths give plans to refused people; judges fitted on the
model's own training table, on as many other people, or made of logistic regressions (which the
truth is, too), say which plans are earned. Printed for each, as means over the seeds:

    plans      share of the asked who have a plan within the budget
    before     judged probability of the desired class of those with a plan, before it
    after      judged and true probability after it; true once effects on other features follow
    error      root mean square error of the judged probability after the plan
    held       share of plans whose interval holds the true probability
    bar        judged, and the true mean of the very people who make it
    earned     share of plans that are, and of these the share truly above the true bar
    granted    share of plans that are, and of these the share truly below the true bar
    above      share of all plans that are truly above the true bar
    s          seconds that the judge took to fit

Then the same for plans that are searched for with a judge of one half of the training table and
reported by a judge of the other, beside any plans (``ms`` is CPU time a person).
"""

from __future__ import annotations

import argparse
import time
from itertools import chain

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ract import OutcomeJudge, RecourseForestClassifier
from ract.data.datasets import LoansModel, load_loans
from ract.models.judge import MARGIN

MODELS = [(0.0, None), (0.0, 0.7), (0.1, None), (0.1, 0.7), (0.3, None), (0.3, 0.8)]
WORLD = LoansModel()


def logistic():
    columns = make_column_transformer(
        (OneHotEncoder(), ["Education", "Purpose"]), remainder=StandardScaler()
    )
    return make_pipeline(columns, LogisticRegression())


def judges(train, other):
    """Fitted judges by name, with the seconds that each took."""
    made = {
        "same people": (OutcomeJudge(train.actions, n_jobs=2), train),
        "other people": (OutcomeJudge(train.actions, n_jobs=2), other),
        "logistic": (OutcomeJudge(train.actions, classifier=logistic()), train),
    }
    for name, (judge, data) in made.items():
        start = time.perf_counter()
        judge.fit(data.frame, data.target)
        yield name, judge, time.perf_counter() - start


def true_bar(judge, accepted):
    """True mean probability of the people who make the bar."""
    n_accepted = round(accepted * len(judge.scores_))
    best_first = np.argsort(-judge.scores_)
    margin = best_first[n_accepted - max(round(MARGIN * n_accepted), 1) : n_accepted]
    return WORLD.approval_probability(judge.people_.iloc[margin]).mean()


def measured(recourse, judge, accepted):
    judged = recourse.judged(judge, accepted)
    planned = judged.frame["after"].notna().to_numpy()
    frame, people = judged.frame[planned], recourse.people[planned]
    ends = recourse.counterfactuals[planned]
    truth = WORLD.approval_probability(ends)
    before, after = recourse.before[planned], recourse.after[planned]
    outcomes = WORLD.causes.after(before, after - before)
    followed = WORLD.approval_probability(recourse.encoder.decode(outcomes, like=people))
    bar = true_bar(judge, accepted)
    earned, granted = ((frame["verdict"] == name).to_numpy() for name in ("earned", "granted"))
    return {
        "plans": planned.mean(),
        "before": frame["before"].mean(),
        "after": frame["after"].mean(),
        "true": truth.mean(),
        "with effects": followed.mean(),
        "error": np.sqrt(np.mean((frame["after"] - truth) ** 2)),
        "held": ((frame["low"] <= truth) & (truth <= frame["high"])).mean(),
        "bar": judged.bar,
        "true bar": bar,
        "earned": earned.mean(),
        "right": (truth[earned] > bar).mean() if earned.any() else np.nan,
        "granted": granted.mean(),
        "right ": (truth[granted] < bar).mean() if granted.any() else np.nan,
        "above": (truth > bar).mean(),
    }


def rows(n_people, n_asked, seed):
    train, other, fresh = (load_loans(n_people, random_state=3 * seed + k) for k in range(3))
    fitted = list(judges(train, other))
    for weight, strength in MODELS:
        model = RecourseForestClassifier(
            train.actions, min_samples_leaf=20, recourse_weight=weight, random_state=seed, n_jobs=2
        ).fit(train.frame, train.target)
        accepted = model.predict(fresh.frame) == "approved"
        asked = fresh.frame[~accepted].head(n_asked)
        recourse = model.recourse(asked, strength=strength, explain=False, n_jobs=2)
        for name, judge, seconds in fitted:
            found = measured(recourse, judge, accepted.mean())
            head = {"judge": name, "weight": weight, "strength": strength or "least"}
            yield head | found | {"s": seconds}


def sought(n_people, n_asked, seed):
    """Any plans and earned ones, both reported by a judge that had no part in the search."""
    train, fresh = (load_loans(n_people, random_state=3 * seed + k) for k in (0, 2))
    judge = OutcomeJudge(train.actions, n_jobs=2)
    seeking, reporting = judge.fit_apart(train.frame, train.target)
    for weight in (0.1, 0.3):
        model = RecourseForestClassifier(
            train.actions, min_samples_leaf=20, recourse_weight=weight, random_state=seed, n_jobs=2
        ).fit(train.frame, train.target)
        accepted = model.predict(fresh.frame) == "approved"
        asked = fresh.frame[~accepted].head(n_asked)
        for strength in (None, 0.7):
            for name, earned in (("any", None), ("earned", seeking)):
                options = {"strength": strength, "earned": earned, "explain": False, "n_jobs": 2}
                model.recourse(asked.head(1), **options)  # prepares the search
                start = time.process_time()
                recourse = model.recourse(asked, **options)
                spent = time.process_time() - start
                head = {"weight": weight, "strength": strength or "least", "sought": name}
                found = measured(recourse, reporting, accepted.mean())
                unknown = (recourse.status == "unknown").mean()
                yield head | found | {"unknown": unknown, "ms": 1000 * spent / len(asked)}


def means(rows, by):
    """Means over the seeds."""
    found = pd.DataFrame(list(rows))
    return found.groupby(by, sort=False).mean().round(3).to_string()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--asked", type=int, default=300)
    given = parser.parse_args()
    for table, by in ((rows, "judge weight strength"), (sought, "weight strength sought")):
        found = (table(given.people, given.asked, seed) for seed in range(given.seeds))
        print(means(chain.from_iterable(found), by.split()), flush=True)


if __name__ == "__main__":
    main()
