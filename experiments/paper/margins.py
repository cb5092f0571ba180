"""How far beyond the nearest value the authors' changed values go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract.data.encoder import Axis


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
    >>> from ract.data.encoder import Encoder
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
