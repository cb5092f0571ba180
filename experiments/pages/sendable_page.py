"""Which plans can be sent: a table for each table of people."""

from __future__ import annotations

import pandas as pd

from experiments.benchmark.sendable import LEAST_REFUSED, OTHERWISE, name_of
from experiments.benchmark.sendable_models import ENTRIES
from experiments.pages.markdown import page, table
from experiments.spaces.tables import TABLES, Table
from experiments.store import Store
from ract._utils.statistics import proportion

CHECKS = ("few", "safe", "size", "round", "lasts")
HEADER = [
    "model", "sendable", "roundness aside", "of whom the plain forest refuses", "has a plan",
    *CHECKS, "AUC", "approved", "bad among them", "cost", "features", "ms",
]  # fmt: skip
INTRODUCTION = f"""\
## Plans that can be sent

*Sendable*: of refused people, the share whose plan passes five checks, as a letter would say it: at
most three features change (*few*); everyone who does more than it asks is accepted, in any
combination of its changes up to the table's 1st and 99th percentile, by proof (*safe*); no number
moves by more than max(one step, min(half of max(own value, median), interquartile range)) (*size*);
every target is a multiple of 10^(floor(log10 of the change) - 1) (*round*); and the same learner,
trained on a disjoint half of the people, accepts it (*lasts*). Whoever has no plan counts as
without a sendable one; the checks are shares of those who have a plan. In brackets: 95% interval.

Every model, the judges included, is cut at one approval rate of the table, chosen on training
people that it was not fitted on: that of the plain forest (the better of scikit-learn's with its
leaf size tuned and ours without recourse), or {OTHERWISE:g} if that refuses under
{LEAST_REFUSED:.0%}. *AUC* is that of the score that is cut, in brackets its difference to the
plain forest's; *bad among them* is the share of undesired outcomes among the approved test people,
in brackets its difference to the plain forest's. *Features*: how many different ones sendable plans
change. Plans for models of other libraries come from the same search, with the same limits, steps
and levels of strength as ours. Action spaces were written before any model was fitted
(`experiments/spaces`). (`python -m experiments.benchmark --sendable`)
"""


def sendable_page(store: Store) -> str:
    """A part for each table that has rows."""
    parts = [INTRODUCTION]
    for one in TABLES.values():
        parts += _part(store, one)
    return page(*parts)


def _part(store: Store, one: Table) -> list[str]:
    stored = {name: store.read(name_of(entry), one.name) for name, entry in ENTRIES.items()}
    found = {name: rows for name, rows in stored.items() if rows is not None}
    if not found:
        return []
    first = next(iter(found.values()))
    n_folds, rate = first["Fold"].nunique(), first["Rate"].iloc[0]
    said = f"Approval rate {rate:.0%}; {n_folds} fold{'s' * (n_folds > 1)}."
    lines = [_row(ENTRIES[name].title, rows) for name, rows in found.items()]
    return [f"### {one.title}", said, table(HEADER, lines)]


def _row(title: str, rows: pd.DataFrame) -> list[str]:
    refused, plans = int(rows["Refused"].sum()), int(rows["Plans"].sum())
    features = {f for used in rows["Features"].dropna() for f in str(used).split(";") if f}
    return [
        title, _with_interval(rows["Sendable"].sum(), refused),
        _ratio(rows["Aside"].sum(), refused),
        _ratio(rows["Plain sendable"].sum(), rows["Plain refused"].sum()), _ratio(plans, refused),
        *(_ratio(rows[check].sum(), plans) for check in CHECKS),
        _beside(rows["AUC"], rows["Plain AUC"], 3), f"{rows['Approved'].mean():.2f}",
        _beside(rows["Bad"], rows["Plain bad"], 3), f"{rows['Cost'].mean():.2f}",
        str(len(features)), f"{rows['Search [ms]'].median():.1f}",
    ]  # fmt: skip


def _with_interval(part: float, whole: int) -> str:
    if not whole:
        return "n/a"
    known = proportion(int(part), whole, 0.95)
    return f"**{known.value:.2f}** ({known.low:.2f} to {known.high:.2f})"


def _ratio(part: float, whole: float) -> str:
    return f"{part / whole:.2f}" if whole else "n/a"


def _beside(values: pd.Series, plain: pd.Series, digits: int) -> str:
    return f"{values.mean():.{digits}f} ({(values - plain).mean():+.{digits}f})"
