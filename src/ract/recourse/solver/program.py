"""The integer program of one person, for the CP-SAT solver of OR-Tools.

Each ordinal axis has literals "choice <= k", each categorical one a literal per category. A leaf
implies the literals of its box, and each tree has exactly one leaf. Where values matter, each
ordinal axis also has a whole number of steps that its literals hold within the chosen segment.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import compress, pairwise
from math import ceil, floor, lcm
from typing import Any

import numpy as np

from ract._utils.errors import how_to_install
from ract.data.actions.rules import ROUNDING
from ract.recourse.solver.branches import Leaf
from ract.recourse.solver.choices import Choice
from ract.recourse.solver.time import Time

LARGEST_SUM = 1 << 50  # of any constraint, so that the solver's 64 bits suffice
VALUE_BITS = 28  # to which the values of leaves are rounded
TINY_LIFT = 2.0**900  # a model that refuses at a score of 0 asks for the next number above it


def cp_sat() -> Any:
    """OR-Tools' solver, if it is installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise ImportError(
            "Search with other costs and with relations needs OR-Tools: "
            f"{how_to_install('solver')}."
        ) from None
    return cp_model


def weighted(variables: Sequence[Any], factors: Sequence[int]) -> Any:
    """Weighted sum of the solver's variables; an axis on which nothing varies is a 0 there."""
    some = [not isinstance(variable, int) for variable in variables]
    return cp_sat().LinearExpr.weighted_sum(
        list(compress(variables, some)), list(compress(factors, some))
    )


