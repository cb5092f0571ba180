"""Fingerprints: short texts that are equal for equal models, or equal tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract.data.costs import FittedCost
from ract.data.frames import Table, read_table
from ract.trees.serialize import Parts, canonical_json, cost_parts, model_parts

OWN_COST = "cost-own-"  # of a cost of the user's own
_LANES = 1024  # numbers that a row of people is hashed to


def model_fingerprint(model: object) -> str:
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
    >>> from ract.models.examples import loans_tree
    >>> one, other = (loans_tree(300, max_depth=2, budget=budget)[0] for budget in (0.3, 0.4))
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
        return f"{OWN_COST}{type(cost).__name__}"
    return f"cost-1-{_digest(parts)}"


def data_fingerprint(X: TableLike) -> str:
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
    digest = hashlib.sha256(canonical_json([list(table.names), table.n_rows]))
    for name in table.names:
        _add_column(digest, table, name)
    return f"data-1-{digest.hexdigest()}"


@dataclass(frozen=True)
class PeopleSum:
    """What a fingerprint of people in any order rests on; that of two parts adds up.

    A row is hashed to 1024 numbers of 16 bits, and those of all rows are added (LtHash, by Bellare
    and Micciancio): no two different sets of rows with the same sums can be found by any known
    means, and neither order nor parts matter.

    Parameters
    ----------
    names : tuple of str
        The columns, sorted.
    n_rows : int
    sums : uint16 (1024,)

    Examples
    --------
    >>> people = pd.DataFrame({"age": [20, 40, 40], "job": ["clerk", "cook", None]})
    >>> whole, parts = PeopleSum.of(people), PeopleSum.of(people[2:]) + PeopleSum.of(people[:2])
    >>> whole.fingerprint == parts.fingerprint, whole.fingerprint[:9]
    (True, 'people-1-')
    >>> PeopleSum.of(people[:2]).fingerprint == whole.fingerprint
    False
    """

    names: tuple[str, ...]
    n_rows: int
    sums: np.ndarray

    @classmethod
    def of(cls, X: TableLike) -> PeopleSum:
        """That of a table; values are equal as for ``data_fingerprint``."""
        table = read_table(X)
        columns = tuple(sorted(table.names))
        rows = np.concatenate([_cells(table, name) for name in columns], axis=1)
        total = np.zeros(_LANES, np.uint16)
        for row in rows:
            total += np.frombuffer(hashlib.shake_128(row).digest(2 * _LANES), "<u2")
        return cls(columns, table.n_rows, total)

    def __add__(self, other: PeopleSum) -> PeopleSum:
        if self.names != other.names:
            raise InvalidSpec("Parts of a table must have the same columns.")
        return PeopleSum(self.names, self.n_rows + other.n_rows, self.sums + other.sums)

    @property
    def fingerprint(self) -> str:
        """A short text that is equal for the same people, in whatever order and parts."""
        digest = hashlib.sha256(canonical_json([list(self.names), self.n_rows]) + _bytes(self.sums))
        return f"people-1-{digest.hexdigest()}"


def is_fingerprint_of(fingerprint: str, X: TableLike) -> bool | None:
    """Whether a fingerprint, of whichever kind, is that of a table; None if nobody can say."""
    if fingerprint.startswith("parts-1-"):  # of parts whose bounds were not kept
        return None
    if fingerprint.startswith("people-1-"):
        return PeopleSum.of(X).fingerprint == fingerprint
    return data_fingerprint(X) == fingerprint


def _cells(table: Table, name: str) -> np.ndarray:
    """Each row's value of a column (rows, 17): a number, or the hash of a text."""
    if table.role(name) != "label":
        numbers = table.numbers(name)
        cells = np.zeros((len(numbers), 17), np.uint8)
        cells[:, 1:9] = np.frombuffer(_bytes(numbers), np.uint8).reshape(-1, 8)
        return cells
    codes, values = pd.factorize(table.labels(name))
    observed = [*(v.item() if isinstance(v, np.generic) else v for v in values), np.nan]
    cells = np.zeros((len(observed), 17), np.uint8)
    for k, value in enumerate(observed):
        if isinstance(value, (bool, int, float)):
            content = b"\0" + _bytes(np.array([float(value)])) + bytes(8)
        else:
            content = b"\1" + hashlib.blake2b(str(value).encode(), digest_size=16).digest()
        cells[k] = np.frombuffer(content, np.uint8)
    return cells[codes]  # the code of a missing value is -1


def _digest(parts: Parts) -> str:
    digest = hashlib.sha256(canonical_json(parts.meta))
    for name in sorted(parts.arrays):
        array = parts.arrays[name]
        digest.update(canonical_json([name, array.dtype.newbyteorder("<").str, list(array.shape)]))
        digest.update(_bytes(array))
    return digest.hexdigest()


def _add_column(digest: hashlib._Hash, table: Table, name: str) -> None:
    if table.role(name) != "label":
        digest.update(b"numbers" + _bytes(table.numbers(name)))
        return
    codes, values = pd.factorize(table.labels(name))
    observed = [value.item() if isinstance(value, np.generic) else value for value in values]
    if all(isinstance(value, (bool, int, float)) for value in observed):
        values = np.array([*observed, np.nan])[codes]  # the code of a missing value is -1
        digest.update(b"numbers" + _bytes(values))
        return
    digest.update(b"text" + canonical_json([str(value) for value in observed]))
    digest.update(_bytes(codes.astype(np.int64)))


def _bytes(array: np.ndarray) -> bytes:
    """The numbers of an array in little-endian order on every machine; one zero and one NaN."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array + 0.0)  # one pattern of bits for NaN
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
