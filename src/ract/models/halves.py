"""Random halves of a table, and shares of one half that are calibrated on the other."""

from __future__ import annotations

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from ract._utils.typing import TableLike
from ract.data.encoder import Encoder
from ract.trees.training import row_hashes

# Shares are held this far from 0 and 1, where log odds have no end.
EDGE = 1e-3


def distinct_rows(encoder: Encoder, X: TableLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hashes of different rows in order, where each stands first, and which each person has."""
    hashes = row_hashes(encoder.encode(X))
    return np.unique(hashes, return_index=True, return_inverse=True)


def first_half(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Who is in the first of two random halves with equal shares of both classes."""
    order = np.lexsort((rng.random(len(label)), label))
    first = np.zeros(len(label), np.bool_)
    first[order[::2]] = True
    return first


def log_odds(shares: np.ndarray) -> np.ndarray:
    """Log odds of shares, which are kept off 0 and 1."""
    return np.asarray(logit(np.clip(shares, EDGE, 1 - EDGE)))


def fitted_curve(shares: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Shift and scale of log odds with which shares fit the outcomes of people outside.

    Shares that go against the outcomes say nothing: then everyone gets the share of all.
    """
    fitted = LogisticRegression(C=1e6).fit(log_odds(shares)[:, None], truth)
    shift, scale = float(fitted.intercept_[0]), float(fitted.coef_[0, 0])
    return (shift, scale) if scale > 0 else (float(logit(truth.mean())), 0.0)
