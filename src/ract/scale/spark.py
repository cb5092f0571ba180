"""Spark: answers of a whole population by ``mapInPandas``, part by part."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from ract.certificates import Certificate
from ract.errors import InvalidSpec
from ract.scale.answers import PERSON, Kind
from ract.scale.job import Job, What
from ract.scale.population import Population

try:
    from pyspark.sql import types
except ImportError:
    raise ImportError('Spark frames need pyspark: pip install "ract[spark]".') from None

_TYPES: dict[Kind, Any] = {
    "text": types.StringType, "number": types.DoubleType, "integer": types.LongType,
    "truth": types.BooleanType,
}  # fmt: skip


def apply(model: Any, people: Any, what: What = "plans", *, key: str, **options: Any) -> Any:
    """``ract.scale.apply`` on a Spark frame: a Spark frame of answers.

    Nothing is computed yet, but people without a column of the model are refused. Rows of Spark
    have neither order nor index, so that a key is needed.

    Parameters
    ----------
    model : path or fitted model
    people : pyspark.sql.DataFrame
    what, key, **options
        As in ``ract.scale.apply``.
    """
    job = Job.of(model, what, key=key, **options)
    if not hasattr(people, "mapInPandas"):
        raise InvalidSpec(f"people must be a Spark frame, got {type(people).__name__}.")
    job.check(people.columns)
    fields = [types.StructField(PERSON, people.schema[key].dataType)]
    fields += [types.StructField(name, _TYPES[kind]()) for name, kind in job.schema.items()]
    needed = people.select([f"`{name}`" for name in job.columns])
    return needed.mapInPandas(partial(_answers, job), types.StructType(fields))


def recourse(model: Any, people: Any, *, key: str, **options: Any) -> Any:
    """Plans of everyone in a Spark frame; parameters as in ``ract.scale.apply``."""
    return apply(model, people, "plans", key=key, **options)


def certify(
    model: Any, people: Any, *, groups: str | None = None, confidence: float = 0.95, **options: Any
) -> Certificate:
    """``ract.certify`` on everyone in a Spark frame; parameters as in ``ract.scale.dask.certify``.

    Rows have no order, so that the certificate's fingerprint of the people is that of this run.
    """
    job = Job.of(model, "has_recourse", **options)
    count = partial(Population.counted, job, groups=groups)
    return _population(job, people, count, groups).certificate(job, confidence)


def report(
    model: Any,
    people: Any,
    target: str | None = None,
    *,
    groups: str | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> pd.DataFrame:
    """A report on everyone in a Spark frame; parameters as in ``ract.scale.dask.report``."""
    job = Job.of(model, "plans", **options)
    count = partial(Population.measured, job, target=target, groups=groups)
    return _population(job, people, count, target, groups).report(confidence)


def _population(
    job: Job, people: Any, count: Callable[[pd.DataFrame], Population], *also: str | None
) -> Population:
    job.check(people.columns)
    names = dict.fromkeys([*job.features, *(name for name in also if name is not None)])
    needed = people.select([f"`{name}`" for name in names])
    counted = needed.mapInPandas(partial(_counts, count), "counts binary").collect()
    return Population.of_parts(pickle.loads(row["counts"]) for row in counted)


def _answers(job: Job, parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for part in parts:
        yield job(part)


def _counts(
    count: Callable[[pd.DataFrame], Population], parts: Iterator[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    whole = Population.of_parts(count(part) for part in parts)
    yield pd.DataFrame({"counts": [pickle.dumps(whole)]})
