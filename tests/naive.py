"""Slow, obvious twins of the kernels. They share no code with the package on purpose."""

from __future__ import annotations

import itertools
import math

import numpy as np


def percentile_level(training, value):
    """Share of training values at or below a value, linear between observed values."""
    observed = sorted(set(training))
    share = {v: sum(1 for t in training if t <= v) / len(training) for v in observed}
    if value <= observed[0]:
        return share[observed[0]]
    if value >= observed[-1]:
        return share[observed[-1]]
    for left, right in itertools.pairwise(observed):
        if left <= value <= right:
            part = (value - left) / (right - left)
            return share[left] + part * (share[right] - share[left])
    raise AssertionError


def cell_of(thresholds, value):
    """How many thresholds a value lies above."""
    return sum(1 for t in thresholds if value > t)


def attainable_values(kind, change, lower, upper, own, thresholds, rng):
    """Every integer, or enough reals to hold the cheapest of each cell, that a person may take."""
    if kind in ("integer", "binary"):
        first, last = math.floor(min(lower, own)), math.floor(max(upper, own))
        values = [float(v) for v in range(first, last + 1)]
    else:
        values = [lower, upper, *rng.uniform(lower, upper, 20)]
        for t in thresholds:
            values += [t, math.nextafter(t, math.inf), math.nextafter(t, -math.inf)]
    allowed = [own]
    for v in values:
        too_far = (v > own and v > upper) or (v < own and v < lower)
        wrong_way = (v > own and change in ("decrease", "fixed")) or (
            v < own and change in ("increase", "fixed")
        )
        if not too_far and not wrong_way:
            allowed.append(v)
    return allowed


def cheapest_per_cell(training, weight, own, thresholds, values):
    """Cell -> (cost, value) of the cheapest attainable value under the percentile cost."""
    here = percentile_level(training, own)
    best = {}
    for v in values:
        cost = weight * abs(percentile_level(training, v) - here)
        cell = cell_of(thresholds, v)
        if cell not in best or cost < best[cell][0]:
            best[cell] = (cost, v)
    return best


def flip_cost(training_column):
    """Cost of flipping a 0/1 column under the percentile cost: the share of ones."""
    column = np.asarray(training_column)
    return abs(percentile_level(list(column), 1.0) - percentile_level(list(column), 0.0))
