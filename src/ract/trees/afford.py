"""How much recourse a table can afford, by the AUC of models grown with it and without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

N_TRIES = 5  # weights


def affordable_weight(
    most: float,
    scores_at: Callable[[float], np.ndarray],
    desired: np.ndarray,
    plain: np.ndarray,
    most_lost: float,
    less: float,
    n_errors: float = 0.0,
) -> float:
    """The largest of a few falling weights that costs little AUC, or the least of them.

    Parameters
    ----------
    most : float
        The weight to begin with.
    scores_at : callable
        Scores of people by models with a weight that have not seen them; NaN for who was seen.
    desired : uint8 (people,)
    plain : float (people,)
        Scores by models like these without recourse.
    most_lost : float
        The AUC that a weight may cost.
    less : float
        What a weight is multiplied by that costs more.
    n_errors : float
        By how many of its standard errors a loss has to exceed ``most_lost``.

    Examples
    --------
    >>> desired, plain = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.7, 0.9])
    >>> affordable_weight(0.4, lambda weight: plain * (0.3 - weight), desired, plain, 0.01, 0.5)
    0.2
    """
    for k in range(N_TRIES):
        weight = most * less**k
        loss, error = auc_loss(desired, plain, scores_at(weight))
        if loss - n_errors * error <= most_lost:
            break
    return weight


def auc_loss(desired: np.ndarray, plain: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """By how much one AUC lies below another of the same people, and its standard error.

    The error is that of DeLong, DeLong and Clarke-Pearson (1988). People without a score, NaN, do
    not count.

    Examples
    --------
    >>> desired, plain = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.7, 0.9])
    >>> loss, error = auc_loss(desired, plain, np.array([0.1, 0.8, 0.7, 0.9]))
    >>> round(loss, 3), round(error, 3)
    (0.25, 0.25)
    """
    known = ~np.isnan(plain) & ~np.isnan(scores)
    wanted = desired[known].astype(bool)
    lost = _placements(wanted, plain[known]) - _placements(wanted, scores[known])
    variance = sum(lost[one].var() / one.sum() for one in (wanted, ~wanted))
    return float(lost[wanted].mean()), float(np.sqrt(variance))


def _placements(wanted: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The share of the other class on the right side of each person; ties count half."""
    above = rankdata(scores)
    for one in (wanted, ~wanted):
        above[one] -= rankdata(scores[one])
    share = above / np.where(wanted, (~wanted).sum(), wanted.sum())
    return np.where(wanted, share, 1 - share)


def auc(desired: np.ndarray, scores: np.ndarray) -> float:
    """Area under the curve of scores, of those who have one."""
    known = ~np.isnan(scores)
    return float(roc_auc_score(desired[known], scores[known]))
