"""Searching the doubles in their order, for the last one at which something holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SIGN = np.int64(-(2**63))


def largest(
    holds: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, width: int
) -> np.ndarray:
    """The largest doubles between some ends for which something holds that ceases to hold.

    -inf where it does not hold at the low end, inf where it still holds at the high end.

    Parameters
    ----------
    holds : callable
        From one row of doubles for each pair of ends to whether it holds for them.
    low, high : float64 (pairs,)
    width : int
        Into how many parts to cut at a time; asking for many at once saves time.

    Examples
    --------
    >>> ends = np.array([0.0, 0.0]), np.array([2.0, 3.0])
    >>> largest(lambda x: x * x <= np.array([[2.0], [3.0]]), *ends, width=8)
    array([1.41421356, 1.73205081])
    """
    never, always = ~holds(low[:, None])[:, 0], holds(high[:, None])[:, 0]
    below, above = _order(low), _order(high)
    part = np.arange(1, width, dtype=np.uint64)
    n_parts = np.uint64(width)
    while (below + 1 < above).any():
        gap = (above - below).view(np.uint64)[:, None]  # may be more than an int64 holds
        steps = gap // n_parts * part + gap % n_parts * part // n_parts
        middle = below[:, None] + steps.view(np.int64)
        inside = holds(_double(middle))
        n = np.where(inside.all(axis=1), width - 1, inside.argmin(axis=1))
        marks = np.column_stack([below, middle, above])
        below, above = (marks[np.arange(len(n)), n + k] for k in (0, 1))
    found = _double(below)
    found[always] = np.inf
    found[never] = -np.inf
    return found


def _order(x: np.ndarray) -> np.ndarray:
    """Whole numbers that are in the order of the doubles, without a gap."""
    bits = np.ascontiguousarray(x, np.float64).view(np.int64)
    return np.where(bits < 0, -(bits & ~SIGN), bits)


def _double(order: np.ndarray) -> np.ndarray:
    bits = np.where(order < 0, -order | SIGN, order)
    return bits.view(np.float64)


def moved(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Doubles so many places further on in their order.

    >>> moved(np.array([0.0]), np.array([-1, 0, 1])).tolist()
    [-5e-324, 0.0, 5e-324]
    """
    return _double(_order(x) + by)
