"""What one person may end at on a feature that rules name: pieces of its cells.

Cells of the model say too little there: two values of a cell may differ in what a rule says of
them, or in whether anything changes at all. So the cells are cut further, for each person:

    cells            |        0        |       1       |
    own value                   x
    pieces           |    0    |1|  2  |   3   |   4   |

at the person's own value, at the constants of conditions and where the slope of the cost changes. A
feature with steps has one piece for each round value, as few whole numbers have for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ract.data.actions.rules import Condition, Rule, position_of
from ract.data.actions.steps import decades, first_multiple
from ract.data.costs import FittedCost
from ract.data.costs.fitted import FittedCombined, LevelCost
from ract.data.encoder import Axis

FEW_VALUES = 256


@dataclass(frozen=True)
class Choices:
    """Pieces of a feature, in the order of their values.

    Parameters
    ----------
    low, high : float (pieces,)
        Least and largest value; the position of a category.
    value, effort : float (pieces,)
        The cheapest value and what it costs by itself.
    cell : int (pieces,)
        The cell of the model in which they lie.
    own : int
        The piece that is the person's own value and nothing else.
    """

    low: np.ndarray
    high: np.ndarray
    value: np.ndarray
    effort: np.ndarray
    cell: np.ndarray
    own: int

    def meets(self, condition: Condition, axis: Axis, rule: Rule) -> np.ndarray:
        """In which pieces a condition holds, which is all of a piece or nothing."""
        sign, value = condition.sign, condition.value
        if sign in ("changes", "stays"):
            stays = np.arange(len(self.low)) == self.own
            return stays if sign == "stays" else ~stays
        if axis.is_categorical:
            value = position_of(axis.feature, value, rule)
        if sign == "<=":
            return self.high <= value
        if sign == ">=":
            return self.low >= value
        same = (self.low == value) & (self.high == value)
        return same if sign == "=" else ~same


def category_choices(costs: np.ndarray, own: int) -> Choices:
    """Those of a categorical feature, whose categories cost so much (cells,)."""
    cell = np.arange(len(costs))
    position = cell.astype(np.float64)
    return Choices(position, position, position, costs, cell, own)


def number_choices(
    axis: Axis, thresholds: np.ndarray, cost: FittedCost, own: float, constants: np.ndarray
) -> Choices:
    """Those of a number.

    Parameters
    ----------
    axis : Axis
    thresholds : float array
        Of the model's cells.
    cost : FittedCost
    own : float
    constants : float array
        With which conditions compare the feature.
    """
    feature, column = axis.feature, axis.columns[0]
    lower, upper = feature.limits(own)
    whole = feature.kind != "continuous"
    if feature.is_stepped:
        low = high = round_values(own, lower, upper, feature.step or 0.0)
    elif whole and upper - lower <= FEW_VALUES:
        low = high = np.arange(lower, upper + 1)
    else:
        cuts = np.concatenate([thresholds, knots_of(cost, column), constants])
        low, high = _pieces(lower, upper, np.append(constants, own), cuts, whole=whole)
    value = np.clip(own, low, high)
    level = cost.level(column, np.append(value, own))
    effort, mine = np.abs(level[:-1] - level[-1]), int(np.searchsorted(low, own))
    return Choices(low, high, value, effort, np.searchsorted(thresholds, value), mine)


def knots_of(cost: FittedCost, column: int) -> np.ndarray:
    """Where the slope of a cost changes."""
    base = cost.base if isinstance(cost, FittedCombined) else cost
    return base.knots[column] if isinstance(base, LevelCost) else np.zeros(0)


def _pieces(
    lower: float, upper: float, alone: np.ndarray, cuts: np.ndarray, *, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of pieces between two bounds; one ends at each cut, and some values stand alone."""
    if whole:
        alone = alone[alone == np.floor(alone)]
        before = alone - 1
    else:
        before = np.nextafter(alone, -np.inf)
    # A whole number is compared with 2.5 as with 2 below it and 3 above.
    last = np.unique(np.concatenate([cuts, alone, before]))
    last = np.unique(np.floor(last)) if whole else last
    last = np.append(last[(last >= lower) & (last < upper)], upper)
    after = last[:-1] + 1 if whole else np.nextafter(last[:-1], np.inf)
    return np.append(lower, after), last


def round_values(own: float, lower: float, upper: float, step: float) -> np.ndarray:
    """A person's own value and all round targets between two bounds, ascending.

    >>> round_values(7.0, 0.0, 25.0, 5.0).tolist()
    [0.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0]
    """
    found = [np.array([own])]
    for sign, room in ((1.0, upper - own), (-1.0, own - lower)):
        here = sign * own
        for least, most, unit in decades(step):
            if least > room:
                break
            first = first_multiple(np.array([here + least]), unit)[0]
            size = float(unit)
            count = int(max(0.0, np.floor((here + min(most, room) - first) / size) + 2))
            top, bottom = float(unit.numerator), float(unit.denominator)
            times = np.round(first / size) + np.arange(count)
            at = times * top / bottom + 0.0
            moved = at - here
            found.append(sign * at[(moved > 0) & (moved >= least) & (moved < most)])
    values = np.unique(np.concatenate(found)) + 0.0
    return values[(values >= lower) & (values <= upper)]
