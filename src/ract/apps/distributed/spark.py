"""Spark: answers of a whole population by ``mapInPandas``, part by part."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from operator import add
from typing import Any

import pandas as pd

from ract._utils.errors import InvalidSpec, how_to_install
from ract.apps.distributed.answers import PERSON, Kind
from ract.apps.distributed.job import Job, What
from ract.apps.distributed.population import Statements

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import types
except ImportError:
    raise ImportError(f"Spark frames need pyspark: {how_to_install('spark')}.") from None

_TYPES: dict[Kind, Any] = {
    "text": types.StringType,
    "number": types.DoubleType,
    "integer": types.LongType,
    "truth": types.BooleanType,
}

__all__ = ["apply", "audit", "certify", "recourse", "report"]


def apply(model: Any, people: Any, what: What = "plans", *, key: str, **options: Any) -> Any:
    """``ract.apps.distributed.apply`` on a Spark frame: a Spark frame of answers.

    The result is lazy, but a missing column of the model is refused at once. Rows of Spark have
    neither order nor index, so a key is needed.

    Parameters
    ----------
    model : path or fitted model
    people : pyspark.sql.DataFrame
    what, key, **options
        As in ``ract.apps.distributed.apply``.
    """
    job = Job.of(model, what, key=key, **options)
    _check(people)
    job.check(people.columns)
    fields = [types.StructField(PERSON, people.schema[key].dataType)]
    fields += [types.StructField(name, _TYPES[kind]()) for name, kind in job.schema.items()]
    return _chosen(people, job.columns).mapInPandas(
        partial(_answers, job), types.StructType(fields)
    )


def recourse(model: Any, people: Any, *, key: str, **options: Any) -> Any:
    """Plans of everyone in a Spark frame; parameters as in ``ract.apps.distributed.apply``."""
    return apply(model, people, "plans", key=key, **options)


def _gathered(people: Any, columns: list[str], count: Callable[[pd.DataFrame], Any]) -> Any:
    _check(people)
    counted = _chosen(people, columns).mapInPandas(partial(_counts, count), "counts binary")
    return reduce(add, (pickle.loads(row["counts"]) for row in counted.collect()))


_statements = Statements(_gathered, has_index=False)
certify, report, audit = _statements.certify, _statements.report, _statements.audit


def _check(people: Any) -> None:
    if not hasattr(people, "mapInPandas"):
        raise InvalidSpec(f"people must be a Spark frame, got {type(people).__name__}.")
    _use_this_python(people)


def _use_this_python(people: Any) -> None:
    """Let workers on this machine run the Python that runs here, unless one was chosen.

    Spark starts the python3 on the path, which in an environment that is not activated has no ract.
    On other machines the path may be another, so that a cluster needs PYSPARK_PYTHON.
    """
    try:
        context = people.sparkSession.sparkContext
    except (AttributeError, NotImplementedError, PySparkException):  # a remote session has none
        return
    chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if context.master.startswith("local") and not chosen:
        context.pythonExec = sys.executable


def _chosen(people: Any, columns: Iterable[str]) -> Any:
    return people.select([f"`{name}`" for name in columns])


def _answers(job: Job, parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for part in parts:
        yield job(part)


def _counts(
    count: Callable[[pd.DataFrame], Any], parts: Iterator[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    counted = [count(part) for part in parts]
    if counted:
        yield pd.DataFrame({"counts": [pickle.dumps(reduce(add, counted))]})
