"""Log-odds and probabilities."""

from __future__ import annotations

import numpy as np


def sigmoid(score: float | np.ndarray) -> np.ndarray:
    """The probability whose log-odds are a score."""
    from scipy.special import expit

    return np.asarray(expit(score))


def logit(share: float) -> float:
    """A score whose sigmoid is at least a share, and next to it."""
    if share in (0, 1):
        return np.inf if share else -np.inf
    score = float(np.log(share / (1 - share)))
    while sigmoid(score) < share:
        score = float(np.nextafter(score, np.inf))
    return score


def least_score(share: float) -> float:
    """The least score whose sigmoid is at least a share.

    Near one half, hundreds of scores have the same sigmoid.

    >>> score = least_score(0.5018)
    >>> bool(sigmoid(score) >= 0.5018 > sigmoid(np.nextafter(score, -1)))
    True
    """
    high = logit(share)
    if np.isinf(high):
        return high
    step = float(np.spacing(abs(high)))
    low = high - step
    while sigmoid(low) >= share:
        high, step = low, 2 * step
        low = high - step
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if sigmoid(middle) >= share else (middle, high)
    return high
