"""The search for actions in the paper's experiments, to the letter.

The paper's Algorithm 2 over the first 1000 desired leaves in the order of the trees. For each
leaf, a person's nearest values in it, pushed further by the authors' margins; of those that the
model accepts, the cheapest, the first leaf among equals. When causal effects follow an action, the
model decides on what it leads to; the candidates are the same.

``ract.recourse.leaves.LeafSearch`` is the same algorithm for every model and cost, but
over all leaves and without margins and effects; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.trees.ensemble import TreeEnsemble

FIRST_TRIED = 16


@dataclass(frozen=True)
class Actions:
    """What a search found for some people.

    ``cost`` (people,) is inf without an action; ``values`` (people, columns) is what people set,
    their own values without an action; ``outcome`` is where they end, effects included.
    """

    cost: np.ndarray
    values: np.ndarray
    outcome: np.ndarray

    @property
    def found(self) -> np.ndarray:
        """Who has an action."""
        return np.isfinite(self.cost)


class FirstLeaves:
    """Search in the first desired leaves.

    Parameters
    ----------
    ensemble : TreeEnsemble
        That decides by votes.
    axes : sequence of Axis
    cost : FittedCost
        With norm "max".
    margins : float (columns,)
    max_leaves : int or None
    effects : float (columns, columns), optional
        Total effect of each column (second index) on each other.
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        axes: Sequence[Axis],
        cost: FittedCost,
        margins: np.ndarray,
        max_leaves: int | None,
        effects: np.ndarray | None = None,
    ) -> None:
        n_columns = sum(len(axis.columns) for axis in axes)
        lower, upper = desired_leaves(ensemble, n_columns, max_leaves)
        feature = {j: axis.feature for axis in axes for j in axis.columns}
        self._ensemble, self._effects, self._cost = ensemble, effects, cost
        fixed = np.array([not feature[j].actionable for j in range(n_columns)])
        self._fixed, free = np.flatnonzero(fixed), np.flatnonzero(~fixed)
        self._free = free
        self._fixed_lower, self._fixed_upper = lower[:, self._fixed], upper[:, self._fixed]
        self._lower, self._upper = lower[:, free], upper[:, free]
        self._no_up = np.array([not feature[j].may_rise for j in free.tolist()], np.bool_)
        self._no_down = np.array([not feature[j].may_fall for j in free.tolist()], np.bool_)
        whole = np.array([feature[j].kind != "continuous" for j in range(n_columns)])
        self._above = _above(self._lower, whole[free]) + margins[free]
        self._below = np.where(whole[free], np.floor(self._upper), self._upper) - margins[free]
        self._above_level = _levels(cost, free, self._above)
        self._below_level = _levels(cost, free, self._below)
        position = {column: k for k, column in enumerate(free.tolist())}
        self._groups = [
            _Group(np.array([position[j] for j in axis.columns]), _flip_costs(cost, axis.columns))
            for axis in axes
            if axis.is_categorical and axis.feature.actionable
        ]

    def solve(self, people: np.ndarray) -> Actions:
        """The cheapest action of each person that is found, whatever it costs."""
        costs, values = np.full(len(people), np.inf), np.array(people, dtype=np.float64)
        levels = _levels(self._cost, self._free, people[:, self._free])
        for i, person in enumerate(people):
            costs[i], values[i] = self._cheapest(person, levels[i])
        return Actions(costs, values, self._after(people, values))

    def _after(self, people: np.ndarray, values: np.ndarray) -> np.ndarray:
        if self._effects is None:
            return values
        return values + (values - people) @ self._effects.T

    def _cheapest(self, person: np.ndarray, level: np.ndarray) -> tuple[float, np.ndarray]:
        cost, free = self._candidates(person, level)
        order = np.argsort(cost, kind="stable")
        first, size = 0, FIRST_TRIED
        while first < len(order):
            part = order[first : first + size]
            values = np.tile(person, (len(part), 1))
            values[:, self._free] = free[part]
            accepted = self._ensemble.decide(self._after(person, values))
            if accepted.any():
                best = int(np.argmax(accepted))
                return float(cost[part[best]]), values[best]
            first, size = first + size, 4 * size
        return np.inf, person

    def _candidates(self, person: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cost and values of the nearest point in each leaf that the person may enter."""
        held, own = person[self._fixed], person[self._free]
        stays = ((self._fixed_lower < held) & (held <= self._fixed_upper)).all(axis=1)
        leaves = np.flatnonzero(stays)
        up, down = own <= self._lower[leaves], own > self._upper[leaves]
        allowed = ~((up & self._no_up) | (down & self._no_down)).any(axis=1)
        leaves, up, down = leaves[allowed], up[allowed], down[allowed]
        values = np.where(up, self._above[leaves], np.where(down, self._below[leaves], own))
        shift = np.where(up, self._above_level[leaves], np.where(
            down, self._below_level[leaves], level))  # fmt: skip
        shift = np.abs(shift - level)
        for group in self._groups:
            group.apply(own, self._upper[leaves], values, shift)
        return shift.max(axis=1, initial=0.0), values


@dataclass(frozen=True)
class _Group:
    """A one-hot group among the free columns, and what flipping each of its columns costs."""

    columns: np.ndarray
    flip: np.ndarray

    def apply(
        self, own: np.ndarray, upper: np.ndarray, values: np.ndarray, shift: np.ndarray
    ) -> None:
        """Leave the own category when another is entered, and enter the cheapest when it is left.

        values, shift (leaves, free columns) are changed in place.
        """
        before = own[self.columns]
        after = values[:, self.columns]
        entered = after.sum(axis=1) - before.sum()
        more, fewer = np.flatnonzero(entered == 1), np.flatnonzero(entered == -1)
        after[more, int(np.argmax(before == 1))] = 0.0
        open_ = upper[np.ix_(fewer, self.columns)] != 0.5
        after[fewer, np.where(open_, self.flip, np.inf).argmin(axis=1)] = 1.0
        values[:, self.columns] = after
        shift[:, self.columns] = np.where(after != before, self.flip, 0.0)


def desired_leaves(
    ensemble: TreeEnsemble, n_columns: int, most: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (leaves, columns) of the first desired leaves: lower < x <= upper."""
    lower: list[np.ndarray] = []
    upper: list[np.ndarray] = []
    feature, threshold = ensemble.feature.tolist(), ensemble.threshold.tolist()
    left, right, label = ensemble.left.tolist(), ensemble.right.tolist(), ensemble.label.tolist()
    whole = np.full(n_columns, -np.inf), np.full(n_columns, np.inf)
    for root in ensemble.root.tolist():
        stack = [(root, *whole)]
        while stack and (most is None or len(lower) < most):
            node, low, high = stack.pop()
            j, cut = feature[node], threshold[node]
            if j >= 0:
                left_high, right_low = high.copy(), low.copy()
                left_high[j], right_low[j] = cut, cut
                stack += [(right[node], right_low, high), (left[node], low, left_high)]
            elif label[node] == 1:
                lower.append(low)
                upper.append(high)
    shape = (len(lower), n_columns)
    return np.array(lower).reshape(shape), np.array(upper).reshape(shape)


def _above(lower: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The authors' nearest value above a threshold."""
    return np.where(whole, np.floor(lower) + 1.0, lower + 1e-8)


def _levels(cost: FittedCost, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Levels of values (rows, columns); those of open ends are never looked at."""
    levels = np.zeros(values.shape)
    for k, column in enumerate(columns.tolist()):
        known = np.isfinite(values[:, k])
        levels[known, k] = cost.level(column, values[known, k])
    return levels


def _flip_costs(cost: FittedCost, columns: Sequence[int]) -> np.ndarray:
    ends = np.array([0.0, 1.0])
    return np.array([abs(float(np.diff(cost.level(j, ends))[0])) for j in columns])
