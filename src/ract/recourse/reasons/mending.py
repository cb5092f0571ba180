"""What becomes of a refused person who mends one reason: alone, or together with others.

One feature alone is asked about in every cell of the model's thresholds, between which the model
does not differ, so that nothing is left out. Together with others the exact search is asked for an
action within the budget in which the feature is mended too. A missing value is mended by handing
one in, where the rules allow that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ract._utils.status import Status
from ract.data.costs import within
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.data.prices import supply_of
from ract.recourse.common.limits import Limits, ceilings_of
from ract.recourse.exact.decide import Person
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
        a row; of a value that is handed in, the least and the most around the one nearest to the
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


def mend(
    question: Question,
    rows: Sequence[int],
    axes: Sequence[int],
    larger: Sequence[bool | None],
    limits: Limits,
) -> list[Mending]:
    """What mending does, for pairs of a refused person and a feature.

    Parameters
    ----------
    question : Question
    rows, axes : sequences of int
        Person and feature of each pair; the pairs of one person stand together.
    larger : sequence of bool or None
        Whether mending a number means to raise it; None if any other one may serve. Of no matter
        where the person has none.
    limits : Limits
        The time limit is for each person.
    """
    found: list[Mending] = []
    pairs = list(zip(rows, axes, larger, strict=True))
    grid = _grid(question)
    for first in range(0, len(pairs), PAIRS):
        found += _alone(question, grid, pairs[first : first + PAIRS])
    found = _confirmed(question, rows, axes, found)
    undecided = [k for k, mending in enumerate(found) if mending.with_others is None]
    if question.cost.norm == "max" and undecided:
        together = _with_others(question, pairs, undecided, limits)
        for k, answer in zip(undecided, together, strict=True):
            found[k] = replace(found[k], with_others=answer)
    return found


def _grid(question: Question) -> Grid:
    ensemble = question.ensemble
    splits = ensemble.feature >= 0
    return Grid.from_splits(
        question.encoder.axes, ensemble.feature[splits], ensemble.threshold[splits]
    )


def _alone(question: Question, grid: Grid, pairs: Sequence[Pair]) -> list[Mending]:
    """Features of people in every cell that the rules allow; with others is left open."""
    steps = [_steps(question, grid, pair) for pair in pairs]
    ends = np.cumsum([len(step.tried) for step in steps])
    own = np.repeat(question.matrix[[row for row, _, _ in pairs]], np.diff(ends, prepend=0), axis=0)
    tried = own.copy()
    parts = [slice(end - len(step.tried), end) for step, end in zip(steps, ends, strict=True)]
    for (_, a, _), step, part in zip(pairs, steps, parts, strict=True):
        columns = list(grid.axes[a].columns)
        new = step.tried[:, None]
        if grid.axes[a].is_categorical:
            new = new == np.arange(len(columns))
        tried[part, columns[0] : columns[-1] + 1] = new
    accepted = question.ensemble.decide(tried)
    affordable = accepted & within(question.cost.between(own, tried), question.budget)
    return [
        step.mending(accepted[part], affordable[part])
        for step, part in zip(steps, parts, strict=True)
    ]


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
    own: float = np.nan
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
        if value < self.own:
            first, last, beyond = last, first, self.mends[:low]
        return Mending(True, True, float(first), float(last), not beyond.any(), share)


def _steps(question: Question, grid: Grid, pair: Pair) -> _Steps:
    row, a, larger = pair
    axis, person = grid.axes[a], question.matrix[row]
    if axis.is_categorical:
        return _categories(axis, person)
    own = float(person[axis.columns[0]])
    if not np.isnan(own):
        return _intervals(grid, a, own, larger=larger)
    middle = supply_of(axis, question.cost).middle if axis.feature.may_supply else np.nan
    return _handed_in(grid, a, middle)


def _categories(axis: Axis, person: np.ndarray) -> _Steps:
    here = int(person[list(axis.columns)].argmax())
    others = np.flatnonzero(axis.may_switch()[here])
    others = others[others != here].astype(float)
    return _Steps(
        others, others, others, others, np.ones(len(others)), np.ones(len(others), bool),
        single=True,
    )  # fmt: skip


def _intervals(grid: Grid, a: int, own: float, *, larger: bool | None) -> _Steps:
    """Allowed values by cell, of which one's own is no change."""
    lowest, highest, size = _allowed(grid, a, own)
    kind = grid.axes[a].feature.kind
    here = (lowest <= own) & (own <= highest)
    size[here] -= kind != "continuous"
    nearest = np.clip(own, lowest, highest)
    mends = ~here
    if kind != "binary" and larger is not None:
        mends &= (lowest > own) == larger
    return _Steps(lowest, highest, nearest, np.abs(nearest - own), size, mends, own)


