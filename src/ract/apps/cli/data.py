"""``ract data``: data sets to try things on, as files."""

from __future__ import annotations

from pathlib import Path

import typer

from ract.apps.cli.messages import BadInput, say

NAMES = {
    "loans": "simulated loan applications, built in",
    "fico": "home equity lines of credit: who pays back as agreed?",
    "compas": "defendants in Broward County: who reoffends in two years?",
    "credit": "credit card clients in Taiwan: who defaults next month?",
    "bail": "people released from prison: who reoffends?",
    "adult": "adults in the census: who earns above 50,000?",
}


def data(
    name: str | None = None,
    output: str = "-",
    actions: Path | None = None,
    n_people: int = 5000,
    random_state: int = 0,
    id: str | None = None,
) -> None:
    """Write a data set to a file.

    Simulated loans, which take a seed, or one of the others, which are downloaded once.

    Example: ract data loans -o loans.csv --actions loans.toml
    """
    from ract.apps.cli.outputs import form_of, write_table
    from ract.data import datasets

    if name is None:
        for known, description in NAMES.items():
            typer.echo(f"{known:8} {description}")
        return
    if name not in NAMES:
        raise BadInput(f"There is no data set {name!r}; there are {', '.join(NAMES)}.")
    form_of(output)
    if name == "loans":
        found = datasets.load_loans(n_people, random_state)
    else:
        found = getattr(datasets, f"fetch_{name}")()
    target = str(found.target.name)
    table = found.frame.assign(**{target: found.target})
    if id is not None:
        table.insert(0, id, [f"P-{k}" for k in range(1, len(table) + 1)])
    write_table(output, table)
    if actions is not None:
        found.actions.to_toml(actions)
    say(
        f"{len(found.frame)} people, {len(found.frame.columns)} features; the target is "
        f"{target!r}, and people want {found.desired!r}."
    )
