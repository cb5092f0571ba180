"""JSON values of a file, read by tables that have a check for each field.

A check takes a value and the name of its field. It returns the value as the caller uses it, or
raises an ``InvalidFile``; a field that is not there has the value None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast

from ract._utils.errors import InvalidFile

Check = Callable[[object, str], Any]
Read = TypeVar("Read")
LARGEST_WHOLE = 2**53  # NumPy takes no whole number of any length


def read_fields(meta: object, checks: Mapping[str, Check]) -> dict[str, Any]:
    """The values of a JSON object's fields; fields without a check are left out.

    >>> read_fields({"age": 3, "more": 1}, {"age": whole, "unit": optional(text, "years")})
    {'age': 3, 'unit': 'years'}
    """
    if not isinstance(meta, Mapping):
        raise InvalidFile(f"the place of {next(iter(checks))!r} in it is not an object")
    return {key: check(meta.get(key), key) for key, check in checks.items()}


def read_as(kind: type[Read], meta: object, **checks: Check) -> Read:
    """An instance of a dataclass from a JSON object; fields that have a default may be missing.

    Values are checked by the types of their fields, as the class writes them, or by a check of
    their own.
    """
    entries = record(meta, kind.__name__.lower())
    given = {}
    for field in fields(cast(Any, kind)):
        if entries.get(field.name) is not None or field.default is MISSING:
            check = checks.get(field.name) or _BY_TYPE.get(str(field.type), optional(text))
            given[field.name] = check(entries.get(field.name), field.name)
    return kind(**given)


def of_type(*kinds: type) -> Check:
    """A check for values of some types; bools are not numbers."""

    def check(value: object, key: str) -> object:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InvalidFile(f"{key!r} in it is {value!r:.60}")
        return value

    return check


text, whole, boolean, record = (of_type(kind) for kind in (str, int, bool, dict))


def optional(check: Check, default: object = None) -> Check:
    """A check for a value that need not be there."""
    return lambda value, key: default if value is None else check(value, key)


def word_among(*allowed: str) -> Check:
    """A check for one of some words."""

    def check(value: object, key: str) -> object:
        if text(value, key) not in allowed:
            raise InvalidFile(f"{key!r} in it is {value!r:.60}")
        return value

    return check


def tuple_of(check: Check) -> Check:
    """A check for a list of values that all pass another check; it becomes a tuple."""
    as_list = of_type(list)
    return lambda value, key: tuple(check(item, key) for item in as_list(value, key))


def numeric(*, infinite: bool = False, nan: bool = False) -> Check:
    """A check for a number, finite unless told otherwise; what is whole stays so."""

    def check(value: object, key: str) -> int | float:
        parsed = python_value(of_type(int, float, dict)(value, key))
        try:
            size = float(parsed) if isinstance(parsed, (int, float)) else None
        except OverflowError:
            raise InvalidFile("a number in it is too large") from None
        if size is None or (math.isnan(size) and not nan):
            raise InvalidFile(f"{key!r} in it is {parsed!r:.60}, not a number")
        if math.isinf(size) and not infinite:
            raise InvalidFile(f"{key!r} in it is not finite")
        return size if abs(size) >= LARGEST_WHOLE else parsed

    return check


finite, number = numeric(), numeric(infinite=True)


# Checks for fields of dataclasses; types without one are words.
_BY_TYPE: dict[str, Check] = {
    "str": text,
    "int": whole,
    "bool": boolean,
    "float": finite,
    "int | None": optional(whole),
    "float | None": optional(finite),
    "tuple[str, ...]": tuple_of(text),
}


def finite_float(value: object, key: str) -> float:
    """A finite number as a float."""
    return float(finite(value, key))


def label(value: object, key: str) -> str | bool | int | float:
    """A class or category: text, a finite number or a bool."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidFile(f"{key} in it is {value!r}")
    if not isinstance(value, (str, bool, int, float)):
        raise InvalidFile(f"{key} in it is {value!r:.60}")
    return value


def python_value(meta: object) -> Any:
    """The value that ``ract.trees.fingerprint.json_value`` made JSON of."""
    if isinstance(meta, list):
        return [python_value(item) for item in meta]
    if not isinstance(meta, dict):
        return meta
    if set(meta) == {"float"} and meta["float"] in ("inf", "-inf", "nan"):
        return float(meta["float"])
    pairs = meta.get("pairs")
    if set(meta) != {"pairs"} or not isinstance(pairs, list):
        raise InvalidFile(f"a value in it is {meta!r:.60}")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidFile("a table in it has items that are not pairs")
    return {label(python_value(k), "a key"): python_value(v) for k, v in pairs}
