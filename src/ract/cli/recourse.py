"""``ract recourse``: what each person can do, as a table and as letters."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options


@dataclass(frozen=True)
class Search:
    """Which plans are sought; parameters of ``recourse`` in Python."""

    budget: options.ModelBudget = None
    max_changes: Annotated[
        int | None, typer.Option(help="How many features a plan may change.")
    ] = None
    n_alternatives: Annotated[int, typer.Option(help="Further plans for each person.")] = 0
    margin: Annotated[
        float, typer.Option(help="Plans hold if changes fall short by up to this share.")
    ] = 0.0
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Widen the range of each value; letters do.")
    ] = False
    features: Annotated[
        list[str] | None, typer.Option(help="Only this feature may change. May be given again.")
    ] = None
    forbidden: Annotated[
        list[str] | None, typer.Option(help="This feature may not change. May be given again.")
    ] = None
    explain: Annotated[bool, typer.Option(help="Say why, where there is no plan.")] = True
    time_limit: options.TimeLimit = 10.0
    n_jobs: options.NJobs = -1


def recourse(
    model: options.ModelPath,
    people: options.PeopleFile,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="CSV, Parquet or JSON file; - to print CSV, as without --letters.",
        ),
    ] = None,
    letters: Annotated[
        Path | None,
        typer.Option(help="Folder for one page for each person who is refused; needs --id."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove the letters that the folder holds.")
    ] = False,
    search: Search,
    id: options.Id = None,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Find what each person can do to get the desired class.

    The table has one row per change (one row without a change for people who have no plan or
    need none). Long files are read, searched and written in chunks, so that memory stays small.

    Example: ract recourse model.ract people.csv -o plans.csv --letters letters --id Name
    """
    from ract.cli.columns import model_columns, text_columns
    from ract.cli.failures import BadInput
    from ract.cli.inputs import open_model
    from ract.cli.letters import letter_writer
    from ract.cli.messages import print_summary, progress, refuse_both, say_if_unrestricted
    from ract.cli.outputs import table_writer
    from ract.cli.tables import Chunks, naming_lines, peeked

    if output is None and letters is None:
        output = "-"
    refuse_both(output, json)
    if letters is not None and id is None:
        raise BadInput("--letters needs --id, the column whose values name the people's letters.")
    classifier = open_model(model).model
    say_if_unrestricted(classifier.encoder_.space)
    given = asdict(search) | {
        "forbidden": search.forbidden or (),
        "ranges": search.ranges or letters is not None,
    }
    statuses: Counter[str] = Counter()
    n_within = n_letters = 0
    chunks = Chunks(people, csv, text=text_columns(classifier.encoder_))
    with (
        table_writer(output) as write,
        letter_writer(letters, classifier, replace=replace) as write_letters,
    ):
        is_only, read = peeked(chunks)
        with progress("Searching", show=not is_only) as done:
            for chunk in read:
                X = model_columns(chunk, classifier.encoder_, people, id)
                if letters is not None and chunk[id].isna().any():
                    raise BadInput(f"--id names {id!r}, which is empty for some people.")
                with naming_lines(people, csv, chunk.index[0]):
                    found = classifier.recourse(X, progress=is_only, **given)
                write(found.to_frame())
                n_letters += write_letters(found)
                statuses.update(found.status.tolist())
                n_within += int(found.within_budget.sum())
                done(chunks.share)
    summary = _summary(statuses, n_within, n_letters if letters is not None else None)
    print_summary(summary, _sentence(summary, output, letters), as_json=json)


def _summary(statuses: Counter[str], n_within: int, n_letters: int | None) -> dict[str, Any]:
    from ract.status import Status

    n_people = statuses.total()
    counts = {s.word: statuses[s.word] for s in Status if statuses[s.word]}
    summary = {"people": n_people, "statuses": counts, "recourse_ratio": n_within / n_people}
    return summary if n_letters is None else summary | {"letters": n_letters}


def _sentence(summary: dict[str, Any], output: str | None, letters: Path | None) -> str:
    from ract.cli.messages import share

    counts = ", ".join(f"{n} {status}" for status, n in summary["statuses"].items())
    text = (
        f"{summary['people']} people: {counts}; {share(summary['recourse_ratio'])} are accepted or "
        "have a plan within the budget."
    )
    if output not in (None, "-"):
        text += f" Plans are in {output}."
    return text if letters is None else f"{text} {summary['letters']} letters are in {letters}."
