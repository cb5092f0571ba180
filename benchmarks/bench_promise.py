"""What becomes of promises: calibrated on half of the training people, judged by the other half.

On the splits of ``bench_robust_to.py``, three promises of the model of half A to refused test
people, put to models of half B: of a forest that its strongest plans last with 90%, for the same
learner; and of a forest and a booster that plans last with 70% for the same learner, a plain
booster and a logistic regression at once (``robust_to``). LightGBM and a logistic regression that
calibration has not seen, cut to accept as many, say what the second kind is worth.

    python benchmarks/bench_promise.py [fico loans compas credit bail credit_data]
        [--output results/promise/rows.csv]
"""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np
from bench_robust_to import Cut, load, measured, split_of
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

from ract import RecourseBoostingClassifier, RecourseForestClassifier
from ract.recourse import LastingWarning

EVERY = ("same", "boosting", "linear")
PROMISES = {
    "forest, same": (RecourseForestClassifier, ("same",), 0.9),
    "forest, all": (RecourseForestClassifier, EVERY, 0.7),
    "booster, all": (RecourseBoostingClassifier, EVERY, 0.7),
}
SEARCH = {"explain": False, "time_limit": 1.0}


def measure(name, k, n_people):
    """A row for each promise."""
    data = load(name)
    A, B, test = split_of(data, 30 + k)
    X, y = data.frame.reset_index(drop=True), data.target.to_numpy()
    (XA, yA), (XB, yB), new = (X.iloc[A], y[A]), (X.iloc[B], y[B]), X.iloc[test]
    for title, (learner, robust_to, promise) in PROMISES.items():
        begun = process_time()
        model, other = (
            learner(data.actions, desired=data.desired, random_state=0).fit(*part)
            for part in ((XA, yA), (XB, yB))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LastingWarning)
            model.set_params(lasting=promise).calibrate(XA, yA, robust_to=robust_to)
        spent = process_time() - begun
        curve, accepted = model.lasting_, model.predict(new) == data.desired
        rate = float(accepted.mean())
        refused = new[~accepted]
        at = np.linspace(0, len(refused) - 1, min(n_people, len(refused))).astype(int)
        plans = model.recourse(refused.iloc[at], **SEARCH)
        promised = plans.lasts & (curve.strength_for(promise) is not None)
        after = plans.counterfactuals[promised]
        judges = {
            "same": lambda Z, other=other: other.predict(Z) == data.desired,
            **{
                kind: Cut(made, XB, yB, data.desired, XA, rate).accepts
                for kind, made in (
                    ("LightGBM", LGBMClassifier(num_leaves=8, verbose=-1, n_jobs=1)),
                    ("logistic", LogisticRegression(max_iter=1000)),
                )
            },
        }
        kept = {kind: accepts(after) for kind, accepts in judges.items() if promised.any()}
        row = {
            "table": name,
            "split": k,
            "promise": title,
            "of": promise,
            "strength": curve.strength_for(promise),
            "refused": len(at),
            "promised": int(promised.sum()),
            "cost": float(plans.cost[promised].mean()),
            **{kind: int(kept[kind].sum()) if kept else 0 for kind in judges},
            "all": int(np.all(list(kept.values()), axis=0).sum()) if kept else 0,
        }
        yield row | {"seconds": spent}


def main() -> None:
    rows = measured(measure, __doc__, 60, "promise")
    rows["given"] = rows["strength"].notna()
    total = rows.groupby(["table", "promise"], sort=False)[
        ["given", "refused", "promised", "same", "LightGBM", "logistic", "all"]
    ].sum()
    print(total.to_string())


if __name__ == "__main__":
    main()
