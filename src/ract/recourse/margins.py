"""Margins: changed values that go further than they must, as in the paper's experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ract._kernels.tweak import Landing
from ract.costs import FittedCost
from ract.encoding import Axis
from ract.errors import InvalidSpec
from ract.grid import Entries, Prices


def authors_margins(matrix: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """The margin of each encoded column in the experiments of the paper's authors.

    The range without the outer hundredths, shared among 98% of the people; for integers the whole
    part of that plus one; none for binary and categorical features.

    Parameters
    ----------
    matrix : float (people, columns)
        The training people.
    axes : sequence of Axis

    Examples
    --------
    >>> from ract.encoding import Encoder
    >>> ages = np.arange(101)[:, None]
    >>> authors_margins(ages, Encoder(ages).axes)
    array([1.])
    >>> authors_margins(ages / 4, Encoder(ages / 4).axes).round(4)
    array([0.2475])
    """
    low, high = np.quantile(matrix, [0.01, 0.99], axis=0)
    share = (high - low) / (0.98 * len(matrix))
    margins = np.zeros(matrix.shape[1])
    for axis in axes:
        j = axis.columns[0]
        if axis.feature.kind == "continuous":
            margins[j] = share[j]
        elif axis.feature.kind == "integer":
            margins[j] = np.floor(share[j]) + 1
    return margins


def check_margins(margins: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """Margins as an array, refused where they make no sense."""
    margins = np.asarray(margins, dtype=np.float64)
    n_columns = sum(len(axis.columns) for axis in axes)
    if margins.shape != (n_columns,):
        raise InvalidSpec(
            f"margins must be {n_columns} numbers, one per encoded column; got shape "
            f"{margins.shape}."
        )
    if not (np.isfinite(margins) & (margins >= 0)).all():
        raise InvalidSpec(f"margins must be 0 or more, got {margins.min()}.")
    for axis in axes:
        margin = margins[list(axis.columns)].max()
        if axis.feature.kind != "continuous" and margin != np.floor(margin):
            raise InvalidSpec(
                f"The margin of {axis.feature.name!r} must be a whole number, got {margin}."
            )
    return margins


def with_margins(prices: Prices, margins: np.ndarray) -> Prices:
    """Prices of values that lie a margin beyond the nearest, but never beyond a bound."""
    entries = [
        own if own is None else _pushed(own, axis, margins[axis.columns[0]], prices.cost)
        for axis, own in zip(prices.grid.axes, prices.entries, strict=True)
    ]
    return replace(prices, entries=tuple(entries))


def _pushed(entries: Entries, axis: Axis, margin: float, cost: FittedCost) -> Entries:
    feature, column = axis.feature, axis.columns[0]
    upper = np.inf if feature.upper is None else feature.upper
    lower = -np.inf if feature.lower is None else feature.lower
    up, down = ~np.isnan(entries.above), ~np.isnan(entries.below)
    above, above_level = entries.above.copy(), entries.above_level.copy()
    below, below_level = entries.below.copy(), entries.below_level.copy()
    above[up] = np.minimum(above[up] + margin, upper)
    below[down] = np.maximum(below[down] - margin, lower)
    above_level[up] = cost.level(column, above[up])
    below_level[down] = cost.level(column, below[down])
    return Entries(above, above_level, below, below_level)


def landing_cells(prices: Prices) -> Landing:
    """The cell that the cheapest value of each cell lies in: itself, unless there are margins."""
    shape = (len(prices.grid.axes), int(prices.grid.n_cells.max()))
    above, below = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for a, entries in enumerate(prices.entries):
        if entries is not None:
            thresholds, n = prices.grid.thresholds[a], len(entries.above)
            above[a, :n] = np.searchsorted(thresholds, entries.above)
            below[a, :n] = np.searchsorted(thresholds, entries.below)
    return Landing(above, below)
