"""Segments of values of one feature, along which the effort is held from below by a line.

Values matter by themselves where relations join features, and for costs that do not split by
feature. Then a choice is a segment of values within one cell and on one side of the own value:

    cells      |      0       |          1           |     2      |
    segments  |  0  |   1    | 2 |own|  4  |   5    |  6  |  7   |

Inside a segment the value is a whole number of steps from the person's own: of 1 for features
that have only whole numbers, of a small part of what is in reach for continuous ones. An effort
that is linear between knots is a line once a segment has no knot inside. To begin with segments
take in several knots, under the steepest line from their near end that stays below the effort:

    effort           .-----
                  .-'   /
               .'    /      the search cuts the segments that it ends in at their knots,
            .'   /          and looks again
    near end /
"""

from __future__ import annotations

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.costs import FittedCost, FittedMahalanobis, LevelCost, LinearCost
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.solver.choices import Choice

N_STEPS = 1 << 24  # into which the reach of a continuous feature is cut
FIRST_KNOTS = 16  # of which one is cut at in the beginning
CUTS = 8  # at most, of a segment that the search ends in


class Segments:
    """The segments of one person on one ordinal axis.

    Parameters
    ----------
    grid : Grid
    a : int
        The axis.
    cost : FittedCost
        Linear, linear between knots, or Mahalanobis, whose efforts are given as 0.
    own : float
        The person's value.
    """

    def __init__(self, grid: Grid, a: int, cost: FittedCost, own: float) -> None:
        self._axis, self._thresholds = grid.axes[a], grid.thresholds[a]
        self._cost, self._own = cost, own
        feature = self._axis.feature
        self._whole = feature.kind != "continuous"
        lowest, highest = (
            float(end(ends))
            for end, ends in zip((np.nanmin, np.nanmax), grid.span(a, own), strict=True)
        )
        if not np.isfinite(lowest) or not np.isfinite(highest):
            raise InvalidSpec(
                f"Feature {feature.name!r} needs a lower and an upper bound for this search."
            )
        self._lowest, self._highest = lowest, highest
        knots = _knots(cost, self._axis.columns[0])
        low, high = _between(np.union1d(self._thresholds, knots), self._whole)
        self._low, self._high = _around(own, low, high, self._whole)
        self._cuts = self._high[::FIRST_KNOTS]

    def choice(self, most: float, farthest: float) -> Choice:
        """What is in reach with an effort of at most ``most``, no farther than ``farthest``."""
        low, high = self._within(most, farthest)
        low_cost, high_cost = self._effort(low), self._effort(high)
        cell, own = np.searchsorted(self._thresholds, low), self._own
        apart = np.isin(high[:-1], self._cuts) | (cell[1:] != cell[:-1])
        apart |= (low[:-1] == own) | (low[1:] == own)
        first = np.concatenate([[0], np.flatnonzero(apart) + 1])
        last = np.append(first[1:], len(low)) - 1
        inside = [high[f:t] for f, t in zip(first, last, strict=True)]
        near = np.where(low[first] > own, low_cost[first], high_cost[last])
        far = _far_ends(low, high, low_cost, high_cost, first, last, own)
        up = low[first] >= own
        low, high = low[first], high[last]
        whole = self._whole or len(low) == 1
        step = 1.0 if whole else float(high[-1] - low[0]) / N_STEPS
        return Choice(
            ordered=True,
            own=int(np.flatnonzero(low == own)[0]),
            cell=cell[first],
            low=low,
            high=high,
            low_cost=np.where(up, near, far),
            high_cost=np.where(up, far, near),
            step=step,
            slope=self._slope(step),
            whole=whole,
            inside=inside,
        )

    def cut(self, inside: np.ndarray) -> bool:
        """Cut a segment at some of the values inside it; False if there are none."""
        if len(inside) == 0:
            return False
        some = np.unique(np.linspace(0, len(inside) - 1, CUTS).astype(np.int64))
        self._cuts = np.union1d(self._cuts, inside[some])
        return True

    def _within(self, most: float, farthest: float) -> tuple[np.ndarray, np.ndarray]:
        low = np.maximum(self._low, max(self._lowest, self._own - farthest))
        high = np.minimum(self._high, min(self._highest, self._own + farthest))
        if self._whole:
            low, high = np.ceil(low), np.floor(high)
        low, high = low[low <= high], high[low <= high]
        low_cost, high_cost = self._effort(low), self._effort(high)
        near = np.minimum(low_cost, high_cost) <= most
        return _cut_back(low[near], high[near], low_cost[near], high_cost[near], most, self._whole)

    def _effort(self, values: np.ndarray) -> np.ndarray:
        if isinstance(self._cost, FittedMahalanobis):
            return np.zeros(len(values))
        level, column = self._cost.level, self._axis.columns[0]
        return np.abs(level(column, values) - level(column, np.array([self._own])))

    def _slope(self, step: float) -> float | None:
        if isinstance(self._cost, LinearCost):
            return abs(float(self._cost.factors[self._axis.columns[0]])) * step
        return None


