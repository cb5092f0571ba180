"""The rules of an action space over the axes of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.actions.rules import (
    ROUNDING,
    Condition,
    IfThen,
    LinearRelation,
    NoTransition,
    Rule,
)
from ract.data.costs import FittedCost
from ract.data.costs.fitted import FittedCombined, LevelCost, LinearCost
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.common.problem import MOST_CATEGORIES
from ract.recourse.rules.choices import Choices, category_choices, number_choices

Masks = dict[int, np.ndarray]  # by axis: which pieces are open
Met = tuple[int, np.ndarray, int, np.ndarray]  # two axes, and where conditions on them hold


@dataclass(frozen=True)
class Row:
    """An inequality: the factors of some axes, in order, and what the sum may be at most."""

    axes: tuple[int, ...]
    factors: np.ndarray
    upper: float

    def room(self, terms: np.ndarray) -> float:
        """What rounding may add to a sum of some terms."""
        return float(ROUNDING * (np.abs(terms).sum() + abs(self.upper)))

    def excess(self, terms: np.ndarray) -> float:
        """How far a sum of terms is too large, rounding aside; at most 0 if it is not."""
        return float(terms.sum() - self.upper - self.room(terms))

    def best(self, k: int, choices: Choices) -> np.ndarray:
        """The least that the k-th axis adds in each of its pieces."""
        end = choices.low if self.factors[k] > 0 else choices.high
        return np.asarray(self.factors[k] * end)


class Ruling:
    """Rules that join features: weighted sums and implications.

    Parameters
    ----------
    rules : sequence of rules
        Forbidden transitions are left to the axes.
    axes : sequence of Axis
    cost : FittedCost
    """

    def __init__(self, rules: Sequence[Rule], axes: Sequence[Axis], cost: FittedCost) -> None:
        self.rules = tuple(rule for rule in rules if not isinstance(rule, NoTransition))
        self._axes, self._cost = tuple(axes), cost
        self._at = at = {axis.feature.name: a for a, axis in enumerate(axes)}
        self.rows: list[Row] = []
        self.implications: list[tuple[IfThen, int, int]] = []
        constants: dict[int, list[float]] = {}
        for rule in self.rules:
            if isinstance(rule, LinearRelation):
                named = tuple(at[name] for name in rule.features)
                factors = np.array(list(rule.coefficients.values()))
                self.rows.append(Row(named, factors, rule.upper))
                if rule.equal:
                    self.rows.append(Row(named, -factors, -rule.upper))
            elif isinstance(rule, IfThen):
                pair = at[rule.condition.feature], at[rule.consequence.feature]
                self.implications.append((rule, *pair))
                for a, each in zip(pair, (rule.condition, rule.consequence), strict=True):
                    if each.value is not None and not axes[a].is_categorical:
                        constants.setdefault(a, []).append(float(each.value))
        self._constants = {a: np.array(values) for a, values in constants.items()}
        self.added = tuple(sorted({a for row in self.rows for a in row.axes}))
        self.axes = tuple(sorted({at[name] for rule in self.rules for name in rule.features}))
        for a in self.axes:
            if axes[a].is_categorical and len(axes[a].columns) > MOST_CATEGORIES:
                raise InvalidSpec(
                    f"A rule names {axes[a].feature.name!r}, which has {len(axes[a].columns)} "
                    f"categories; rules take at most {MOST_CATEGORIES}."
                )
        for a in self.added:
            self._refuse_curved(axes[a])
        for rule, a, b in self.implications:
            self._refuse_smallest(rule, a, b)

    def _refuse_curved(self, axis: Axis) -> None:
        base = self._cost.base if isinstance(self._cost, FittedCombined) else self._cost
        free = axis.feature.actionable and axis.feature.is_number and not axis.feature.is_stepped
        if free and not isinstance(base, LevelCost | LinearCost):
            raise InvalidSpec(
                f"A rule adds up {axis.feature.name!r}, whose cost is not piecewise linear "
                f"({type(base).__name__}); give the feature a step, or use another cost."
            )

    def _refuse_smallest(self, rule: IfThen, a: int, b: int) -> None:
        """Refuse to ask for a change that may be as small as numbers can be."""
        pairs = ((a, rule.condition.sign, "stays"), (b, rule.consequence.sign, "changes"))
        for axis, sign, asks in pairs:
            feature = self._axes[axis].feature
            endless = feature.kind == "continuous" and not feature.is_stepped
            if sign == asks and feature.actionable and endless:
                raise InvalidSpec(
                    f"The rule '{rule}' requires a change of {feature.name!r}, and the smallest "
                    "change would be enough; give the feature a step."
                )

    def choices(
        self, grid: Grid, person: np.ndarray, own: np.ndarray, costs: np.ndarray
    ) -> dict[int, Choices]:
        """What a person may end at on every axis that rules name.

        Parameters
        ----------
        grid : Grid
        person : float (columns,)
        own : int (axes,)
            Their cells.
        costs : float (axes, cells)
        """
        nothing = np.zeros(0)
        made = {}
        for a in self.axes:
            axis = self._axes[a]
            if axis.is_categorical:
                made[a] = category_choices(costs[a, : int(grid.n_cells[a])], int(own[a]))
            else:
                value, known = float(person[axis.columns[0]]), self._constants.get(a, nothing)
                made[a] = number_choices(axis, grid.thresholds[a], self._cost, value, known)
        return made

    def open_at_first(self, choices: Mapping[int, Choices], still: frozenset[int]) -> Masks:
        """All pieces that can be entered; on axes that stay, their own."""
        masks = {}
        for a, pieces in choices.items():
            own = np.arange(len(pieces.low)) == pieces.own
            fixed = a in still or not self._axes[a].feature.actionable
            masks[a] = own if fixed else own | np.isfinite(pieces.effort)
        return masks

    def met(self, choices: Mapping[int, Choices]) -> list[Met]:
        """Of every implication: two axes, and the pieces in which either condition holds."""
        met: list[Met] = []
        for rule, a, b in self.implications:
            first = choices[a].meets(rule.condition, self._axes[a], rule)
            met.append((a, first, b, choices[b].meets(rule.consequence, self._axes[b], rule)))
        return met

    def furthest(self, a: int, ranges: Mapping[int, tuple[float, float]], sign: int) -> float:
        """How far a number may move on in a direction (1 or -1) without breaking a rule.

        Parameters
        ----------
        a : int
        ranges : mapping of int to pair of float
            Between which each axis that rules name may lie; this one begins at the first. The
            second is infinite where no rule ends a move.
        sign : int
        """
        value = ranges[a][0]
        turns = (
            (at == a and _turns(rule.condition, value, sign, to=True))
            or (then == a and _turns(rule.consequence, value, sign, to=False))
            for rule, at, then in self.implications
        )
        if any(turns):
            return value
        ends = [sign * np.inf]
        for row in self.rows:
            factor = dict(zip(row.axes, row.factors.tolist(), strict=True))
            if factor.get(a, 0.0) * sign > 0:
                others = sum(max(f * end for end in ranges[b]) for b, f in factor.items() if b != a)
                ends.append((row.upper - others) / factor[a])
        end = min(ends) if sign > 0 else max(ends)
        if self.whole(a) and np.isfinite(end):
            end = np.floor(end) if sign > 0 else np.ceil(end)
        return float(end if (end - value) * sign > 0 else value)

    def whole(self, a: int) -> bool:
        """Whether an axis takes whole numbers only."""
        return self._axes[a].feature.kind != "continuous"

    def hold(self, before: np.ndarray, after: np.ndarray, rounding: float) -> np.ndarray:
        """Whether rows of encoded values after an action keep all rules."""
        kept = np.ones(len(after), bool)
        values = {name: after[:, self._axes[a].columns[0]] for name, a in self._at.items()}
        for rule in self.rules:
            if isinstance(rule, LinearRelation):
                kept &= rule.holds(values, rounding)
            elif isinstance(rule, IfThen):
                first, second = (
                    self._holds(rule, each, before, after)
                    for each in (rule.condition, rule.consequence)
                )
                kept &= ~first | second
        return kept

    def _holds(
        self, rule: IfThen, condition: Condition, before: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        axis = self._axes[self._at[condition.feature]]
        columns = list(axis.columns)
        changed = (before[:, columns] != after[:, columns]).any(axis=1)
        if condition.sign in ("changes", "stays"):
            return np.asarray(changed if condition.sign == "changes" else ~changed)
        at = after[:, columns].argmax(axis=1) if axis.is_categorical else after[:, columns[0]]
        pieces = Choices(at, at, at, at, at, -1)
        return pieces.meets(condition, axis, rule)


def _turns(condition: Condition, value: float, sign: int, *, to: bool) -> bool:
    """Whether a condition that is not so at a number becomes so (or not so) further on."""
    if condition.sign in ("changes", "stays"):
        return False  # whoever moves further has moved
    goal = float(condition.value)
    ahead, here = (goal - value) * sign > 0, value == goal
    if condition.sign in ("=", "!="):
        holds_there = (condition.sign == "=") == to
        return ahead if holds_there else here
    rises = (condition.sign == ">=") == (sign > 0)  # whether it can only become true
    holds = value >= goal if condition.sign == ">=" else value <= goal
    return rises == to and holds != to


def close_pieces(
    ruling: Ruling, choices: Mapping[int, Choices], met: Sequence[Met], masks: Masks
) -> bool:
    """Close pieces in which no rule can hold; whether something is left of every axis."""
    changed = True
    while changed:
        if not all(mask.any() for mask in masks.values()):
            return False
        changed = False
        for a, first, b, second in met:
            if not (masks[a] & ~first).any():
                changed |= _close(masks, b, second)
            if masks[b].any() and not (masks[b] & second).any():
                changed |= _close(masks, a, ~first)
        for row in ruling.rows:
            best = [row.best(k, choices[a]) for k, a in enumerate(row.axes)]
            if not all(masks[a].any() for a in row.axes):
                return False
            least = np.array([t[masks[a]].min() for t, a in zip(best, row.axes, strict=True)])
            for k, a in enumerate(row.axes):
                others = least.sum() - least[k]
                size = np.abs(least).sum() - abs(least[k]) + np.abs(best[k])
                room = ROUNDING * (size + abs(row.upper))
                changed |= _close(masks, a, best[k] + others <= row.upper + room)
    return True


def _close(masks: Masks, a: int, kept: np.ndarray) -> bool:
    """Close all but some pieces of an axis; whether that closes any."""
    new = masks[a] & kept
    fewer = bool((new != masks[a]).any())
    masks[a] = new
    return fewer
