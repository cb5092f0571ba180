"""``ract init``: from a table to an action file that a person can edit."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ract.cli import options

MANY_CATEGORIES = 50


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
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Write an action file for a table, to be edited.

    It says what each feature is and how people may change it. Kinds, bounds and categories are read
    off the data. Everything may change until you say otherwise, so edit the file: mark what nobody
    can change as fixed.

    Example: ract init data.csv --target Risk -o actions.toml --fixed Age --increase Income
    """
    from ract._files import write_whole
    from ract.actions import ActionSpace
    from ract.cli.columns import classes_of, desired_class, features_and_target
    from ract.cli.messages import print_summary, refuse_both, say
    from ract.cli.tables import naming_lines

    refuse_both(output, json)
    X, y = features_and_target(table, csv)
    classes = classes_of(y)
    label = None if table.desired is None else desired_class(table.desired, classes)
    with naming_lines(table.data, csv):
        space = ActionSpace.infer(
            X, fixed=fixed or (), increase=increase or (), decrease=decrease or (), desired=label
        )
    for feature in space:
        if len(feature.categories) > MANY_CATEGORIES:
            say(
                f"Note: {feature.name!r} has {len(feature.categories)} different values; if it "
                f"names people, leave it out with --drop {feature.name!r} here and in ract fit."
            )
    for feature in space:
        if feature.is_categorical and feature.change in ("increase", "decrease"):
            say(
                f"Note: the categories of {feature.name!r} are taken in this order: "
                f"{' < '.join(map(str, feature.categories))}; correct it in the action file."
            )
    text = space.to_toml_text()
    if output == "-":
        sys.stdout.write(text)
    else:
        write_whole(output, text)
    free = [feature.name for feature in space if feature.actionable]
    summary = {"features": len(space), "may_change": len(free), "classes": classes, "file": output}
    print_summary(
        summary,
        f"{len(space)} features, of which {len(free)} may change. Now edit "
        f"{'the file' if output == '-' else output} and mark what people cannot change as fixed.",
        as_json=json,
    )
