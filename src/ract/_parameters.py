"""Parameters of learners, checked and in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ract.actions import ActionSpace
from ract.encoding import Axis, Encoder
from ract.errors import InvalidSpec, listing


def is_number(value: Any, *, whole: bool = False) -> bool:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, (bool, np.bool_))


def at_least(name: str, value: Any, least: float, *, whole: bool = False) -> Any:
    if not is_number(value, whole=whole) or not value >= least or not np.isfinite(value):
        kind = "a whole number" if whole else "a number"
        raise InvalidSpec(f"{name} must be {kind} of {least} or more, got {value!r}.")
    return value


def desired_class(wanted: Any, actions: ActionSpace | None, classes: np.ndarray) -> Any:
    """The class that people want: as given, by the action space, or else the second one."""
    if wanted is None and actions is not None:
        wanted = actions.desired
    if wanted is None:
        return classes[1]
    labels = classes.tolist()
    if wanted not in labels:
        raise InvalidSpec(
            f"desired is {wanted!r}, which is not a class of the target; its classes are "
            f"{listing(labels)}."
        )
    return classes[labels.index(wanted)]


def number_of_people(name: str, value: Any, least: int, n_people: int) -> int:
    """A number of people, given as such or as a share of all."""
    if is_number(value, whole=True) and value >= least:
        return int(value)
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return max(least, int(np.ceil(value * n_people)))
    raise InvalidSpec(
        f"{name} must be a whole number of {least} or more, or a share between 0 and 1, "
        f"got {value!r}."
    )


def features_per_split(value: Any, n_axes: int) -> int | None:
    """How many features to look at per split, by scikit-learn's rules."""
    if value is None:
        return None
    if value == "sqrt":
        return max(1, int(np.sqrt(n_axes)))
    if value == "log2":
        return max(1, int(np.log2(n_axes)))
    if is_number(value, whole=True) and value >= 1:
        return min(int(value), n_axes)
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return max(1, int(value * n_axes))
    raise InvalidSpec(
        "max_features must be None, 'sqrt', 'log2', a whole number of 1 or more, or a share "
        f"between 0 and 1, got {value!r}."
    )


def monotonic_directions(wanted: Any, encoder: Encoder, axes: Sequence[Axis]) -> tuple[int, ...]:
    """Direction of each axis from ``monotonic_cst``; empty if nothing is constrained."""
    if wanted is None:
        return ()
    names = encoder.feature_names
    if isinstance(wanted, dict):
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise InvalidSpec(
                f"monotonic_cst names {listing(unknown)}; the columns are {listing(names)}."
            )
        by_name = wanted
    else:
        given = np.asarray(wanted).tolist()
        if not isinstance(given, list) or len(given) != len(names):
            raise InvalidSpec(
                f"monotonic_cst must have one entry for each of the {len(names)} features or be "
                f"a dict by their names, got {wanted!r}."
            )
        by_name = dict(zip(names, given, strict=True))
    for name, value in by_name.items():
        if value not in (-1, 0, 1):
            raise InvalidSpec(
                f"monotonic_cst must be -1, 0 or 1 for each feature, got {value!r} for {name!r}."
            )
    asked = {name for name, value in by_name.items() if value != 0}
    for axis in encoder.axes:
        own = asked.intersection(axis.feature.columns or (axis.feature.name,))
        if own and axis.is_categorical:
            raise InvalidSpec(
                f"monotonic_cst must be 0 for {listing(sorted(own))}: categories have no order."
            )
    directions = tuple(int(by_name.get(axis.feature.name, 0)) for axis in axes)
    return directions if any(directions) else ()
