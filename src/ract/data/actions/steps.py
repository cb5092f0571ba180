"""Round targets: multiples of a feature's step, and of larger steps for larger changes.

A change of d has to end at a multiple of the feature's step and of ``10 ** (floor(log10(d)) - 1)``:
two digits of the change count, and nobody is asked for 44,101 instead of 16,666.

    change      up to 99    100 to 999    1,000 to 9,999
    step 1      1           10            100
    step 5      5           10            100
    step 25     25          50            100
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import floor, inf, lcm, log10

import numpy as np

# Decades are told apart with this much room, on the side of the larger step, which suits both.
EDGE = 1e-9
LARGEST_CHANGE = 18  # its power of ten


@lru_cache(maxsize=1024)
def decades(step: float) -> tuple[tuple[float, float, Fraction], ...]:
    """Smallest and largest change (excluded) for each unit that targets are multiples of.

    >>> [(round(low), round(high), str(unit)) for low, high, unit in decades(25.0)[:3]]
    [(0, 100, '25'), (100, 1000, '50'), (1000, 10000, '100')]
    """
    exact = Fraction(repr(step))
    found: list[tuple[float, float, Fraction]] = []
    for power in range(floor(log10(step)) - 18, LARGEST_CHANGE):
        unit = _common(exact, Fraction(10) ** (power - 1))
        low, high = 10.0**power * (1 - EDGE), 10.0 ** (power + 1) * (1 - EDGE)
        if found and found[-1][2] == unit:
            found[-1] = (found[-1][0], high, unit)
        else:
            found.append((low if found else 0.0, high, unit))
    found[-1] = (found[-1][0], inf, found[-1][2])
    return tuple(found)


@lru_cache(maxsize=1024)
def decade_table(step: float) -> np.ndarray:
    """The same as rows of smallest and largest change, and the unit's numerator and denominator."""
    rows = [(low, high, unit.numerator, unit.denominator) for low, high, unit in decades(step)]
    return np.array(rows, np.float64)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The least common multiple of two fractions."""
    bottom = lcm(one.denominator, other.denominator)
    return Fraction(lcm(int(one * bottom), int(other * bottom)), bottom)


def first_multiple(values: np.ndarray, unit: Fraction) -> np.ndarray:
    """The least multiple of a unit that is not below each value, as the nearest float to it.

    >>> first_multiple(np.array([0.561, 0.57, np.inf]), Fraction(1, 100))
    array([0.57, 0.57,  inf])
    """
    top, bottom = float(unit.numerator), float(unit.denominator)
    with np.errstate(invalid="ignore"):
        count = np.floor(values * bottom / top) - 1
        for _ in range(3):
            count += (count * top) / bottom < values
        return np.where(np.isfinite(values), count * top / bottom + 0.0, values)


def first_above(start: np.ndarray, low: np.ndarray, step: float) -> np.ndarray:
    """The least round target above people's own values that is not below some value.

    Parameters
    ----------
    start, low : float arrays of shapes that go together
    step : float
        Above 0.

    Examples
    --------
    >>> first_above(np.array([16_666.0]), np.array([16_700.0, 16_801.0, 44_101.0]), 1.0)
    array([16700., 16810., 45000.])
    """
    start, low = np.broadcast_arrays(start, np.maximum(low, np.nextafter(start, inf)))
    found, change = np.full(low.shape, np.nan), low - start
    for least, most, unit in decades(step):
        open_ = np.isnan(found) & (change < most)
        if open_.any():
            at = first_multiple(np.maximum(low[open_], start[open_] + least), unit)
            moved = at - start[open_]
            found[open_] = np.where((moved >= least) & (moved < most), at, np.nan)
        if not np.isnan(found).any():
            break
    return found


def last_below(start: np.ndarray, high: np.ndarray, step: float) -> np.ndarray:
    """The greatest round target below people's own values that is not above some value."""
    return -first_above(-np.asarray(start), -np.asarray(high), step)


def proposed_step(
    low: float, quarter: float, three_quarters: float, high: float, *, whole: bool
) -> float | None:
    """A sensible step of a column from its quartiles: 1, 5, 10, 50, 100 ... or parts of 1.

    The largest of which 20 or more go into the interquartile range (100 into the whole range where
    that is 0); at least 1 for whole numbers, and one percent point for shares where 5 or more do.

    >>> proposed_step(900, 2_000, 4_500, 20_000, whole=True), proposed_step(0, 0, 2, 9, whole=True)
    (100.0, 1.0)
    >>> proposed_step(0, 0.2, 0.6, 1, whole=False)
    0.01
    """
    spread = three_quarters - quarter
    size = spread / 20 if spread > 0 else (high - low) / 100
    if size <= 0:
        return 1.0 if whole else None
    if not whole and low >= 0 and high <= 1 and size * 20 >= 0.05:
        return 0.01
    power = floor(log10(size) + EDGE)
    step = 10.0**power if power >= 0 else 1 / 10.0**-power
    if 5 * step <= size * (1 + EDGE):
        step = 5 * step if power >= 0 else 5 / 10.0**-power
    return max(step, 1.0) if whole else step
