"""The cheapest action into a region, with effects, as a (mixed integer) linear program.

For a cost c, a person's actions are a box. Variables are how far they go towards its sides, each
as a share of the way (a whole number for whole features), which category they choose, and the
largest share, which is to be as small as it can. Solvers work to tolerances, so an answer is a
suggestion: whoever asks runs its outcome through the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ract.recourse.common.anchors import admitted_categories
from ract.recourse.common.outcomes import PersonOutcomes

# The solver keeps to 1e-6 of a row; outcomes are asked to be inside by this share of it.
MARGIN = 1e-5
# How much the sum of all efforts weighs against the largest one: no change without need.
SPARING = 1e-3
SMALLEST = 1e-9
MOST_NODES = 100


@dataclass(frozen=True, eq=False)
class _Choice:
    """Categories of one feature to choose from: positions, effects and efforts of each."""

    group: int
    options: np.ndarray
    change: np.ndarray  # (columns, options)
    effort: np.ndarray

    @property
    def is_open(self) -> bool:
        return len(self.options) > 1


@dataclass(frozen=True, eq=False)
class _Parts:
    """Variables: moves, one binary per option of each open choice, and the largest effort."""

    column: np.ndarray  # of each move
    unit: np.ndarray  # change of the column per unit of its variable
    most: np.ndarray  # largest value of the variable
    whole: np.ndarray
    low: np.ndarray  # (columns,): what may be set at the least
    high: np.ndarray
    choices: list[_Choice]

    @property
    def n_moves(self) -> int:
        return len(self.column)

    @property
    def open_choices(self) -> list[_Choice]:
        return [choice for choice in self.choices if choice.is_open]

    @property
    def n_options(self) -> int:
        return sum(len(choice.options) for choice in self.open_choices)


def enter_region(
    outcomes: PersonOutcomes,
    lower: np.ndarray,
    upper: np.ndarray,
    cap: float,
    max_changes: int | None = None,
) -> np.ndarray | None:
    """The action that ends in a region with the least largest effort.

    Efforts are measured as shares of what the person can do at the cost ``cap``.

    Parameters
    ----------
    outcomes : PersonOutcomes
        Of the person.
    lower, upper : float (columns,)
        The region.
    cap : float
        Largest cost of an action.
    max_changes : int, optional
        Most features that may change.

    Returns
    -------
    float (columns,) or None
        What to set; None if the region cannot be entered at this cost.
    """
    choices = _choices(outcomes, lower, upper, cap)
    if choices is None:
        return None
    parts = _moves(outcomes, cap, choices)
    region = _region_rows(outcomes, parts, lower, upper)
    if region is None:
        return None
    solution = _solve(outcomes, parts, region, max_changes)
    return None if solution is None else _values(outcomes, parts, solution)


def _choices(
    outcomes: PersonOutcomes, lower: np.ndarray, upper: np.ndarray, cap: float
) -> list[_Choice] | None:
    """What there is to choose in each categorical feature; None if one has nothing to offer."""
    choices = []
    for group, (columns, current, price) in enumerate(outcomes.choices):
        admitted = admitted_categories(lower[None, columns], upper[None, columns])[0]
        options = np.flatnonzero(admitted & (price <= cap))
        if not len(options):
            return None
        change = outcomes.effects[:, columns] - outcomes.effects[:, columns[current], None]
        if not change.any():  # then nothing speaks for any but the cheapest
            options = options[[np.argmin(price[options])]]
        effort = price[options] / max(cap, SMALLEST)
        choices.append(_Choice(group, options, change[:, options], effort))
    return choices


def _moves(outcomes: PersonOutcomes, cap: float, choices: list[_Choice]) -> _Parts:
    person, moves = outcomes.person, outcomes.moves
    _, [low], [high] = outcomes.ranges(cap)
    up, down = np.flatnonzero(high > person), np.flatnonzero(low < person)
    column = np.concatenate([up, down])
    span = np.concatenate([high[up] - person[up], low[down] - person[down]])
    whole = moves.whole[column]
    unit = np.where(whole, np.sign(span), span)
    return _Parts(column, unit, span / unit, whole, low, high, choices)


def _region_rows(
    outcomes: PersonOutcomes, parts: _Parts, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Rows over moves and options, and their bounds, that keep outcomes in the region."""
    numeric = outcomes.moves.numeric
    start = outcomes.person[numeric].copy()
    for choice in parts.choices:
        if not choice.is_open:
            start += choice.change[numeric, 0]
    ends = outcomes.effects[numeric] + np.eye(len(outcomes.person))[numeric]
    blocks = [ends[:, parts.column] * parts.unit]
    blocks += [choice.change[numeric] for choice in parts.open_choices]
    rows = np.hstack(blocks)
    size = np.abs(rows) @ np.concatenate([parts.most, np.ones(parts.n_options)])
    # Whole numbers that nothing moves but their own change stay half a unit away from any edge.
    whole = outcomes.moves.whole[numeric] & ~outcomes.effects[numeric].any(axis=1)
    least = np.where(whole, np.floor(lower[numeric]) + 0.5, lower[numeric]) - start
    most = np.where(whole, np.floor(upper[numeric]) + 0.5, upper[numeric]) - start
    if ((size == 0) & ~((least < 0) & (most >= 0))).any():
        return None  # a feature that nothing moves is outside
    matters = (size > 0) & ((least >= -size) | (most < size))
    rows, size, least, most = rows[matters], size[matters], least[matters], most[matters]
    least, most = least + MARGIN * size, most - MARGIN * size
    thin = least > most
    least[thin] = most[thin] = (least[thin] + most[thin]) / 2
    rows, least, most = rows / size[:, None], least / size, most / size
    if not outcomes.spread.any():
        return rows, least, most
    off = _doubt_rows(outcomes, parts)[matters] / size[:, None]
    nowhere = np.full(len(rows), np.inf)
    return (
        np.concatenate([rows - off, rows + off]),
        np.concatenate([least, -nowhere]),
        np.concatenate([nowhere, most]),
    )


