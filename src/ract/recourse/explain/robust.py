"""Plans that still hold when people do less or more than they ask.

With a margin m, every change may fall short by up to the share m of its way, each independently
of the others. Plans of the kind "at least" hold for everyone who goes further, up to the bounds
of the features; on an ordered category (one that may only rise or fall), in every category beyond.
A plan holds when everyone in the box between is desired:

    x ------------ x + (1 - m)(v - x) ====== v ============= bound
                        margin: every point     at least: every
                        here is desired         point here is

Whole numbers stop at whole numbers; other categories and binaries are changed or not. Nobody falls
short of a value that they supply, nor goes further than it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ract.data.actions.steps import first_above, last_below
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.decide import Model, ModelDescent
from ract.recourse.explain.ranges import Certifier

# How much more of the vote to ask for, when the cheapest plan does not hold.
STRICTER = (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32)


@dataclass(frozen=True)
class RobustSearch:
    """Finds plans that hold: candidates from the exact search, each one certified.

    Parameters
    ----------
    model : Model
        Before which plans hold though changes fall short.
    margin : float
        Between 0 and 1.
    max_nodes : int
    beyond : Model, optional
        The decision turned around (``Model.refusing``): plans hold before it for everyone who
        goes further than they ask.
    """

    model: Model
    margin: float
    max_nodes: int
    beyond: Model | None = None

    @property
    def problem(self) -> CellProblem:
        """The model and what its cells cost."""
        return self.model.problem

    def solve(
        self, person: np.ndarray, asking: ModelDescent, budget: float, found: Answer
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Encoded values and cells of the first plan that holds; None if none was found.

        Parameters
        ----------
        person : float (columns,)
        asking : ModelDescent
            The same person before the model.
        budget : float
        found : Answer
            Their cheapest plan, which may not hold.
        """
        stricter = iter(STRICTER)
        while found.point is not None:
            plan = self.problem.values_of(person, asking.own, found.point)
            if self.margin == 0:
                if self._goes_on(found.point, found.point, asking):
                    return plan, found.point
            else:
                for values in (plan, self._further(person, plan)):
                    cheap = self.problem.cost.between(person[None], values[None])[0] <= budget
                    allowed = cheap and self._allowed(person, values)
                    if allowed and self._holds(person, values, asking):
                        return values, self.problem.cells(values[None])[0]
            share = next(stricter, None)
            if share is None:
                return None
            # The cheapest plan of a model that asks for more, which makes none cheaper.
            found = needing_more(asking, share).cheapest(budget, self.max_nodes, found.bound)
        return None

    def _further(self, person: np.ndarray, plan: np.ndarray) -> np.ndarray:
        """So far beyond a plan that falling short by the margin still meets it."""
        values = plan.copy()
        for axis in self.problem.grid.axes:
            j, kind = axis.columns[0], axis.feature.kind
            supplied = np.isnan(person[j])
            if kind not in ("continuous", "integer") or plan[j] == person[j] or supplied:
                continue
            step = (plan[j] - person[j]) / (1 - self.margin)
            if kind == "integer":
                step = np.sign(step) * np.ceil(abs(step))
            values[j] = person[j] + step
            short = values[j] - self.margin * (values[j] - person[j])
            if (short < plan[j]) == (plan[j] > person[j]) and short != plan[j]:
                values[j] = np.nextafter(values[j], np.sign(step) * np.inf)
            if axis.feature.is_stepped:  # further still, to a round value
                landed = first_above if plan[j] > person[j] else last_below
                values[j] = landed(person[[j]], values[[j]], axis.feature.step or 0.0)[0]
        return values

    def _allowed(self, person: np.ndarray, values: np.ndarray) -> bool:
        """Whether values keep to the bounds; those of the search do, so a step beyond may not."""
        ordinal = (axis for axis in self.problem.grid.axes if not axis.is_categorical)
        for axis in ordinal:
            before, after = person[axis.columns[0]], values[axis.columns[0]]
            if not np.isnan(before):
                low, high = axis.feature.limits(before)
                if not low <= after <= high:
                    return False
        return True

    def _holds(self, person: np.ndarray, values: np.ndarray, asking: ModelDescent) -> bool:
        short = np.where(np.isnan(person), values, values - self.margin * (values - person))
        for axis in self.problem.grid.axes:
            columns = list(axis.columns)
            if axis.is_categorical or axis.feature.kind == "binary":
                short[columns] = values[columns]
            elif axis.feature.kind == "integer" and not np.isnan(person[columns[0]]):
                j = columns[0]
                up = values[j] > person[j]
                short[j] = np.ceil(short[j]) if up else np.floor(short[j])
        cells = self.problem.cells(np.stack([short, values]))
        lowest, highest = cells.min(axis=0), cells.max(axis=0)
        certifier = Certifier(self.model.refusing, self.max_nodes, stop=asking.stop)
        if not certifier.holds(lowest, highest):
            return False
        return self.beyond is None or self._goes_on(cells[0], cells[1], asking)

    def _goes_on(self, short: np.ndarray, point: np.ndarray, asking: ModelDescent) -> bool:
        """Whether everyone is accepted from a point, or short of it, to the furthest."""
        if self.beyond is None:
            return True
        far = furthest(self.problem, asking, point)
        lowest, highest = np.minimum(short, point), np.maximum(short, point)
        lowest, highest = np.minimum(lowest, far), np.maximum(highest, far)
        also = categories_beyond(self.problem, asking, point)
        certifier = Certifier(self.beyond, self.max_nodes, also, asking.stop)
        return certifier.holds(lowest, highest)


def needing_more(person: ModelDescent, share: float) -> ModelDescent:
    """The same person before a model that asks for a share more than it does."""
    model, n_trees = person.model, person.model.problem.ensemble.n_trees
    rule = model.rule
    more = share * float(np.ptp(rule.weight)) * (n_trees if rule.divisor == 1 else 1)
    if model.by_votes:
        more = float(np.ceil(share * n_trees))
    return person.before(model.needing(rule.cutoff + more))


def furthest(problem: CellProblem, asking: ModelDescent, point: np.ndarray) -> np.ndarray:
    """The last cells within the bounds beyond a point, in its directions.

    Limits say how far a person is asked to go; whoever goes further must be safe too.
    """
    far = point.copy()
    moved = (point != asking.own) & ~problem.categorical
    moved[problem.supplied_axes(asking.own, point)] = False
    for a in np.flatnonzero(moved).tolist():
        far[a] = last_cell(problem, a, int(point[a]), rises=point[a] > asking.own[a])
    return far


def last_cell(problem: CellProblem, a: int, here: int, *, rises: bool) -> int:
    """The last cell of an ordinal axis within the bounds, upward or downward of a cell."""
    above, below = problem.prices.levels
    if rises:
        return int(np.flatnonzero(np.isfinite(above[a])).max(initial=here))
    return int(np.flatnonzero(np.isfinite(below[a])).min(initial=here))


def categories_beyond(
    problem: CellProblem, asking: ModelDescent, point: np.ndarray
) -> dict[int, np.ndarray]:
    """The categories beyond a point's that may be entered, of each ordered feature that it moves.

    A missing value has no place in the order.
    """
    beyond = {}
    for a in np.flatnonzero((point != asking.own) & problem.categorical).tolist():
        axis = problem.grid.axes[a]
        n = len(axis.feature.categories)
        if axis.feature.is_ordered and asking.own[a] < n:
            entered = np.arange(n) if axis.entered is None else np.array(axis.entered, int)
            rises = axis.feature.change == "increase"
            beyond[a] = entered[entered > point[a]] if rises else entered[entered < point[a]]
    return beyond
