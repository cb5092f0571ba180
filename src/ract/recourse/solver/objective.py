"""Costs as whole numbers that the solver makes small, and back.

A goal gives the expression to minimise, the cost that a value of it stands for at least, and the
largest value of it that actions of a given cost can have. Squares of variables are held from below
by tangents, at a few places to begin with; the search adds tangents where it ends, and looks
again, until the bound meets the cost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor, sqrt
from typing import Any

import numpy as np

from ract.data.encoder import Axis
from ract.recourse.solver.distance import Distance
from ract.recourse.solver.program import Program, weighted

# How much cheaper another action may be, as a part of the cost: where choices have one value,
# where values are searched, and where squares are held by tangents.
TOLERANCE, VALUE_TOLERANCE, SQUARE_TOLERANCE = 1e-6, 1e-5, 1e-4
SUM_BITS = 40  # of the dearest action, where it is a sum of constants
EFFORT_BITS = 25  # where efforts are variables
SQUARE_BITS = 20  # where they are squared
LARGEST_LIMIT = 1 << 60
LARGEST_LINE = 1 << 58
FIRST_TANGENTS = 8

Marks = list[list[float]]  # by part of a sum of squares: where tangents touch


@dataclass(frozen=True)
class Ranks:
    """The place of a cost among the finitely many that are possible.

    expression: a whole number, by the solver's variables. tolerance: how much cheaper than an
    optimal action another may be, as a part of its cost.
    """

    expression: Any
    prices: list[float]
    tolerance: float = 0.0

    @property
    def dearest(self) -> float:
        """What the dearest action in reach costs, or more."""
        return self.prices[-1]

    def cost(self, value: float) -> float:
        """What an action costs at least whose expression is at least ``value``."""
        return self.prices[max(0, ceil(value - 1e-6))]

    def most(self, cost: float, *, strict: bool = False) -> int | None:
        """The largest that the expression is for an action of at most this cost."""
        return bisect_right(self.prices, cost) - 1

    def parts(self, solver: Any) -> list[float]:
        """Nothing is squared."""
        return []


@dataclass(frozen=True)
class Units:
    """A cost, or its square, in small units.

    The expression may be too large: by ``excess`` squares of units, and as if the cost were by
    ``loss`` units.
    """

    expression: Any
    unit: float
    dearest: float
    tolerance: float
    loss: float = 0.0
    excess: float = 0.0
    squared: bool = False
    roots: list[tuple[Any, float]] = field(default_factory=list)

    def cost(self, value: float) -> float:
        """What an action costs at least whose expression is at least ``value``."""
        value = max(value - self.excess, 0.0)
        return max(0.0, (sqrt(value) if self.squared else value) - self.loss) * self.unit

    def most(self, cost: float, *, strict: bool = False) -> int | None:
        """The same, if limited; strict: one for which the action surely costs no more."""
        units = cost / self.unit + (-2 * self.loss - 2 if strict else self.loss)
        units = -1.0 if units < 0 else units
        units = units * abs(units) if self.squared else units
        return floor(units + self.excess) + 1 if units < LARGEST_LIMIT else None

    def parts(self, solver: Any) -> list[float]:
        """What was squared in the solver's answer."""
        return [solver.value(root) * size for root, size in self.roots]


Goal = Ranks | Units


def cell_goal(program: Program, norm: str) -> Goal:
    """The goal where each choice has one value."""
    choices = program.choices
    if norm == "max":
        return _rank_goal(program)
    dearest = total(norm, [float(choice.low_cost.max()) for choice in choices])
    power, bits = (1, SUM_BITS) if norm == "l1" else (2, 2 * EFFORT_BITS)
    unit = (dearest or 1.0) ** power / 2.0**bits
    literals, rises = [], []
    for a, choice in enumerate(choices):
        price = [floor(cost**power / unit) for cost in choice.low_cost.tolist()]
        for way in program.outward(a):
            before = 0
            for literal, k in way:
                literals.append(literal)
                rises.append(price[k] - before)
                before = price[k]
    expression, unit = weighted(literals, rises), unit ** (1 / power)
    return Units(expression, unit, dearest, TOLERANCE, squared=power == 2)


def _rank_goal(program: Program) -> Ranks:
    ways = [
        (literal, float(program.choices[a].low_cost[k]))
        for a in range(len(program.choices))
        for way in program.outward(a)
        for literal, k in way
    ]
    prices = sorted({0.0, *(price for _, price in ways)})
    rank = {price: r for r, price in enumerate(prices)}
    worst = program.model.new_int_var(0, len(prices) - 1, "")
    for literal, price in ways:
        program.model.add(worst >= rank[price]).only_enforce_if(literal)
    return Ranks(worst, prices)


