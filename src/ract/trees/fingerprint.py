"""Models as plain data, for files and exports, and fingerprints: short texts, equal for equals.

Nothing here reads; what files hold is checked where they are read.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract._utils.validation import as_python
from ract.data.actions import ActionSpace, Feature
from ract.data.costs import FittedCost, LevelCost, LinearCost, RelativeLevels
from ract.data.encoder import Encoder
from ract.data.frames import Table, read_table
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import curve_record

OWN_COST = "cost-own-"  # of a cost of the user's own
_LANES = 1024  # numbers that a row of people is hashed to

TREE_ARRAYS = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "label": np.uint8,
    "value": np.float64,
    "root": np.int32,
    "against": np.float64,
    "missing_left": np.uint8,
}
# Fields of features that are stored only where they differ from their defaults, so that models of
# versions without them keep their fingerprints.
_ALWAYS_STORED = ("name", "kind", "change", "lower", "upper", "weight", "categories", "columns")
# Kinds of costs, and the tables that say what each charges.
_StoredCost = LevelCost | LinearCost | RelativeLevels
COSTS: dict[str, tuple[type[_StoredCost], tuple[str, ...]]] = {
    "levels": (LevelCost, ("knots", "levels")),
    "linear": (LinearCost, ("factors", "origins")),
    "relative": (RelativeLevels, ("scales", "factors")),
}


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
    observed = [*map(as_python, values), np.nan]
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
    observed = list(map(as_python, values))
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


@dataclass(frozen=True)
class Parts:
    """Plain data of one thing.

    Parameters
    ----------
    meta : dict
        JSON values.
    arrays : dict of str to array
    """

    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]


def json_value(value: object, what: str) -> Any:
    """A value in terms of JSON; infinities as ``{"float": "inf"}``.

    >>> json_value((1, np.float64(0.5), float("inf")), "budget")
    [1, 0.5, {'float': 'inf'}]
    """
    value = value.tolist() if isinstance(value, np.ndarray) else as_python(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        return [json_value(one, what) for one in value]
    if isinstance(value, dict):
        return {"pairs": [[json_value(k, what), json_value(v, what)] for k, v in value.items()]}
    raise InvalidSpec(
        f"{what} is {value!r}, a {type(value).__name__}, which cannot be stored; "
        "only numbers, text, lists and dicts can."
    )


def stored_name(field: str) -> str:
    """The name of a feature's field in files; that of 0.2 for drift, as fingerprints rest on it."""
    return "per_month" if field == "drift" else field


def space_parts(space: ActionSpace) -> dict[str, Any]:
    """An action space as JSON values."""
    features = [
        {
            stored_name(f.name): json_value(getattr(feature, f.name), f"Feature {feature.name!r}")
            for f in fields(Feature)
            if f.name in _ALWAYS_STORED or getattr(feature, f.name) != f.default
        }
        for feature in space
    ]
    meta = {"features": features, "desired": json_value(space.desired, "desired")}
    if space.limits is not None:
        meta["limits"] = space.limits
    if space.steps is not None:
        meta["steps"] = space.steps
    if space.rules:
        meta["rules"] = [str(rule) for rule in space.rules]
    return meta


def encoder_parts(encoder: Encoder) -> dict[str, Any]:
    """An encoder as JSON values: its space and the table's columns."""
    return {"space": space_parts(encoder.space), "columns": list(encoder.feature_names)}


def ensemble_parts(ensemble: TreeEnsemble) -> Parts:
    """Trees as arrays, and how they decide."""
    arrays = {
        name: np.ascontiguousarray(getattr(ensemble, name), dtype=kind)
        for name, kind in TREE_ARRAYS.items()
        if getattr(ensemble, name) is not None
    }
    meta = {
        "combine": ensemble.combine,
        "cutoff": json_value(ensemble.cutoff, "cutoff"),
        "base": json_value(ensemble.base, "base"),
        "single": bool(ensemble.single),
    }
    return Parts(meta, arrays)


def cost_parts(cost: FittedCost) -> Parts:
    """The tables of a fitted cost of ract; others cannot be written as data."""
    kind = next((kind for kind, (made, _) in COSTS.items() if type(cost) is made), None)
    if kind is None:
        raise own_cost(cost)
    meta: dict[str, Any] = {"kind": kind, "norm": cost.norm}
    if supply := getattr(cost, "supply", ()):
        meta["supply"] = [asdict(priced) | {"columns": list(priced.columns)} for priced in supply]
    arrays = {}
    if isinstance(cost, LevelCost):
        arrays["ends"] = np.cumsum([0, *map(len, cost.knots)]).astype(np.int64)
    for name in COSTS[kind][1]:
        table = getattr(cost, name)
        if table is not None:
            whole = np.concatenate(table) if isinstance(table, tuple) else table
            arrays[name] = np.ascontiguousarray(whole, np.float64)
    return Parts(meta, arrays)


def own_cost(cost: object) -> InvalidSpec:
    """The error for a cost that is not one of ract's."""
    return InvalidSpec(
        f"The cost is a {type(cost).__name__} of your own, whose rules are code and not data; "
        "models with one of ract's costs can be stored."
    )


def model_parts(model: object) -> Parts:
    """What a model decides, and what actions cost in it.

    Takes the fitted classifiers of ract, imported models and ``TreeModel`` (which has neither cost
    nor budget).
    """
    inner = getattr(model, "model", None)  # a TreeModel that stands for one of ract's own
    if inner is not None and hasattr(inner, "ensemble_"):
        model = inner
    ensemble, encoder = _of(model, "ensemble"), _of(model, "encoder")
    if not isinstance(ensemble, TreeEnsemble) or not isinstance(encoder, Encoder):
        raise InvalidSpec(
            f"{type(model).__name__} is not a fitted model of ract; read it with "
            "ract.import_model(model, people) first."
        )
    classes = np.asarray(_of(model, "classes"))
    meta: dict[str, Any] = {
        "classes": json_value(classes, "classes"),
        "desired": json_value(_of(model, "desired"), "desired"),
        "budget": json_value(
            getattr(model, "budget_", getattr(model, "budget", math.inf)), "budget"
        ),
        "encoder": encoder_parts(encoder),
        "link": curve_record(getattr(model, "link", None)),
    }
    arrays: dict[str, np.ndarray] = {}
    parts = {"ensemble": ensemble_parts(ensemble)}
    probability = getattr(model, "probability_ensemble_", None)
    if probability is not None:
        parts["probability"] = ensemble_parts(probability)
    if hasattr(model, "cost_"):
        parts["cost"] = cost_parts(model.cost_)
    for name, part in parts.items():
        meta[name] = part.meta
        arrays |= {f"{name}.{key}": array for key, array in part.arrays.items()}
    return Parts(meta, arrays)


def canonical_json(values: object) -> bytes:
    """JSON values as bytes that are the same wherever they are written."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def _of(model: object, name: str) -> Any:
    """A fitted attribute, with scikit-learn's underscore or without."""
    return getattr(model, f"{name}_", getattr(model, name, None))
