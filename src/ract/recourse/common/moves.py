"""How far a person can move each encoded column by their own effort, at a given cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.actions import Feature
from ract.data.costs import FittedCost, LevelCost, LinearCost
from ract.data.encoder import Axis
from ract.data.grid import Grid

# Levels are compared with this much room, so that a value that costs exactly c counts at c.
ROOM = 1e-12
HALVINGS = 60


class Moves:
    """Ranges of values that people can give their features, by cost.

    Directions, bounds, whole numbers and costs are those of the action space; what follows from
    an action is not a move.

    Parameters
    ----------
    axes : sequence of Axis
        With bounds, as a fitted encoder has them.
    cost : FittedCost
        One that has levels by column. With norm "max", what costs at most c is just this box;
        with other norms it lies within.

    Attributes
    ----------
    numeric : int array
        Encoded columns of the features that are not categorical.
    whole : bool (columns,)
        Which of them hold whole numbers.
    groups : tuple of int arrays
        Encoded columns of each categorical feature.
    switches : tuple of float matrices
        For each of them, the cost of leaving one category (row) for another (column).
    actionable : bool (columns,)

    Examples
    --------
    >>> from ract import ActionSpace, Feature
    >>> from ract.data import make_cost
    >>> from ract.data.encoder import Encoder
    >>> ages = np.arange(20.0, 30.0).reshape(-1, 1)
    >>> space = ActionSpace([Feature("x0", "integer", "increase")], limits=None)
    >>> encoder = Encoder(ages, space)
    >>> cost = make_cost("percentile").fit(ages.T, encoder.weights)
    >>> lowest, highest = Moves(encoder.axes, cost).ranges(ages[0], np.array([0.0, 0.25, 1.0]))
    >>> highest.ravel()
    array([20., 22., 29.])
    """

    def __init__(self, axes: Sequence[Axis], cost: FittedCost) -> None:
        self.axes, self.cost = tuple(axes), cost
        n_columns = sum(len(axis.columns) for axis in axes)
        self.actionable = np.zeros(n_columns, np.bool_)
        self.whole = np.zeros(n_columns, np.bool_)
        self._feature: dict[int, Feature] = {}  # of each numeric column
        for axis in axes:
            self._read(axis)
        ordinal = [axis for axis in axes if not axis.is_categorical]
        self.numeric = np.array([axis.columns[0] for axis in ordinal], dtype=np.int64)
        self.groups = tuple(np.array(axis.columns) for axis in axes if axis.is_categorical)
        nothing = np.zeros(0)
        prices = Grid(self.axes, (nothing,) * len(axes)).price(cost)
        self.switches = tuple(table for table in prices.switches if table is not None)

    def _read(self, axis: Axis) -> None:
        feature, columns = axis.feature, list(axis.columns)
        self.actionable[columns] = feature.actionable
        if axis.is_categorical:
            return
        if feature.actionable and np.isinf(feature.bounds).any():
            raise InvalidSpec(f"Feature {feature.name!r} needs bounds, lower and upper.")
        self._feature[columns[0]] = feature
        self.whole[columns] = feature.kind != "continuous"

    def ranges(self, person: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value of each numeric column at each cost (costs x columns).

        A person's own value is always among them. Columns of categories keep their own value.
        """
        lowest = np.tile(person, (len(costs), 1))
        highest = lowest.copy()
        for j in self.numeric:
            lower, upper = self._feature[j].limits(person[j])
            if upper > person[j]:
                far = self._farthest(j, person[j], upper, costs)
                far = np.floor(far) if self.whole[j] else far
                highest[:, j] = np.maximum(far, person[j])
            if lower < person[j]:
                far = self._farthest(j, person[j], lower, costs)
                far = np.ceil(far) if self.whole[j] else far
                lowest[:, j] = np.minimum(far, person[j])
        return lowest, highest

    def dearest(self, person: np.ndarray) -> float:
        """The most that any move costs the person."""
        most = [0.0]
        for j in self.numeric:
            ends = self._feature[j].limits(person[j])
            most.append(float(np.ptp(self.cost.level(j, np.array(ends)))))
        for columns, table in zip(self.groups, self.switches, strict=True):
            row = table[int(np.argmax(person[columns]))]
            most.append(float(row[np.isfinite(row)].max()))
        return max(most)

    def _farthest(self, j: int, start: float, end: float, costs: np.ndarray) -> np.ndarray:
        """The value nearest to ``end`` that costs at most each cost, from ``start``."""
        cost = self.cost
        first, last = cost.level(j, np.array([start, end]))
        sign = 1.0 if end > start else -1.0
        goal = first + sign * (costs + ROOM)
        if isinstance(cost, LinearCost):
            knots, levels = np.sort([start, end]), np.sort([first, last])
        elif isinstance(cost, LevelCost):
            knots, levels = cost.knots[j], cost.levels[j]
        else:
            return self._farthest_by_halving(j, start, end, costs)
        step = int(sign)  # downwards is upwards on the negated scale
        far = _last_at(sign * goal, sign * knots[::step], sign * levels[::step])
        return np.where(far > sign * end, end, sign * far)

    def _farthest_by_halving(
        self, j: int, start: float, end: float, costs: np.ndarray
    ) -> np.ndarray:
        first = self.cost.level(j, np.array([start]))[0]
        good, bad = np.full(len(costs), start), np.full(len(costs), end)
        good[np.abs(self.cost.level(j, bad) - first) <= costs + ROOM] = end
        for _ in range(HALVINGS):
            middle = good + (bad - good) / 2
            cheap = np.abs(self.cost.level(j, middle) - first) <= costs + ROOM
            good, bad = np.where(cheap, middle, good), np.where(cheap, bad, middle)
        return good


def _last_at(goal: np.ndarray, knots: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The last value whose level is at most each goal; levels are linear between the knots."""
    after = np.searchsorted(levels, goal, side="right")
    far = np.full(len(goal), np.inf)  # beyond the last knot levels stay as they are
    inside = np.flatnonzero((after > 0) & (after < len(levels)))
    high = after[inside]
    low = high - 1
    share = (goal[inside] - levels[low]) / (levels[high] - levels[low])
    far[inside] = knots[low] + share * (knots[high] - knots[low])
    # Below the first knot the level is that of the first knot: nothing is at most the goal.
    far[after == 0] = -np.inf
    return far
