"""``ract demo``: the story on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

N_APPLICANTS, N_NEW, N_TREES = 2000, 1000, 50
APPROVAL_RATE = 0.65


def demo(n_people: int = 3, random_state: int = 0, output: Path = Path("ract-demo.html")) -> None:
    """Train a plain forest and a recourse-aware booster and show refused people what to do.

    Example: ract demo --n-people 5
    """
    import numpy as np
    import pandas as pd
    from rich.console import Console
    from rich.table import Table
    from sklearn.base import clone

    from ract import RecourseBoostingClassifier, RecourseForestClassifier
    from ract._utils.errors import how_to_install
    from ract.data.datasets import load_loans
    from ract.evaluation import audit, sendable

    console = Console()
    loans = load_loans(N_APPLICANTS, random_state=random_state)
    new = load_loans(N_NEW, random_state=random_state + 1)
    elsewhere = load_loans(N_APPLICANTS, random_state=random_state + 2)
    first = loans.frame.head(4).assign(**{str(loans.target.name): loans.target.head(4)})
    first.index = pd.Index([f"applicant {i}" for i in first.index])
    share = (loans.target == loans.desired).mean()
    console.print(f"\n[bold]{len(loans.frame)} loan applications[/], {share:.0%} {loans.desired}")
    console.print(_as_table(first.T.rename_axis("feature").reset_index()))
    # This space limits the size of changes and asks for round amounts.
    space = load_loans(1, limits="size").actions
    console.print("\n[bold]What a person may change[/]")
    console.print(str(space), highlight=False, markup=False)

    console.print(
        f"\n[bold]Two models[/], measured on {len(new.frame)} new applicants; each approves about "
        f"{APPROVAL_RATE:.0%}"
    )
    common: dict[str, Any] = {"approval_rate": APPROVAL_RATE, "random_state": random_state}
    models = {
        "plain forest": RecourseForestClassifier(
            loans.actions, n_estimators=N_TREES, recourse_weight=0.0, **common
        ),
        "recourse-aware booster": RecourseBoostingClassifier(space, **common),
    }
    table = Table("model", "accuracy", "refused", "have a plan", "it can be sent")
    for name, model in models.items():
        with console.status(f"Training the {name} ..."):
            other = clone(model).fit(elsewhere.frame, elsewhere.target)
            model.fit(loans.frame, loans.target)
            found = model.recourse(new.frame, explain=False)
            sent = sendable(found, others=other, reference=loans.frame)
        accuracy = model.score(new.frame, new.target)
        shares = (accuracy, len(sent.people) / N_NEW, sent.people["plan"].mean(), sent.share)
        table.add_row(name, *[f"{share:.0%}" for share in shares])
    console.print(table)
    console.print(
        "The last two columns are shares of the refused. A plan can be sent if it asks for at most "
        "three changes of a reasonable size and in round amounts, stays valid when the person does "
        f"more than it asks, and is accepted by the same model trained on {N_APPLICANTS} other "
        "applications.\n"
    )

    refused = new.frame.iloc[np.flatnonzero(found.status != "accepted")[:n_people]]
    console.print(f"[bold]What refused people can do[/] ({name})")
    for plan in model.recourse(refused, n_alternatives=1):
        console.print(f"\n[bold]Applicant {plan.person}[/]")
        console.print(f"  {plan.describe()}", highlight=False)
        for way in plan.alternatives:
            console.print(f"  Or: {way.describe()}", highlight=False)

    with console.status("Auditing ..."):
        report = audit(model, new.frame, new.target, groups="Education", title="ract demo")
        report.save(output)
    console.print(f"\n[bold]The audit[/] of the {name} is in {output}; open it in a browser.")
    console.print(f"  {report.certificate.describe().splitlines()[0]}", highlight=False)
    console.print("\nOn data of your own: ract init, ract fit, ract notice, ract audit.")
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
