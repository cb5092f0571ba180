"""What becomes of a refused person who mends one reason: alone, or together with others.

One feature alone is asked about in every cell of the model's thresholds, between which the model
does not differ, so that nothing is left out. Together with others the exact search is asked for an
action within the budget in which the feature is mended too. A missing value is mended by handing
one in, where the rules allow that.

Where rules join features, nothing is said that a rule could undo. Rules only take actions away. So
what is not enough without them is not enough; what would be is said where every value of the range
keeps the rules with all else as it is, and else is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ract._utils.status import Status
from ract.data.actions.rules import IfThen
from ract.data.costs import within
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.data.prices import supply_of
from ract.recourse.common.search import Limits, ceilings_of
from ract.recourse.exact.decide import ModelDescent
from ract.recourse.exact.search import MAX_NODES, ExactSearch
from ract.recourse.question import Question


@dataclass(frozen=True)
class Mending:
    """What mending a feature does for one person.

    Parameters
    ----------
    alone : bool or None
        Whether the desired class is reached within the budget by changing this feature only; None
        if that is not known.
    with_others : bool or None
        Whether it is reached within the budget by an action that changes this feature and others.
    first, last : float
        The accepted values nearest to the person's own, from the nearest one to the last one in
        a row; of a value that is supplied, the least and the most around the one nearest to the
        median; positions of categories (twice the same). NaN if there are none within the budget.
    open_end : bool
        Whether every allowed value beyond the first one is accepted.
    accepted_share : float
        Of the values that the rules allow, those that are accepted, whatever they cost; NaN if the
        feature is fixed or has no bounds.
    """

    alone: bool | None
    with_others: bool | None
    first: float = np.nan
    last: float = np.nan
    open_end: bool = False
    accepted_share: float = np.nan


Pair = tuple[int, int, bool | None]  # a person, a feature, whether to raise it (None: either)
# Pairs that are tried in all their cells at once.
PAIRS = 500


def mend(question: Question, pairs: Sequence[Pair], limits: Limits) -> list[Mending]:
    """What mending does, for pairs of a refused person and a feature.

    Parameters
    ----------
    question : Question
    pairs : sequence of (int, int, bool or None)
        A person, a feature, and whether mending a number means to raise it: None if any other one
        may serve, of no matter where the person has none. The pairs of one person stand together.
    limits : Limits
        The time limit is for each person.
    """
    found: list[Mending] = []
    trees = question.ensemble
    splits = trees.feature >= 0
    grid = Grid.from_splits(question.encoder.axes, trees.feature[splits], trees.threshold[splits])
    for first in range(0, len(pairs), PAIRS):
        found += _alone(question, grid, pairs[first : first + PAIRS])
    found = _confirmed(question, pairs, found)
    undecided = [k for k, mending in enumerate(found) if mending.with_others is None]
    if question.cost.norm == "max" and undecided:
        for k, answer in _with_others(question, pairs, undecided, limits).items():
            found[k] = replace(found[k], with_others=answer)
    return _under_rules(question, pairs, found) if question.joint_rules else found


def _set(rows: np.ndarray, axis: Axis, values: np.ndarray | float) -> None:
    """Set a feature of encoded rows: one value for all, or one for each; categories by position."""
    columns = slice(axis.columns[0], axis.columns[-1] + 1)
    new = np.reshape(values, (-1, 1))
    rows[:, columns] = new == np.arange(len(axis.columns)) if axis.is_categorical else new


def _alone(question: Question, grid: Grid, pairs: Sequence[Pair]) -> list[Mending]:
    """Features of people in every cell that the rules allow; with others is left open."""
    steps = [_steps(question, grid, pair) for pair in pairs]
    sizes = [len(step.tried) for step in steps]
    before = np.repeat(question.matrix[[row for row, _, _ in pairs]], sizes, axis=0)
    tried, ends = before.copy(), np.cumsum(sizes)[:-1]
    for (_, a, _), step, part in zip(pairs, steps, np.split(tried, ends), strict=True):
        _set(part, grid.axes[a], step.tried)
    accepted = question.ensemble.decide(tried)
    affordable = accepted & within(question.cost.between(before, tried), question.budget)
    parts = zip(steps, np.split(accepted, ends), np.split(affordable, ends), strict=True)
    return [step.mending(accepted, affordable) for step, accepted, affordable in parts]


@dataclass(frozen=True)
class _Steps:
    """Allowed cells of one feature, in ascending order.

    lowest, highest float (cells,): values of each. tried (cells,): the one that is put to the
    model. far (cells,): the nearest cell that serves is said. size (cells,): how many values, or
    their length. mends (cells,) bool: whether it is the right direction. own: the person's value;
    NaN if it is missing. single: whether cells do not go together.
    """

    lowest: np.ndarray
    highest: np.ndarray
    tried: np.ndarray
    far: np.ndarray
    size: np.ndarray
    mends: np.ndarray
    start: float = np.nan
    single: bool = False

    def mending(self, accepted: np.ndarray, within: np.ndarray) -> Mending:
        """What is said of it, from which cells are accepted, and within the budget."""
        size = self.size.sum()
        share = float(self.size[accepted].sum() / size) if 0 < size < np.inf else np.nan
        good = np.flatnonzero(within & self.mends)
        if not len(good):
            return Mending(False, None if self.mends.any() else False, accepted_share=share)
        low = high = int(good[np.argmin(self.far[good])])
        value = float(self.tried[low])
        if self.single:
            return Mending(True, True, value, value, accepted_share=share)
        serves = accepted & self.mends
        while low > 0 and serves[low - 1]:
            low -= 1
        while high + 1 < len(serves) and serves[high + 1]:
            high += 1
        first, last, beyond = self.lowest[low], self.highest[high], self.mends[high + 1 :]
        if value < self.start:
            first, last, beyond = last, first, self.mends[:low]
        return Mending(True, True, float(first), float(last), not beyond.any(), share)


def _steps(question: Question, grid: Grid, pair: Pair) -> _Steps:
    row, a, larger = pair
    axis, person = grid.axes[a], question.matrix[row]
    if axis.is_categorical:
        return _categories(axis, person)
    value = float(person[axis.columns[0]])
    if not np.isnan(value):
        return _intervals(grid, a, value, larger=larger)
    middle = supply_of(axis, question.cost).middle if axis.feature.may_supply else np.nan
    return _supplied_steps(grid, a, middle)


def _categories(axis: Axis, person: np.ndarray) -> _Steps:
    here = int(person[list(axis.columns)].argmax())
    targets = np.flatnonzero(axis.may_switch()[here])
    targets = targets[targets != here].astype(float)
    size, mends = np.ones(len(targets)), np.ones(len(targets), bool)
    return _Steps(targets, targets, targets, targets, size, mends, single=True)


def _intervals(grid: Grid, a: int, value: float, *, larger: bool | None) -> _Steps:
    """Allowed values by cell, of which one's own is no change."""
    lowest, highest, size = _allowed(grid, a, value)
    kind = grid.axes[a].feature.kind
    here = (lowest <= value) & (value <= highest)
    size[here] -= kind != "continuous"
    nearest = np.clip(value, lowest, highest)
    mends = ~here
    if kind != "binary" and larger is not None:
        mends &= (lowest > value) == larger
    return _Steps(lowest, highest, nearest, np.abs(nearest - value), size, mends, value)


