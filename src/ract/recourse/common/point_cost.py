"""How a search measures a point: feature by feature under a norm, or all features together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract._kernels.search.point_cost import MAX, SQUARES, SUM, Joint
from ract._utils.errors import InvalidSpec
from ract.data.costs import FittedCost, FittedMahalanobis, LinearCost
from ract.data.encoder import Axis
from ract.recourse.common.problem import Problem

_NORMS = {"max": MAX, "l1": SUM, "l2": SQUARES}
_NOTHING = np.empty((0, 0))


class PointCost:
    """A cost as searches use it.

    Parameters
    ----------
    cost : FittedCost
        With norm "max", "l1" or "l2", or a fitted Mahalanobis distance.
    axes : sequence of Axis

    Attributes
    ----------
    by_column : FittedCost
        The cost itself, or, for the Mahalanobis distance, one by column that never exceeds it, so
        that searches know in which order to look and where to stop.
    norm : int
        How the costs of axes are put together, for kernels.

    Examples
    --------
    >>> from ract.data import make_cost
    >>> from ract.data.encoder import Encoder
    >>> people = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    >>> cost = make_cost("mahalanobis").fit(people.T, np.ones(2))
    >>> measure = PointCost(cost, Encoder(people).axes)
    >>> bool(measure.by_column.between(people[0], people[1])[0] <= cost.between(*people[:2])[0])
    True
    """

    def __init__(self, cost: FittedCost, axes: Sequence[Axis]) -> None:
        self._joint = cost if isinstance(cost, FittedMahalanobis) else None
        self.by_column = cost if self._joint is None else _never_above(self._joint, axes)
        if self.by_column.norm not in _NORMS:
            raise InvalidSpec(
                f"This search needs a cost with norm 'max', 'l1' or 'l2', or 'mahalanobis'; "
                f"got norm {cost.norm!r}."
            )
        self.norm = _NORMS[self.by_column.norm]

    def joint(self, problem: Problem, person: np.ndarray, cells: np.ndarray) -> Joint:
        """What kernels need to measure one person's moves together; empty where they need not."""
        cost = self._joint
        if cost is None:
            nothing = np.empty(0)
            return Joint(_NOTHING, _NOTHING, nothing, np.empty(0, np.int64), nothing)
        axes = problem.grid.axes
        column = np.array([axis.columns[0] for axis in axes])
        moves = np.zeros((len(axes), int(problem.grid.n_cells.max())))
        for a, entries in enumerate(problem.prices.entries):
            if entries is not None:
                n = len(entries.above)
                to = problem.prices.entered(a, person[[column[a]]], cells[[a]])[0]
                moves[a, :n] = (to - person[column[a]]) * cost.weights[column[a]]
        precision = np.ascontiguousarray(cost.precision)
        return Joint(precision, moves, cost.weights[column], column, np.empty(len(precision)))


def _never_above(cost: FittedMahalanobis, axes: Sequence[Axis]) -> LinearCost:
    """The largest cost of a single column's move, whatever the other columns do.

    Moves within a one-hot group sum to 0, which makes up for the form being blind to their sum. A
    column that another can make up for altogether counts nothing.
    """
    form = cost.precision.copy()
    typical = max(float(np.trace(form)) / len(form), 1.0)
    for axis in axes:
        if axis.is_categorical:
            form[np.ix_(axis.columns, axis.columns)] += typical
    values, vectors = np.linalg.eigh(form)
    kept = values > 1e-10 * values[-1]
    spread = (vectors[:, kept] ** 2 / values[kept]).sum(axis=1)
    blind = (vectors[:, ~kept] ** 2).sum(axis=1) > 1e-12
    least = np.zeros(len(form))
    least[~blind] = 1 / np.sqrt(spread[~blind])
    return LinearCost("max", cost.weights * least * (1 - 1e-9))  # rounding keeps it below
