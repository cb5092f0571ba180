"""A Mahalanobis distance as a sum of squares of sums over the columns that may move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract.data.costs import FittedMahalanobis
from ract.data.encoder import Axis

BLIND = 1e-9  # below this part of the largest, a direction counts as one that costs nothing


class Distance:
    """How far moves d of some columns are: sqrt(d' A d), the other columns at rest.

    Parameters
    ----------
    cost : FittedMahalanobis
    axes : sequence of Axis

    Attributes
    ----------
    columns : list of int
        Encoded columns of the features that may change.
    rows : float (parts, columns)
        R with d' A d = |R d|^2, triangular so that most sums are short.
    reach : dict of int to float
        By column: how far it moves at most in an action that costs 1. Of all d with d' A d <= 1
        the largest d_j is the root of the j-th entry on the diagonal of A's inverse; there is
        none if A is blind to a direction that j is part of.
    """

    def __init__(self, cost: FittedMahalanobis, axes: Sequence[Axis]) -> None:
        self.columns = [j for axis in axes if axis.feature.actionable for j in axis.columns]
        form = cost.form(self.columns)
        unit = np.sqrt(np.where(np.diag(form) > 0, np.diag(form), 1.0))  # columns on a par
        values, vectors = np.linalg.eigh(form / np.outer(unit, unit))
        seen = values > BLIND * values.max(initial=0.0)
        self.rows = np.linalg.qr(np.sqrt(values[seen])[:, None] * vectors[:, seen].T).R * unit
        reach = np.sqrt((vectors[:, seen] ** 2 / values[seen]).sum(axis=1))
        reach[(vectors[:, ~seen] ** 2).sum(axis=1) > BLIND] = np.inf
        self.reach = dict(zip(self.columns, (reach / unit).tolist(), strict=True))