def _doubt_rows(outcomes: PersonOutcomes, parts: _Parts) -> np.ndarray:
    """How far each outcome may be off per unit of moves and options."""
    numeric, spread = outcomes.moves.numeric, outcomes.spread
    blocks = [spread[np.ix_(numeric, parts.column)] * np.abs(parts.unit)]
    for choice in parts.open_choices:
        columns, current, _ = outcomes.choices[choice.group]
        both = spread[:, columns[choice.options]] + spread[:, columns[current], None]
        blocks.append(np.where(choice.options == current, 0.0, both)[numeric])
    return np.hstack(blocks)


def _rows(
    n_variables: int,
    entries: np.ndarray,
    least: float | np.ndarray,
    most: float | np.ndarray,
    first: int = 0,
) -> LinearConstraint:
    """Rows over the variables from ``first`` on; the others do not appear in them."""
    rows = np.zeros((len(entries), n_variables))
    rows[:, first : first + entries.shape[1]] = entries
    return LinearConstraint(rows, least, most)


def _solve(
    outcomes: PersonOutcomes,
    parts: _Parts,
    region: tuple[np.ndarray, np.ndarray, np.ndarray],
    max_changes: int | None,
) -> np.ndarray | None:
    """The variables: moves, options, the largest effort, and flags if changes are counted."""
    n_moves, effort = parts.n_moves, parts.n_moves + parts.n_options
    flagged = np.unique(parts.column) if max_changes is not None else np.empty(0, np.int64)
    n = effort + 1 + len(flagged)
    cost, most = np.zeros(n), np.ones(n)
    most[:n_moves], cost[:n_moves], cost[effort] = parts.most, SPARING / parts.most, 1.0
    share = np.zeros((n_moves, effort + 1))
    share[:, :n_moves], share[:, effort] = np.diag(1.0 / parts.most), -1.0
    constraints = [_rows(n, *region), _rows(n, share, -np.inf, 0.0)]
    first = n_moves
    for choice in parts.open_choices:
        last = first + len(choice.options)
        constraints.append(_rows(n, np.ones((1, last - first)), 1.0, 1.0, first))
        dearest = np.zeros((1, effort + 1 - first))
        dearest[0, : last - first], dearest[0, -1] = choice.effort, -1.0
        constraints.append(_rows(n, dearest, -np.inf, 0.0, first))
        cost[first:last] = SPARING * choice.effort
        first = last
    if max_changes is not None:
        constraints += _count_changes(outcomes, parts, flagged, n, max_changes)
    whole = np.concatenate([parts.whole, np.ones(n - n_moves)])
    whole[effort] = 0
    found = milp(
        cost,
        integrality=whole,
        bounds=Bounds(0.0, most),
        constraints=constraints,
        options={"node_limit": MOST_NODES},
    )
    return None if found.x is None else found.x


def _count_changes(
    outcomes: PersonOutcomes, parts: _Parts, flagged: np.ndarray, n: int, max_changes: int
) -> list[LinearConstraint]:
    """A flag for each column that moves, and no more flags and new categories than allowed."""
    n_moves, effort = parts.n_moves, parts.n_moves + parts.n_options
    moved = np.zeros((n_moves, n))
    moved[:, :n_moves] = np.diag(1.0 / parts.most)
    moved[np.arange(n_moves), effort + 1 + np.searchsorted(flagged, parts.column)] = -1.0
    counted = np.zeros((1, n))
    counted[0, effort + 1 :] = 1.0
    first, forced = n_moves, 0
    for choice in parts.choices:
        stays = choice.options == outcomes.choices[choice.group].current
        if choice.is_open:
            counted[0, first : first + len(stays)] = ~stays
            first += len(stays)
        else:
            forced += int(not stays[0])
    return [_rows(n, moved, -np.inf, 0.0), _rows(n, counted, -np.inf, max_changes - forced)]


def _values(outcomes: PersonOutcomes, parts: _Parts, solution: np.ndarray) -> np.ndarray:
    values = outcomes.person.copy()
    amount = np.where(parts.whole, np.round(solution[: parts.n_moves]), solution[: parts.n_moves])
    amount = np.where(amount > SMALLEST, np.minimum(amount, parts.most), 0.0)
    np.add.at(values, parts.column, parts.unit * amount)
    values = np.clip(values, parts.low, parts.high)  # a sum may be rounded across a bound
    first = parts.n_moves
    for choice in parts.choices:
        chosen = choice.options[0]
        if choice.is_open:
            n = len(choice.options)
            chosen = choice.options[int(np.argmax(solution[first : first + n]))]
            first += n
        columns = outcomes.choices[choice.group].columns
        values[columns] = np.arange(len(columns)) == chosen
    return values
