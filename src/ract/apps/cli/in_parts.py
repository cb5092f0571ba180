"""``ract recourse`` on folders of Parquet files: part by part, here or on a Dask cluster."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ract._utils.errors import optional_library
from ract.apps.cli.inputs import open_model
from ract.apps.cli.messages import BadInput, print_summary, say_if_unrestricted
from ract.apps.cli.searching import PlanOptions, sentence_of, summary_of
from ract.apps.distributed.job import Job
from ract.apps.distributed.stored import run

ENGINES = ("local", "dask")


def recourse_in_parts(
    model: Path,
    people: str,
    output: str | None,
    search: PlanOptions,
    id: str | None,
    engine: str | None,
    scheduler: str | None,
    *,
    as_json: bool,
) -> None:
    """Plans of everyone in a Parquet file or folder, into a folder."""
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
    summary = summary_of(counts)
    print_summary(summary, f"{sentence_of(summary)} Plans are in {output}.", as_json=as_json)


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
