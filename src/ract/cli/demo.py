"""The story on built-in data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from ract.costs import make_cost
from ract.datasets import Dataset, load_loans
from ract.encoding import Axis, Encoder
from ract.grid import Grid, Prices
from ract.tree import RecourseTreeClassifier


def run(n_people: int, budget: float, seed: int) -> None:
    """Print the data, its action space and what a few refused people can reach."""
    console = Console()
    loans = load_loans(random_state=seed)
    encoder = Encoder(loans.frame, loans.actions)
    columns = encoder.encode(loans.frame)
    grid = Grid.from_columns(encoder.axes, columns)
    prices = grid.price(make_cost("percentile").fit(columns, encoder.weights))
    refused = np.flatnonzero(loans.target.to_numpy() != loans.desired)

    first = loans.frame.head(4).assign(**{str(loans.target.name): loans.target.head(4)})
    first.index = pd.Index([f"applicant {i}" for i in first.index])
    share = 1 - len(refused) / len(loans.frame)
    console.print(f"\n[bold]{len(loans.frame)} loan applications[/], {share:.0%} {loans.desired}")
    console.print(_as_table(first.T.rename_axis("feature").reset_index()))
    console.print("[bold]What a person may change[/]")
    console.print(_as_table(loans.actions.describe()))
    console.print(
        f"[bold]What {min(n_people, len(refused))} refused people can reach[/] within a budget of "
        f"{budget:g}: no feature may overtake more than {budget:.0%} of all applicants"
    )
    for row in refused[:n_people]:
        person = loans.frame.iloc[[row]]
        console.print(_reach_table(person, encoder, prices, budget))
    console.print("[bold]Two trees of depth 5[/], judged on 5000 new applicants")
    console.print(_two_trees(loans, load_loans(random_state=seed + 1), budget))


def _two_trees(loans: Dataset, fresh: Dataset, budget: float) -> Table:
    table = Table("tree", "accuracy", "without recourse")
    for name, weight in (("plain", 0.0), ("recourse-aware", 0.1)):
        model = RecourseTreeClassifier(
            loans.actions, budget=budget, recourse_weight=weight, max_depth=5
        ).fit(loans.frame, loans.target)
        accuracy, risk = model.score(fresh.frame, fresh.target), model.recourse_risk(fresh.frame)
        table.add_row(name, f"{accuracy:.3f}", f"{risk:.1%}")
    return table


def _reach_table(person: pd.DataFrame, encoder: Encoder, prices: Prices, budget: float) -> Table:
    costs, values = prices.of_person(encoder.matrix(person)[0])
    table = Table("feature", "now", "within reach", title=f"Applicant {person.index[0]}")
    for a, axis in enumerate(encoder.axes):
        if axis.feature.actionable:
            near = values[a][costs[a] <= budget]
            now = person[axis.feature.name].iloc[0]
            table.add_row(axis.feature.name, _word(now), _within_reach(axis, near, now))
    return table


def _within_reach(axis: Axis, near: np.ndarray, now: Any) -> str:
    if axis.is_categorical:
        names = [axis.feature.categories[int(k)] for k in near]
        return ", ".join(str(name) for name in names if name != now) or "-"
    if near.min() == near.max():
        return "-"
    if axis.feature.kind == "binary":
        return _word(not now)
    return f"{_word(near.min())} to {_word(near.max())}"


def _as_table(frame: pd.DataFrame) -> Table:
    table = Table(*frame.columns)
    for _, row in frame.iterrows():
        table.add_row(*[_word(value) for value in row])
    return table


def _word(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return ""
        whole = float(value).is_integer() or abs(float(value)) >= 1000
        return f"{value:,.0f}" if whole else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, (int, np.integer)) else str(value)
