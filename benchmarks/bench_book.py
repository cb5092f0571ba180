"""What plans do to the lender's book, on the loans model (the truth) and on FICO (a judge).

A model of the training people gives plans to the others, who are asked about and, on FICO, judge
each other (nobody by their own half). Earned plans are sought by a judge of the training people; on
FICO a search ends after so many nodes, since many in the judge's deep trees would take long, and
who is undecided then has no plan. On the loans model effects of changes on other features are not
counted in. The bad rates that ``docs/book.md`` shows, and its picture.

    python benchmarks/bench_book.py loans fico --figure docs/figures/book-fico.svg
        --output results/book/rows.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from ract import OutcomeJudge, RecourseForestClassifier, load_loans
from ract.data.datasets import fetch_fico
from ract.data.loans import LoansModel
from ract.evaluation import BookDisplay, book

MARGIN, LOSS, BUDGET = 20.0, 30.0, 0.3
LIMITS = {"loans": {}, "fico": {"max_nodes": 20_000, "time_limit": None}}


def loans(seed):
    """Training people, new people, and the truth as judge."""
    old, new = load_loans(2000, random_state=seed), load_loans(1500, random_state=1000 + seed)
    return (
        old.actions,
        old.frame,
        old.target,
        new.frame,
        new.target,
        (LoansModel().approval_probability),
    )


def fico(seed):
    """Half of the people for training; the others are asked about and judge each other."""
    data = fetch_fico()
    order = np.random.default_rng(seed).permutation(len(data.frame))
    half, rest = order[: len(order) // 2], order[len(order) // 2 :][:1000]
    target = np.asarray(data.target)
    new = data.frame.iloc[rest].reset_index(drop=True)
    judge = OutcomeJudge(data.actions).fit(new, target[rest])
    train = data.frame.iloc[half].reset_index(drop=True)
    return data.actions, train, target[half], new, target[rest], judge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=["loans", "fico"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", help="where to draw the last table's book")
    parser.add_argument("--output", type=Path, help="where to keep the rows of all tables")
    given, kept = parser.parse_args(), []
    for name in given.tables:
        actions, train, target, new, outcome, judge = {"loans": loans, "fico": fico}[name](
            given.seed
        )
        model = RecourseForestClassifier(actions, budget=BUDGET, random_state=given.seed)
        model.fit(train, target)
        found = book(
            model, new, outcome, judge, margin=MARGIN, loss=LOSS,
            seeking=OutcomeJudge(actions).fit(train, target), **LIMITS[name],
        )  # fmt: skip
        kept.append(found.table.assign(table=name, price=found.price.value))
        print(f"{name}: {len(train)} people for training, {len(new)} asked about")
        print(found)
        for _, row in found.table.iterrows():
            if row["adopters"]:
                print(
                    f"  {row['pool']}: {row['adopters']} adopters, unknown {row['unknown']}, rise "
                    f"{row['rise']:+.3f} ({row['rise low']:+.3f} to {row['rise high']:+.3f})"
                )
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        pd.concat(kept).to_csv(given.output, index=False, float_format="%.5g")
    if given.figure:
        figure = BookDisplay.from_book(found).figure_
        figure.savefig(given.figure, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
