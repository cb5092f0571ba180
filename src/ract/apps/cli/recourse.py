"""``ract recourse``: what each person can do, as a table."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ract._utils.errors import optional_library
from ract.apps.cli import options
from ract.apps.cli.inputs import open_for_plans, open_model
from ract.apps.cli.messages import BadInput, print_summary, refuse_both, say_if_unrestricted
from ract.apps.cli.searching import PlanOptions, search_sentence, search_summary, searched

ENGINES = ("local", "dask")


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
    if engine is not None or scheduler is not None or Path(people).is_dir():
        if also:
            raise BadInput("--also is for a single file; leave out --engine.")
        counts = _in_parts(model, people, output, search, id, engine, scheduler)
    else:
        from ract.apps.cli.outputs import table_writer
        from ract.recourse.find import find_recourse

        output, counts = output or "-", Counter()
        refuse_both(output, json)
        file, form = open_for_plans(model, csv)
        find, encoder = file.model.recourse, file.model.encoder_
        if also:
            find = partial(find_recourse, [file.model, *(open_model(path).model for path in also)])
        wanted = search.parameters(encoder.space, for_people=False)
        with table_writer(output) as write:
            for _, found in searched(find, encoder, people, form, id, wanted, counts):
                write(found.to_frame())
    summary = search_summary(counts)
    sentence = search_sentence(summary) + ("" if output == "-" else f" Plans are in {output}.")
    print_summary(summary, sentence, as_json=json)


def _in_parts(
    model: Path,
    people: str,
    output: str | None,
    search: PlanOptions,
    id: str | None,
    engine: str | None,
    scheduler: str | None,
) -> Counter[str]:
    """Plans of everyone in a Parquet file or folder, into a folder; how many people have what."""
    from ract.apps.distributed import Job, run

    engine = engine or ("local" if scheduler is None else "dask")
    _check(people, output, search, engine, scheduler)
    file = open_model(model)
    say_if_unrestricted(file.model.encoder_.space)
    given = search.parameters(file.model.encoder_.space, for_people=False)
    del given["time_limit"], given["strict"]
    n_jobs = given.pop("n_jobs") if engine == "local" else 1
    given = {name: value for name, value in given.items() if value is not None}
    job = Job.of(model, "plans", key=id, **{**given, "n_jobs": n_jobs})
    with ExitStack() as started:
        mapper = None if engine == "local" else _on_dask(started, scheduler)
        counts = run(job, people, str(output), form=file.table, mapper=mapper, progress=True)
    if counts.keys() <= {"invalid"}:
        raise BadInput(f"No row of {people} can be read; {output} has what is wrong with each.")
    return counts


def _check(
    people: str, output: str | None, search: PlanOptions, engine: str, scheduler: str | None
) -> None:
    if engine not in ENGINES:
        raise BadInput(f"--engine must be local or dask, got {engine!r}.")
    if scheduler is not None and engine != "dask":
        raise BadInput("--scheduler is that of Dask; give --engine dask too.")
    if search.strict:
        raise BadInput("--strict is for a single file: in parts, no row ends the run.")
    if search.time_limit != type(search).time_limit:
        raise BadInput("--time-limit would give other plans on another machine; use --max-nodes.")
    if people == "-" or not (Path(people).is_dir() or Path(people).suffix in (".parquet", ".pq")):
        raise BadInput(f"Plans in parts need a Parquet file or a folder of them, got {people}.")
    if output in (None, "-"):
        raise BadInput("Plans in parts need a folder: -o FOLDER.")


def _on_dask(started: ExitStack, scheduler: str | None) -> Any:
    """The workers of a scheduler, or one process for each core of this machine."""
    distributed = optional_library("distributed", "--engine dask", "dask")
    from ract.apps.distributed.dask import local_client, mapper

    if scheduler is None:
        return mapper(started.enter_context(local_client()))
    try:
        return mapper(started.enter_context(distributed.Client(scheduler)))
    except (OSError, ValueError):
        raise BadInput(f"There is no Dask scheduler at {scheduler}.") from None
