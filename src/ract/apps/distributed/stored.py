"""Parquet in, Parquet out: a folder of people becomes a folder of answers, part by part.

A part is a run of rows of one file. Its answers are written whole or not at all and depend on
nothing but the part, so that a run that was stopped goes on where it was, on any machine, and ends
in the same bytes. What the run is stands beside the parts in ``_run.json``; a folder that holds
another run is refused.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.files import whole_file, write_whole
from ract._utils.progress import progress_bar
from ract._utils.validation import AT_LEAST_ONE, check_value
from ract._utils.version import __version__
from ract.apps.distributed.answers import PERSON
from ract.apps.distributed.job import AT_ONCE, Job
from ract.data.actions import ActionSpace
from ract.data.csv import TableFormat, as_read, date_columns
from ract.models.out_of_core import open_dataset

ROWS_PER_PART = 20_000  # some seconds to minutes of one core
RUN = "_run.json"  # readers of Parquet folders pass over names that begin so
_ALIKE = ("n_jobs",)  # options with which the answers are the same
COUNTS = b"ract"  # in the footer of a part: how many people have what

Counts = Counter[str]
Mapper = Callable[[Callable[["Work", "Part"], Counts], "Work", list["Part"]], Iterable[Counts]]


@dataclass(frozen=True)
class Part:
    """A run of rows of one file.

    Parameters
    ----------
    file : str
        Relative to the folder of people.
    first, last : int
        Rows of the file.
    before : int
        People in all files before this one.
    name : str
        Of the file of answers, relative to their folder.
    """

    file: str
    first: int
    last: int
    before: int
    name: str


@dataclass(frozen=True)
class Work:
    """What is done with every part; it travels to workers, who need both folders."""

    job: Job
    source: str
    target: str
    form: TableFormat = field(default_factory=TableFormat)

    @property
    def needed(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([*self.job.columns, *sorted(date_columns(self.form))]))


def run(
    job: Job,
    source: str | Path,
    target: str | Path,
    *,
    rows_per_part: int = ROWS_PER_PART,
    form: TableFormat | None = None,
    mapper: Mapper | None = None,
    progress: bool = False,
) -> Counts:
    """Answer for everyone in a Parquet file or folder, and write a folder of Parquet files.

    People without a key are numbered from 0 in the order of files and rows. Subfolders, such as
    those of a partitioned data set, have subfolders of the same name. Parts that are there
    already are kept.

    Parameters
    ----------
    job : Job
    source : path
        A file, or a folder with files in it at any depth.
    target : path
        A folder, made if there is none.
    rows_per_part : int
    form : TableFormat, optional
        How the people's columns are written, if this differs from what the model expects.
    mapper : callable, optional
        Calls a function with the work and each part, in whatever order and place;
        ``dask.mapper(client)`` is one. By default the parts are processed here, one by one.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    Counter
        Number of people by status; "within" counts people who are accepted or have a plan that does
        not only supply values, "only supplied" those whose plan does.
    """
    check_value("rows_per_part", rows_per_part, AT_LEAST_ONE)
    root, folder = Path(source).absolute(), Path(target).absolute()
    work = Work(job, str(root), str(folder), form or TableFormat())
    parts = _parts_of(work, rows_per_part)
    folder.mkdir(parents=True, exist_ok=True)
    _begin(folder, _identity(work, parts))
    for name in sorted({os.path.dirname(part.name) for part in parts}):
        (folder / name).mkdir(parents=True, exist_ok=True)
    total: Counts = Counter()
    waiting = []
    for part in parts:
        if (folder / part.name).exists():
            total.update(_counts_in(folder / part.name))
        else:
            waiting.append(part)
    with progress_bar("Answering", len(parts), show=progress, transient=True) as done:
        n_done = len(parts) - len(waiting)
        done(n_done)
        here = (answer_part(work, part) for part in waiting)
        for counts in here if mapper is None else mapper(answer_part, work, waiting):
            total.update(counts)
            n_done += 1
            done(n_done)
    return total


def answer_part(work: Work, part: Part) -> Counts:
    """Write the answers about a part, and count them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    job, counts = work.job, Counter[str]()
    # Positions are the keys of the answers, so that people are distinguished whoever they are.
    by_place = Job(job.content, job.what, None, job.options, job.version)
    schema, writer = None, None
    with whole_file(Path(work.target) / part.name) as file:
        for people in _batches(work, part):
            key = people.index.array if job.key is None else people[job.key].array
            first = int(people.index[0])
            answers = by_place(_as_the_model_takes(work, people))
            counts.update(_counted(answers))
            answers[PERSON] = key.take(answers[PERSON].to_numpy() - first)
            table = pa.Table.from_pandas(answers, schema, preserve_index=False)
            if writer is None:
                schema = table.schema.remove_metadata()
                writer = pq.ParquetWriter(file, schema)
            writer.write_table(table.cast(schema))
        if writer is None:
            raise InvalidData(f"{part.file} has changed since the run began.")
        writer.add_key_value_metadata({COUNTS: json.dumps(dict(sorted(counts.items())))})
        writer.close()
    return counts


def _as_the_model_takes(work: Work, people: pd.DataFrame) -> pd.DataFrame:
    if work.form == TableFormat():
        return people
    space = work.job.encoder.space
    return as_read(people.drop(columns=work.job.key or []), work.form, space)


