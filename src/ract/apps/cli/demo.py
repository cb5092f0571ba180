"""``ract demo``: the story on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ract.apps.cli import options

N_APPLICANTS, N_NEW, N_TREES = 2000, 1000, 50
TIME = "1 year"
FORESTS = (("plain forest", 0.0), ("recourse-aware forest", 0.2))


def demo(
    n_people: Annotated[int, typer.Option(min=1, max=50, help="How many people to show.")] = 3,
    budget: Annotated[
        float, typer.Option(min=0.0, help="Largest acceptable cost of an action.")
    ] = 0.3,
    random_state: options.RandomState = 0,
    output: Path = Path("ract-demo.html"),
) -> None:
    """Train a plain and a recourse-aware forest on built-in data and show people what to do.

    Example: ract demo --n-people 5 --budget 0.2
    """
    import numpy as np
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from ract._utils.errors import how_to_install
    from ract.data.datasets import load_loans
    from ract.evaluation.report import audit
    from ract.models.forest import RecourseForestClassifier

    console = Console()
    loans = load_loans(N_APPLICANTS, random_state=random_state)
    new = load_loans(N_NEW, random_state=random_state + 1)
    first = loans.frame.head(4).assign(**{str(loans.target.name): loans.target.head(4)})
    first.index = pd.Index([f"applicant {i}" for i in first.index])
    share = (loans.target == loans.desired).mean()
    console.print(f"\n[bold]{len(loans.frame)} loan applications[/], {share:.0%} {loans.desired}")
    console.print(_as_table(first.T.rename_axis("feature").reset_index()))
    console.print("[bold]What a person may change[/]")
    console.print(_as_table(loans.actions.describe()))

    console.print(
        f"[bold]Two forests of {N_TREES} trees[/], measured on {len(new.frame)} new applicants; "
        f"a budget of {budget:g} means: overtake no more than {budget:.0%} of all applicants in "
        "any feature"
    )
    console.print(f"Changes take their time, and here they take no more than {TIME}.")
    actions = loans.actions.within(TIME)
    table = Table("model", "accuracy", "has recourse")
    for name, weight in FORESTS:
        with console.status(f"Training the {name} ..."):
            model = RecourseForestClassifier(
                actions,
                n_estimators=N_TREES,
                budget=budget,
                recourse_weight=weight,
                random_state=random_state,
            ).fit(loans.frame, loans.target)
            recourse = model.recourse(new.frame, explain=False)
        accuracy = model.score(new.frame, new.target)
        table.add_row(name, f"{accuracy:.1%}", f"{recourse.within_budget.mean():.1%}")
    console.print(table)

    refused = new.frame.iloc[np.flatnonzero(recourse.status != "accepted")[:n_people]]
    console.print(f"[bold]What {len(refused)} people whom the second forest refuses can do[/]")
    for plan in model.recourse(refused, n_alternatives=1, by=TIME):
        console.print(f"\n[bold]Applicant {plan.person}[/] (cost {plan.cost:.2f})")
        console.print(f"  {plan.describe()}", highlight=False)
        for other in plan.alternatives:
            console.print(f"  Or: {other.describe()} (cost {other.cost:.2f})", highlight=False)

    with console.status("Auditing ..."):
        found = audit(model, new.frame, new.target, groups="Education", title="ract demo")
        found.save(output)
    console.print(
        f"\n[bold]The audit[/] of the second forest is in {output}; open it in a browser."
    )
    console.print(f"  {found.certificate.describe().splitlines()[0]}", highlight=False)
    console.print("\nOn data of your own: ract init, ract fit, ract recourse, ract audit.")
    console.print(
        f"As a service with pages, and promises that are kept: {how_to_install('serve')}, then "
        "ract serve --demo.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _as_table(frame: Any) -> Any:
    from rich.table import Table

    table = Table(*frame.columns)
    for _, row in frame.iterrows():
        table.add_row(*[_cell(value) for value in row])
    return table


def _cell(value: Any) -> str:
    import numpy as np

    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return ""
        whole = float(value).is_integer() or abs(float(value)) >= 1000
        return f"{value:,.0f}" if whole else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, (int, np.integer)) else str(value)