class Program:
    """A model of the solver over one person's choices.

    Parameters
    ----------
    choices : sequence of Choice, one per axis
    by_value : collection of int
        Ordinal axes whose values are variables of their own.
    time : Time
        Building ends with OutOfTime when it is up.
    """

    def __init__(self, choices: Sequence[Choice], by_value: Collection[int], time: Time) -> None:
        self.model = cp_sat().CpModel()
        self.choices, self.time = choices, time
        self._at_most: list[dict[int, Any]] = [{} for _ in choices]
        self._is: list[list[Any]] = [[] for _ in choices]
        self._boxes: list[tuple[Any, Leaf]] = []
        self._leaves: list[list[tuple[Any, Leaf]]] = []
        self.steps: list[Any] = [0] * len(choices)
        for a, choice in enumerate(choices):
            if not choice.ordered:
                self._is[a] = [self._literal() for _ in choice.cell]
                self.model.add_exactly_one(self._is[a])
            elif a in by_value and len(choice.cell) > 1:
                self._add_steps(a, choice)

    def _literal(self) -> Any:
        self.time.check()
        return self.model.new_bool_var("")

    def _add_steps(self, a: int, choice: Choice) -> None:
        first, last = choice.first.tolist(), choice.last.tolist()
        self.steps[a] = steps = self.model.new_int_var(min(first), max(last), "")
        for k in range(len(first) - 1):
            self.time.check()
            below = self.at_most(a, k)
            self.model.add(steps <= last[k]).only_enforce_if(below)
            self.model.add(steps >= first[k + 1]).only_enforce_if(~below)

    def at_most(self, a: int, k: int) -> Any:
        """Literal: the choice on an ordinal axis is the k-th or an earlier one."""
        known = self._at_most[a]
        if k not in known:
            known[k] = self._literal()
        return known[k]

    def is_choice(self, a: int, k: int) -> list[Any]:
        """Literals that together say: the choice is the k-th."""
        choice = self.choices[a]
        if not choice.ordered:
            return [self._is[a][k]]
        ends = [self.at_most(a, k)] if k < len(choice.cell) - 1 else []
        return [*ends, ~self.at_most(a, k - 1)] if k > 0 else ends

    def outward(self, a: int) -> list[list[tuple[Any, int]]]:
        """Literals of the ways away from the own choice, each with the nearest choice beyond.

        One list for each way; in each, a literal that is true makes the ones before it true.
        To be called once the trees are in, which decide what choices are distinguished.
        """
        choice, known = self.choices[a], self._at_most[a]
        if not choice.ordered:
            return [[(lit, k)] for k, lit in enumerate(self._is[a]) if k != choice.own]
        up = [(~known[k], k + 1) for k in sorted(known) if k >= choice.own]
        down = [(known[k], k) for k in sorted(known, reverse=True) if k < choice.own]
        return [way for way in (up, down) if way]

    def _leaf(self, leaf: Leaf) -> Any:
        """Literal that implies the box of a leaf."""
        literals = []
        for a, bound in leaf.bounds.items():
            choice = self.choices[a]
            if isinstance(bound, int):
                inside = [bool(bound >> int(cell) & 1) for cell in choice.cell]
                only = sum(inside) == 1
                literals += [
                    lit if only else ~lit
                    for lit, within in zip(self._is[a], inside, strict=True)
                    if within == only
                ]
            else:
                if bound[1] < len(choice.cell) - 1:
                    literals.append(self.at_most(a, bound[1]))
                if bound[0] > 0:
                    literals.append(~self.at_most(a, bound[0] - 1))
        if len(literals) == 1:
            return literals[0]
        inside_box = self._literal()
        self.model.add_bool_and(literals).only_enforce_if(inside_box)
        self._boxes.append((inside_box, leaf))
        return inside_box

    def add_votes(self, trees: Sequence[Sequence[Leaf]], needed: int) -> None:
        """Ask for so many trees in a leaf that is worth 1."""
        refusals = []
        for leaves in trees:
            if len(leaves) == 1:
                needed -= int(leaves[0].value)
                continue
            refused = self._literal()
            desired = [self._leaf(leaf) for leaf in leaves if leaf.value]
            self.model.add_exactly_one(*desired, refused)
            refusals.append(refused)
        self.model.add(weighted(refusals, [1] * len(refusals)) <= len(refusals) - needed)
        self._chain()

    def add_sum(self, trees: Sequence[Sequence[Leaf]], least: float, *, strict: bool) -> None:
        """Ask for leaves whose values sum to at least a number, as floating point adds them.

        Values are rounded so that no sum that passes is lost, or (strict) none that fails gets in.
        """
        size = sum(max(abs(leaf.value) for leaf in leaves) for leaves in trees) + abs(least)
        lift = TINY_LIFT if size < 1 / TINY_LIFT else 1.0  # lest the scale be infinite
        size, least, scale = size * lift, least * lift, 2.0**VALUE_BITS / (size * lift or 1.0)
        rounding = 4 * len(trees) * float(np.finfo(np.float64).eps) * size
        rounded = floor if strict else ceil
        wanted = ceil((least + rounding) * scale) if strict else floor((least - rounding) * scale)
        literals, values = [], []
        for leaves in trees:
            if len(leaves) == 1:
                wanted -= rounded(leaves[0].value * lift * scale)
                continue
            each = [self._leaf(leaf) for leaf in leaves]
            self.model.add_exactly_one(each)
            literals += each
            values += [rounded(leaf.value * lift * scale) for leaf in leaves]
            self._leaves.append(list(zip(each, leaves, strict=True)))
        self.model.add(weighted(literals, values) >= wanted)
        self._chain()

    def _chain(self) -> None:
        for known in self._at_most:
            order = sorted(known)
            for k, following in pairwise(order):
                self.time.check()
                self.model.add_implication(known[k], known[following])

    def add_max_changes(self, most: int) -> None:
        """At most so many axes leave the own choice."""
        moved = [way[0][0] for a in range(len(self.choices)) for way in self.outward(a)]
        self.model.add(weighted(moved, [1] * len(moved)) <= most)

    def add_relation(
        self, terms: Sequence[tuple[int, float]], upper: float, *, strict: bool
    ) -> None:
        """Ask for a weighted sum of values to be at most a number; terms are (axis, factor).

        Exact where all values are whole numbers. Else it lets through what fails by two steps of
        the continuous features, or (strict) keeps out what holds by less.
        """
        chosen = [self.choices[a] for a, _ in terms]
        own = [Fraction(float(choice.low[choice.own])) for choice in chosen]
        exact = [_decimal(c) for _, c in terms]
        room = _decimal(upper) - sum(c * x for c, x in zip(exact, own, strict=True))
        far = [choice.farthest for choice in chosen]
        sizes = [c * Fraction(choice.step) for c, choice in zip(exact, chosen, strict=True)]
        reach = sum(abs(size) * n for size, n in zip(sizes, far, strict=True)) or Fraction(1)
        scale, slack = Fraction(lcm(*(size.denominator for size in sizes))), Fraction(0)
        if reach * scale > LARGEST_SUM:
            scale, slack = LARGEST_SUM / reach, Fraction(sum(far))
        factors = [round(size * scale) for size in sizes]
        slack += 2 * sum(
            abs(f) for f, choice in zip(factors, chosen, strict=True) if not choice.whole
        )
        if strict:
            most = floor(room * scale - slack)
        else:
            terms_size = reach + sum(abs(c * x) for c, x in zip(exact, own, strict=True))
            slack += Fraction(ROUNDING) * (terms_size + abs(_decimal(upper))) * scale
            most = floor(room * scale + slack)
        most = max(min(most, 4 * LARGEST_SUM), -4 * LARGEST_SUM)
        self.model.add(weighted([self.steps[a] for a, _ in terms], factors) <= most)

    def fix(self, point: Sequence[int]) -> None:
        """Hold every axis to one choice."""
        for a, k in enumerate(point):
            self.model.add_bool_and(self._where(a, k))

    def forbid_leaves(self, point: Sequence[int]) -> None:
        """Rule out the combination of leaves that a point is in."""
        here = [
            literal
            for leaves in self._leaves
            for literal, leaf in leaves
            if leaf.holds(point, self.choices)
        ]
        self.model.add_bool_or(~literal for literal in here)

    def forbid_point(self, point: Sequence[int]) -> None:
        """Rule out one combination of choices."""
        here = [literal for a, k in enumerate(point) for literal in self._where(a, k)]
        self.model.add_bool_or(~literal for literal in here)

    def _where(self, a: int, k: int) -> list[Any]:
        """Literals that a choice makes true, as far as choices are distinguished."""
        if not self.choices[a].ordered:
            return self.is_choice(a, k)
        return [lit if k <= at else ~lit for at, lit in self._at_most[a].items()]

    def hint(self, point: Sequence[int], steps: Sequence[int]) -> None:
        """Hint where the solver begins."""
        for a, k in enumerate(point):
            for j, literal in enumerate(self._is[a]):
                self.model.add_hint(literal, j == k)
            for at, literal in self._at_most[a].items():
                self.model.add_hint(literal, k <= at)
            if not isinstance(self.steps[a], int):
                self.model.add_hint(self.steps[a], steps[a])
        for literal, leaf in self._boxes:
            self.time.check()
            self.model.add_hint(literal, leaf.holds(point, self.choices))

    def read(self, solver: Any) -> tuple[list[int], list[int]]:
        """Choice and steps of each axis in the solver's answer."""
        point, steps = [], []
        for a, choice in enumerate(self.choices):
            here = choice.own
            for way in self.outward(a):
                for literal, k in way:
                    if solver.boolean_value(literal):
                        here = k
            point.append(here)
            steps.append(solver.value(self.steps[a]))
        return point, steps


def _decimal(number: float) -> Fraction:
    """The number as it is written: 0.1 is a tenth."""
    return Fraction(repr(float(number)))