def _counted(answers: pd.DataFrame) -> Counts:
    """How many people have what, of answers whose persons are numbers of rows."""
    first = answers.drop_duplicates(PERSON)
    if "status" not in first:
        return Counter({"people": len(first), "invalid": int(first["message"].notna().sum())})
    counts: Counts = Counter(first["status"].tolist())
    if "only supplied" in first:
        supplied = int(first["only supplied"].sum())
        served = sum(counts[status] for status in ("accepted", "optimal", "found"))
        counts |= Counter({"within": served - supplied, "only supplied": supplied})
    return +counts


def _parts_of(work: Work, rows_per_part: int) -> list[Part]:
    dataset = open_dataset(work.source)
    work.job.check(dataset.schema.names)
    base = Path(work.source) if Path(work.source).is_dir() else Path(work.source).parent
    parts: list[Part] = []
    before = 0
    for fragment in sorted(dataset.get_fragments(), key=lambda fragment: str(fragment.path)):
        file = str(Path(fragment.path).relative_to(base))
        physical = fragment.physical_schema.names
        lacking = [
            name
            for name in work.job.columns
            if name in dataset.schema.names and name not in physical and f"{name}=" not in file
        ]
        if lacking:
            raise InvalidData(f"{fragment.path} lacks the column(s) {listing(lacking)}.")
        n_rows = fragment.count_rows()
        for first in range(0, n_rows, rows_per_part):
            last = min(first + rows_per_part, n_rows)
            name = os.path.join(os.path.dirname(file), f"part-{len(parts):06}.parquet")
            parts.append(Part(file, first, last, before, name))
        before += n_rows
    if not parts:
        raise InvalidData(f"{work.source} has no rows.")
    return parts


def _batches(work: Work, part: Part) -> Iterator[pd.DataFrame]:
    """People of a part in batches, each with its row of all people as its index."""
    root = Path(work.source)
    dataset = open_dataset(root)
    path = root / part.file if root.is_dir() else root
    (fragment,) = [f for f in dataset.get_fragments() if Path(f.path) == path]
    schema = dataset.schema
    names = [name for name in work.needed if name in schema.names]
    at, first, end = part.before, part.before + part.first, part.before + part.last
    for group in fragment.split_by_row_group():
        n_rows = group.row_groups[0].num_rows
        if at + n_rows <= first or end <= at:
            at += n_rows
            continue
        for batch in group.to_batches(schema=schema, columns=names, batch_size=AT_ONCE):
            start = max(first, at)
            wanted = batch.slice(start - at)[: max(end - start, 0)]
            if wanted.num_rows:
                people = wanted.to_pandas()
                people.index = pd.RangeIndex(start, start + len(people))
                yield people
            at += batch.num_rows


def _identity(work: Work, parts: list[Part]) -> dict[str, Any]:
    """Everything that the bytes of the answers depend on."""
    import pyarrow

    root, job = Path(work.source), work.job
    base = root if root.is_dir() else root.parent
    files = {}
    for part in parts:
        if part.file not in files:
            state = (base / part.file).stat()
            files[part.file] = [state.st_size, state.st_mtime_ns]
    return {
        "format": "ract run 1",
        "ract": __version__,
        "pyarrow": pyarrow.__version__,
        "model": job.digest,
        "what": job.what,
        "key": job.key,
        "options": {k: _written(v) for k, v in sorted(job.options.items()) if k not in _ALIKE},
        "form": work.form.to_record(),
        "people": files,
        "parts": [[part.name, part.file, part.first, part.last] for part in parts],
    }


def _begin(folder: Path, identity: dict[str, Any]) -> None:
    """Write down what the run is, or see that it is the one that was begun here."""
    said = json.loads(json.dumps(identity))
    try:
        begun = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if any(folder.iterdir()):
            raise InvalidSpec(
                f"{folder} is not empty and holds no run that could go on; choose another folder."
            ) from None
        write_whole(folder / RUN, json.dumps(said, indent=1) + "\n")
        return
    except ValueError:
        raise InvalidSpec(f"{folder / RUN} is damaged; choose another folder.") from None
    difference = _difference(begun, said)
    if difference:
        raise InvalidSpec(
            f"{folder} holds another run: its {difference}; choose another folder, or remove this "
            "one."
        )


def _difference(begun: dict[str, Any], said: dict[str, Any]) -> str:
    """The first entry in which two runs differ, of the options the one by name; "" if none."""
    there, here = begun.get("options", {}), said["options"]
    for name in sorted({*there, *here}):
        if there.get(name) != here.get(name):
            was, now = (options.get(name, "none") for options in (there, here))
            return f"{name} differs (it has {was}, asked for is {now})"
    differing = [name for name in said if name != "options" and begun.get(name) != said[name]]
    return f"{differing[0]} differs" if differing else ""


def _counts_in(path: Path) -> Counts:
    import pyarrow.parquet as pq

    return Counter(json.loads(pq.read_metadata(path).metadata[COUNTS]))


def _written(option: Any) -> str:
    """An option as text that is the same in every process."""
    return option.to_toml_text() if isinstance(option, ActionSpace) else repr(option)
