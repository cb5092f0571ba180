"""How large and how round the numbers of a plan are.

A number may move by at most

    max(one step, min(half of max(|own value|, |median|), interquartile range if it is not 0))

where one step is 1 for whole numbers. An action space that limits changes by size has learned
median and range from the training people: its limits hold here as they do in letters. Where it
limits nothing, the rule is measured on a table of people.

The target of a number is round when it is a multiple of 10^(floor(log10 of the change) - 1):
larger changes come in larger steps. Columns of 0 and 1 and
categories have neither size nor roundness, nor have values that are supplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ract.data.encoder import Axis

HALF = 0.5
LOWEST, HIGHEST = 1.0, 99.0  # percentiles up to which people may do more than a plan asks


@dataclass(frozen=True)
class Amounts:
    """What is usual in a table, by axis; NaN for categories and in columns without a value.

    Parameters
    ----------
    axes : tuple of Axis
    median, spread : float (axes,)
        Median, and interquartile range.
    lowest, highest : float (axes,)
        First and last percentile, moved inwards to whole numbers where there are no others.
    """

    axes: tuple[Axis, ...]
    median: np.ndarray
    spread: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(cls, axes: Sequence[Axis], known: np.ndarray) -> Amounts:
        """Those of encoded people."""
        levels = np.full((5, len(axes)), np.nan)
        for a, axis in enumerate(axes):
            values = known[:, axis.columns[0]]
            values = values[~np.isnan(values)]
            if axis.is_categorical or not len(values):
                continue
            levels[:, a] = np.percentile(values, (LOWEST, 25, 50, 75, HIGHEST))
            if axis.feature.kind != "continuous":
                levels[0, a], levels[4, a] = np.ceil(levels[0, a]), np.floor(levels[4, a])
        low, lower, median, upper, high = levels
        return cls(tuple(axes), median, upper - lower, low, high)

    def largest_change(self, start: np.ndarray) -> np.ndarray:
        """How far each number may move (people x axes); inf where it has no size.

        Parameters
        ----------
        start : float (people, axes)
            Own values of numbers.
        """
        half = HALF * np.fmax(np.abs(start), np.abs(self.median))
        spread = np.where(self.spread > 0, self.spread, np.inf)
        limit = np.maximum(self._step, np.fmin(half, spread))
        has_size = np.array([axis.feature.is_number for axis in self.axes])
        for a, axis in enumerate(self.axes):
            room = axis.feature.room(start[:, a])
            limit[:, a] = np.where(np.isfinite(room), room, limit[:, a])
        return np.where(has_size & ~np.isnan(start), limit, np.inf)

    @property
    def _step(self) -> np.ndarray:
        return np.array([1.0 if axis.feature.kind == "integer" else 0.0 for axis in self.axes])

    def furthest(self, start: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Where people end who do as much more as is usual (people x axes).

        Beyond the target in its direction, up to the first or last percentile; the target itself
        where it is there already, where nothing changes or where a value is supplied.
        """
        up, down = target > start, target < start  # both False where a value is missing
        far = np.where(up, np.fmax(target, self.highest), target)
        return np.where(down, np.fmin(target, self.lowest), far)


def is_round(start: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Whether targets are multiples of their steps; also where nothing changes.

    Examples
    --------
    >>> is_round(np.array([41000.0, 41000.0, 41000.0]), np.array([46500.0, 46512.0, 41003.0]))
    array([ True, False,  True])
    >>> is_round(np.array([0.59, 0.59]), np.array([0.5, 0.4831]))
    array([ True, False])
    """
    change = np.abs(target - start)
    moved = change > 0
    # 12 digits: a change of 1000 minus the last bit is a change of 1000.
    digits = [float(f"{value:.12g}") for value in np.where(moved, change, 1.0).ravel()]
    power = np.floor(np.log10(digits)).reshape(change.shape) - 1
    # By whole powers of ten, which are exact: 10.0 ** -3 is not a thousandth.
    steps = np.where(power < 0, target * 10.0 ** np.maximum(-power, 0), target)
    steps = np.where(power > 0, target / 10.0 ** np.maximum(power, 0), steps)
    off = np.abs(steps - np.round(steps))
    near = np.minimum(1e-6 * np.maximum(1.0, np.abs(steps)), 0.01)  # as a single holds it
    return np.asarray(~moved | (off <= near))
