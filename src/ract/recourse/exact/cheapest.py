"""From yes-or-no questions to the cheapest action, or to one that changes fewest features.

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
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ract._kernels.search.cell_forest import Forest, settle, tidy
from ract._utils.status import Status
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import CellProblem

QUICK_NODES = 40
# Costs that differ by less than this part are the same, whatever the order in which they add up.
SAME = 1e-9

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
class Squeeze:
    """Cells without a value for one person, left out of their grid.

    Features with steps have cells that hold no round target. Kernels take what a person can reach
    as an interval of cells, so the cells that hold one are numbered anew, and splits with them:

        cells     0 1 2 3 4 5 6         split after cell 3: x <= 3
        kept      0   1 2     3         becomes a split after the second of those kept: x <= 1

    Parameters
    ----------
    kept : dict of int to int array
        Of axes that do not keep all cells: ordered cells, ascending. The cell of people without a
        value keeps its number.
    n_cells : int array (axes,)
    missing : int array (axes,)
    """

    kept: dict[int, np.ndarray]
    n_cells: np.ndarray
    missing: np.ndarray

    @classmethod
    def of(cls, problem: CellProblem, own: np.ndarray, costs: np.ndarray) -> Squeeze | None:
        """Of what a person can reach; None if there is nothing to leave out.

        Parameters
        ----------
        problem : CellProblem
        own : int (axes,)
        costs : float (axes, cells)
            inf where the person cannot go.
        """
        kept, grid = {}, problem.grid
        for a in problem.stepped:
            n = int(grid.n_cells[a]) - (grid.missing_cell[a] >= 0)
            open_ = np.isfinite(costs[a, :n])
            open_[own[a] : own[a] + 1] = True
            cells = np.flatnonzero(open_)
            if len(cells) and len(cells) <= cells[-1] - cells[0]:
                kept[a] = cells
        return cls(kept, grid.n_cells, grid.missing_cell) if kept else None

    def problem(self, problem: CellProblem) -> CellProblem:
        """The same problem, which knows how cells are numbered."""
        other = copy(problem)
        other.kept = self.kept
        return other

    def forest(self, forest: Forest) -> Forest:
        """The same trees in the cells that are kept."""
        cell, splits = forest.cell.copy(), np.flatnonzero(forest.axis >= 0)
        cell[splits] = self.numbers[forest.axis[splits], cell[splits]]
        return forest._replace(cell=cell)

    @cached_property
    def numbers(self) -> np.ndarray:
        """By axis and cell: how many of the cells up to it are kept, less one."""
        cells = np.arange(int(self.n_cells.max()), dtype=np.int32)
        numbers = np.tile(cells, (len(self.n_cells), 1))
        for a, kept in self.kept.items():
            numbers[a] = np.searchsorted(kept, cells, side="right") - 1
        return numbers

    def point(self, cells: np.ndarray) -> np.ndarray:
        """The numbers of a point's cells, which are kept."""
        point = cells.copy()
        for a, kept in self.kept.items():
            if point[a] != self.missing[a]:
                point[a] = np.searchsorted(kept, point[a])
        return point

    def cells(self, point: np.ndarray) -> np.ndarray:
        """The cells of a point of numbers."""
        cells = point.copy()
        for a, kept in self.kept.items():
            if cells[a] != self.missing[a]:
                cells[a] = kept[cells[a]]
        return cells

    def rows(self, table: np.ndarray, otherwise: float) -> np.ndarray:
        """A table (axes, cells) of the cells that are kept."""
        rows = table.copy()
        for a, kept in self.kept.items():
            n = int(self.n_cells[a]) - (self.missing[a] >= 0)
            rows[a, :n] = otherwise
            rows[a, : len(kept)] = table[a, kept]
        return rows

    def answer(self, answer: Answer) -> Answer:
        """An answer in terms of the cells."""
        point = answer.point
        return answer if point is None else answer._replace(point=self.cells(point))