def _supplied_steps(grid: Grid, a: int, middle: float) -> _Steps:
    """Values by cell that may be supplied, of which those near the median are easy to grasp."""
    lowest, highest, size = _allowed(grid, a, np.nan)
    kind = grid.axes[a].feature.kind
    middle = middle if kind == "continuous" else np.floor(middle + 0.5)
    nearest, mends = np.clip(middle, lowest, highest), np.ones(len(lowest), bool)
    far = np.abs(nearest - middle)
    return _Steps(lowest, highest, nearest, far, size, mends, single=kind == "binary")


def _allowed(grid: Grid, a: int, value: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest value of each cell that a person may enter, and how many there are."""
    lowest, highest = grid.span(a, value)
    allowed = ~np.isnan(lowest)
    lowest, highest = lowest[allowed], highest[allowed]
    return lowest, highest, highest - lowest + (grid.axes[a].feature.kind != "continuous")


def _confirmed(question: Question, pairs: Sequence[Pair], found: list[Mending]) -> list[Mending]:
    """The same, unknown where the model itself, asked in the table's own columns, differs."""
    alone = [k for k, mending in enumerate(found) if mending.alone]
    if not alone:
        return found
    features = question.encoder.axes
    rows = np.array([pairs[k][0] for k in alone])
    values = question.matrix[rows]
    low, high = np.full((2, len(alone), len(features)), np.nan)
    for n, k in enumerate(alone):
        a, mending = pairs[k][1], found[k]
        _set(values[n : n + 1], features[a], mending.first)
        if not features[a].is_categorical:
            low[n, a], high[n, a] = sorted((mending.first, mending.last))
    confirmed = question.confirmed(rows, values, low, high)
    for n, k in enumerate(alone):
        a, mending = pairs[k][1], found[k]
        if not confirmed.accepted[n]:
            found[k] = Mending(None, None, accepted_share=mending.accepted_share)
        elif not features[a].is_categorical:
            ends = float(confirmed.low[n, a]), float(confirmed.high[n, a])
            first, last = ends if mending.first <= mending.last else ends[::-1]
            found[k] = replace(mending, first=first, last=last)
    return found


def _under_rules(
    question: Question, pairs: Sequence[Pair], found: Sequence[Mending]
) -> list[Mending]:
    """The same mendings, without what a rule between features might not allow."""
    features, rows = question.encoder.axes, np.repeat([row for row, _, _ in pairs], 2)
    ends = question.matrix[rows]
    for k, ((_, a, _), mending) in enumerate(zip(pairs, found, strict=True)):
        for at, value in ((2 * k, mending.first), (2 * k + 1, mending.last)):
            if not np.isnan(value):
                _set(ends[at : at + 1], features[a], value)
    kept = question.keeps_rules(rows, ends).reshape(-1, 2).min(axis=1)
    known = []
    for (_, a, _), mending, ends_keep in zip(pairs, found, kept, strict=True):
        with_others = None if mending.with_others else mending.with_others
        if mending.alone and not (ends_keep and _whole(question, features[a])):
            mending = Mending(None, None, accepted_share=mending.accepted_share)
        known.append(replace(mending, with_others=with_others))
    return known


def _whole(question: Question, axis: Axis) -> bool:
    """Whether all rules hold between two values of a feature at which they do.

    So it is of sums and of bounds, but not of single values, nor of rules that name it twice.
    """
    if axis.is_categorical:
        return True
    for rule in question.joint_rules:
        if isinstance(rule, IfThen):
            both = rule.condition, rule.consequence
            naming = [each for each in both if each.feature == axis.feature.name]
            if len(naming) == 2 or any(each.sign in ("=", "!=") for each in naming):
                return False
    return True


def _with_others(
    question: Question, pairs: Sequence[Pair], undecided: Sequence[int], limits: Limits
) -> dict[int, bool]:
    """Whether the desired class is reached within the budget when a feature is mended too.

    By position among the pairs, of those for which that was decided.
    """
    search = ExactSearch.prepared(question.ensemble, question.encoder.axes, question.cost)
    budget, max_nodes = float(ceilings_of(question.budget, 1)[0]), limits.nodes(MAX_NODES)
    of_person: dict[int, list[int]] = {}
    for k in undecided:
        of_person.setdefault(pairs[k][0], []).append(k)
    rows = np.array(list(of_person))
    answers: dict[int, int] = {}

    def ask(i: int, person: ModelDescent) -> None:
        hopeless = person.attains(budget, max_nodes) == Status.NONE
        for k in of_person[int(rows[i])]:
            _, a, larger = pairs[k]
            forced = None if hopeless else _mended(person, a, larger, budget)
            answers[k] = Status.NONE if forced is None else forced.attains(budget, max_nodes)

    search.for_each(ask, question.matrix[rows], limits)
    return {k: answer == Status.FOUND for k, answer in answers.items() if answer != Status.UNKNOWN}


def _mended(
    person: ModelDescent, a: int, larger: bool | None, budget: float
) -> ModelDescent | None:
    """The person who has to mend a feature; None if they cannot within the budget.

    They start from the nearest mended cell, and all that they can afford are free: what is asked is
    only whether something is within the budget.
    """
    cell_now, problem = int(person.own[a]), person.model.problem
    cell = np.arange(person.costs.shape[1])
    mended = cell != cell_now
    either = problem.categorical[a] or problem.grid.axes[a].feature.kind == "binary"
    if not either and larger is not None and cell_now != problem.grid.missing_cell[a]:
        mended = cell > cell_now if larger else cell < cell_now
    mended &= person.costs[a] <= budget
    if not mended.any():
        return None
    costs, start = person.costs.copy(), person.own.copy()
    costs[a] = np.where(mended, 0.0, np.inf)
    start[a] = cell[mended][np.argmin(person.costs[a][mended])]
    return replace(person, own=start, costs=costs)
