"""The story on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from ract.datasets import load_loans
from ract.forest import RecourseForestClassifier
from ract.report import audit

N_PEOPLE, N_TREES = 2000, 50
FORESTS = (("plain forest", 0.0), ("recourse-aware forest", 0.2))


def run(n_people: int, budget: float, seed: int, report: Path) -> None:
    """Print the data, its action space, two forests and a few people's plans; write the audit."""
    console = Console()
    loans, fresh = load_loans(N_PEOPLE, random_state=seed), load_loans(1000, random_state=seed + 1)
    first = loans.frame.head(4).assign(**{str(loans.target.name): loans.target.head(4)})
    first.index = pd.Index([f"applicant {i}" for i in first.index])
    share = (loans.target == loans.desired).mean()
    console.print(f"\n[bold]{len(loans.frame)} loan applications[/], {share:.0%} {loans.desired}")
    console.print(_as_table(first.T.rename_axis("feature").reset_index()))
    console.print("[bold]What a person may change[/]")
    console.print(_as_table(loans.actions.describe()))

    console.print(
        f"[bold]Two forests of {N_TREES} trees[/], judged on {len(fresh.frame)} new applicants; "
        f"a budget of {budget:g} means: overtake no more than {budget:.0%} of all applicants in "
        "any feature"
    )
    table = Table("model", "accuracy", "has recourse")
    for name, weight in FORESTS:
        with console.status(f"Training the {name} ..."):
            model = RecourseForestClassifier(
                loans.actions, n_estimators=N_TREES, budget=budget, recourse_weight=weight,
                random_state=seed,
            ).fit(loans.frame, loans.target)  # fmt: skip
            recourse = model.recourse(fresh.frame, explain=False)
        accuracy = model.score(fresh.frame, fresh.target)
        table.add_row(name, f"{accuracy:.1%}", f"{recourse.within_budget.mean():.1%}")
    console.print(table)

    refused = fresh.frame.iloc[np.flatnonzero(recourse.status != "accepted")[:n_people]]
    console.print(f"[bold]What {len(refused)} people whom the second forest refuses can do[/]")
    for plan in model.recourse(refused, n_alternatives=1):
        console.print(f"\n[bold]Applicant {plan.person}[/] (cost {plan.cost:.2f})")
        console.print(f"  {plan.describe()}", highlight=False)
        for other in plan.alternatives:
            console.print(f"  Or: {other.describe()} (cost {other.cost:.2f})", highlight=False)

    with console.status("Auditing ..."):
        found = audit(model, fresh.frame, fresh.target, groups="Education", title="ract demo")
        found.save(report)
    console.print(
        f"\n[bold]The audit[/] of the second forest is in {report}; open it in a browser."
    )
    console.print(f"  {found.certificate.describe().splitlines()[0]}", highlight=False)
    console.print("\nOn data of your own: ract init, ract fit, ract recourse, ract audit.")


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