def free_categories(axis: Axis, person: np.ndarray) -> Choice:
    """The categories that a person may choose, at an effort that is not known by itself."""
    own = int(np.argmax(person[list(axis.columns)]))
    cells = np.flatnonzero(axis.may_switch()[own])
    place, nothing = cells.astype(np.float64), np.zeros(len(cells))
    here = int(np.searchsorted(cells, own))
    return Choice(False, here, cells, place, place, nothing, nothing)


def _far_ends(
    low: np.ndarray,
    high: np.ndarray,
    low_cost: np.ndarray,
    high_cost: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    own: float,
) -> np.ndarray:
    """Where the steepest line below the effort ends that begins at the near end of a segment.

    A segment is a run of parts, from ``first`` to ``last``, on each of which the effort is linear.
    """
    near, far = low_cost[first], high_cost[first]
    near, far = np.where(low[first] >= own, [near, far], [far, near])
    ends = near + (far - near)  # of segments of one part
    for k in np.flatnonzero(first != last).tolist():
        f, t = int(first[k]), int(last[k])
        up = low[f] >= own
        at, height = (low[f], low_cost[f]) if up else (high[t], high_cost[t])
        parts = slice(f, t + 1)
        distance = np.abs((high if up else low)[parts] - at)
        rise = (high_cost if up else low_cost)[parts] - height
        some = distance > 0
        slope = (rise[some] / distance[some]).min() if some.any() else 0.0
        ends[k] = height + slope * (high[t] - low[f])
    return ends


def _cut_back(
    low: np.ndarray,
    high: np.ndarray,
    low_cost: np.ndarray,
    high_cost: np.ndarray,
    most: float,
    whole: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The part of each segment that costs at most ``most``, and a hair more."""
    too_far = np.maximum(low_cost, high_cost) > most
    left = most - np.minimum(low_cost, high_cost)[too_far]
    part = np.ones(len(low))
    part[too_far] = np.minimum(1.0, left / np.abs(high_cost - low_cost)[too_far] + 1e-9)
    width = (high - low) * part
    if whole:
        width = np.floor(width + 1e-6)
    cut_up, cut_down = too_far & (high_cost > low_cost), too_far & (high_cost < low_cost)
    return np.where(cut_down, high - width, low), np.where(cut_up, low + width, high)


def _between(cuts: np.ndarray, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """First and last value of every segment (cut, next cut]."""
    if whole:
        cuts = np.unique(np.floor(cuts))
    floor, ceiling = np.append(-np.inf, cuts), np.append(cuts, np.inf)
    return (floor + 1 if whole else np.nextafter(floor, np.inf)), ceiling


def _around(
    own: float, low: np.ndarray, high: np.ndarray, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The segments with the own value as one of its own."""
    here = int(np.searchsorted(high, own))
    before, after = (own - 1, own + 1) if whole else np.nextafter(own, (-np.inf, np.inf))
    split_low = np.concatenate([low[: here + 1], [own, after], low[here + 1 :]])
    split_high = np.concatenate([high[:here], [before, own], high[here:]])
    return split_low, split_high


def _knots(cost: FittedCost, column: int) -> np.ndarray:
    if isinstance(cost, LevelCost):
        return cost.knots[column]
    if isinstance(cost, LinearCost | FittedMahalanobis):
        return np.zeros(0)
    raise InvalidSpec(
        f"With relations a cost must be linear between knots, which {type(cost).__name__} "
        "does not say of itself."
    )
