"""JSON values of a file, checked one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ract.errors import InvalidFile

Label = str | bool | int | float


def entry(told: Any, key: str, kind: type | tuple[type, ...]) -> Any:
    """An entry that must be there and of some kind; bools are not numbers."""
    if not isinstance(told, Mapping):
        raise InvalidFile(f"the place of {key!r} in it is not an object")
    value = told.get(key)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidFile(f"{key!r} in it is {value!r:.60}")
    return value


def number(told: Any, key: str, *, infinite: bool = False) -> int | float:
    """A number; infinities where they are allowed."""
    value = value_of(entry(told, key, (int, float, dict)))
    if (
        not isinstance(value, (int, float))
        or isinstance(value, bool)
        or math.isnan(float_of(value))
    ):
        raise InvalidFile(f"{key!r} in it is {value!r:.60}, not a number")
    if not infinite and math.isinf(float_of(value)):
        raise InvalidFile(f"{key!r} in it is not finite")
    return value


def float_of(value: float) -> float:
    """A whole number as a float; one that is too large for that is refused."""
    try:
        return float(value)
    except OverflowError:
        raise InvalidFile("a number in it is too large") from None


def texts(told: Any, key: str) -> list[str]:
    """A list of texts."""
    values: list[Any] = entry(told, key, list)
    if not all(isinstance(value, str) for value in values):
        raise InvalidFile(f"{key!r} in it is not a list of texts")
    return values


def label(value: Any, what: str) -> Label:
    """A class or category: text, a finite number or a bool."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidFile(f"{what} in it is {value!r}")
    if not isinstance(value, (str, bool, int, float)):
        raise InvalidFile(f"{what} in it is {value!r:.60}")
    return value


def labels(told: Any, key: str) -> list[Label]:
    """A list of classes or categories."""
    return [label(value, key) for value in entry(told, key, list)]


def value_of(told: Any, depth: int = 0) -> Any:
    """What ``ract._serialize.plain`` made JSON of."""
    if depth > 20:
        raise InvalidFile("values in it are nested too deep")
    if isinstance(told, list):
        return [value_of(one, depth + 1) for one in told]
    if not isinstance(told, dict):
        return told
    if set(told) == {"float"} and told["float"] in ("inf", "-inf", "nan"):
        return float(told["float"])
    pairs = told.get("pairs")
    if set(told) != {"pairs"} or not isinstance(pairs, list):
        raise InvalidFile(f"a value in it is {told!r:.60}")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidFile("a table in it has entries that are not pairs")
    return {label(value_of(k), "a key"): value_of(v, depth + 1) for k, v in pairs}
