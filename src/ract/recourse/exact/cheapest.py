"""From yes-or-no questions to the cheapest action.

Under a cost that is the largest effort of one feature, the optimum is one of finitely many
prices. Go up from the lowest in growing steps until a solution turns up, halve what lies between
by quick questions, and decide what they left unknown with a thorough one just below the best:

    refuted   |   quick questions came to no answer   | found
    ----------|---------------------------------------x-------
           proved                                    high
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ract._kernels.search.cell_forest import Forest, Rules, settle, tidy
from ract._utils.status import Status
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import Problem
from ract.recourse.exact.squeeze import Squeeze

QUICK_NODES = 40

Ask = Callable[[float, int], Answer]


def cheapest(ask: Ask, prices: np.ndarray, max_nodes: int) -> Answer:
    """The lowest price at which there is a solution.

    Parameters
    ----------
    ask : callable
        ``ask(limit, max_nodes)``: is there a solution that costs at most limit? The answer is
        FOUND with a point and its cost, NONE, or UNKNOWN.
    prices : float array, ascending
        All that a solution can cost.
    max_nodes : int
        For all questions together.

    Examples
    --------
    >>> def ask(limit, max_nodes):
    ...     found = limit >= 0.3
    ...     return Answer(Status.FOUND, 0.3, 0.0, np.zeros(1)) if found else Answer(Status.NONE)
    >>> cheapest(ask, np.array([0.1, 0.2, 0.3, 0.4]), 100).cost
    0.3
    """
    n = len(prices)
    # proved: every price below this index is refuted. low: the next that is worth asking, which
    # a quick question without an answer moves on too. high: index of the best found.
    proved, low, high, at, step = 0, 0, n, 0, 1 + n // 24
    best, used = Answer(Status.UNKNOWN), 0
    while proved < high:
        going_up = high == n
        thorough = low >= high or (going_up and at >= n - 1)
        if thorough:
            at = high - 1
        elif not going_up:
            at = (low + high) >> 1
        allowed = max_nodes - used
        answer = ask(float(prices[at]), allowed if thorough else min(allowed, QUICK_NODES))
        used += answer.nodes
        if answer.status == Status.FOUND:
            best, high = answer, int(np.searchsorted(prices, answer.cost))
            low = proved if low > high or thorough else low
        elif answer.status == Status.NONE:
            proved = at + 1
            low = max(low, proved)
        elif thorough:
            status = Status.UNKNOWN if going_up else Status.FOUND
            return Answer(status, best.cost, float(prices[proved]), best.point, used)
        else:
            low = at + 1
        if going_up and answer.status != Status.FOUND:
            at, step = min(at + step, n - 1), step * 2
    if best.point is None:
        return Answer(Status.NONE, nodes=used)
    return Answer(Status.OPTIMAL, best.cost, best.cost, best.point, used)


@dataclass(frozen=True)
class Descent(ABC):
    """One person before a model, or before several at once.

    Parameters
    ----------
    model : Model or Models
    own : int64 (axes,)
        Their cells.
    costs : float64 (axes, cells)
        What each cell costs them.
    changes : int
        How many features they may change.
    stop : uint8 (1,)
        Set when their time is up.
    """

    model: Any
    own: np.ndarray
    costs: np.ndarray
    changes: int
    stop: np.ndarray

    @cached_property
    def squeezed(self) -> tuple[Any, Squeeze] | None:
        """The same person without cells that hold nothing for them; None if there are none."""
        squeeze = Squeeze.of(self.model.problem, self.own, self.costs)
        if squeeze is None:
            return None
        own, costs = squeeze.point(self.own), squeeze.rows(self.costs, np.inf)
        return replace(self, model=self.model.squeezed(squeeze), own=own, costs=costs), squeeze

    def cheapest(self, budget: float, max_nodes: int, least: float = 0.0) -> Answer:
        """Their cheapest point of cells within a budget, if none costs less than is known."""
        if self.stop[0]:  # reading the trees takes long where there are many
            return Answer(Status.UNKNOWN, bound=least)
        if self.squeezed is not None:
            person, squeeze = self.squeezed
            return squeeze.answer(person.cheapest(budget, max_nodes, least))
        model = self.model

        def within(left: Any, limit: float) -> Any:
            return model.within(left, self.own, self.costs, limit, self.changes)

        # Inside the box of the budget the trees are small; all else works on what is left there.
        most = within(model.simplified, budget)
        if not model.may_do(most):
            return Answer(Status.NONE)
        prices = np.unique(self.costs[(self.costs >= least) & (self.costs <= budget)])
        low = model.first_price(most, self.own, self.costs, prices)

        def at(limit: float, allowed: int) -> Answer:
            nonlocal most
            if self.stop[0]:
                return Answer(Status.UNKNOWN)
            left = within(most, limit)
            answer = self._ask(left, allowed)
            if answer.status == Status.FOUND:  # nobody asks for more again
                most = left
            return answer

        found = cheapest(at, prices[low:], max_nodes)
        if found.point is not None:
            forest, rules = model.decides_by
            come_home(model.problem, forest, rules, self.own, found.point)
        return found

    def cost_of(self, point: np.ndarray) -> float:
        """What a point costs."""
        return float(self.costs[np.arange(len(point)), point].max())

    @abstractmethod
    def _ask(self, left: Any, max_nodes: int) -> Answer:
        """Whether some point of what is left is desired, and what it costs at least."""


def come_home(
    problem: Problem, forest: Forest, rules: Rules, own: np.ndarray, point: np.ndarray
) -> None:
    """Move every axis home that need not have left, and choose sensible values to hand in."""
    tidy(forest, rules, own, problem.categorical, point)
    for a in problem.handed_in(own, point):
        settle(forest, rules, problem.categorical, a, problem.sensible_cells(a), point)