def _handed_in(grid: Grid, a: int, middle: float) -> _Steps:
    """Values by cell that may be handed in, of which those near the median are easy to grasp."""
    lowest, highest, size = _allowed(grid, a, np.nan)
    kind = grid.axes[a].feature.kind
    middle = middle if kind == "continuous" else np.floor(middle + 0.5)
    nearest, mends = np.clip(middle, lowest, highest), np.ones(len(lowest), bool)
    far = np.abs(nearest - middle)
    return _Steps(lowest, highest, nearest, far, size, mends, single=kind == "binary")


def _allowed(grid: Grid, a: int, own: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest value of each cell that a person may enter, and how many there are."""
    lowest, highest = grid.span(a, own)
    allowed = ~np.isnan(lowest)
    lowest, highest = lowest[allowed], highest[allowed]
    return lowest, highest, highest - lowest + (grid.axes[a].feature.kind != "continuous")


def _confirmed(
    question: Question, rows: Sequence[int], axes: Sequence[int], found: list[Mending]
) -> list[Mending]:
    """The same, unknown where the model itself, asked in the table's own columns, differs."""
    some = [k for k, mending in enumerate(found) if mending.alone]
    if not some:
        return found
    features = question.encoder.axes
    values = question.matrix[[rows[k] for k in some]]
    low, high = np.full((2, len(some), len(features)), np.nan)
    for n, k in enumerate(some):
        axis, mending = features[axes[k]], found[k]
        columns = list(axis.columns)
        if axis.is_categorical:
            values[n, columns] = np.arange(len(columns)) == mending.first
        else:
            values[n, columns] = mending.first
            low[n, axes[k]], high[n, axes[k]] = sorted((mending.first, mending.last))
    held = question.confirmed(np.array([rows[k] for k in some]), values, low, high)
    for n, k in enumerate(some):
        axis, mending = features[axes[k]], found[k]
        if not held.accepted[n]:
            found[k] = Mending(None, None, accepted_share=mending.accepted_share)
        elif not axis.is_categorical:
            ends = held.low[n, axes[k]], held.high[n, axes[k]]
            first, last = ends if mending.first <= mending.last else ends[::-1]
            found[k] = replace(mending, first=float(first), last=float(last))
    return found


def _with_others(
    question: Question,
    pairs: Sequence[Pair],
    undecided: Sequence[int],
    limits: Limits,
) -> list[bool | None]:
    """Whether the desired class is reached within the budget when a feature is mended too."""
    search = ExactSearch.prepared(question.ensemble, question.encoder.axes, question.cost)
    problem = search.problem
    budget = float(ceilings_of(question.budget, 1)[0])
    of_person: dict[int, list[int]] = {}
    for n, k in enumerate(undecided):
        of_person.setdefault(pairs[k][0], []).append(n)
    asked = np.array(list(of_person))
    people = question.matrix[asked]
    cells, max_nodes = problem.cells(people), limits.nodes(MAX_NODES)
    answers = np.full(len(undecided), Status.UNKNOWN, np.int8)

    def ask(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
        person = Person(search.model, cells[i], costs, len(costs), stop)
        some = of_person[int(asked[i])]
        if person.attains(budget, max_nodes) == Status.NONE:
            answers[some] = Status.NONE
            return
        for n in some:
            _, a, larger = pairs[undecided[n]]
            forced = _mended(person, a, larger, budget)
            answers[n] = Status.NONE if forced is None else forced.attains(budget, max_nodes)

    problem.for_each(ask, people, cells, limits)
    known: dict[int, bool | None] = {Status.FOUND: True, Status.NONE: False}
    return [known.get(int(answer)) for answer in answers]


def _mended(person: Person, a: int, larger: bool | None, budget: float) -> Person | None:
    """The person who has to mend a feature; None if they cannot within the budget.

    They start from the nearest mended cell, and all that they can afford are free: what is asked is
    only whether something is within the budget.
    """
    own, problem = int(person.own[a]), person.model.problem
    cell = np.arange(person.costs.shape[1])
    mended = cell != own
    either = problem.categorical[a] or problem.grid.axes[a].feature.kind == "binary"
    if not either and larger is not None and own != problem.grid.missing_cell[a]:
        mended = cell > own if larger else cell < own
    mended &= person.costs[a] <= budget
    if not mended.any():
        return None
    costs, start = person.costs.copy(), person.own.copy()
    costs[a] = np.where(mended, 0.0, np.inf)
    start[a] = cell[mended][np.argmin(person.costs[a][mended])]
    return replace(person, own=start, costs=costs)
