"""``ract init``: from a table to an action file that a person can edit."""

from __future__ import annotations

import sys
from typing import Any

from ract.apps.cli import options
from ract.apps.cli.inputs import format_of, format_options
from ract.apps.cli.messages import BadInput, print_summary, refuse_both, say


def propose_actions(
    table: options.TrainingData,
    *,
    output: str = "-",
    fixed: list[str] | None = None,
    increase: list[str] | None = None,
    decrease: list[str] | None = None,
    order: list[str] | None = None,
    keep: list[str] | None = None,
    dates: str | None = None,
    rare: int | None = None,
    rare_name: str = "other",
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Write an action file for a table, to be edited.

    It says how the table is written, what each feature is and how people may change it. All of it
    is inferred from the data, and the file gives the reasons. Columns that name rows or never vary
    are left out; age, sex and the like are left out of the model; features about the past, and
    those without a better direction, are fixed. Read the file, and change what is wrong.

    Example: ract init data.csv --target Risk -o actions.toml --fixed Age --increase Income
    """
    from ract.apps.cli.tables import class_named, require_column, with_known_class
    from ract.data.actions.propose import Wishes, propose
    from ract.data.csv import describe_file, name_of, naming_lines, writing_of
    from ract.data.target import target_classes

    refuse_both(output, json)
    if dates not in (None, "years", "days"):
        raise BadInput(f"--dates must be years or days, got {dates!r}.")
    format_of(csv)  # refuses what cannot be meant
    wishes = Wishes(
        fixed or (),
        increase or (),
        decrease or (),
        _orders(order or []),
        table.drop or (),
        keep or (),
        dates,
        rare,
        rare_name,
    )
    known = describe_file(table.data, format_options(csv))
    for option, names in (
        ("--target", [table.target]),
        ("--drop", wishes.drop),
        ("--keep", wishes.keep),
        ("--order", wishes.orders),
    ):
        for name in names:
            require_column(name, known.frame, option, table.data)
    people = with_known_class(known.frame, table.target, table.data)
    label = table.desired
    if label is not None:
        label = class_named(label, target_classes(people[table.target]))
    with naming_lines(table.data, known.form, people.index):
        proposal = propose(
            people,
            table.target,
            desired=label,
            wishes=wishes,
            form=known.form,
            comments=known.comments,
        )
    written = writing_of(known.form)
    for sentence in (
        *([f"{name_of(table.data)} has {written}."] if written else []),
        *known.said,
        *proposal.notes,
    ):
        say(f"Note: {sentence}")
    if output == "-":
        sys.stdout.write(proposal.to_toml_text())
    else:
        proposal.to_toml(output)
    space = proposal.space
    free = [feature.name for feature in space if feature.actionable]
    summary: dict[str, Any] = {
        "features": len(space),
        "may_change": len(free),
        "left_out": list(proposal.form.drop),
        "people": len(proposal.y),
        "classes": target_classes(proposal.y),
        "file": output,
    }
    print_summary(
        summary,
        f"{len(space)} features, of which {len(free)} may change. Now look through "
        f"{'the file' if output == '-' else output} and change what is wrong.",
        as_json=json,
    )


def _orders(given: list[str]) -> dict[str, tuple[str, ...]]:
    orders = {}
    for text in given:
        name, mark, values = text.partition("=")
        order = tuple(value.strip() for value in values.split("<"))
        if not mark or len(order) < 2 or not all(order):
            raise BadInput(f"--order takes such as 'School=none<middle<high', got {text!r}.")
        orders[name] = order
    return orders
