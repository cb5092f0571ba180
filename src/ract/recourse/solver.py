"""Exact search by OR-Tools' CP-SAT, which checks the other searches and shares no step with them.

Each person has an integer program of their own. An ordinal axis has literals "cell <= k", a
categorical one a literal per category, and a leaf implies the literals of its box:

    cells that are in reach      | 2 | 3 | 4 | 5 |
    literals                         a   b   c         a implies b, b implies c
    a leaf with 3 <= cell <= 4    leaf implies not a, and c
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ract._utils.errors import InvalidSpec, how_to_install
from ract._utils.status import Status
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.common.answers import Answer
from ract.recourse.common.by_pattern import refuse_missing_values
from ract.recourse.common.search import LARGEST, Batch, RecourseSearch, for_each
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import to_cell_trees

if TYPE_CHECKING:
    from types import ModuleType

    from ortools.sat.python.cp_model import CpSolver

VALUE_BITS = 28  # to which the values of leaves are rounded
PRICE_BITS = 40  # to which prices are rounded where they are added up
ROUNDING = 1e-9  # how much a sum of prices may be off, as a part of it
MOST_TIES = 100  # solutions that floating point refuses, one after the other
TIME_SHARE = 0.9  # CP-SAT looks at its clock only between steps, which are long in large programs

Range = range | frozenset[int]  # positions on an ordinal axis; categories
Box = dict[int, Range]  # by axis; an axis that is left out may be anywhere


class SolverSearch(RecourseSearch):
    """The cheapest action by OR-Tools' CP-SAT, for any ensemble and a maximum or a sum of prices.

    Much slower than ``ExactSearch`` and ``AdditiveSearch``, which it checks: it knows the model's
    cells and what they cost a person, as they do, and nothing else of theirs. Needs the extra
    ``ract[solver]``.

    Every action has been run through the ensemble, and its cost compared with the budget, in
    floating point. ``NONE`` is exact: roundings never lose an action. ``OPTIMAL`` is exact for a
    maximum, and up to 1e-6 of the cost for a sum.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
        With norm "max" or "l1".

    Examples
    --------
    >>> from ract.data import make_cost
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree()
    >>> people = model.encoder_.matrix(loans.frame)
    >>> cost = make_cost("l1").fit(people.T, model.encoder_.weights)
    >>> search = SolverSearch(model.ensemble_, model.encoder_.axes, cost)
    >>> refused = people[~model.ensemble_.decide(people)]
    >>> answers = search.solve(refused[:5], max_changes=2)
    >>> bool(model.ensemble_.decide(answers.values[answers.found]).all())
    True
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        cp_sat()  # say at once if it is missing
        if cost.norm == "combined":
            raise InvalidSpec("Programs take no CombinedCost; the exact search does.")
        refuse_missing_values(axes, "Programs", categories=False)
        self._ensemble, self._cost = ensemble, cost
        splits = ensemble.feature >= 0
        self._grid = Grid.from_splits(axes, ensemble.feature[splits], ensemble.threshold[splits])
        self._prices, self._trees = self._grid.price(cost), _trees_of(ensemble, self._grid)

    def fill(self, batch: Batch) -> None:
        """One program per person; nodes count the solver's branches."""
        people, answers, limits = batch.people, batch.answers, batch.limits
        seconds = np.inf if limits.time_limit is None else limits.time_limit
        allowed = np.broadcast_to(seconds, (len(people),))

        def search(i: int, stop: np.ndarray) -> None:
            if self._ensemble.decide(people[[i]])[0]:
                answers.status[i], answers.cost[i] = Status.OPTIMAL, 0.0
                return
            end = perf_counter() + float(allowed[i])
            choices = self._choices(people[i], float(batch.budgets[i]))
            program = _Program(choices, self._cost.norm)
            for tree in self._trees:
                if stop[0]:
                    return
                program.add_tree(tree)
            program.ask_for(self._ensemble, limits.max_changes)
            answers.record(i, self._solve(program, people[i], float(batch.budgets[i]), end))

        answers.seconds = for_each(search, len(people), limits)

    def _choices(self, person: np.ndarray, budget: float) -> list[_Choice]:
        """The cells of each axis that cost no more than the budget by themselves."""
        costs, values = self._prices.of_person(person)
        start = self._grid.cells([np.array([value]) for value in person])[:, 0].tolist()
        if self._cost.norm != "max":
            budget = min(budget * (1 + ROUNDING), LARGEST)
        choices = []
        for a, axis in enumerate(self._grid.axes):
            cells = np.flatnonzero(costs[a] <= budget)
            near = int(np.searchsorted(cells, start[a]))
            price, value = costs[a, cells].tolist(), values[a, cells].tolist()
            choices.append(_Choice(not axis.is_categorical, near, cells.tolist(), price, value))
        return choices

    def _solve(self, program: _Program, person: np.ndarray, budget: float, end: float) -> Answer:
        """The solver's answer, past those that fail by how floating point rounds."""
        bound, nodes = 0.0, 0
        for _ in range(MOST_TIES):
            solver, status = program.solve(TIME_SHARE * (end - perf_counter()))
            nodes += solver.num_branches
            if status == cp_sat().INFEASIBLE:
                return Answer(Status.NONE, bound=np.inf, nodes=nodes)
            if np.isfinite(solver.best_objective_bound):
                bound = max(bound, program.least_cost(solver.best_objective_bound))
            if status not in (cp_sat().OPTIMAL, cp_sat().FEASIBLE):
                break
            values = self._values(program, person, solver)
            cost = float(self._cost.between(person[None], values[None])[0])
            if not self._ensemble.decide(values[None])[0]:
                program.forbid(solver, leaves=True)
            elif cost > budget:
                program.forbid(solver, leaves=False)
            else:
                proved = Status.OPTIMAL if status == cp_sat().OPTIMAL else Status.FOUND
                return Answer(proved, cost, min(bound, cost), nodes=nodes, values=values)
        return Answer(Status.UNKNOWN, bound=bound, nodes=nodes)

    def _values(self, program: _Program, person: np.ndarray, solver: CpSolver) -> np.ndarray:
        """Encoded values in the solver's answer: the cheapest of each cell."""
        values, point = person.copy(), program.point(solver)
        for axis, choice, k in zip(self._grid.axes, program.choices, point, strict=True):
            if choice.ordered:
                values[axis.columns[0]] = choice.value[k]
            else:
                values[list(axis.columns)] = np.arange(len(axis.columns)) == choice.cell[k]
        return values


