"""Dask: answers of a whole population, lazily, part by part and in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from ract.certificates import Certificate
from ract.errors import InvalidSpec
from ract.scale.job import Job, What
from ract.scale.population import Population

try:
    import dask
    import dask.dataframe as dd
except ImportError:
    raise ImportError('Dask frames need dask: pip install "ract[dask]".') from None


def apply(
    model: Any, people: Any, what: What = "plans", *, key: str | None = None, **options: Any
) -> Any:
    """``ract.scale.apply`` on a Dask frame: a Dask frame of answers, in the order of the people.

    Nothing is computed yet, but people without a column of the model are refused. The model
    travels to each worker once.

    Parameters
    ----------
    model : path or fitted model
    people : dask.dataframe.DataFrame
    what, key, **options
        As in ``ract.scale.apply``.
    """
    job = Job.of(model, what, key=key, **options)
    if not isinstance(people, dd.DataFrame):
        raise InvalidSpec(f"people must be a Dask frame, got {type(people).__name__}.")
    job.check(people.columns)
    meta = job.empty(people._meta)
    needed = people[list(job.columns)]
    return needed.map_partitions(_answers, dask.delayed(job), meta=meta, enforce_metadata=False)


def recourse(model: Any, people: Any, *, key: str | None = None, **options: Any) -> Any:
    """Plans of everyone in a Dask frame; parameters as in ``ract.scale.apply``."""
    return apply(model, people, "plans", key=key, **options)


def certify(
    model: Any, people: Any, *, groups: str | None = None, confidence: float = 0.95, **options: Any
) -> Certificate:
    """``ract.certify`` on everyone in a Dask frame, from counts of its parts.

    Parameters
    ----------
    model : path or fitted model
    people : dask.dataframe.DataFrame
    groups : str, optional
        A column.
    confidence : float
    **options
        ``budget``, ``max_changes`` and ``max_nodes``.
    """
    job = Job.of(model, "has_recourse", **options)
    return _population(job, people, Population.counted, groups=groups).certificate(job, confidence)


def report(
    model: Any,
    people: Any,
    target: str | None = None,
    *,
    groups: str | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> pd.DataFrame:
    """``ract.metrics.recourse_report`` on everyone in a Dask frame, without plausibility.

    Parameters
    ----------
    model : path or fitted model
    people : dask.dataframe.DataFrame
    target, groups : str, optional
        Columns of the true classes and of groups.
    confidence : float
    **options
        Those of ``ract.find_recourse``.
    """
    job = Job.of(model, "plans", **options)
    return _population(
        job, people, Population.measured, target=target, groups=groups
    ).report(confidence)  # fmt: skip


def _population(
    job: Job, people: Any, count: Callable[..., Population], **columns: str | None
) -> Population:
    job.check(people.columns)
    shared, counted = dask.delayed(job), dask.delayed(count)
    parts = [counted(shared, part, **columns) for part in people.to_delayed()]
    while len(parts) > 1:
        parts = [dask.delayed(Population.of_parts)(parts[i : i + 16])
                 for i in range(0, len(parts), 16)]  # fmt: skip
    (whole,) = dask.compute(*parts)
    return whole


def _answers(people: pd.DataFrame, job: Job) -> pd.DataFrame:
    return job(people)


def mapper(client: Any) -> Any:
    """Parts of a Parquet folder on a cluster, for ``ract.scale.run``; a dead worker's are retried.

    Workers need the folders of people and of answers under the same names.

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
