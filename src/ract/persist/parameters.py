"""Parameters of estimators as JSON values, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ract._serialize import plain, space_parts
from ract.actions import ActionSpace
from ract.costs import (
    LogPercentileCost,
    MahalanobisCost,
    PercentileCost,
    ScaledCost,
)
from ract.errors import InvalidFile, InvalidSpec
from ract.persist.checked import checked_space
from ract.persist.values import entry, value_of

COSTS = {kind.__name__: kind for kind in
         (PercentileCost, LogPercentileCost, ScaledCost, MahalanobisCost)}  # fmt: skip
# What belongs to the machine, not to the model.
LEFT_OUT = ("n_jobs", "verbose", "warm_start")


def told_parameters(model: Any) -> dict[str, Any]:
    """The parameters of an estimator; a generator of random numbers is told as None."""
    given = model.get_params(deep=False)
    return {name: _told(name, value) for name, value in given.items() if name not in LEFT_OUT}


def _told(name: str, value: Any) -> Any:
    if isinstance(value, ActionSpace):
        return {"space": space_parts(value)}
    if type(value) in COSTS.values():
        own = {f.name: plain(getattr(value, f.name), name) for f in fields(value)}
        return {"cost": type(value).__name__, "given": own}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    if name == "cost" and not isinstance(value, str):
        raise InvalidSpec(
            f"The cost is a {type(value).__name__} of your own, whose rules are code and not "
            "data; models with one of ract's costs can be stored."
        )
    return plain(value, name)


def checked_parameters(told: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Parameters of an estimator; those that this version does not know are left out."""
    return {
        name: _value(value)
        for name, value in told.items()
        if name in known and name not in LEFT_OUT
    }


def _value(told: Any) -> Any:
    if isinstance(told, dict) and set(told) == {"space"}:
        return checked_space(told["space"])
    if isinstance(told, dict) and "cost" in told:
        kind, given = COSTS.get(entry(told, "cost", str)), entry(told, "given", dict)
        if kind is None or set(given) != {f.name for f in fields(kind)}:
            raise InvalidFile("the cost among its parameters is unknown")
        try:
            return kind(**{name: value_of(value) for name, value in given.items()})
        except (InvalidSpec, TypeError, ValueError):
            raise InvalidFile("the cost among its parameters cannot be") from None
    return value_of(told)
