"""Levels of a column from its distribution: how many people are at or below each value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ract._utils.errors import InvalidSpec

# The empirical distribution keeps every jump larger than 1 / EMPIRICAL_KNOTS exactly.
EMPIRICAL_KNOTS = 1024
# Grouped distributions are made of groups of at least so many people, and only in tables of at
# least so many: in a smaller one a percentile of groups would mean little.
FEWEST_IN_GROUP, FEWEST_GROUPED = 5, 50
# How near the ends of neighbouring groups come to each other, as a share of the distance of their
# means; and the least distance of a point "just below" a value.
SHORT_OF, TINY = 0.9, 1e-300
KERNEL_POINTS = 100
KERNEL_TAIL = 1e-6

Levels = tuple[np.ndarray, np.ndarray]
Learn = Callable[[np.ndarray, np.ndarray | None], Levels]


@dataclass(frozen=True)
class Distribution:
    """All that costs and cells need to know of a column; it may stand in place of the column.

    Parameters
    ----------
    values : float (values,)
        Different known ones, ascending.
    counts : int (values,)
        People who have each.
    reached : float (values,)
        Weight of everyone up to each.
    """

    values: np.ndarray
    counts: np.ndarray
    reached: np.ndarray

    @classmethod
    def of(
        cls, column: np.ndarray | Distribution, sample_weight: np.ndarray | None
    ) -> Distribution:
        """That of a column, unless it is one already."""
        if isinstance(column, Distribution):
            return column
        ordered, reached = in_order(column, sample_weight)
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        return cls(ordered[last], np.diff(last, prepend=-1), reached[last])

    @property
    def mass(self) -> np.ndarray:
        """Weight of the people who have each value."""
        return np.diff(self.reached, prepend=0.0)

    @property
    def n_people(self) -> int:
        """People who have a value."""
        return int(self.counts.sum())

    def in_the_middle(self, n: int) -> np.ndarray:
        """The values of n people in the middle."""
        half = self.reached[-1] / 2
        k, end = int(np.searchsorted(self.reached, half)), np.cumsum(self.counts)
        before = float(self.reached[k] - self.mass[k])
        beyond = np.ceil((half - before) * self.counts[k] / self.mass[k])
        at = int(end[k] - self.counts[k] + max(beyond, 1) - 1)
        first = max(0, min(at - n // 2, int(end[-1]) - n))
        people = np.arange(first, min(first + n, int(end[-1])))
        return self.values[np.searchsorted(end, people, side="right")]


def in_order(column: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """A column in ascending order, and the weight of everyone up to each place in it."""
    if sample_weight is None:
        return np.sort(column), np.arange(1.0, len(column) + 1)
    order = np.argsort(column, kind="stable")
    return column[order], np.cumsum(sample_weight[order])


def middle_value(column: np.ndarray, sample_weight: np.ndarray | None) -> float:
    """A value of the column that half of its weight does not exceed."""
    ordered, reached = in_order(column, sample_weight)
    return float(ordered[np.searchsorted(reached, reached[-1] / 2)])


def empirical_levels(column: np.ndarray | Distribution, sample_weight: np.ndarray | None) -> Levels:
    """Share of people at or below each value, thinned where no single value matters."""
    known = Distribution.of(column, sample_weight)
    values, reached = known.values, known.reached
    kept = np.arange(len(values))
    if len(values) > EMPIRICAL_KNOTS:
        ranks = np.linspace(0, reached[-1], EMPIRICAL_KNOTS)
        at = np.minimum(np.searchsorted(reached, ranks), len(values) - 1)
        # The value before a kept one is kept too, so that a jump is not smeared over a gap.
        kept = np.unique(np.concatenate([[0], at, np.maximum(at - 1, 0)]))
    return values[kept], reached[kept] / reached[-1]


def grouped_levels(column: np.ndarray | Distribution, sample_weight: np.ndarray | None) -> Levels:
    """Share of people at or below a value, without the value of any single person.

    A group is one value that enough people share, or neighbouring values of enough people. It is
    taken as a uniform distribution with its mean and mean deviation, and kept as two knots: both
    ends of that, with the shares of its first and last value. Ends stop short of the next group.
    People between two shared values, or below all, who are too few for a group are kept as a
    number only: their share is that of the point just below the next value.

    Numbers of people are rows, whatever their weight: someone who counts twice is one person.
    """
    known = Distribution.of(column, sample_weight)
    values, share, counts = known.values, known.reached / known.reached[-1], known.counts
    if known.n_people < FEWEST_GROUPED or np.isin(values, (0.0, 1.0)).all():
        return empirical_levels(known, None)
    fewest = max(FEWEST_IN_GROUP, -(-known.n_people // EMPIRICAL_KNOTS))
    first = _first_of_each_group(counts, fewest)
    sizes = np.diff(first, append=len(values))
    people = np.add.reduceat(counts, first)
    part = counts / np.repeat(people, sizes)
    low, high = values[first], values[first + sizes - 1]
    middle = np.clip(np.add.reduceat(values * part, first), low, high)
    half = 2 * np.add.reduceat(np.abs(values - np.repeat(middle, sizes)) * part, first)
    few = np.flatnonzero(people < fewest)
    shown = slice(len(people) - (people[-1] < fewest))  # nothing is above the last to hold them
    following = middle[np.minimum(few + 1, len(middle) - 1)]
    middle[few] = np.minimum(np.nextafter(following, -np.inf), following - TINY)
    half[few] = 0.0
    middle, half = middle[shown], half[shown]
    with np.errstate(divide="ignore"):
        fits = np.minimum(1.0, SHORT_OF * np.diff(middle) / (half[1:] + half[:-1]))
    ends = middle - half * np.append(1.0, fits), middle + half * np.append(fits, 1.0)
    knots = np.maximum.accumulate(np.stack(ends, axis=1).ravel())
    levels = np.stack([share[first], share[first + sizes - 1]], axis=1)[shown].ravel()
    kept = np.append(knots[:-1] < knots[1:], True)
    return knots[kept], levels[kept]


def _first_of_each_group(counts: np.ndarray, fewest: int) -> np.ndarray:
    """Where groups of neighbouring values begin.

    counts (values,): the people of each. A value with enough people is a group. Each segment
    between such values is cut into groups with enough people, or is one that has too few.

    >>> _first_of_each_group(np.array([1, 1, 5, 2, 1, 1, 1, 1, 1, 2, 1]), fewest=3)
    array([0, 2, 3, 6])
    """
    shared, end = counts >= fewest, np.cumsum(counts)
    start, segment = end - counts, np.cumsum(shared)
    begin = np.append(0, end[shared])[segment]
    size = np.append(start[shared], end[-1])[segment] - begin
    # Wherever a step begins and ends between two values, enough people lie in it.
    step = fewest - 1 + int(counts[~shared].max(initial=1))
    place = np.minimum((start - begin) // step, np.maximum(size // step, 1) - 1)
    changes = shared[1:] | shared[:-1] | (place[1:] != place[:-1])
    return np.flatnonzero(np.append(True, changes))


def kernel_levels(column: np.ndarray | Distribution, sample_weight: np.ndarray | None) -> Levels:
    """The authors' percentile: a cumulated kernel density on 100 points, 1e-6 beyond each end."""
    from scipy.stats import gaussian_kde  # takes longer to import than most predictions take

    if isinstance(column, Distribution):
        raise InvalidSpec(
            "A kernel estimate needs the whole column in memory; 'percentile' does not."
        )
    if column.min() == column.max():
        return column[:1].astype(np.float64), np.array([0.5])
    low, high = np.quantile(column, [0.001, 0.999])
    if low == high:
        low, high = float(column.min()), float(column.max())
    points = np.linspace(low, high, KERNEL_POINTS)
    cumulated = np.cumsum(gaussian_kde(column, weights=sample_weight)(points))
    share = (KERNEL_TAIL + cumulated) / (cumulated[-1] + 2 * KERNEL_TAIL)
    # Their curve jumps at both ends; a running maximum keeps it from stepping back there.
    knots = np.concatenate([[np.nextafter(low, -np.inf)], points, [np.nextafter(high, np.inf)]])
    levels = np.concatenate([[KERNEL_TAIL], share, [1 - KERNEL_TAIL]])
    return knots, np.maximum.accumulate(levels)
