"""Parameters of estimators as JSON values, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ract._utils.errors import InvalidFile, InvalidSpec
from ract._utils.renamed import current_parameters
from ract.data.actions import ActionSpace
from ract.data.costs import LogPercentileCost, PercentileCost, ScaledCost
from ract.io.checked import checked_space
from ract.io.values import python_value, record, text
from ract.trees.fingerprint import json_value, own_cost, space_parts

_TRAINING_COSTS = (PercentileCost, LogPercentileCost, ScaledCost)
COSTS = {kind.__name__: kind for kind in _TRAINING_COSTS}
# What belongs to the machine, not to the model.
LEFT_OUT = ("n_jobs", "verbose")
# Numbers that fitting finds; an estimator may have some of them.
FITTED_NUMBERS = (
    "recourse_weight_",
    "min_leaf_share_",
    "threshold_",
    "recourse_risk_",
    "oob_score_",
    "oob_recourse_ratio_",
)


def parameters_meta(model: BaseEstimator) -> dict[str, Any]:
    """The parameters of an estimator; a random number generator is stored as None."""
    given = model.get_params(deep=False)
    return {name: _meta(name, value) for name, value in given.items() if name not in LEFT_OUT}


def _meta(name: str, value: object) -> Any:
    if isinstance(value, ActionSpace):
        return {"space": space_parts(value)}
    if isinstance(value, _TRAINING_COSTS) and type(value) in COSTS.values():
        given = {f.name: json_value(getattr(value, f.name), name) for f in fields(value)}
        return {"cost": type(value).__name__, "given": given}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    if name == "cost" and not isinstance(value, str):
        raise own_cost(value)
    return json_value(value, name)


def checked_parameters(meta: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Parameters of an estimator by their names of today; unknown ones are left out."""
    given = {name: _value(value) for name, value in meta.items() if name not in LEFT_OUT}
    if not isinstance(given.get("actions"), ActionSpace | None):
        raise InvalidFile("the actions among its parameters are no action space")
    return current_parameters(given, known)


def _value(meta: object) -> object:
    if isinstance(meta, dict) and set(meta) == {"space"}:
        return checked_space(meta["space"])
    if isinstance(meta, dict) and "cost" in meta:
        kind, given = COSTS.get(text(meta["cost"], "cost")), record(meta.get("given"), "given")
        if kind is None or set(given) | {"exact"} != {f.name for f in fields(kind)} | {"exact"}:
            raise InvalidFile("the cost among its parameters is unknown")
        try:
            return kind(**{name: python_value(value) for name, value in given.items()})
        except (InvalidSpec, TypeError, ValueError):
            raise InvalidFile("the cost among its parameters is invalid") from None
    return python_value(meta)
