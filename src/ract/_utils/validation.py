"""What single values may be: each check is declared once, and every error reads alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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


def as_python(value: Any) -> Any:
    """A number, label or truth of NumPy as one of Python's own; other values as they are.

    >>> as_python(np.int64(3)), as_python("car"), as_python(None)
    (3, 'car', None)
    """
    return value.item() if isinstance(value, np.generic) else value


def json_scalar(value: object) -> bool | float | str | None:
    """A single value as JSON has it: what is not finite is null, what is unknown a text.

    >>> json_scalar(np.int64(3)), json_scalar(np.inf), json_scalar(np.str_("car"))
    (3, None, 'car')
    """
    value = as_python(value)
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


@dataclass(frozen=True)
class Allowed:
    """What a value may be.

    Parameters
    ----------
    text : str
        As it stands in an error, after "must be".
    holds : callable
        Whether a value is so.
    """

    text: str
    holds: Callable[[Any], bool]


def whole(least: int, most: int | None = None) -> Allowed:
    """A whole number, from a least one on or in a range."""
    text = f"of {least} or more" if most is None else f"from {least} to {most}"
    return Allowed(
        f"a whole number {text}",
        lambda value: (
            is_number(value, whole=True) and value >= least and (most is None or value <= most)
        ),
    )


def at_least(least: float, *, infinite: bool = False) -> Allowed:
    """A number, finite unless said otherwise."""
    return Allowed(
        f"a number of {least:g} or more",
        lambda value: (
            is_number(value) and bool(value >= least and (infinite or np.isfinite(value)))
        ),
    )


def between(low: float, high: float, what: str, *, ends: str = "[]") -> Allowed:
    """A number in an interval; ends as in mathematics, such as "(]"."""

    def holds(value: Any) -> bool:
        if not is_number(value):
            return False
        above = value > low if ends[0] == "(" else value >= low
        below = value < high if ends[1] == ")" else value <= high
        return bool(above and below)

    return Allowed(what, holds)


def one_of(*values: bool | str) -> Allowed:
    """One of some values."""
    shown = [repr(value) for value in values]
    text = " or ".join(shown) if len(shown) <= 2 else f"one of {', '.join(shown)}"
    return Allowed(text, lambda value: any(type(value) is type(v) and value == v for v in values))


def instance(kind: type | tuple[type, ...], text: str) -> Allowed:
    """An object of a type."""
    return Allowed(text, lambda value: isinstance(value, kind))


NONE = Allowed("None", lambda value: value is None)
ANYTHING = Allowed("anything", lambda _: True)
COUNT, AT_LEAST_ONE = whole(0), whole(1)
JOBS = Allowed(
    "a whole number other than 0", lambda value: is_number(value, whole=True) and value != 0
)
AMOUNT, FINITE_AMOUNT = at_least(0, infinite=True), at_least(0)
SHARE = between(0, 1, "a share between 0 and 1")
BELOW_ONE = between(0, 1, "a share of at least 0 and below 1", ends="[)")
POSITIVE_SHARE = between(0, 1, "a share above 0 and up to 1", ends="(]")
INNER_SHARE = between(0, 1, "a share between 0 and 1", ends="()")
ABOVE_0 = between(0, np.inf, "a number above 0", ends="()")
PROBABILITY = between(0, 1, "a probability between 0 and 1", ends="()")
FRACTION = Allowed(
    "a share between 0 and 1",
    lambda value: isinstance(value, (float, np.floating)) and bool(0 < value <= 1),
)
YES_OR_NO = instance((bool, np.bool_), "True or False")


def check_value(name: str, value: object, *allowed: Allowed) -> None:
    """Refuse a value that is none of what is allowed, by name, value and what is allowed.

    >>> check_value("max_nodes", -1, NONE, COUNT)
    Traceback (most recent call last):
    ract._utils.errors.InvalidSpec: max_nodes must be a whole number of 0 or more, or None, got -1.
    """
    if not any(kind.holds(value) for kind in allowed):
        texts = [kind.text for kind in allowed if kind is not NONE]
        texts += ["None"] if NONE in allowed else []
        raise InvalidSpec(f"{name} must be {', or '.join(texts)}, got {value!r}.")
