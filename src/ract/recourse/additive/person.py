"""One person's cheapest point under a cost that adds up: a first point, then branch and bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ract._kernels.search.additive import climb
from ract._kernels.search.additive.search import cheapest_sum
from ract._kernels.search.boxes import LeafBoxes
from ract._kernels.search.cell_forest import Forest, Needs, PointRules
from ract._utils.status import Status
from ract.recourse.additive.objective import CellPrices, Objective
from ract.recourse.common.answers import Answer
from ract.recourse.common.search import LARGEST
from ract.recourse.exact import decide, several
from ract.recourse.exact.cheapest import Descent

# Boxes of cells in which the first climbs are tried, in multiples of the least price at which there
# can be a point; and nodes of the search for the smallest maximum, which comes after them.
WIDTHS = (1.5, 4.0, 12.0)
START_NODES = 40
# Whoever needs fewer nodes is done before climbing again could find a better point.
EASY = 40


class Asked(NamedTuple):
    """What the kernel is given of the trees that are left, and who decides."""

    boxes: LeafBoxes
    value: np.ndarray
    needs: Needs
    forest: Forest
    rules: PointRules


@dataclass
class BestPoint:
    """The best point so far.

    Parameters
    ----------
    point : int64 (axes,)
    cost : float64 (2,)
        What it costs (inf without one), and what another may cost.
    bound : float
        What no point can cost less than.
    nodes : int
    """

    point: np.ndarray
    cost: np.ndarray
    bound: float = 0.0
    nodes: int = 0

    @property
    def found(self) -> bool:
        """Whether there is one."""
        return bool(np.isfinite(self.cost[0]))

    def take(self, point: np.ndarray, cost: float) -> None:
        """Take a point that costs no more than it may."""
        if cost <= self.cost[1]:
            self.cost[:] = cost, cost * (1 - climb.EQUAL)
            self.point[:] = point


class SumDescent(Descent):
    """One person before a model, or before several at once, under a cost that adds up."""

    objective: Objective

    @cached_property
    def prices(self) -> CellPrices:
        """What each cell costs."""
        return self.objective.prices(self.own, self.costs)

    def cost_of(self, point: np.ndarray) -> float:
        """What a point costs."""
        return self.prices.of(self.own, point)

    def cheapest(self, budget: float, max_nodes: int, least: float = 0.0) -> Answer:
        """Their cheapest point of cells within a budget, if none costs less than is known."""
        if self.stop[0]:
            return Answer(Status.UNKNOWN, bound=least)
        if self.squeezed is not None:
            person, squeeze = self.squeezed
            return squeeze.answer(person.cheapest(budget, max_nodes, least))
        return self._search(self.model.simplified, budget, max_nodes, least)

    def _search(self, left: Any, budget: float, max_nodes: int, enough: float) -> Answer:
        """The cheapest point within what is left and a budget, or one that costs little enough."""
        best = BestPoint(self.own.copy(), np.array([np.inf, budget]))
        proved = self._prove(left, best, max_nodes, enough)
        if not best.found:
            status = Status.NONE if proved else Status.UNKNOWN
            return Answer(status, bound=np.inf if proved else best.bound, nodes=best.nodes)
        self.undo_idle_changes(best.point)
        cost = self.cost_of(best.point)
        status = Status.OPTIMAL if proved else Status.FOUND
        bound = cost if proved else min(max(best.bound, enough), cost)
        return Answer(status, cost, bound, best.point, best.nodes)

    def _prove(self, left: Any, best: BestPoint, max_nodes: int, enough: float) -> bool:
        """Improve the incumbent until no other is cheaper; whether that is proved."""
        model, own, alone = self.model, self.own, self.prices.alone
        left = model.within(left, own, alone, best.cost[1], self.changes)
        if not model.may_do(left):
            return True
        status, left = self._start(left, best)
        if status is Status.NONE:
            return True
        if best.cost[0] <= enough or best.cost[1] < best.bound:
            return True
        if self.stop[0]:
            return False
        left = model.within(left, own, alone, best.cost[1], self.changes)
        if not model.may_do(left):
            return True
        asked = self._asked(left)
        if asked is None:
            return False
        return self._run(asked, best, max_nodes, enough, climbs=False)

    def _start(self, left: Any, best: BestPoint) -> tuple[Status, Any]:
        """A first point: by climbs in small boxes or, failing these, that of least maximum.

        Returns what is left of the trees where another point can be cheaper, too.
        """
        model, own, alone = self.model, self.own, self.prices.alone
        for limit in self._widths(left, best):
            if self.stop[0]:
                return Status.UNKNOWN, left
            small = model.within(left, own, alone, limit, self.changes)
            asked = self._asked(small) if model.may_do(small) else None
            if asked is not None and not self.stop[0]:
                self._run(asked, best, 0, 0.0, climbs=True)
            if best.found:
                return Status.FOUND, small if best.cost[1] <= limit else left
        first = self._of_maximum(alone).cheapest(best.cost[1], START_NODES)
        best.nodes += first.nodes
        if first.point is not None:
            best.take(first.point, self.cost_of(first.point))
        return first.status, left

    def _widths(self, left: Any, best: BestPoint) -> Iterator[float]:
        """Prices of single cells within which to look for a first point."""
        alone, limit = self.prices.alone, best.cost[1]
        prices = np.unique(alone[alone <= limit])
        best.bound = float(prices[self.model.first_price(left, self.own, alone, prices)])
        base = max(best.bound, float(prices[min(1, len(prices) - 1)]))
        for width in WIDTHS:
            yield min(width * base, limit)
            if width * base >= limit:
                return

    def _run(
        self, asked: Asked, best: BestPoint, max_nodes: int, enough: float, *, climbs: bool
    ) -> bool:
        prices = self.prices
        person = climb.PointProblem(asked.forest, asked.rules, prices.price, prices.size)
        proved, bound, nodes = cheapest_sum(
            asked.boxes, asked.value, asked.needs, self.changes, person, best.cost, enough, climbs,
            EASY, max_nodes, self.stop, best.point,
        )  # fmt: skip
        best.nodes += nodes
        best.bound = max(best.bound, bound)
        return bool(proved)

    def _asked(self, left: Any) -> Asked | None:
        """What is left, for the kernel; None if that is too large for memory."""
        raise NotImplementedError

    def _of_maximum(self, costs: np.ndarray) -> Descent:
        """The same person under the largest of some costs."""
        raise NotImplementedError


@dataclass(frozen=True)
class AdditivePerson(SumDescent, decide.ModelDescent):
    """One person before a model, under a cost that adds up.

    Parameters are those of ``Descent``, and ``objective``.
    """

    objective: Objective = field(default_factory=Objective)

    def attains(self, budget: float, max_nodes: int) -> int:
        """Whether some desired point is within a budget: FOUND, NONE or UNKNOWN."""
        if self.stop[0]:
            return Status.UNKNOWN
        if self.squeezed is not None:
            return int(self.squeezed[0].attains(budget, max_nodes))
        return self.look(self.inside(budget), max_nodes, self.own.copy(), budget)[0]

    def inside(self, budget: float) -> decide.Left:
        """What is left in the cells of which each alone is within a budget."""
        whole, alone = self.model.simplified, self.prices.alone
        return self.model.within(whole, self.own, alone, budget, self.changes)

    def look(
        self, left: decide.Left, max_nodes: int, point: np.ndarray, budget: float = np.inf
    ) -> tuple[int, int]:
        """Whether some point of what is left is desired, and nodes; point becomes that point."""
        found = self._search(left, budget, max_nodes, LARGEST)  # any; without one the cost is inf
        if found.point is None:
            return found.status, found.nodes
        point[:] = found.point
        return Status.FOUND, found.nodes

    def _asked(self, left: decide.Left) -> Asked | None:
        model = self.model
        boxes = decide.boxes_of(self, left.forest, int(model.by_votes), left.box)
        if boxes is None:
            return None
        first, least = np.array([0, len(left.forest.root)]), np.array([model.least - left.constant])
        needs = Needs(first, np.array([model.by_votes]), least)
        # Votes are whole numbers: the small forest gives the same answers.
        decides = model.decides_in(left) if model.by_votes else model.decides_by
        return Asked(boxes, model.rule.weight[boxes.label], needs, *decides)

    def _of_maximum(self, costs: np.ndarray) -> decide.ModelDescent:
        return decide.ModelDescent(self.model, self.own, costs, self.changes, self.stop)


@dataclass(frozen=True)
class PersonBeforeSeveral(SumDescent, several.ModelsDescent):
    """One person before several models, under a cost that adds up."""

    objective: Objective = field(default_factory=Objective)

    def _asked(self, left: several.Lefts) -> Asked | None:
        models = self.model
        forest = models.joined([one.forest for one in left])
        boxes = decide.boxes_of(self, forest, 1, left[0].box)
        if boxes is None:
            return None
        first = np.cumsum([0, *(len(one.forest.root) for one in left)])
        least = models.least - np.array([one.constant for one in left])
        needs = Needs(first, models.by_votes, least)
        forest, rules = models.decides_by
        return Asked(boxes, models.weights[boxes.label], needs, forest, rules)

    def _of_maximum(self, costs: np.ndarray) -> several.ModelsDescent:
        return several.ModelsDescent(self.model, self.own, costs, self.changes, self.stop)
