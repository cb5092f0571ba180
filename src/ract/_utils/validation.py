"""Questions about single values that many checks ask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether a value is a number, and not a boolean.

    >>> is_number(2.5), is_number(2.5, whole=True), is_number(True)
    (True, False, False)
    """
    kinds = (int, np.integer) if whole else (int, float, np.number)
    return isinstance(value, kinds) and not isinstance(value, (bool, np.bool_))


def is_missing(value: Any) -> bool:
    """Whether there is no value: None or not a number.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))
