"""Round targets of one person's cells, as ``ract.data.actions.steps`` finds them for a column."""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel


@inner
def first_multiple(value, top, bottom):
    """The least multiple of top / bottom that is not below a value, as the nearest float to it."""
    if not np.isfinite(value):
        return value
    count = np.floor(value * bottom / top) - 1
    for _ in range(3):
        if count * top / bottom < value:
            count += 1
    return count * top / bottom + 0.0


@inner
def first_above(own, low, decades):
    """The least round target above a value that is not below some value; NaN if there is none."""
    low = max(low, np.nextafter(own, np.inf))
    for k in range(decades.shape[0]):
        least, most = decades[k, 0], decades[k, 1]
        if low - own < most:
            target = first_multiple(max(low, own + least), decades[k, 2], decades[k, 3])
            if least <= target - own < most:
                return target
    return np.nan


@kernel
def find_landings(own, first, last, up, decades, out):
    """The round target nearest to each own value between two ends; NaN where there is none.

    own, first, last, out float64 (n,); up bool (n,): whether both ends are above the own value, or
    else below. decades float64 (units, 4): smallest and largest change (excluded) for each unit,
    and the unit as a fraction.
    """
    for i in range(own.shape[0]):
        out[i] = np.nan
        if first[i] <= last[i]:
            if up[i]:
                target = first_above(own[i], first[i], decades)
            else:
                target = -first_above(-own[i], -last[i], decades)
            if first[i] <= target <= last[i]:
                out[i] = target
