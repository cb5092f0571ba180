"""Does the promise hold? The loans model, drawn many times.

In each draw a forest is fitted and calibrated on its own people, and its plans for new people are
put to full-size models that were trained on other people: drawn alike, drawn from populations that
have shifted, and of another kind. The promise is that plans last with a probability of 90%, at a
confidence of 90%: in at least nine of ten draws with a promise, the share that lasts (over models
drawn alike) must be 0.9 or more.

Some 250 promised plans of a draw are put to 60 models drawn alike, so that its share is known to
about half a percent ("error"), while draws differ by three to four. Rows are appended as they are
done, and those that are there are not made again; without new draws what is there is reported.

    python benchmarks/simulate_lasting.py --draws 200 --output simulation.csv
    python benchmarks/simulate_lasting.py --draws 0 --output results/simulation/loans.csv
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from lightgbm import LGBMClassifier

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans
from ract.recourse import LastingWarning

PROMISE, N_TREES, WEIGHT, N_ASKED = 0.9, 50, 0.3, 1500
N_JUDGES, N_OTHER = 60, 15  # drawn alike, and of every other kind


def forest(loans, seed, **given):
    """A forest of fewer trees and more weight than by default: most draws then have a promise."""
    return RecourseForestClassifier(
        loans.actions, n_estimators=N_TREES, recourse_weight=WEIGHT, random_state=seed, **given
    )


def shifted(n, seed, weight):
    """People drawn with a weight, without repeating anyone."""
    loans = load_loans(4 * n, random_state=seed)
    chances = weight(loans.frame)
    rows = np.random.default_rng(seed).choice(
        4 * n, n, replace=False, p=chances / chances.sum()
    )  # fmt: skip
    return loans, loans.frame.iloc[rows], np.asarray(loans.target)[rows]


def richer(frame):
    """Who earns more is drawn more often: the mean income is some 15% higher."""
    return (frame["Income"] / frame["Income"].mean()).to_numpy()


def other_purposes(frame):
    """Loans for the first purpose are three times as frequent."""
    first = frame["Purpose"] == sorted(frame["Purpose"].unique())[0]
    return np.where(first, 3.0, 1.0)


def boosted(frame, target):
    """LightGBM on the same columns."""
    codes = frame.apply(lambda column: column if column.dtype.kind in "ifb" else codes_of(column))
    return LGBMClassifier(num_leaves=8, verbose=-1, n_jobs=1).fit(codes, target)


def codes_of(column):
    """Categories as whole numbers, alike in every draw."""
    return column.astype(str).map(lambda name: sum(map(ord, name)))


def judges_of(n_people, k):
    """The models of one draw of other people: alike, and for some shifted and of another kind."""
    seed = 10_000 + k
    loans = load_loans(n_people, random_state=seed)
    found = {"alike": forest(loans, seed).fit(loans.frame, loans.target)}
    if k < N_OTHER:
        for name, weight in (("richer", richer), ("purposes", other_purposes)):
            drawn, frame, target = shifted(n_people, seed, weight)
            found[name] = forest(drawn, seed).fit(frame, target)
        found["LightGBM"] = boosted(loans.frame, loans.target)
    return found


def accepted_by(judge, plans):
    """Whom a model accepts of those who have carried out their plans."""
    table = plans.counterfactuals
    if isinstance(judge, LGBMClassifier):
        table = table.apply(
            lambda column: column if column.dtype.kind in "ifb" else codes_of(column)
        )
        return judge.predict(table) == "approved"
    if judge.encoder_.column_names != plans.encoder.column_names:
        return judge.predict(table) == "approved"
    return judge.ensemble_.decide(plans.answers.values)


def draw(k, n_people, judges):
    """One draw: what was promised and what came of it."""
    loans, new = load_loans(n_people, random_state=k), load_loans(N_ASKED, random_state=50_000 + k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LastingWarning)
        model = forest(loans, k, lasting=PROMISE).fit(loans.frame, loans.target)
    strength = model.lasting_.strength_for(PROMISE)
    refused = new.frame[model.predict(new.frame) == "refused"]
    plans = model.recourse(refused, explain=False)
    row = {
        "draw": k, "strength": strength, "refused": len(refused), "plans": int(plans.found.sum()),
        "promised": int(plans.lasts.sum()),
    }  # fmt: skip
    for kind in ("alike", "richer", "purposes", "LightGBM"):
        lasts = np.array([accepted_by(of[kind], plans) for of in judges if kind in of])
        row[f"{kind}, all refused"] = (lasts & plans.found).mean()
        kept = lasts[:, plans.lasts]
        row[kind] = kept.mean() if kept.size else np.nan
        if kind == "alike" and kept.size:  # by chance, in people and in judges
            parts = [kept.mean(axis=axis).var(ddof=1) / kept.shape[1 - axis] for axis in (0, 1)]
            row["error"] = np.sqrt(sum(parts))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    parallel = Parallel(n_jobs=given.n_jobs, return_as="generator")
    rows = pd.read_csv(given.output) if given.output and given.output.exists() else pd.DataFrame()
    done = set(rows["draw"]) if len(rows) else set()
    todo = [k for k in range(given.first, given.first + given.draws) if k not in done]
    judges = list(parallel(delayed(judges_of)(given.people, k) for k in range(N_JUDGES) if todo))
    for row in parallel(delayed(draw)(k, given.people, judges) for k in todo):
        rows = pd.concat([rows, pd.DataFrame([row])], ignore_index=True)
        if given.output is not None:  # whoever ends a run early has what was done
            rows.to_csv(given.output, index=False)
    report(rows)


def report(rows: pd.DataFrame) -> None:
    """Print what was promised and what came out."""
    with_promise = rows[rows["promised"] > 0]
    print(f"{len(rows)} draws, {len(with_promise)} with a promise of {PROMISE:.0%}")
    if not len(with_promise):
        return
    print(f"strength: {with_promise['strength'].describe()[['min', '50%', 'max']].to_dict()}")
    print(f"promised plans in a draw: {with_promise['promised'].mean():.0f}")
    share = with_promise["promised"].sum() / with_promise["refused"].sum()
    print(f"refused people with a promised plan: {share:.3f}")
    print(
        f"between draws {with_promise['alike'].std():.3f}, by chance in a draw "
        f"{with_promise['error'].mean():.3f}"
    )
    for kind in ("alike", "richer", "purposes", "LightGBM"):
        print(
            f"{kind}: promised plans that last {with_promise[kind].mean():.3f}, "
            f"draws with {PROMISE:.0%} or more {(with_promise[kind] >= PROMISE).mean():.3f} "
            f"({(with_promise[kind] >= PROMISE).sum()} of {len(with_promise)}); "
            f"of all refused, with the strongest plans, {rows[f'{kind}, all refused'].mean():.3f}"
        )


if __name__ == "__main__":
    main()
