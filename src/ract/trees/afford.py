"""How much recourse a table can afford, by the AUC of models grown with it and without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.metrics import roc_auc_score

N_TRIES = 5  # weights


def affordable_weight(
    most: float,
    scores_at: Callable[[float], np.ndarray],
    desired: np.ndarray,
    plain: np.ndarray,
    most_lost: float,
    less: float,
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

    Examples
    --------
    >>> desired, plain = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.7, 0.9])
    >>> affordable_weight(0.4, lambda weight: plain * (0.3 - weight), desired, plain, 0.01, 0.5)
    0.2
    """
    least = auc(desired, plain) - most_lost
    for k in range(N_TRIES):
        weight = most * less**k
        if auc(desired, scores_at(weight)) >= least:
            break
    return weight


def auc(desired: np.ndarray, scores: np.ndarray) -> float:
    """Area under the curve of scores, of those who have one."""
    known = ~np.isnan(scores)
    return float(roc_auc_score(desired[known], scores[known]))
