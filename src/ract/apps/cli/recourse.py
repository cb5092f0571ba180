"""``ract recourse``: what each person can do, as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ract.apps.cli import options
from ract.apps.cli.inputs import open_for_plans, open_model
from ract.apps.cli.messages import BadInput, print_summary, refuse_both
from ract.apps.cli.searching import PlanOptions, searched, sentence_of, summary_of


@dataclass(frozen=True)
class RecourseOptions(PlanOptions):
    """Which plans are sought, and what is said about them."""

    ranges: bool = False
    at_least: bool = False
    explain: bool = True


def find_plans(
    model: Path,
    people: str,
    *,
    also: list[Path] | None = None,
    output: str | None = None,
    engine: str | None = None,
    scheduler: str | None = None,
    search: RecourseOptions,
    id: str | None = None,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Find what each person can do to get the desired class.

    The table has one row per change (one row without a change for people who have no plan or need
    none). Long files are read, searched and written in chunks, so that memory stays small. The
    plans for a folder of Parquet files are written to a folder of Parquet files, part by part, here
    or on a Dask cluster. ract notice writes pages for people to read.

    Example: ract recourse model.ract people.csv -o plans.csv --id Name
    """
    from ract.apps.cli.outputs import table_writer
    from ract.recourse.find import find_recourse

    if engine is not None or scheduler is not None or Path(people).is_dir():
        from ract.apps.cli.in_parts import recourse_in_parts

        if also:
            raise BadInput("--also is for a single file; leave out --engine.")
        recourse_in_parts(model, people, output, search, id, engine, scheduler, as_json=json)
        return
    output = output or "-"
    refuse_both(output, json)
    file, form = open_for_plans(model, csv)
    classifier, find = file.model, file.model.recourse
    if also:
        find = partial(find_recourse, [classifier, *(open_model(path).model for path in also)])
    encoder, counts = classifier.encoder_, Counter[str]()
    wanted = search.parameters(encoder.space, for_people=False)
    with table_writer(output) as write:
        for _, found in searched(find, encoder, people, form, id, wanted, counts):
            write(found.to_frame())
    summary = summary_of(counts)
    sentence = sentence_of(summary) + ("" if output == "-" else f" Plans are in {output}.")
    print_summary(summary, sentence, as_json=json)