def cp_sat() -> ModuleType:
    """OR-Tools' solver, if it is installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise ImportError(
            f"The search by a constraint solver needs OR-Tools: {how_to_install('solver')}."
        ) from None
    module: ModuleType = cp_model
    return module


@dataclass(frozen=True)
class _Choice:
    """The cells that a person may enter on one axis, in their order.

    Parameters
    ----------
    ordered : bool
        Whether the axis is ordinal.
    start : int
        Position of the person's own cell among these.
    cell : list of int
    price, value : list of float
        What the cheapest value of each cell costs by itself, and that value.
    """

    ordered: bool
    start: int
    cell: list[int]
    price: list[float]
    value: list[float]

    @property
    def whole(self) -> Range:
        """All of them."""
        return range(len(self.cell)) if self.ordered else frozenset(self.cell)

    def split(self, part: Range, cell: int) -> tuple[Range, Range]:
        """What goes left and what goes right at a split of a tree."""
        if isinstance(part, frozenset):
            return part - {cell}, part & {cell}
        at = bisect_right(self.cell, cell)
        return range(part.start, min(at, part.stop)), range(max(at, part.start), part.stop)


class _Tree(NamedTuple):
    """A tree in cells, as lists, which Python reads faster than arrays."""

    axis: list[int]
    cell: list[int]
    left: list[int]
    right: list[int]
    value: list[float]

    def leaves(self, choices: list[_Choice], box: Box, node: int = 0) -> list[tuple[float, Box]]:
        """Value and box of each leaf below a node that some choice gets to.

        Two leaves side by side that are worth the same become one.
        """
        a = self.axis[node]
        if a < 0:
            return [(self.value[node], box)]
        found = []
        parts = choices[a].split(box.get(a, choices[a].whole), self.cell[node])
        for child, part in zip((self.left[node], self.right[node]), parts, strict=True):
            if part:
                found += self.leaves(choices, {**box, a: part}, child)
        if len(found) == 2 and found[0][0] == found[1][0]:
            return [(found[0][0], box)]
        return found


def _trees_of(ensemble: TreeEnsemble, grid: Grid) -> list[_Tree]:
    """The trees of an ensemble, whose leaves are worth what the decision adds up."""
    value = ensemble.label if ensemble.combine == "votes" else ensemble.value
    if ensemble.among_several:
        value = value - ensemble.against
    ends = np.append(ensemble.root[1:], len(ensemble.feature))
    trees = []
    for tree, first, last in zip(to_cell_trees(ensemble, grid), ensemble.root, ends, strict=True):
        arrays = (tree.axis, tree.cell, tree.left, tree.right, value[first:last] * 1.0)
        trees.append(_Tree(*(array.tolist() for array in arrays)))
    return trees


class _Program:
    """The integer program of one person.

    Parameters
    ----------
    choices : list of _Choice, one per axis
    norm : {"max", "l1"}
        Whether the largest price counts, or their sum.
    """

    def __init__(self, choices: list[_Choice], norm: str) -> None:
        self.choices, self._norm = choices, norm
        self._model = cp_sat().CpModel()
        # "cell <= k" for all but the last k of an ordinal axis; "cell is k" of a categorical one.
        self._literals: list[list[Any]] = []
        self._leaves: list[tuple[float, Any]] = []  # of trees that are not decided yet
        self._constant: list[float] = []  # values of the others
        self._largest: list[float] = []  # size of each tree's values
        for choice in choices:
            n = len(choice.cell) - choice.ordered
            self._literals.append([self._model.new_bool_var("") for _ in range(n)])
            if not choice.ordered:
                self._model.add_exactly_one(self._literals[-1])
                continue
            for below, above in pairwise(self._literals[-1]):
                self._model.add_implication(below, above)

    def add_tree(self, tree: _Tree) -> None:
        """One leaf of the tree is chosen."""
        leaves = tree.leaves(self.choices, {})
        self._largest.append(max(abs(value) for value, _ in leaves))
        if len(leaves) == 1:
            self._constant.append(leaves[0][0])
            return
        literals = [self._inside(box) for _, box in leaves]
        self._model.add_exactly_one(literals)
        self._leaves += zip((value for value, _ in leaves), literals, strict=True)

    def ask_for(self, ensemble: TreeEnsemble, max_changes: int | None) -> None:
        """The points that the ensemble accepts, with few changes, and the cheapest of these."""
        n_trees, least, size = ensemble.n_trees, float(ensemble.cutoff), sum(self._largest)
        scale, rounding = 1.0, 0.0
        if ensemble.combine != "votes":
            times = n_trees if ensemble.combine == "mean" else 1
            least = least * times - (0.0 if ensemble.among_several else ensemble.base)
            size += abs(least) + abs(ensemble.base)
            if ensemble.against is not None:
                size += n_trees * float(np.abs(ensemble.against).max())
            digits = float(np.finfo(np.float32 if ensemble.single else np.float64).eps)
            rounding = 4 * n_trees * digits * size
            scale = 2.0**VALUE_BITS / max(size, 1e-280)
        # Values are rounded up and what is needed down, so that no point is lost.
        needed = floor((least - rounding) * scale)
        needed -= sum(ceil(value * scale) for value in self._constant)
        terms = [(ceil(value * scale), literal) for value, literal in self._leaves]
        self._model.add(_weighted_sum(terms) >= needed)
        if max_changes is not None:
            moved = [(1, way[0][0]) for a in range(len(self.choices)) for way in self._ways(a)]
            self._model.add(_weighted_sum(moved) <= max_changes)
        self._minimize()

    def _inside(self, box: Box) -> Any:
        """A literal that implies the box of a leaf."""
        implied: list[Any] = []
        for a, part in box.items():
            choice, literals = self.choices[a], self._literals[a]
            if isinstance(part, frozenset):
                pairs = zip(choice.cell, literals, strict=True)
                implied += [~literal for cell, literal in pairs if cell not in part]
                continue
            implied += [literals[part.stop - 1]] if part.stop < len(choice.cell) else []
            implied += [~literals[part.start - 1]] if part.start > 0 else []
        if len(implied) == 1:
            return implied[0]
        leaf = self._model.new_bool_var("")
        self._model.add_bool_and(implied).only_enforce_if(leaf)
        return leaf

    def _ways(self, a: int) -> list[list[tuple[Any, int]]]:
        """The ways out of the own cell: literals, and the position that each leads to.

        A literal of a way that is true makes those before it true.
        """
        choice, literals = self.choices[a], self._literals[a]
        if not choice.ordered:
            return [[(literal, k)] for k, literal in enumerate(literals) if k != choice.start]
        up = [(~literals[k], k + 1) for k in range(choice.start, len(literals))]
        down = [(literals[k], k) for k in range(choice.start - 1, -1, -1)]
        return [way for way in (up, down) if way]

    def _minimize(self) -> None:
        """A maximum by its rank among all prices, which is exact; a sum in small units."""
        ways = [
            [(literal, self.choices[a].price[k]) for literal, k in way]
            for a in range(len(self.choices))
            for way in self._ways(a)
        ]
        self._ranked = sorted({0.0, *(price for way in ways for _, price in way)})
        if self._norm == "max":
            rank = {price: r for r, price in enumerate(self._ranked)}
            worst = self._model.new_int_var(0, len(rank) - 1, "")
            for literal, price in (pair for way in ways for pair in way):
                self._model.add(worst >= rank[price]).only_enforce_if(literal)
            self._model.minimize(worst)
            return
        dearest = sum(max(choice.price) for choice in self.choices)
        self._unit = (dearest or 1.0) / 2.0**PRICE_BITS
        terms = []
        for way in ways:
            units = [0, *(floor(price / self._unit) for _, price in way)]
            rises = [after - before for before, after in pairwise(units)]
            terms += [(rise, literal) for rise, (literal, _) in zip(rises, way, strict=True)]
        self._model.minimize(_weighted_sum(terms))

    def least_cost(self, objective: float) -> float:
        """What an action costs at least, by a bound on what is minimised."""
        if self._norm == "max":
            return self._ranked[max(0, ceil(objective - 1e-6))]
        return max(0.0, objective) * self._unit * (1 - ROUNDING)

    def solve(self, seconds: float) -> tuple[CpSolver, int]:
        """The solver after its work, and its status."""
        solver = cp_sat().CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        # This step of the solver's loses solutions where factors of literals sum to more than
        # 2**31 (OR-Tools 9.15, its issue 5293).
        solver.parameters.presolve_inclusion_work_limit = 0
        if np.isfinite(seconds):
            solver.parameters.max_time_in_seconds = max(0.0, seconds)
        return solver, solver.solve(self._model)

    def point(self, solver: CpSolver) -> list[int]:
        """The position on each axis in the solver's answer."""
        point = [choice.start for choice in self.choices]
        for a in range(len(point)):
            for literal, k in (pair for way in self._ways(a) for pair in way):
                if solver.boolean_value(literal):
                    point[a] = k
        return point

    def forbid(self, solver: CpSolver, *, leaves: bool) -> None:
        """Rule out the point of the solver's answer, or all leaves with it that fare alike."""
        literals = [x for each in self._literals for x in each]
        if leaves:
            literals = [literal for _, literal in self._leaves]
        true = [solver.boolean_value(literal) for literal in literals]
        others = [~x if holds else x for x, holds in zip(literals, true, strict=True)]
        self._model.add_bool_or(others)


def _weighted_sum(terms: list[tuple[int, Any]]) -> Any:
    """The sum of literals times whole numbers."""
    factors, literals = zip(*terms, strict=True) if terms else ((), ())
    return cp_sat().LinearExpr.weighted_sum(literals, factors)
