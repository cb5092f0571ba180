"""Dask: answers of a whole population, lazily and in order; forests grown by many workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from operator import add, call
from typing import Any, Literal

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, how_to_install
from ract._utils.validation import check_value, one_of
from ract.apps.distributed.job import Job, What
from ract.apps.distributed.population import Statements
from ract.data.sketch import MOST_VALUES
from ract.models.forest import RecourseForestClassifier
from ract.models.out_of_bag import GrownTree
from ract.models.out_of_core import Columns, StoredTable, divided
from ract.models.parameters import split_seed
from ract.models.table import TrainingRows
from ract.recourse.common.problem import check_categories
from ract.trees.training import TrainingSet

try:
    import dask
    import dask.dataframe as dd
except ImportError:
    raise ImportError(f"Dask frames need dask: {how_to_install('dask')}.") from None

__all__ = ["apply", "audit", "certify", "fit", "local_client", "mapper", "recourse", "report"]


def apply(
    model: Any, people: Any, what: What = "plans", *, key: str | None = None, **options: Any
) -> Any:
    """``apply`` on a Dask frame: a Dask frame of answers, in the order of the people.

    The result is lazy, but a missing column of the model is refused at once. The model is sent to
    each worker once.

    Parameters
    ----------
    model : path or fitted model
    people : dask.dataframe.DataFrame
    what, key, **options
        As in ``ract.apps.distributed.apply``.
    """
    job = Job.of(model, what, key=key, **options)
    _check(people)
    job.check(people.columns)
    meta = job.empty(people._meta)
    needed = people[list(job.columns)]
    return needed.map_partitions(_answers, dask.delayed(job), meta=meta, enforce_metadata=False)


def recourse(model: Any, people: Any, *, key: str | None = None, **options: Any) -> Any:
    """Plans of everyone in a Dask frame; parameters as in ``ract.apps.distributed.apply``."""
    return apply(model, people, "plans", key=key, **options)


def _gathered(people: Any, columns: list[str], count: Callable[[pd.DataFrame], Any]) -> Any:
    _check(people)
    shared = dask.delayed(count)  # an argument, so that it travels once
    counted = [dask.delayed(call)(shared, part) for part in people[columns].to_delayed()]
    return _summed(counted)


_statements = Statements(_gathered)
certify, report, audit = _statements.certify, _statements.report, _statements.audit


def _check(people: Any) -> None:
    if not isinstance(people, dd.DataFrame):
        raise InvalidSpec(f"people must be a Dask frame, got {type(people).__name__}.")


def _answers(people: pd.DataFrame, job: Job) -> pd.DataFrame:
    return job(people)


def fit(
    forest: Any,
    people: Any,
    y: str,
    sample_weight: str | None = None,
    *,
    rows: Literal["all", "divided"] = "all",
    n_parts: int | None = None,
) -> Any:
    """Fit a forest on a Dask frame; the result is the forest, as if it had been fitted here.

    Parameters
    ----------
    forest : RecourseForestClassifier
    people : dask.dataframe.DataFrame
        Features, target and weights.
    y, sample_weight : str
        Names of columns.
    rows : {"all", "divided"}
        "all" sends everyone's cells, one to three bytes per person and feature, to each worker,
        which grows its share of the trees on all of them: the model is that of a local fit with the
        same seed, bit for bit. "divided" divides people among parts at random, and each worker
        grows its share of the trees on a part: for tables whose cells no worker can hold.
    n_parts : int, optional
        Number of parts into which trees, and people if they are divided, are divided: by default
        the number of threads of the cluster.

    Returns
    -------
    RecourseForestClassifier
    """
    forest = _checked(forest)
    _check(people)
    check_value("rows", rows, one_of("all", "divided"))
    if rows == "divided" and (forest.oob_score or forest.cut_rule.needs_scores):
        needs = "oob_score needs" if forest.oob_score else "approval_rate and max_bad_rate need"
        raise InvalidSpec(
            f"{needs} rows='all': with 'divided' no tree knows the people of other parts."
        )
    n_parts = _n_threads() if n_parts is None else n_parts
    columns = Columns.of(people.columns, y, sample_weight, forest.actions)
    most, parts = max(MOST_VALUES, 2 * forest.max_bins), people.to_delayed()
    sketches = [dask.delayed(columns.sketch)(part, most) for part in parts]
    reading = StoredTable.of(forest.table_spec, columns, _summed(sketches))
    if forest.oob_score:  # searches: better refused now
        check_categories(reading.encoder.axes)
    shared = dask.delayed(reading)
    in_memory = TrainingRows.joined(
        dask.compute(*(dask.delayed(StoredTable.in_memory)(shared, part) for part in parts))
    )
    some = reading.training_on(in_memory)
    forest.choose_monotonic(some)
    cut = forest.first_cut(some)
    model = dask.delayed(forest)
    read = [dask.delayed(StoredTable.training)(shared, part) for part in parts]
    seeds = _shares(forest.seeds, n_parts)
    join = dask.delayed(StoredTable.joined)
    if rows == "all":
        whole = [join(shared, read)] * len(seeds)
    else:
        divide, seed = dask.delayed(divided, nout=len(seeds)), split_seed(forest.random_state)
        pieces = [divide(part, len(seeds), [seed, k]) for k, part in enumerate(read)]
        whole = [join(shared, list(own)) for own in zip(*pieces, strict=True)]
    # One tree is one task, so that workers are busy to the end.
    grow = dask.delayed(_grown)
    trees = [
        grow(model, on, cut, [one]) for on, some in zip(whole, seeds, strict=True) for one in some
    ]
    return _finish(forest, reading, list(chain(*dask.compute(*trees))), in_memory)


def _checked(forest: Any) -> RecourseForestClassifier:
    """A forest that can be grown in pieces, its parameters checked."""
    if not isinstance(forest, RecourseForestClassifier):
        raise InvalidSpec(
            f"Workers grow a RecourseForestClassifier, got a {type(forest).__name__}; other models "
            "are trained on one machine."
        )
    forest.check_parameters()
    return forest


def _grown(
    forest: RecourseForestClassifier, training: TrainingSet, cut: float | None, seeds: list[int]
) -> list[GrownTree]:
    """The trees of some seeds, grown on these people for a cut of about this height."""
    growth = forest.growth(training, cut)
    return [growth.tree(seed) for seed in seeds]


def _finish(
    forest: RecourseForestClassifier,
    reading: StoredTable,
    trees: list[GrownTree],
    in_memory: TrainingRows,
) -> RecourseForestClassifier:
    """The forest of trees that were grown elsewhere, in the order of their seeds.

    What it measures afterwards is measured here, on rows that are in memory.
    """
    by_seed = {one.seed: one for one in trees}
    prepared = reading.prepared(reading.training_on(in_memory), in_memory)
    return forest.fit_grown(prepared, [by_seed[seed] for seed in forest.seeds])


def _shares(seeds: list[int], n_shares: int) -> list[list[int]]:
    """Seeds divided as evenly as can be, in their order."""
    return [part.tolist() for part in np.array_split(np.array(seeds), min(n_shares, len(seeds)))]


def _n_threads() -> int:
    try:
        from distributed import get_client

        return max(sum(get_client().nthreads().values()), 1)
    except ValueError:  # no cluster: Dask's own threads
        return 2


def _summed(parts: list[Any]) -> Any:
    """What the parts come to, added by sixteens in their order."""
    while len(parts) > 1:
        sixteens = [parts[i : i + 16] for i in range(0, len(parts), 16)]
        parts = [dask.delayed(reduce)(add, group) for group in sixteens]
    return dask.compute(*parts)[0]


@contextmanager
def local_client(n_workers: int | None = None, *, host: str = "127.0.0.1") -> Iterator[Any]:
    """A Dask client with worker processes on this machine, one thread each.

    They neither profile what they run nor watch their own event loop closely, which would take
    about ten per cent of CPU, and far more on a busy machine. Nor do they return every 64 kB of
    free memory to the system, as Dask's workers do, which takes 15 per cent, since searches
    allocate memory all the time.

    Parameters
    ----------
    n_workers : int, optional
        One for each core by default.
    host : str
        Address on which scheduler, workers and dashboard listen: by default this machine only,
        since none of them authenticates callers.
    """
    from distributed import Client, LocalCluster

    quiet = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
        "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
    }
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host=host, dashboard_address=f"{host}:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def mapper(client: Any) -> Any:
    """Parts of a Parquet folder on a cluster, for ``run``; a dead worker's are retried.

    Workers must reach the folders of people and of answers by the same paths.

    Parameters
    ----------
    client : distributed.Client
    """
    from distributed import as_completed

    def run(function: Callable[[Any, Any], Any], work: Any, parts: list[Any]) -> Iterator[Any]:
        # A task, not scattered data: it is made again if the worker that holds it dies.
        shared = client.submit(_same, work, pure=False)
        todo = [client.submit(function, shared, part, retries=3, pure=False) for part in parts]
        for future in as_completed(todo):
            yield future.result()

    return run


def _same(work: Any) -> Any:
    return work
