"""Where a person can end up when effects follow their actions: boxes around it, by cost.

For a given cost the actions of a person are a box, and what they lead to lies in a box that
interval arithmetic gives. Actions with effects are branched on: the smaller their range, the
tighter the box of outcomes.

    action on a cause           |---------------|         |-------|-------|
    outcomes of the effect     |-----------------|        |----------|
                                                               |-----------|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ract.recourse.common.anchors import admitted_categories
from ract.recourse.common.moves import Moves

# Sums of effects are rounded, and differently by everyone who adds them up: boxes are wider by
# this share of what is summed, and a way has to stay one when outcomes move by as much.
ROUNDING = 1e-12
MOST_KEPT = 8
SMALLEST_SPREAD = 1e-9


@dataclass(frozen=True, eq=False)
class ActionBox:
    """A part of the actions: values between two bounds, and some categories.

    lowest, highest : float (columns,); categories : tuple of bool arrays, one per group.
    """

    lowest: np.ndarray
    highest: np.ndarray
    categories: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Reached:
    """Boxes at ascending costs.

    Parameters
    ----------
    costs : float (costs,)
    set_low, set_high : float (costs, columns)
        What a person can set by their own effort.
    low, high : float (costs, columns)
        What they can end at, at most.
    """

    costs: np.ndarray
    set_low: np.ndarray
    set_high: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Choice(NamedTuple):
    """A categorical feature of one person: its columns, their category, what each costs them."""

    columns: np.ndarray
    current: int
    price: np.ndarray


class PersonOutcomes:
    """Where one person can end up.

    Parameters
    ----------
    person : float (columns,)
    moves : Moves
    effects : float (columns, columns)
        Total effects E: ``effects[i, j]`` of column j on column i.
    other_effects : float (ways, columns, columns), optional
        What the total effects may be instead.
    as_stored : callable, optional
        Rows as the people's table holds them, where it holds less than doubles.

    Examples
    --------
    >>> from ract.data import make_cost
    >>> from ract.data.encoder import Encoder
    >>> people = np.arange(22.0).reshape(11, 2)
    >>> encoder = Encoder(people)
    >>> moves = Moves(encoder.axes, make_cost("range").fit(people.T, encoder.weights))
    >>> outcomes = PersonOutcomes(people[5], moves, np.array([[0.0, 0.0], [0.5, 0.0]]))
    >>> outcomes.ends(np.array([[14.0, 11.0]]))  # the first from 10 to 14, the second stays at 11
    array([[14., 13.]])
    >>> reached = outcomes.reached(outcomes.everything(), cap=0.1)
    >>> reached.low.round(6), reached.high.round(6)
    (array([[8., 8.]]), array([[12., 14.]]))
    """

    def __init__(
        self,
        person: np.ndarray,
        moves: Moves,
        effects: np.ndarray,
        other_effects: np.ndarray | None = None,
        as_stored: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.person, self.moves, self.effects = person, moves, effects
        none = np.empty((0, *effects.shape))
        self.other_effects = none if other_effects is None else other_effects
        # How far each effect may be off, at most.
        self.spread = np.abs(self.other_effects - effects).max(axis=0, initial=0.0)
        self._as_stored = as_stored
        self._digits = ROUNDING if as_stored is None else float(np.finfo(np.float32).eps)
        current = [int(np.argmax(person[columns])) for columns in moves.groups]
        tables = zip(moves.groups, current, moves.switches, strict=True)
        self.choices = [Choice(columns, k, table[k]) for columns, k, table in tables]
        self._receives = effects.any(axis=1) | self.spread.any(axis=1)
        self._ranges: dict[tuple[float, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def ends(self, values: np.ndarray) -> np.ndarray:
        """What the person ends at when they set values (rows x columns)."""
        return self.as_stored(values + (values - self.person) @ self.effects.T)

    def variants(self, values: np.ndarray) -> np.ndarray:
        """The same if last digits or effects are otherwise (ways x rows x columns)."""
        change = values - self.person
        ends = values + change @ self.effects.T
        size = np.abs(change) @ np.abs(self.effects).T
        exact = self.moves.whole & ~self._receives
        digits = ROUNDING * (np.abs(values) + np.abs(self.person) + size)
        digits *= ((change != 0) & ~exact) | (size > 0)
        other_effects = values + change @ self.other_effects.transpose(0, 2, 1)
        ways = np.concatenate([(ends - digits)[None], (ends + digits)[None], other_effects])
        return self.as_stored(ways.reshape(-1, ends.shape[1])).reshape(ways.shape)

    def as_stored(self, rows: np.ndarray) -> np.ndarray:
        """Rows as the people's table holds them."""
        return rows if self._as_stored is None else self._as_stored(rows)

    def landed(self, values: np.ndarray, cap: float) -> np.ndarray:
        """Values that the table holds, next to given ones and within reach (rows x columns)."""
        near = self.as_stored(values)
        if near is values or np.array_equal(near, values):
            return values
        away = np.where(values > self.person, np.inf, -np.inf).astype(np.float32)
        single = near.astype(np.float32)
        steps = [np.where(near == values, near, np.nextafter(single, s * away)) for s in (1, -1)]
        rows = np.concatenate([near, *map(self.as_stored, steps)])
        _, [low], [high] = self.ranges(cap)
        numeric = self.moves.numeric
        return rows[((rows >= low) & (rows <= high))[:, numeric].all(axis=1)]

    def cleared(self, values: np.ndarray, cap: float) -> np.ndarray:
        """Values a little further, so that last digits of sums do not matter, within reach."""
        _, [low], [high] = self.ranges(cap)
        change = values - self.person
        further = 4.0 * ROUNDING * (np.abs(values) + np.abs(self.person)) * np.sign(change)
        moved = np.clip(values + np.where(self.moves.whole, 0.0, further), low, high)
        values = values.copy()
        values[self.moves.numeric] = moved[self.moves.numeric]
        return values

    def everything(self) -> ActionBox:
        """No limits."""
        d = len(self.person)
        groups = tuple(np.ones(len(columns), np.bool_) for columns in self.moves.groups)
        return ActionBox(np.full(d, -np.inf), np.full(d, np.inf), groups)

    def ranges(self, cap: float, steps: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Costs up to a cap in equal steps, or the cap alone; lowest and highest to set at each."""
        key = (cap, steps)
        if key not in self._ranges:
            if len(self._ranges) >= MOST_KEPT:
                self._ranges.clear()
            costs = np.linspace(0.0, cap, steps + 1) if steps else np.array([cap])
            self._ranges[key] = (costs, *self.moves.ranges(self.person, costs))
        return self._ranges[key]

    def reached(self, box: ActionBox, cap: float, steps: int = 0) -> Reached:
        """Boxes of outcomes at costs up to a cap, without costs too low for any action."""
        costs, low, high = self.ranges(cap, steps)
        low, high = np.maximum(low, box.lowest), np.minimum(high, box.highest)
        possible = (low <= high).all(axis=1)
        options = []
        for choice, allowed in zip(self.choices, box.categories, strict=True):
            options.append((choice.price <= costs[:, None]) & allowed)
            possible &= options[-1].any(axis=1)
        low, high, costs = low[possible], high[possible], costs[possible]
        up, down = np.maximum(self.effects, 0.0).T, np.minimum(self.effects, 0.0).T
        cut, raised = low - self.person, high - self.person
        least, most = cut @ up + raised @ down, raised @ up + cut @ down
        for (columns, current, _), admitted in zip(self.choices, options, strict=True):
            change = self.effects[:, columns] - self.effects[:, columns[current], None]
            if change.any():
                admitted = admitted[possible][:, None, :]
                least += np.where(admitted, change, np.inf).min(axis=2)
                most += np.where(admitted, change, -np.inf).max(axis=2)
        size = np.abs(self.person) + np.abs(cut) + np.abs(raised) + np.abs(least) + np.abs(most)
        room = 2.0 * self._digits * size * ((least != 0) | (most != 0))
        return Reached(costs, low, high, low + least - room, high + most + room)

    def hull(self, cap: float) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest outcome of each column at a cost, those of categories included."""
        reached = self.reached(self.everything(), cap)
        low, high = reached.low[0], reached.high[0]
        for columns, _, price in self.choices:
            options = price <= cap
            high[columns] = options
            low[columns] = options & (options.sum() == 1)
        return low, high

    def first_costs(self, reached: Reached, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The first cost at which each box (lower, upper] may be entered; inf if at none.

        lower, upper : float (boxes, columns).
        """
        first = np.zeros(len(lower), np.int64)
        for i in self.moves.numeric:  # high ascends and low descends with the cost
            needs = np.searchsorted(reached.high[:, i], lower[:, i], side="right")
            np.maximum(first, needs, out=first)
            needs = np.searchsorted(-reached.low[:, i], -upper[:, i], side="left")
            np.maximum(first, needs, out=first)
        costs = np.append(reached.costs, np.inf)[first]
        for columns, _, price in self.choices:
            admitted = admitted_categories(lower[:, columns], upper[:, columns])
            costs = np.maximum(costs, np.where(admitted, price, np.inf).min(axis=1))
        return costs

    def split(self, box: ActionBox, cap: float, point: np.ndarray | None) -> list[ActionBox]:
        """Two parts of the actions, cut where effects leave outcomes most uncertain.

        Nothing if no cut makes a difference. A categorical feature is cut into its category in
        ``point`` and the others.
        """
        reached = self.reached(box, cap)
        if not len(reached.costs):
            return []
        width = reached.high[0] - reached.low[0]
        weight = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
        low, high = reached.set_low[0], reached.set_high[0]
        # A whole number that effects move is uncertain by itself: it is no whole number then.
        gain = np.abs(self.effects).T @ weight + weight * (self._receives & self.moves.whole)
        spread = np.zeros(len(low))
        spread[self.moves.numeric] = ((high - low) * gain)[self.moves.numeric]
        spreads = [
            float(np.ptp(self.effects[:, columns[allowed & (price <= cap)]], axis=1) @ weight)
            for (columns, _, price), allowed in zip(self.choices, box.categories, strict=True)
        ]
        group = int(np.argmax(spreads)) if spreads else -1
        column = int(np.argmax(spread))
        if max([spread[column], *spreads]) <= SMALLEST_SPREAD:
            return []
        if spreads and spreads[group] > spread[column]:
            return self._split_group(box, group, point)
        return self._split_column(box, column, low[column], high[column])

    def _split_group(self, box: ActionBox, group: int, point: np.ndarray | None) -> list[ActionBox]:
        columns, current, _ = self.choices[group]
        here = current if point is None else int(np.argmax(point[columns]))
        parts = []
        for chosen in (np.arange(len(columns)) == here, np.arange(len(columns)) != here):
            categories = list(box.categories)
            categories[group] = categories[group] & chosen
            parts.append(replace(box, categories=tuple(categories)))
        return parts

    def _split_column(
        self, box: ActionBox, column: int, low: float, high: float
    ) -> list[ActionBox]:
        middle = low + (high - low) / 2
        highest, lowest = box.highest.copy(), box.lowest.copy()
        whole = self.moves.whole[column]
        highest[column] = np.floor(middle) if whole else middle
        lowest[column] = np.floor(middle) + 1 if whole else middle
        return [replace(box, highest=highest), replace(box, lowest=lowest)]
