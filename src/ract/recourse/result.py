"""The answer for a batch of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.printable import html_table
from ract._utils.status import Status, status_words
from ract.data.costs import within
from ract.data.encoder import Axis, Encoder
from ract.data.invalid_rows import InvalidRows
from ract.recourse.by_person import ByPerson, long_frame
from ract.recourse.common.answers import Answers, differs
from ract.recourse.plan import Change, Obstacle, Plan
from ract.recourse.question import Question

# Kinds of features with nothing between two values.
SWITCHES = ("binary", "categorical")


@dataclass(frozen=True, repr=False)
class Recourse(ByPerson[Plan]):
    """What each of a batch of people can do, in their order.

    Parameters
    ----------
    question : Question
        The model, the people, the cost and the budget.
    answers : Answers
        What was found for each of them, as one table of arrays.
    invalid_rows : InvalidRows, optional
        Rows that cannot be read: the question is about the others, the answers about everyone.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> recourse = model.recourse(loans.frame.head(20))
    >>> recourse.status[:3].tolist()
    ['accepted', 'accepted', 'none within budget']
    >>> recourse.to_frame().columns.tolist()[:9]
    ['person', 'plan', 'feature', 'from', 'to', 'goal', 'low', 'high', 'effort']
    >>> recourse.to_frame().columns.tolist()[9:]
    ['cost', 'strength', 'lasting', 'only supplied', 'status', 'reason', 'budget needed', 'message']
    """

    question: Question
    answers: Answers
    invalid_rows: InvalidRows | None = None

    @classmethod
    def with_invalid(cls, found: Recourse, invalid_rows: InvalidRows | None) -> Recourse:
        """Insert rows for invalid people into the results for valid ones."""
        if invalid_rows is None:
            return found
        answers = found.answers.scattered(invalid_rows.valid, invalid_rows.n_rows)
        return cls(found.question, answers, invalid_rows)

    def _of(self, i: int) -> Plan:
        if i in self.messages:
            person, status, message = self.labels[i], Status.INVALID.word, self.messages[i]
            return Plan(person, self.desired, status, np.inf, 0.0, self.budget, message=message)
        first, further = self._plan(i, self.answers, i), self.answers.alternatives.get(i)
        first = replace(first, obstacle=self.obstacles.get(i))
        if further is None:
            return first
        alternatives = tuple(self._plan(i, further, k) for k in range(len(further.cost)))
        return replace(first, alternatives=alternatives)

    @property
    def invalid(self) -> np.ndarray:
        """Which rows cannot be read."""
        return self._status == Status.INVALID

    @property
    def encoder(self) -> Encoder:
        """From the people's table to encoded columns."""
        return self.question.encoder

    @property
    def budget(self) -> float:
        """The largest cost that a plan may have."""
        return self.question.budget

    @property
    def _status(self) -> np.ndarray:
        return self.answers.status

    @cached_property
    def status(self) -> np.ndarray:
        """Status of each person, in words."""
        return status_words(self._status)

    @property
    def cost(self) -> np.ndarray:
        """Cost of each plan: 0 for the accepted, inf without one."""
        return self.answers.cost

    @property
    def bound(self) -> np.ndarray:
        """A lower bound on the cost of all plans of each person that keep the options.

        With ``prefer="fewest"`` it is one of the plans that change no more features than theirs.
        """
        return self.answers.bound

    @cached_property
    def strength(self) -> np.ndarray:
        """The strength of each plan, as ``find_recourse`` measures it; NaN without a plan."""
        return self._by_person(self.answers.strength)

    @property
    def lasts(self) -> np.ndarray:
        """People whose plan is robust to retraining with the probability given by ``lasting``."""
        if self.question.lasting is None:
            return np.zeros(len(self), bool)
        weaker = self.answers.weaker
        return self.found if weaker is None else self.found & ~weaker

    @property
    def month(self) -> np.ndarray:
        """Where time counts (``by``, ``cost="time"``): the month in which each plan is done.

        0 for people who are accepted already, NaN without a plan. A plan without changes means
        waiting.
        """
        return self._by_person(self.answers.month)

    @property
    def month_bound(self) -> np.ndarray:
        """How many months from now on are proved to have no plan, with ``cost="time"``."""
        return self._by_person(self.answers.month_bound)

    @property
    def until(self) -> np.ndarray:
        """Last month in which each person is accepted if they do exactly what their plan says.

        Features that drift may end acceptance; months up to the larger of 36 and ``by`` are
        checked. inf if nothing drifts, NaN without a plan.
        """
        return self._by_person(self.answers.until)

    @cached_property
    def before(self) -> np.ndarray:
        """Encoded values before the plan (people x columns); NaN in rows that cannot be read."""
        return self._scatter(self.question.matrix, np.nan)

    @property
    def after(self) -> np.ndarray:
        """Encoded values after the plan (people x columns); NaN in rows that cannot be read."""
        return self.answers.values

    @cached_property
    def effort(self) -> np.ndarray:
        """What each feature's change costs alone (people x axes)."""
        return self._by_axis(self.answers.effort, 0.0)

    @cached_property
    def low(self) -> np.ndarray:
        """Smallest value of each changed number that is accepted too (people x axes)."""
        return self._by_axis(self.answers.low)

    @cached_property
    def high(self) -> np.ndarray:
        """Largest value of each changed number that is accepted too (people x axes)."""
        return self._by_axis(self.answers.high)

    def _by_person(self, values: np.ndarray | None) -> np.ndarray:
        return np.full(len(self), np.nan) if values is None else values

    def _by_axis(self, values: np.ndarray | None, fill: float = np.nan) -> np.ndarray:
        shape = (len(self), len(self.encoder.axes))
        return np.full(shape, fill) if values is None else values

    @property
    def obstacles(self) -> dict[int, Obstacle]:
        """By position: why there is no plan."""
        return self.answers.obstacles

    @property
    def found(self) -> np.ndarray:
        """Who has a plan."""
        return np.isin(self._status, (Status.OPTIMAL, Status.FOUND))

    @property
    def accepted(self) -> np.ndarray:
        """Who has the desired class already."""
        return self._status == Status.ACCEPTED

    @property
    def within_budget(self) -> np.ndarray:
        """Who is accepted or has a plan within the budget that does not only supply values."""
        planned = self.found & within(self.cost, self.budget)
        return self.accepted | (planned & ~self.only_supplied)

    @cached_property
    def supplied(self) -> np.ndarray:
        """Which missing values each person supplies (people x axes)."""
        return self.changed & lacks_value(self.encoder.axes, self.before)

    @property
    def only_supplied(self) -> np.ndarray:
        """Whose plan only supplies missing values.

        Such a plan requires no change, and nothing shows that the values are true, so it is counted
        separately.
        """
        supplied = self.supplied.any(axis=1)  # to wait is to supply nothing
        return self.found & supplied & ~(self.changed & ~self.supplied).any(axis=1)

    @property
    def n_changes(self) -> np.ndarray:
        """How many features each person is asked to change."""
        return self.changed.sum(axis=1)

    @cached_property
    def counterfactuals(self) -> Any:
        """The people after their plans, in their own columns and dtypes; others as they are.

        Rows that cannot be read are missing throughout.
        """
        return self._decoded(self.answers.values)

    @cached_property
    def outcomes(self) -> Any:
        """The people after their plans and the causal effects of these, if there are any."""
        return self._decoded(self.answers.ends)

    def _decoded(self, values: np.ndarray) -> Any:
        people, invalid = self.question.people, self.invalid_rows
        valid = values if invalid is None else values[invalid.valid]
        table = self.encoder.decode(valid, like=people) if len(valid) else people
        return table if invalid is None else invalid.scatter_table(table)

    def _changed_values(self, axis: Axis, changed: np.ndarray) -> np.ndarray:
        """New values of a feature in the user's own terms; None where it does not change."""
        values = np.full(len(self), None, dtype=object)
        values[changed] = self.question.in_own_terms(axis, self.after[changed])
        return values

    @cached_property
    def actions(self) -> pd.DataFrame:
        """Changes by feature: differences of numbers, new categories; missing where unchanged."""
        columns = {}
        for a, axis in enumerate(self.encoder.axes):
            changed = self.changed[:, a]
            if axis.is_categorical:
                values = self._changed_values(axis, changed)
            else:
                difference = self.after[:, axis.columns[0]] - self.before[:, axis.columns[0]]
                values = np.where(changed, difference, np.nan)
            columns[axis.feature.name] = values
        return pd.DataFrame(columns, index=self.labels)

    def to_frame(self, form: Literal["long", "wide"] = "long") -> pd.DataFrame:
        """The plans as a table.

        Parameters
        ----------
        form : {"long", "wide"}
            One row per change, or one row per person with the new value of each changed feature.

        Notes
        -----
        "to" is the exact value that was given to the model, "goal" a short number to tell people.
        It lies between "low" and "high"; every value between these is proved to be accepted too.
        "reason" says why there is no plan, and "budget needed" which budget would be enough: inf if
        none would, missing if unknown. "message" says what is wrong with a row that cannot be read
        (in the wide form only if there is one).
        """
        return self._wide() if form == "wide" else long_frame(self)

    def _wide(self) -> pd.DataFrame:
        columns: dict[str, Any] = {
            "status": self.status,
            "cost": self.cost,
            "strength": self.strength,
            "lasting": np.where(self.lasts, self.question.lasting or np.nan, np.nan),
            "changes": self.n_changes,
            "only supplied": self.only_supplied,
        }
        for a, axis in enumerate(self.encoder.axes):
            changed = self.changed[:, a]
            if changed.any():
                values = pd.Series(self._changed_values(axis, changed))
                columns[f"new {axis.feature.name}"] = values.infer_objects().to_numpy()
        if self.messages:
            columns["message"] = [self.messages.get(i) for i in range(len(self))]
        return pd.DataFrame(columns, index=self.labels)

    def summary(self) -> pd.Series:
        """How many people have each status, and what plans cost and change."""
        found = self.found
        changes = self.n_changes[found]
        numbers: dict[str, Any] = {"people": len(self), **self._counts}
        n_read = int((~self.invalid).sum())
        share = float(self.within_budget.sum() / n_read) if n_read else float("nan")
        numbers["recourse ratio"] = share
        if self.question.lasting is not None:
            lasting = int(self.lasts.sum())
            numbers[f"plans that last ({self.question.lasting:.0%})"] = lasting
            numbers["strongest plans, without that promise"] = int(found.sum()) - lasting
        if self.only_supplied.any():
            numbers["plans that only supply values"] = int(self.only_supplied.sum())
        if found.any():
            numbers["mean cost"] = float(self.cost[found].mean())
            numbers["median cost"] = float(np.median(self.cost[found]))
            numbers["mean strength"] = float(self.strength[found].mean())
            numbers["mean changes"] = float(changes.mean())
            often = self.changed[found].sum(axis=0)
            names = [axis.feature.name for axis in self.encoder.axes]
            numbers["changed most"] = names[int(often.argmax())]
        return pd.Series(numbers, name="recourse", dtype=object)

    def judged(self, judge: Any, accepted: float | None = None) -> Any:
        """Which plans are earned, and which are granted.

        Parameters
        ----------
        judge : OutcomeJudge
            Fitted on the training table, or on other people whose outcomes are known; or the one
            that a model file contains (``ract.io.load_judge``).
        accepted : float, optional
            As in ``OutcomeJudge.judged``.

        Returns
        -------
        Judged
        """
        if not hasattr(judge, "judged"):
            raise InvalidSpec(
                "judge must be a fitted judge, such as ract.OutcomeJudge(actions).fit(X, y) on the "
                f"training table, got {type(judge).__name__}."
            )
        return judge.judged(self, accepted)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self._counts.items())
        return f"Recourse of {len(self)} people: {counts or 'nobody'}"

    @property
    def _counts(self) -> dict[str, int]:
        """How many people have each status that somebody has."""
        counts = Counter(self._status.tolist())
        return {status.word: counts[status] for status in Status if counts[status]}

    def _repr_html_(self) -> str:
        columns = ("person", "status", "cost", "plan")
        return html_table(self._caption(10), columns, self._first_lines(10))

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table("person", "status", "cost", "plan", title=self._caption(10))
        for line in self._first_lines(10):
            table.add_row(*[Text(str(cell)) for cell in line])
        return table

    def _caption(self, n: int) -> str:
        refused = len(self) - int(self.accepted.sum())
        return repr(self) + (f" (the first {n} who are not accepted)" if refused > n else "")

    def _first_lines(self, n: int) -> list[tuple[Any, ...]]:
        """The first people who are not accepted already."""
        rows = np.flatnonzero(~self.accepted)[:n]
        plans = [self[int(i)] for i in rows]
        return [
            (p.person, p.status, f"{p.cost:.3f}" if p.changes else "", p.describe()) for p in plans
        ]

    @cached_property
    def changed(self) -> np.ndarray:
        """Which features each person changes (people x axes)."""
        moved = differs(self.before, self.after)
        changed = [moved[:, list(axis.columns)].any(axis=1) for axis in self.encoder.axes]
        return np.stack(changed, axis=1)

    def _plan(self, i: int, table: Answers, row: int) -> Plan:
        """A row of the answers, or of the alternatives, of person i."""
        before, after, outcomes = self.before[i], table.values[row], table.ends[row]
        moved, ended = (differs(before, there) for there in (after, outcomes))

        def known(column: np.ndarray | None, *at: int) -> float:
            return np.nan if column is None else float(column[row, *at])

        changes = []
        for a, axis in enumerate(self.encoder.axes):
            columns, feature = list(axis.columns), axis.feature
            asked = bool(moved[columns].any())
            if asked or ended[columns].any():
                ends = np.stack([before, after if asked else outcomes])
                was, now = self.question.in_own_terms(axis, ends)
                low, high = (_limit(known(end, a)) for end in (table.low, table.high))
                limits = (low, high) if asked else (None, None)
                kind = not asked, feature.kind in SWITCHES, was is None, feature.is_ordered
                effort = known(table.effort, a)
                changes.append(Change(feature.name, was, now, effort, *limits, *kind))
        strength, needed = known(table.strength), self.question.strength
        lasts = self.lasts[i] and not strength < (needed or 0.0)
        status, cost = Status(int(table.status[row])).word, float(table.cost[row])
        price = cost, float(table.bound[row]), self.budget
        plan = Plan(self.labels[i], self.desired, status, *price, tuple(changes))
        lasting = self.question.lasting if lasts else None
        plan = replace(plan, strength=strength, needed=needed, lasting=lasting)
        month, until = _limit(known(table.month)), _limit(known(table.until))
        plan = replace(plan, month=month, until=until, by=self.question.months)
        smaller = table is not self.answers and known(table.weaker) == 1
        return replace(plan, at_least=known(table.beyond) == 1, smaller=smaller)


def lacks_value(axes: Sequence[Axis], matrix: np.ndarray) -> np.ndarray:
    """Who has no value in which feature (people x axes)."""
    lacks = np.zeros((len(matrix), len(axes)), bool)
    for a, axis in enumerate(axes):
        if axis.has_missing:
            mark = matrix[:, axis.columns[-1]]
            lacks[:, a] = mark == 1 if axis.is_categorical else np.isnan(mark)
    return lacks


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
