"""``ract recourse``: what each person can do, as a table and as letters."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ract.cli import options
from ract.cli.searching import Plans, Searched


@dataclass(frozen=True)
class Search(Plans):
    """Which plans are sought, and what is said about them."""

    ranges: Annotated[
        bool, typer.Option("--ranges", help="Widen the range of each value; letters do.")
    ] = False
    at_least: Annotated[
        bool,
        typer.Option("--at-least", help="Plans hold for everyone who does more; letters do."),
    ] = False
    explain: Annotated[bool, typer.Option(help="Say why, where there is no plan.")] = True


def recourse(
    model: options.ModelPath,
    people: options.PeopleFolder,
    *,
    also: Annotated[
        list[Path] | None,
        typer.Option(help="Model file: plans serve in this model too. May be given again."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="CSV, Parquet or JSON file, or a folder for the plans of a folder; - to print "
            "CSV, as without --letters.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="local or dask: plans of Parquet files in parts, into a folder; a run that was "
            "stopped goes on."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="With --engine dask: its address, tcp://host:8786; else this machine."),
    ] = None,
    letters: Annotated[
        Path | None,
        typer.Option(help="Folder for one page for each person who is refused; needs --id."),
    ] = None,
    pages: options.NoticePages,
    search: Search,
    id: options.Id = None,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Find what each person can do to get the desired class.

    The table has one row per change (one row without a change for people who have no plan or
    need none). Long files are read, searched and written in chunks, so that memory stays small.
    Letters are notices without reasons; ract notice gives reasons too. The plans of a folder of
    Parquet files are a folder of Parquet files, made part by part, here or on a Dask cluster.

    Example: ract recourse model.ract people.csv -o plans.csv --letters letters --id Name
    """
    from ract.cli.failures import BadInput
    from ract.cli.inputs import open_model
    from ract.cli.messages import print_summary, refuse_both, say_if_unrestricted
    from ract.cli.outputs import table_writer
    from ract.cli.tables import format_of
    from ract.recourse.find import find_recourse

    if engine is not None or scheduler is not None or Path(people).is_dir():
        from ract.cli.in_parts import recourse_in_parts

        refused = {"--letters": letters, "--also": also}
        recourse_in_parts(
            model, people, output, search, id, engine, scheduler, refused, as_json=json
        )
        return
    if output is None and letters is None:
        output = "-"
    refuse_both(output, json)
    if letters is not None and id is None:
        raise BadInput("--letters needs --id, the column whose values name the people's letters.")
    if letters is not None and also:
        raise BadInput("--letters speak of the decision of one model; leave out --also.")
    file = open_model(model)
    classifier, form = file.model, format_of(csv, file.table)
    find = classifier.recourse
    if also:
        find = partial(find_recourse, [classifier, *(open_model(path).model for path in also)])
    say_if_unrestricted(classifier.encoder_.space)
    searched = Searched(classifier, find, people, form, id, is_named=letters is not None)
    n_letters = 0
    with ExitStack() as files:
        write = files.enter_context(table_writer(output))
        write_letters = None
        if letters is not None:
            from ract.cli.notice_folder import notice_writer
            from ract.notices import Notices

            notices = Notices(classifier, language=pages.language, templates=pages.template)
            writer = notice_writer(letters, "--letters", notices, ["html"], replace=pages.replace)
            write_letters = files.enter_context(writer)
        for _, found in searched(search.parameters(for_people=letters is not None)):
            write(found.to_frame())
            if write_letters is not None:
                n_letters += write_letters(found, None)
    summary, sentence = searched.summary, searched.sentence
    if output not in (None, "-"):
        sentence += f" Plans are in {output}."
    if letters is not None:
        summary["letters"] = n_letters
        sentence += f" {n_letters} letters are in {letters}."
    print_summary(summary, sentence, as_json=json)
