"""Models as plain data: JSON values and arrays, for files, fingerprints and exports.

Nothing here reads; what files hold is checked where they are read.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.actions import ActionSpace, Feature
from ract.data.costs import FittedCost, LevelCost, LinearCost, RelativeLevels
from ract.data.encoder import Encoder
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import curve_record

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
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
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
