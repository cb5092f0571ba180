"""JSON values of a file, checked one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ract._utils.errors import InvalidFile

Label = str | bool | int | float
LARGEST_WHOLE = 2**53  # NumPy takes no whole number of any length


def entry(meta: Any, key: str, kind: type | tuple[type, ...]) -> Any:
    """The value of a key, which must be there and of some kind; bools are not numbers."""
    if not isinstance(meta, Mapping):
        raise InvalidFile(f"the place of {key!r} in it is not an object")
    value = meta.get(key)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kind) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidFile(f"{key!r} in it is {value!r:.60}")
    return value


def number(meta: Any, key: str, *, infinite: bool = False) -> int | float:
    """A number; infinities where they are allowed. What is whole stays so, for fingerprints."""
    value = value_of(entry(meta, key, (int, float, dict)))
    try:
        size = float(value)
    except TypeError:
        size = math.nan
    except OverflowError:
        raise InvalidFile("a number in it is too large") from None
    if math.isnan(size):
        raise InvalidFile(f"{key!r} in it is {value!r:.60}, not a number")
    if math.isinf(size) and not infinite:
        raise InvalidFile(f"{key!r} in it is not finite")
    return value if abs(size) < LARGEST_WHOLE else size


def texts(meta: Any, key: str) -> list[str]:
    """A list of texts."""
    values: list[Any] = entry(meta, key, list)
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


def labels(meta: Any, key: str) -> list[Label]:
    """A list of classes or categories."""
    return [label(value, key) for value in entry(meta, key, list)]


def value_of(meta: Any) -> Any:
    """What ``ract.trees.serialize.plain`` made JSON of."""
    if isinstance(meta, list):
        return [value_of(one) for one in meta]
    if not isinstance(meta, dict):
        return meta
    if set(meta) == {"float"} and meta["float"] in ("inf", "-inf", "nan"):
        return float(meta["float"])
    pairs = meta.get("pairs")
    if set(meta) != {"pairs"} or not isinstance(pairs, list):
        raise InvalidFile(f"a value in it is {meta!r:.60}")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidFile("a table in it has items that are not pairs")
    return {label(value_of(k), "a key"): value_of(v) for k, v in pairs}
