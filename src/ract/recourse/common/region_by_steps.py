"""Cheap actions whose outcome lies in a region, with effects: one feature after another.

Nothing here is trusted: whoever asks for an action runs its outcome through the model.
"""

from __future__ import annotations

import numpy as np

from ract.recourse.common.anchors import admitted_categories
from ract.recourse.common.outcomes import ROUNDING, PersonOutcomes


def enter_by_steps(
    outcomes: PersonOutcomes,
    order: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    cap: float,
) -> np.ndarray:
    """For each region, move every feature in causal order just as far as it still has to go.

    Parameters
    ----------
    outcomes : PersonOutcomes
        Of the person.
    order : int array
        Encoded columns in causal order.
    lower, upper : float (regions, columns)
    cap : float
        Largest cost of an action.

    Returns
    -------
    float (regions, columns)
        What to set. The outcome lies outside where this simple way does not lead in.
    """
    moves, person = outcomes.moves, outcomes.person
    _, [low], [high] = outcomes.ranges(cap)
    values = np.tile(person, (len(lower), 1))
    for columns, current, prices in outcomes.choices:
        admitted = admitted_categories(lower[:, columns], upper[:, columns])
        price = np.where(admitted & (prices <= cap), prices, np.inf)
        price[:, current] = np.minimum(price[:, current], np.finfo(np.float64).max)  # stay if stuck
        values[:, columns] = np.eye(len(columns))[price.argmin(axis=1)]
    summed = bool(outcomes.effects.any())  # else what is set is where it ends, to the last digit
    numeric = np.zeros(len(person), np.bool_)
    numeric[moves.numeric] = True
    for i in order[numeric[order]]:
        follows = (values - person) @ outcomes.effects[i]
        doubt = np.abs(values - person) @ outcomes.spread[i]
        low_edge, high_edge = lower[:, i] + doubt, upper[:, i] - doubt
        size = abs(person[i]) + np.abs(follows) if summed else np.zeros(len(follows))
        least, most = _inside(low_edge, high_edge, follows, size, moves.whole[i])
        values[:, i] = np.clip(np.minimum(np.maximum(person[i], least), most), low[i], high[i])
    return values


def _inside(
    lower: np.ndarray, upper: np.ndarray, follows: np.ndarray, size: np.ndarray, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Least and most that a feature may be set to, so that it ends in (lower, upper]."""
    least, most = np.nextafter(lower, np.inf), upper
    summed = (size > 0) & ((follows != 0) | (not whole))
    if summed.any():
        least = np.where(summed, lower - follows + _rounding(lower, size), least)
        most = np.where(summed, upper - follows - _rounding(upper, size), most)
    if whole:
        least, most = np.ceil(least), np.floor(most)
    return least, most


def _rounding(edge: np.ndarray, size: np.ndarray) -> np.ndarray:
    """What a sum of this size that ends at the edge may be off by."""
    return 4.0 * ROUNDING * (size + np.where(np.isfinite(edge), abs(edge), 0.0))
