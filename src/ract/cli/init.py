"""``ract init``: from a table to an action file that a person can edit."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ract.cli import options


def init(
    table: options.TrainingData,
    *,
    output: Annotated[
        str, typer.Option("-o", "--output", help="Action file; - to print it.")
    ] = "-",
    fixed: Annotated[
        list[str] | None, typer.Option(help="Feature that nobody can change. May be given again.")
    ] = None,
    increase: Annotated[
        list[str] | None, typer.Option(help="Feature that can only go up. May be given again.")
    ] = None,
    decrease: Annotated[
        list[str] | None, typer.Option(help="Feature that can only go down. May be given again.")
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(help="Order of text: 'School=none<middle<high'. May be given again."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to keep, whatever it looks like. May be given again."),
    ] = None,
    dates: Annotated[
        str | None, typer.Option(help="Read dates as years or days since; left out by default.")
    ] = None,
    rare: Annotated[
        int | None, typer.Option(min=2, help="Put categories of fewer people than this together.")
    ] = None,
    rare_name: Annotated[str, typer.Option(help="The name of these categories.")] = "other",
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Write an action file for a table, to be edited.

    It says how the table is written, what each feature is and how people may change it. All of it
    is read off the data, and the file says why: columns that name rows or never vary are left out,
    age, sex and the like are proposed as fixed. Everything else may change until you say otherwise,
    so edit the file.

    Example: ract init data.csv --target Risk -o actions.toml --fixed Age --increase Income
    """
    from ract._files import write_whole
    from ract.cli.columns import classes_of, desired_class
    from ract.cli.failures import BadInput
    from ract.cli.messages import print_summary, refuse_both, say
    from ract.cli.proposal import propose

    refuse_both(output, json)
    if dates not in (None, "years", "days"):
        raise BadInput(f"--dates must be years or days, got {dates!r}.")
    change = {"fixed": fixed or [], "increase": increase or [], "decrease": decrease or []}
    proposal = propose(
        table, csv, change, orders=_orders(order or []), keep=keep or [], dates=dates,
        rare=rare, rare_name=rare_name,
    )  # fmt: skip
    for sentence in proposal.said:
        say(f"Note: {sentence}")
    text, space = proposal.to_toml_text(), proposal.space
    if output == "-":
        sys.stdout.write(text)
    else:
        write_whole(output, text)
    free = [feature.name for feature in space if feature.actionable]
    classes = classes_of(proposal.y)
    if table.desired is not None:
        desired_class(table.desired, classes)
    summary: dict[str, Any] = {
        "features": len(space), "may_change": len(free), "left_out": list(proposal.form.drop),
        "people": len(proposal.y), "classes": classes, "file": output,
    }  # fmt: skip
    print_summary(
        summary,
        f"{len(space)} features, of which {len(free)} may change. Now edit "
        f"{'the file' if output == '-' else output} and mark what people cannot change as fixed.",
        as_json=json,
    )


def _orders(given: list[str]) -> dict[str, tuple[str, ...]]:
    from ract.cli.failures import BadInput

    orders = {}
    for text in given:
        name, mark, values = text.partition("=")
        order = tuple(value.strip() for value in values.split("<"))
        if not mark or len(order) < 2 or not all(order):
            raise BadInput(f"--order takes such as 'School=none<middle<high', got {text!r}.")
        orders[name] = order
    return orders
