"""``ract recourse``: what each person can do, as a table and as letters."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli.options import (
    Csv,
    Decimal,
    Delimiter,
    Encoding,
    Id,
    Jobs,
    Json,
    ModelPath,
    PeopleFile,
    Thousands,
)


def recourse(
    model: ModelPath,
    people: PeopleFile,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="CSV, Parquet or JSON file; - to print CSV."),
    ] = None,
    letters: Annotated[
        Path | None, typer.Option(help="Folder for one page for each person who is refused.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Most that a plan may cost; that of training by default.")
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(help="How many features a plan may change.")
    ] = None,
    n_alternatives: Annotated[int, typer.Option(help="Further plans for each person.")] = 0,
    margin: Annotated[
        float, typer.Option(help="Plans hold if changes fall short by up to this share.")
    ] = 0.0,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Say how far each value may differ.")
    ] = False,
    features: Annotated[
        list[str] | None, typer.Option(help="Only this feature may change. May be given again.")
    ] = None,
    forbidden: Annotated[
        list[str] | None, typer.Option(help="This feature may not change. May be given again.")
    ] = None,
    explain: Annotated[bool, typer.Option(help="Say why, where there is no plan.")] = True,
    time_limit: Annotated[float, typer.Option(help="Seconds for each person.")] = 10.0,
    id: Id = None,
    n_jobs: Jobs = -1,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Find what each person can do to get the desired class.

    The table has one row per change (one row without a change for people who have no plan or
    need none). Long files are read, searched and written in pieces, so that memory stays small.

    Example: ract recourse model.ract people.csv -o plans.csv --letters letters
    """
    from ract.cli.chunks import in_context
    from ract.cli.letters import letter_writer
    from ract.cli.messages import open_model, progress, refuse_both, tell
    from ract.cli.outputs import table_writer
    from ract.cli.tables import Chunks, peeked, people_of, text_columns

    if output is None and letters is None:
        output = "-"
    refuse_both(output, json)
    held = open_model(model).model
    options: dict[str, Any] = {
        "budget": budget,
        "max_changes": max_changes,
        "n_alternatives": n_alternatives,
        "margin": margin,
        "ranges": ranges,
        "features": features,
        "forbidden": forbidden or (),
        "explain": explain,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
    }
    csv = Csv(delimiter, decimal, thousands, encoding)
    statuses: Counter[str] = Counter()
    n_within = n_letters = 0
    chunks = Chunks(people, csv, text=text_columns(held.encoder_))
    with table_writer(output) as write, letter_writer(letters, held) as write_letters:
        alone, pieces = peeked(chunks)
        options["progress"] = alone and sys.stderr.isatty()
        with progress("Searching", show=not alone) as done:
            for chunk in pieces:
                own = people_of(chunk, held.encoder_, people, id)
                with in_context(chunk, people):
                    found = held.recourse(own, **options)
                write(found.to_frame())
                n_letters += write_letters(found, chunk.index, ranges)
                statuses.update(found.status.tolist())
                n_within += int(found.within_budget.sum())
                done(chunks.share)
    summary = _summary(statuses, n_within, n_letters if letters is not None else None)
    tell(summary, _sentence(summary, output, letters), as_json=json)


def _summary(statuses: Counter[str], n_within: int, n_letters: int | None) -> dict[str, Any]:
    from ract.status import Status

    n_people = statuses.total()
    told = {s.word: statuses[s.word] for s in Status if statuses[s.word]}
    summary = {"people": n_people, "statuses": told, "recourse_ratio": n_within / n_people}
    return summary if n_letters is None else summary | {"letters": n_letters}


def _sentence(summary: dict[str, Any], output: str | None, letters: Path | None) -> str:
    from ract.cli.messages import share

    told = ", ".join(f"{n} {status}" for status, n in summary["statuses"].items())
    text = (
        f"{summary['people']} people: {told}; {share(summary['recourse_ratio'])} are accepted or "
        "have a plan within the budget."
    )
    if output not in (None, "-"):
        text += f" Plans are in {output}."
    return text if letters is None else f"{text} {summary['letters']} letters are in {letters}."
