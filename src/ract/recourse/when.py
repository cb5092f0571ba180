"""When: the months in which people can be accepted, and the plans that lead there.

What a person can reach by a month is a box (``Feature.box``), and what moves by itself moves where
the box stands. Each month is therefore one question of the usual kind, about people as they will
be then. Where nothing moves by itself the boxes are nested, and months are found by bisection;
elsewhere they are asked in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.actions.pace import drift_of
from ract.data.edge import within
from ract.data.encoder import Axis, Encoder
from ract.recourse.common.answers import Answers, differs
from ract.recourse.question import Question

HORIZON = 36  # months that are looked at, if nothing else is said

# From a question about some people in some month, their rows, what is known to be enough and the
# seconds that their searches have taken, to confirmed answers.
Ask = Callable[[Question, np.ndarray, np.ndarray, np.ndarray], Answers]


def at_month(question: Question, month: int) -> Question:
    """The same question about people as they will be in some months, with their reach by then."""
    encoder, matrix = question.encoder, question.matrix.copy()
    for axis in encoder.axes:
        if axis.feature.drift:
            matrix[:, axis.columns[0]] += drift_of(axis.feature, month)
    return replace(
        within_months(question, month),
        matrix=encoder.held(matrix, question.narrow),
        also=tuple(at_month(one, month) for one in question.also),
        reference=question.people if question.reference is None else question.reference,
    )


def within_months(question: Question, months: float) -> Question:
    """The same question about people as they are, with what they reach in some months."""
    encoder = question.encoder
    then = Encoder.of_space(encoder.space.within(months), encoder.feature_names)
    return replace(question, tree=replace(question.tree, encoder=then))


class Months:
    """The answers of people month by month, in terms of their values of today.

    Parameters
    ----------
    question : Question
        About people today.
    ask : callable
        How a question is answered for some rows.
    last : int
        The last month that counts.
    seconds : float (people,), optional
        What earlier searches have taken of each person's time; nothing by default.
    """

    def __init__(
        self, question: Question, ask: Ask, last: int, seconds: np.ndarray | None = None
    ) -> None:
        features = [axis.feature for axis in question.encoder.axes]
        if not any(f.drift or f.delay or f.pace is not None for f in features):
            raise InvalidSpec(
                "by and cost='time' need to know how fast features change, and none has a pace, a "
                "delay or a drift; see Feature."
            )
        self.last, self.question, self._ask = last, question, ask
        self.seconds = np.zeros(len(question.matrix)) if seconds is None else seconds.copy()
        self._axes = question.encoder.axes
        self._drifting = any(f.drift for f in features)

    def cheapest(self) -> Answers:
        """The cheapest plan by the last month; of equal ones that of the earliest."""
        answers, rows = self._today()
        answers.month_bound = None  # earlier months may have dearer plans
        if not self._drifting:
            if len(rows):
                _put(answers, rows, self.at(rows, self.last), but=("month_bound",))
            return answers
        answers.bound[rows] = np.inf
        for month in range(self.last + 1):
            rows = rows[answers.cost[rows] > 0]
            if not len(rows):
                break
            found = self.at(rows, month, answers.cost[rows])
            answers.bound[rows] = np.fmin(answers.bound[rows], _least(found))
            cheaper = ~within(answers.cost[rows], found.cost)
            _put(answers, rows, found, cheaper, but=("bound", "month_bound"))
        have = answers.found & (answers.status != Status.ACCEPTED)
        proved = within(answers.cost, np.where(have, answers.bound, 0.0))
        answers.status[have] = np.where(proved, Status.OPTIMAL, Status.FOUND)[have]
        none = Status.NONE_WITHIN_BUDGET if np.isfinite(self.question.budget) else Status.NONE
        decided = np.isinf(answers.bound)  # in every month
        answers.status[~answers.found] = np.where(decided, none, Status.UNKNOWN)[~answers.found]
        return answers

    def earliest(self) -> Answers:
        """The cheapest plan of the earliest month in which there is one."""
        answers, rows = self._today()
        if self._drifting:
            self._in_order(answers, rows)
        elif len(rows):
            _put(answers, rows, self.at(rows, self.last))
            self._bisect(answers, rows[answers.found[rows]])
        assert answers.month is not None and answers.month_bound is not None
        late = answers.found & (answers.month_bound < answers.month)
        answers.status[late] = Status.FOUND
        return answers

    def _in_order(self, answers: Answers, rows: np.ndarray) -> None:
        """Month by month, for those who have no plan yet."""
        assert answers.month_bound is not None
        unproved = np.zeros(len(answers.status), bool)
        for month in range(self.last + 1):
            if not len(rows):
                return
            found = self.at(rows, month)
            unproved[rows] |= found.status == Status.UNKNOWN
            found.month_bound = np.where(unproved[rows], answers.month_bound[rows], month + 1.0)
            found.month_bound[found.found] = answers.month_bound[rows][found.found]
            found.status[unproved[rows] & ~found.found] = Status.UNKNOWN
            _put(answers, rows, found)
            rows = rows[~found.found]

    def _bisect(self, answers: Answers, rows: np.ndarray) -> None:
        """Earlier plans, if there are any: what is in reach by a month is so in later ones."""
        assert answers.month is not None and answers.month_bound is not None
        answers.month_bound[rows] = 0.0
        low = np.zeros(len(answers.month))  # the months before were asked about
        while len(rows := rows[low[rows] < answers.month[rows]]):
            middle = np.floor((low[rows] + answers.month[rows] - 1) / 2)
            month = int(middle[0])
            here = rows[middle == month]
            found = self.at(here, month)
            none = ~found.found
            proved = here[none & (found.status != Status.UNKNOWN)]
            answers.month_bound[proved] = np.maximum(answers.month_bound[proved], month + 1)
            low[here[none]] = month + 1
            _put(answers, here, found, found.found, but=("month_bound",))

    def costs(self) -> dict[int, dict[int, Answers]]:
        """By row and month: the cheapest plan by then, where it is cheaper than before.

        Where a search ended early all plans of the person are "found", not proved the cheapest.
        """
        _, rows = self._today()
        plans: dict[int, dict[int, Answers]] = {int(row): {} for row in rows}
        doubt: set[int] = set()

        def ask(rows: np.ndarray, month: int, most: float | np.ndarray = np.inf) -> np.ndarray:
            found = self.at(rows, month, most)
            assert found.month is not None
            undecided = np.isin(found.status, (Status.FOUND, Status.UNKNOWN))
            doubt.update(rows[undecided].tolist())
            for k in np.flatnonzero(found.found).tolist():
                plans[int(rows[k])].setdefault(int(found.month[k]), found.take(np.array([k])))
            return found.cost

        def between(
            rows: np.ndarray, first: int, last: int, dear: np.ndarray, cheap: np.ndarray
        ) -> None:
            """Ask about months between two whose costs differ, which fall from one to the other."""
            if last - first < 2 or not len(rows):
                return
            month = (first + last) // 2
            cost = ask(rows, month)
            left, right = ~within(dear, cost), ~within(cost, cheap)
            between(rows[left], first, month, dear[left], cost[left])
            between(rows[right], month, last, cost[right], cheap[right])

        if self._drifting:
            best = np.full(len(self.question.matrix), np.inf)
            for month in range(self.last + 1):
                rows = rows[best[rows] > 0]
                if len(rows):
                    best[rows] = np.fmin(best[rows], ask(rows, month, best[rows]))
        elif len(rows):
            first, last = ask(rows, 0), ask(rows, self.last)
            falls = ~within(first, last)
            between(rows[falls], 0, self.last, first[falls], last[falls])
        for row in doubt:
            for plan in plans[row].values():
                plan.status[:] = Status.FOUND
        return {row: _falling(of_row) for row, of_row in plans.items()}

    def _today(self) -> tuple[Answers, np.ndarray]:
        """The table with those who are accepted today, and the rows of all others."""
        answers = Answers.unknown(self.question.matrix)
        accepted = self.question.decide()
        answers.accept(accepted)
        answers.month = np.where(accepted, 0.0, np.nan)
        answers.month_bound = np.zeros(len(accepted))
        return answers, np.flatnonzero(~accepted)

    def at(self, rows: np.ndarray, month: int, most: float | np.ndarray = np.inf) -> Answers:
        """The cheapest plans of some people with the reach and the values of a month."""
        question = at_month(self.question, month)
        seconds = self.seconds[rows]
        found = self._ask(question, rows, np.broadcast_to(most, len(rows)), seconds)
        self.seconds[rows] = found.seconds = seconds + found.seconds  # one limit for all months
        today, then = self.question.matrix[rows], question.matrix[rows]
        found.status[found.status == Status.ACCEPTED] = Status.OPTIMAL  # they only have to wait
        found.obstacles = {}
        for table, k in [(found, slice(None)), *((t, [i]) for i, t in found.alternatives.items())]:
            shape = (len(table.cost), today.shape[1])
            self._as_of_today(
                table, np.broadcast_to(today[k], shape), np.broadcast_to(then[k], shape), month
            )
        return found

    def _as_of_today(self, table: Answers, today: np.ndarray, then: np.ndarray, month: int) -> None:
        """What people do from their values of today on, where they end, and in which month."""
        have, ends = table.found, table.values
        if self._drifting:
            moved = differs(then, ends)
            table.values, table.outcomes = today.copy(), np.where(have[:, None], ends, today)
            for axis in self._axes:
                columns = list(axis.columns)
                who = (have & moved[:, columns].any(axis=1))[:, None]
                table.values[:, columns] = np.where(who, ends[:, columns], today[:, columns])
            needed = np.full(len(ends), float(month))
        else:
            needed = months_needed(self._axes, today, ends, month)
        table.month = np.where(have, needed, np.nan)
        table.month_bound = np.where(table.status == Status.UNKNOWN, 0.0, month + 1.0)

    def count(self, answers: Answers) -> None:
        """Let months be what plans cost, and what each change costs alone."""
        none = answers.status == Status.NONE  # up to the last month, that is
        answers.status[none] = Status.NONE_WITHIN_BUDGET
        today = self.question.matrix
        tables: list[tuple[int | slice, Answers]] = [(slice(None), answers)]
        for who, table in [*tables, *answers.alternatives.items()]:
            assert table.month is not None and table.month_bound is not None
            before = np.broadcast_to(today[who], table.values.shape)
            table.cost = np.where(np.isnan(table.month), np.inf, table.month)
            table.bound = np.fmin(table.month_bound, table.cost)
            table.effort = self._months_of_changes(before, table)

    def _months_of_changes(self, before: np.ndarray, table: Answers) -> np.ndarray:
        """The months that each change takes by itself; those of the plan where time changes it."""
        months = np.zeros((len(table.cost), len(self._axes)))
        for a, axis in enumerate(self._axes):
            moved = differs(before, table.values)[:, list(axis.columns)].any(axis=1)
            alone = table.cost
            if not axis.feature.drift:
                alone = np.fmin(alone, months_needed([axis], before, table.values, self.last))
            months[:, a] = np.where(moved & table.found, alone, 0.0)
        return months

    def ended(self, answers: Answers) -> Answers:
        """With the last month in which people are accepted if they do no more than their plan."""
        assert answers.month is not None
        horizon, ends = max(HORIZON, self.last), answers.ends
        answers.until = np.where(answers.found, np.inf, np.nan)
        if not self._drifting:
            return answers
        going = np.flatnonzero(answers.found)
        answers.until[going] = float(horizon)
        start = [int(month) for month in answers.month[going]]
        drifting = [axis for axis in self._axes if axis.feature.drift]
        moved = {axis: [drift_of(axis.feature, m) for m in range(horizon + 1)] for axis in drifting}
        for month in range(1, horizon + 1):
            values = ends[going].copy()
            for axis, far in moved.items():
                values[:, axis.columns[0]] += [far[max(month, m)] - far[m] for m in start]
            held = self.question.encoder.held(values, self.question.narrow)
            refused = ~replace(self.question, matrix=held).decide()
            answers.until[going[refused]] = month - 1.0
            start = [m for m, out in zip(start, refused.tolist(), strict=True) if not out]
            going = going[~refused]
            if not len(going):
                break
        return answers


def months_needed(
    axes: Sequence[Axis], today: np.ndarray, values: np.ndarray, last: int
) -> np.ndarray:
    """The first month by which each plan can be carried out; inf if not by the last one.

    Parameters
    ----------
    axes : sequence of Axis
    today, values : float (plans, columns)
        Encoded, before and after.
    last : int
    """
    needed = np.full(len(today), np.inf)
    for month in range(last, -1, -1):
        late = np.zeros(len(today), bool)
        for axis in axes:
            late |= _is_late(axis, today, values, month)
        needed[~late] = month
    return needed


def add_months(recourse: Any, last: int) -> None:
    """Write down how many months plans from today's values take, which are done by a last one."""
    axes, before = recourse.encoder.axes, recourse.before
    tables = [(slice(None), recourse.answers), *recourse.answers.alternatives.items()]
    for who, table in tables:
        today = np.broadcast_to(before[who], table.values.shape)
        takes = months_needed(axes, today, table.values, last)
        table.month = np.where(table.found, takes, np.nan)


