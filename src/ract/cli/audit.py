"""``ract audit``: one page on what a model decides and who has recourse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ract.cli.options import (
    Csv,
    DataFile,
    Decimal,
    Delimiter,
    Encoding,
    Id,
    Jobs,
    Json,
    ModelPath,
    Thousands,
)


def audit(
    model: ModelPath,
    data: DataFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="HTML page to write.", show_default=False)
    ],
    target: Annotated[
        str | None,
        typer.Option(help="Column that holds what was decided; that of training if it is there."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column of groups to compare, of the model or not.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Largest acceptable cost; the model's own by default.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the bounds and intervals.")] = 0.95,
    training: Annotated[
        str | None, typer.Option(help="Training table, to notice people who are in both.")
    ] = None,
    max_people: Annotated[
        int, typer.Option(help="For how many people plans are looked for; the bound is on all.")
    ] = 5000,
    time_limit: Annotated[float, typer.Option(help="Seconds for each person's search.")] = 10.0,
    title: Annotated[str, typer.Option(help="Of the page.")] = "Recourse audit",
    templates: Annotated[
        Path | None, typer.Option(help="Folder of Jinja2 templates that replace the page's own.")
    ] = None,
    id: Id = None,
    n_jobs: Jobs = -1,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write a page: accuracy, recourse with a bound, groups, costs, people without recourse.

    Example: ract audit model.ract new-people.csv --groups Sex -o report.html
    """
    from ract import report
    from ract.cli.held_out import held_out, training_people
    from ract.cli.messages import open_model, share, tell
    from ract.report.render import open_templates

    open_templates(templates)  # a mistake is said before the search, which may take minutes
    file = open_model(model)
    csv = Csv(delimiter, decimal, thousands, encoding)
    told = target if target is not None else file.summary.get("target")
    people = held_out(
        data, csv, file.model, target=told, is_asked=target is not None, groups=groups, id=id
    )
    known = training_people(file, people, training, csv)
    found = report.audit(
        file.model,
        people.frame,
        people.truth,
        groups=people.groups,
        budget=budget,
        confidence=confidence,
        training=known,
        max_people=max_people,
        time_limit=time_limit,
        title=title,
        n_jobs=n_jobs,
        progress=sys.stderr.isatty(),
    )
    found.save(output, templates)
    seen = found.certificate.everyone
    summary = {
        "people": found.n_people,
        "recourse_ratio": 1 - seen.risk,
        "risk_bound": seen.risk_bound,
        "confidence": confidence,
        "file": str(output),
    }
    sentence = (
        f"{found.n_people} people, {share(1 - seen.risk)} accepted or with a plan within the "
        f"budget; the page is {output}."
    )
    tell(summary, sentence, as_json=json)