def value_goal(program: Program, norm: str, budget: float, marks: Marks) -> Goal:
    """The goal where the value within a choice matters too; marks are used for squares only."""
    model, choices = program.model, program.choices
    far = [float(max(c.low_cost.max(), c.high_cost.max())) for c in choices]
    dearest = min(total(norm, far), budget)
    bits = SQUARE_BITS if norm == "l2" else EFFORT_BITS
    unit, most = (dearest or 1.0) / 2**bits, 2 << bits
    worst = model.new_int_var(0, most, "")
    efforts = [worst] * len(choices)
    if norm != "max":
        efforts = [model.new_int_var(0, most, "") for _ in choices]
    for a, effort in enumerate(efforts):
        _add_effort(program, a, effort, unit)
    if norm == "max":
        return Units(worst, unit, dearest, VALUE_TOLERANCE, loss=1.0)
    if norm == "l1":
        expression = weighted(efforts, [1] * len(efforts))
        return Units(expression, unit, dearest, VALUE_TOLERANCE, loss=len(efforts))
    squares = []
    for effort, touched in zip(efforts, marks, strict=True):
        squares.append(square := model.new_int_var(0, most * most, ""))
        for point in _points(touched, unit, 1 << bits, both=False):
            model.add(square >= 2 * point * effort - point * point)
    expression, roots = weighted(squares, [1] * len(squares)), [(e, unit) for e in efforts]
    loss = sqrt(len(efforts))
    return Units(expression, unit, dearest, SQUARE_TOLERANCE, loss, squared=True, roots=roots)


def _add_effort(program: Program, a: int, effort: Any, unit: float) -> None:
    """Hold a variable above the effort on one axis, in units, less than one unit off."""
    model, choice, steps = program.model, program.choices[a], program.steps[a]
    low, high = (np.floor(c / unit).astype(np.int64) for c in (choice.low_cost, choice.high_cost))
    for way in program.outward(a):
        for literal, k in way:
            program.time.check()
            model.add(effort >= int(min(low[k], high[k]))).only_enforce_if(literal)
    if choice.slope is not None and not isinstance(steps, int):
        times = 1 << min(choice.farthest.bit_length(), 30)
        slope = floor(choice.slope / unit * times)
        model.add(times * effort >= slope * steps)
        model.add(times * effort >= -slope * steps)
        return
    for k, (first, last) in enumerate(
        zip(choice.first.tolist(), choice.last.tolist(), strict=True)
    ):
        program.time.check()
        if choice.slope is None and first < last and low[k] != high[k]:
            width, rise = last - first, int(high[k] - low[k])
            line = width * int(low[k]) + rise * (steps - first)
            model.add(width * effort >= line).only_enforce_if(program.is_choice(a, k))


def _points(touched: Sequence[float], unit: float, most: int, *, both: bool) -> list[int]:
    """Where tangents touch a parabola, in units: evenly, and at the marks."""
    even = np.linspace(-most if both else 0, most, FIRST_TANGENTS * (2 if both else 1) + 1)
    marks = [mark / unit for mark in touched if abs(mark / unit) <= 2 * most]
    return sorted({round(point) for point in [*even.tolist(), *marks]})


def distance_goal(
    program: Program, axes: Sequence[Axis], distance: Distance, budget: float, marks: Marks
) -> Goal:
    """The goal of a Mahalanobis distance."""
    moves, steps, far, loose = _moves(program, axes)
    rows = distance.rows * steps  # cost of one step
    reach = np.abs(rows) @ far
    dearest = min(float(np.linalg.norm(reach)), budget)
    most = 1 << SQUARE_BITS
    unit = max((dearest or 1.0) / most, float(reach.max(initial=0.0)) * 4 * most / LARGEST_LINE)
    squares, roots = [], []
    for row, touched in zip(rows / unit, marks, strict=True):
        squares.append(square := program.model.new_int_var(0, 4 * most * most, ""))
        # Factors are multiplied before they are rounded, and may be off by the slack in all.
        times = floor(LARGEST_LINE / (4 * most * max(float(np.abs(row) @ far), most)))
        slack = ceil(far.sum())
        for point in _points(touched, unit, most, both=True):
            line = weighted(moves, [round(2 * point * times * size) for size in row.tolist()])
            program.model.add(times * (square + point * point) >= line - slack)
        root = weighted(moves, [round(times * size) for size in row.tolist()])
        roots.append((root, unit / times))
    loss = float(np.linalg.norm(rows, axis=0) @ loose) / unit
    expression, excess = weighted(squares, [1] * len(squares)), float(len(squares))
    return Units(expression, unit, dearest, SQUARE_TOLERANCE, loss, excess, True, roots)


def _moves(
    program: Program, axes: Sequence[Axis]
) -> tuple[list[Any], np.ndarray, np.ndarray, np.ndarray]:
    """How far the columns that may change move: in steps, their size, the most, the rounding."""
    moves, size, far, loose = [], [], [], []
    for a, (axis, choice) in enumerate(zip(axes, program.choices, strict=True)):
        if not axis.feature.actionable:
            continue
        if choice.ordered:
            moves.append(program.steps[a])
            size.append(choice.step)
            far.append(choice.farthest)
            loose.append(0.0 if choice.whole else 1.0)
            continue
        open_ = {int(cell): k for k, cell in enumerate(choice.cell)}
        for cell in range(len(axis.columns)):
            moved = 0
            if cell in open_ and len(open_) > 1:
                (here,) = program.is_choice(a, open_[cell])
                moved = here - int(open_[cell] == choice.own)
            moves.append(moved)
            size.append(1.0)
            far.append(1)
            loose.append(0.0)
    return moves, np.array(size), np.array(far, dtype=np.float64), np.array(loose)


def total(norm: str, efforts: Sequence[float]) -> float:
    """The efforts of features put together."""
    if norm == "max":
        return max(efforts, default=0.0)
    return float(np.linalg.norm(efforts, 1 if norm == "l1" else 2))
