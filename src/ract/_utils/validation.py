"""Questions about single values that many checks ask."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec


def is_number(value: object, *, whole: bool = False) -> bool:
    """Whether a value is a number, and not a boolean.

    >>> is_number(2.5), is_number(2.5, whole=True), is_number(True)
    (True, False, False)
    """
    kinds = (int, np.integer) if whole else (int, float, np.number)
    return isinstance(value, kinds) and not isinstance(value, (bool, np.bool_))


def is_missing(value: object) -> bool:
    """Whether there is no value: None or not a number.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def json_scalar(value: object) -> bool | float | str | None:
    """A single value as JSON has it: what is not finite is null, what is unknown a text.

    >>> json_scalar(np.int64(3)), json_scalar(np.inf), json_scalar(np.str_("car"))
    (3, None, 'car')
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def as_names(option: str, given: object) -> tuple[Any, ...]:
    """What an option lists; a single text would be read as a list of its letters.

    >>> as_names("features", ["Age", "Debt"])
    ('Age', 'Debt')
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidSpec(f"{option} takes a list; write [{given!r}] and not {given!r}.")
    return tuple(given)
