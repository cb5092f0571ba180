"""Models as plain data: JSON values and arrays, for files, fingerprints and exports.

Nothing here reads; what files hold is checked where they are read.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.actions import ActionSpace, Feature
from ract.data.costs import FittedCost, FittedMahalanobis, LevelCost, LinearCost, RelativeLevels
from ract.data.encoder import Encoder
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import record_of

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
# Only where they say something, so that models without them keep their fingerprints.
_IF_SAID = {
    "missing": None, "supply_cost": None, "drift": 0.0, "max_change": None,
    "max_relative": None, "median": None, "step": None, "unit": "", "label": "", "use": True,
    "pace": None, "per": "month", "delay": 0.0, "within": None,
}  # fmt: skip
_STORED_AS = {"drift": "per_month"}  # its name in 0.2, on which fingerprints rest


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


def plain(value: Any, what: str) -> Any:
    """A value in terms of JSON; infinities as ``{"float": "inf"}``.

    >>> plain((1, np.float64(0.5), float("inf")), "budget")
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
        return [plain(one, what) for one in value]
    if isinstance(value, dict):
        return {"pairs": [[plain(k, what), plain(v, what)] for k, v in value.items()]}
    raise InvalidSpec(
        f"{what} is {value!r}, a {type(value).__name__}, which cannot be stored; "
        "only numbers, text, lists and dicts can."
    )


def space_parts(space: ActionSpace) -> dict[str, Any]:
    """An action space as JSON values."""
    features = [
        {
            _STORED_AS.get(f.name, f.name): plain(
                getattr(feature, f.name), f"Feature {feature.name!r}"
            )
            for f in fields(Feature)
            if f.name not in _IF_SAID or getattr(feature, f.name) != _IF_SAID[f.name]
        }
        for feature in space
    ]
    switches = {"limits": space.limits, "steps": space.steps}
    said: dict[str, Any] = {name: value for name, value in switches.items() if value is not None}
    if space.rules:
        said["rules"] = [str(rule) for rule in space.rules]
    return {"features": features, "desired": plain(space.desired, "desired"), **said}


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
        "cutoff": plain(ensemble.cutoff, "cutoff"),
        "base": plain(ensemble.base, "base"),
        "single": bool(ensemble.single),
    }
    return Parts(meta, arrays)


def cost_parts(cost: FittedCost) -> Parts:
    """The tables of a fitted cost of ract; others cannot be written as data."""
    if type(cost) is LevelCost:
        ends = np.cumsum([0, *map(len, cost.knots)])
        tables = {"knots": np.concatenate(cost.knots), "levels": np.concatenate(cost.levels)}
        return _cost_parts("levels", cost, tables, ends=ends.astype(np.int64))
    if type(cost) is LinearCost:
        origins = {} if cost.origins is None else {"origins": cost.origins}
        return _cost_parts("linear", cost, {"factors": cost.factors} | origins)
    if type(cost) is RelativeLevels:
        tables = {"scales": cost.scales, "factors": cost.factors}
        return _cost_parts("relative", cost, tables)
    if type(cost) is FittedMahalanobis:
        tables = {"precision": cost.precision, "weights": cost.weights}
        return _cost_parts("mahalanobis", cost, tables)
    raise own_cost(cost)


def _cost_parts(kind: str, cost: FittedCost, tables: dict[str, Any], **more: np.ndarray) -> Parts:
    arrays = {name: np.ascontiguousarray(table, np.float64) for name, table in tables.items()}
    meta: dict[str, Any] = {"kind": kind, "norm": cost.norm}
    supply = getattr(cost, "supply", ())
    if supply:
        meta["supply"] = [
            {"columns": list(one.columns), "cost": one.cost, "middle": one.middle} for one in supply
        ]
    return Parts(meta, more | arrays)


def own_cost(cost: Any) -> InvalidSpec:
    """The error for a cost that is not one of ract's."""
    return InvalidSpec(
        f"The cost is a {type(cost).__name__} of your own, whose rules are code and not data; "
        "models with one of ract's costs can be stored."
    )


def model_parts(model: Any) -> Parts:
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
        "classes": plain(classes, "classes"),
        "desired": plain(_of(model, "desired"), "desired"),
        "budget": plain(getattr(model, "budget_", getattr(model, "budget", math.inf)), "budget"),
        "encoder": encoder_parts(encoder),
        "link": record_of(getattr(model, "link", None)),
    }
    arrays: dict[str, np.ndarray] = {}
    parts = {"ensemble": ensemble_parts(ensemble)}
    if getattr(model, "probability_ensemble_", None) is not None:
        parts["probability"] = ensemble_parts(model.probability_ensemble_)
    if hasattr(model, "cost_"):
        parts["cost"] = cost_parts(model.cost_)
    for name, part in parts.items():
        meta[name] = part.meta
        arrays |= {f"{name}.{key}": array for key, array in part.arrays.items()}
    return Parts(meta, arrays)


def canonical(values: Any) -> bytes:
    """JSON values as bytes that are the same wherever they are written."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def _of(model: Any, name: str) -> Any:
    """A fitted attribute, with scikit-learn's underscore or without."""
    return getattr(model, f"{name}_", getattr(model, name, None))
