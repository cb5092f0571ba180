"""The time that one person's search has left, for building as for solving."""

from __future__ import annotations

from math import inf
from time import perf_counter

import numpy as np


class OutOfTime(Exception):
    """Ends the building of a program; never leaves the search."""


class Time:
    """One person's time: a flag that is raised when it is up, and when that will be.

    Parameters
    ----------
    stop : uint8 (1,)
        Set when the time is up.
    seconds : float
        From now on, or inf.

    Examples
    --------
    >>> Time(np.zeros(1, np.uint8)).left
    inf
    """

    def __init__(self, stop: np.ndarray, seconds: float = inf) -> None:
        self._stop, self._end = stop, perf_counter() + seconds

    @property
    def left(self) -> float:
        """Seconds."""
        return 0.0 if self._stop[0] else max(0.0, self._end - perf_counter())

    def check(self) -> None:
        """Raise OutOfTime if the time is up; cheap enough for every step of building."""
        if self._stop[0]:
            raise OutOfTime