def _is_late(axis: Axis, today: np.ndarray, values: np.ndarray, month: int) -> np.ndarray:
    """Whose change of a feature takes longer than some months; supplying a value takes none."""
    columns, feature = list(axis.columns), replace(axis.feature, within=float(month))
    own, new = today[:, columns], values[:, columns]
    moved = np.asarray(differs(own, new).any(axis=1))
    if axis.is_categorical:
        supplied = axis.has_missing & (own[:, -1] == 1)
        return moved & ~supplied & (not (feature.may_rise or feature.may_fall))
    low, high = feature.box(own[:, 0])
    return moved & ((new[:, 0] < low) | (new[:, 0] > high))


def _least(found: Answers) -> np.ndarray:
    """What no plan of a month can cost less than, as far as it could have been cheaper."""
    undecided = np.isin(found.status, (Status.FOUND, Status.UNKNOWN))
    return np.where(undecided, np.fmin(found.bound, found.cost), found.cost)


def _put(
    answers: Answers,
    rows: np.ndarray,
    found: Answers,
    better: np.ndarray | None = None,
    but: tuple[str, ...] = (),
) -> None:
    """Write down answers of some rows, or the better ones, without some columns."""
    chosen = np.arange(len(rows)) if better is None else np.flatnonzero(better)
    part = found.take(chosen)
    for name in but:
        setattr(part, name, None)
    answers.put(rows[chosen], part)
    for k in chosen.tolist():
        answers.alternatives.pop(int(rows[k]), None)
        if k in found.alternatives:
            answers.alternatives[int(rows[k])] = found.alternatives[k]


def _falling(plans: dict[int, Answers]) -> dict[int, Answers]:
    """The plans that are cheaper than all of earlier months."""
    kept: dict[int, Answers] = {}
    for month in sorted(plans):
        if all(not within(plan.cost[0], plans[month].cost[0]) for plan in kept.values()):
            kept[month] = plans[month]
    return kept