@dataclass(frozen=True)
class Descent(ABC):
    """One person's descent to their cheapest action, before a model or before several at once.

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
        person = replace(self, model=self.model.squeezed(squeeze), own=own, costs=costs)
        vars(person)["squeezed"] = None  # nothing more can be left out
        return person, squeeze

    def before(self, model: Any) -> Self:
        """The same person before a model of the same trees, which must add up to something else."""
        other = replace(self, model=model)
        vars(other)["squeezed"] = None
        if self.squeezed is not None:
            person, squeeze = self.squeezed
            vars(other)["squeezed"] = person.before(person.model.deciding_as(model)), squeeze
        return other

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
            self.undo_idle_changes(found.point)
        return found

    def undo_idle_changes(self, point: np.ndarray) -> None:
        """Undo changes of a point that are not needed, and choose usual values to supply."""
        forest, rules = self.model.decides_by
        problem = self.model.problem
        tidy(forest, rules, self.own, problem.categorical, point)
        for a in problem.supplied_axes(self.own, point):
            settle(forest, rules, problem.categorical, a, problem.sensible_cells(a), point)

    def cost_of(self, point: np.ndarray) -> float:
        """What a point costs."""
        return float(self.costs[np.arange(len(point)), point].max())

    @abstractmethod
    def _ask(self, left: Any, max_nodes: int) -> Answer:
        """Whether some point of what is left is desired, and what it costs at least."""


def fewest_first(person: Any, budget: float, max_nodes: int, least: float = 0.0) -> Answer:
    """The cheapest of the actions within a budget that change fewest features.

    Optimal if no action changes fewer features, and none that changes as many costs less.

    Parameters
    ----------
    person : Descent or RuledPerson
        Whose number of changes is the most that is asked about.
    budget : float
    max_nodes : int
        Per question.
    least : float
        What no action can cost less than.
    """
    nodes, proved = 0, True
    for changes in range(person.changes + 1):
        found = replace(person, changes=changes).cheapest(budget, max_nodes, least)
        nodes += found.nodes
        proved = proved and found.status in (Status.OPTIMAL, Status.NONE)
        if found.point is not None:
            status = Status.OPTIMAL if proved else Status.FOUND
            return found._replace(status=status, nodes=nodes)
    return Answer(Status.NONE if proved else Status.UNKNOWN, bound=least, nodes=nodes)


def fewest_of_cheapest(person: Any, budget: float, max_nodes: int, least: float = 0.0) -> Answer:
    """Of the cheapest actions within a budget the one that changes fewest features.

    Parameters are those of ``fewest_first``. Costs that differ by less than 1e-9 are the same.
    """
    best = person.cheapest(budget, max_nodes, least)
    nodes, proved = best.nodes, best.status == Status.OPTIMAL
    while best.point is not None and (changes := int((best.point != person.own).sum())) > 0:
        most = min(best.cost * (1 + SAME), budget)
        fewer = replace(person, changes=changes - 1).cheapest(most, max_nodes, best.bound)
        nodes += fewer.nodes
        if fewer.point is None:
            proved = proved and fewer.status == Status.NONE
            break
        best = fewer._replace(bound=best.bound)
    if best.point is None:
        return best
    status = Status.OPTIMAL if proved else Status.FOUND
    bound = best.cost if proved else float(np.minimum(best.bound, best.cost))
    return best._replace(status=status, bound=bound, nodes=nodes)


def preferred(
    prefer: str | None, person: Any, budget: float, max_nodes: int, least: float = 0.0
) -> Answer:
    """The action that ``prefer`` of ``ract.find_recourse`` asks for; others as above."""
    if prefer is None:
        answer: Answer = person.cheapest(budget, max_nodes, least)
        return answer
    find = fewest_first if prefer == "fewest" else fewest_of_cheapest
    return find(person, budget, max_nodes, least)
