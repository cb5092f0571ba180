"""Fingerprints: short texts that are equal for equal models, or equal tables."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd

from ract._frames import Table, read_table
from ract._serialize import Parts, canonical, cost_parts, model_parts
from ract.costs import FittedCost
from ract.errors import InvalidSpec


def model_fingerprint(model: Any) -> str:
    """A fingerprint of everything that a model decides by.

    Trees, encoding, action space, cost tables, classes and budget count; how it was trained,
    stored or numbered by a library does not. A model keeps its fingerprint through a file. Where
    people without a value go counts if some feature has missing values; otherwise there are none
    but in a decision that nobody declared.

    Parameters
    ----------
    model : fitted classifier of ract, or imported model

    Examples
    --------
    >>> from ract import RecourseTreeClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=300)
    >>> one, other = (
    ...     RecourseTreeClassifier(loans.actions, max_depth=2, budget=budget).fit(
    ...         loans.frame, loans.target)
    ...     for budget in (0.3, 0.4)
    ... )
    >>> model_fingerprint(one) == model_fingerprint(one), model_fingerprint(one)[:8]
    (True, 'model-2-')
    >>> model_fingerprint(one) == model_fingerprint(other)
    False
    """
    parts = model_parts(model)
    if not any("missing" in feature for feature in parts.meta["encoder"]["space"]["features"]):
        for name in ("ensemble", "probability"):
            parts.arrays.pop(f"{name}.missing_left", None)
    return f"model-2-{_digest(parts)}"


def cost_fingerprint(cost: FittedCost) -> str:
    """A fingerprint of what actions cost; of a cost of the user's own, its class alone."""
    try:
        parts = cost_parts(cost)
    except InvalidSpec:
        return f"cost-own-{type(cost).__name__}"
    return f"cost-1-{_digest(parts)}"


def data_fingerprint(X: Any) -> str:
    """A fingerprint of a table: its columns and values in their order.

    The library and the dtypes do not count: 1, 1.0 and True are the same value, and a missing one
    is the same however it is marked. The index of a pandas frame does not count either.

    Parameters
    ----------
    X : frame or array

    Examples
    --------
    >>> whole = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
    >>> data_fingerprint(whole) == data_fingerprint(whole.astype({"age": float}))
    True
    >>> data_fingerprint(whole) == data_fingerprint(whole[::-1])
    False
    """
    table = read_table(X)
    digest = hashlib.sha256(canonical([list(table.names), table.n_rows]))
    for name in table.names:
        _add_column(digest, table, name)
    return f"data-1-{digest.hexdigest()}"


def _digest(parts: Parts) -> str:
    digest = hashlib.sha256(canonical(parts.meta))
    for name in sorted(parts.arrays):
        array = parts.arrays[name]
        digest.update(canonical([name, array.dtype.newbyteorder("<").str, list(array.shape)]))
        digest.update(_bytes(array))
    return digest.hexdigest()


def _add_column(digest: Any, table: Table, name: str) -> None:
    if table.role(name) != "label":
        digest.update(b"numbers" + _bytes(table.numbers(name)))
        return
    codes, values = pd.factorize(table.labels(name))
    observed = [value.item() if isinstance(value, np.generic) else value for value in values]
    if all(isinstance(value, (bool, int, float)) for value in observed):
        values = np.array([*observed, np.nan])[codes]  # the code of a missing value is -1
        digest.update(b"numbers" + _bytes(values))
        return
    digest.update(b"text" + canonical([str(value) for value in observed]))
    digest.update(_bytes(codes.astype(np.int64)))


def _bytes(array: np.ndarray) -> bytes:
    """The numbers of an array in little-endian order on every machine; one zero and one NaN."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array + 0.0)  # one pattern of bits for NaN
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
