"""The answer for a batch of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from ract._frames import read_table
from ract.encoding import Axis, Encoder
from ract.recourse.common.answers import Answers
from ract.recourse.plan import Change, Obstacle, Plan
from ract.recourse.question import Question
from ract.status import Status, words

# Columns of the long form. Values keep their own types: a whole number stays one, whoever else
# is in the table.
_COLUMNS: dict[str, Any] = {
    "person": None,
    "plan": "int64",
    "feature": None,
    "from": object,
    "to": object,
    "goal": object,
    "low": float,
    "high": float,
    "effort": float,
    "cost": float,
    "status": None,
    "reason": None,
    "budget needed": float,
}


@dataclass(frozen=True, repr=False)
class Recourse(Sequence[Plan]):
    """What each of a batch of people can do, in their order.

    Parameters
    ----------
    question : Question
        Which model, which people, what cost and what budget.
    answers : Answers
        What was found for each of them, as one table of arrays.

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> recourse = model.fit(loans.frame, loans.target).recourse(loans.frame.head(20))
    >>> recourse.status[:3].tolist()
    ['accepted', 'accepted', 'optimal']
    >>> recourse.to_frame().columns.tolist()[:9]
    ['person', 'plan', 'feature', 'from', 'to', 'goal', 'low', 'high', 'effort']
    >>> recourse.to_frame().columns.tolist()[9:]
    ['cost', 'status', 'reason', 'budget needed']
    """

    question: Question
    answers: Answers

    def __len__(self) -> int:
        return len(self.answers.status)

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> list[Plan]: ...
    def __getitem__(self, index: int | slice) -> Plan | list[Plan]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        others = self.answers.alternatives.get(i)
        alternatives = () if others is None else tuple(
            self._plan(i, others, k) for k in range(len(others.cost))
        )  # fmt: skip
        return self._plan(i, self.answers, i, self.obstacles.get(i), alternatives)

    def __iter__(self) -> Iterator[Plan]:
        return (self[i] for i in range(len(self)))

    @property
    def people(self) -> Any:
        """The people as they were given."""
        return self.question.people

    @property
    def encoder(self) -> Encoder:
        """From the people's table to encoded columns."""
        return self.question.encoder

    @property
    def desired(self) -> Any:
        """The class that people want."""
        return self.question.tree.desired

    @property
    def budget(self) -> float:
        """Most that a plan may cost."""
        return self.question.budget

    @property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        return self.question.labels

    @cached_property
    def status(self) -> np.ndarray:
        """Status of each person, in words."""
        return words(self.answers.status)

    @property
    def cost(self) -> np.ndarray:
        """Cost of each plan: 0 for the accepted, inf without one."""
        return self.answers.cost

    @property
    def bound(self) -> np.ndarray:
        """What no plan of each person can cost less than."""
        return self.answers.bound

    @property
    def before(self) -> np.ndarray:
        """Encoded values before the plan (people x columns)."""
        return self.question.matrix

    @property
    def after(self) -> np.ndarray:
        """Encoded values after the plan (people x columns)."""
        return self.answers.values

    @cached_property
    def effort(self) -> np.ndarray:
        """What each feature's change costs alone (people x axes)."""
        return self._by_axis(self.answers.effort, 0.0)

    @cached_property
    def low(self) -> np.ndarray:
        """Least value of each changed number that serves as well (people x axes)."""
        return self._by_axis(self.answers.low, np.nan)

    @cached_property
    def high(self) -> np.ndarray:
        """Largest value of each changed number that serves as well (people x axes)."""
        return self._by_axis(self.answers.high, np.nan)

    def _by_axis(self, values: np.ndarray | None, otherwise: float) -> np.ndarray:
        shape = (len(self), len(self.encoder.axes))
        return np.full(shape, otherwise) if values is None else values

    @property
    def obstacles(self) -> dict[int, Obstacle]:
        """By position: why there is no plan."""
        return self.answers.obstacles

    @property
    def found(self) -> np.ndarray:
        """Who has a plan."""
        return np.isin(self.answers.status, (Status.OPTIMAL, Status.FOUND))

    @property
    def accepted(self) -> np.ndarray:
        """Who has the desired class already."""
        return self.answers.status == Status.ACCEPTED

    @property
    def within_budget(self) -> np.ndarray:
        """Who is accepted or has a plan within the budget."""
        return self.accepted | (self.found & (self.cost <= self.budget))

    @property
    def n_changes(self) -> np.ndarray:
        """How many features each person is asked to change."""
        return self.changed.sum(axis=1)

    @cached_property
    def counterfactuals(self) -> Any:
        """The people after their plans, in their own columns and dtypes; others as they are."""
        return self.encoder.decode(self.after, like=self.people)

    @cached_property
    def outcomes(self) -> Any:
        """What people end at when effects have followed; the same without effects."""
        outcomes = self.answers.outcomes
        return self.encoder.decode(self.after if outcomes is None else outcomes, like=self.people)

    @cached_property
    def actions(self) -> pd.DataFrame:
        """Changes by feature: differences of numbers, new categories; missing where unchanged."""
        columns = {}
        for a, axis in enumerate(self.encoder.axes):
            changed = self.changed[:, a]
            if axis.is_categorical:
                values = np.full(len(self), None, dtype=object)
                values[changed] = self._values(axis, self.after[changed])
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
        "to" is the exact value that was put to the model, "goal" a short number to say: it lies
        between "low" and "high", which are proved to serve as well. "reason" says why there is no
        plan and "budget needed" which budget would do: inf if none would, missing if unknown.
        """
        if form == "wide":
            return self._wide()
        rows = [
            (plan.person, rank, *row)
            for first in self
            for rank, plan in enumerate((first, *first.alternatives))
            for row in _rows(plan)
        ]
        columns = zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
        return pd.DataFrame(
            {
                name: pd.Series(list(values), dtype=kind)
                for (name, kind), values in zip(_COLUMNS.items(), columns, strict=True)
            }
        )

    def _wide(self) -> pd.DataFrame:
        columns: dict[str, Any] = {
            "status": self.status,
            "cost": self.cost,
            "changes": self.n_changes,
        }
        for a, axis in enumerate(self.encoder.axes):
            changed = np.flatnonzero(self.changed[:, a])
            values = np.full(len(self), None, dtype=object)
            values[changed] = self._values(axis, self.after[changed])
            if len(changed):
                columns[f"new {axis.feature.name}"] = pd.Series(values).infer_objects().to_numpy()
        return pd.DataFrame(columns, index=self.labels)

    def summary(self) -> pd.Series:
        """How many people have what, and what plans cost and change."""
        found = self.found
        changes = self.n_changes[found]
        numbers: dict[str, Any] = {"people": len(self), **self._counts}
        share = float(self.within_budget.mean()) if len(self) else float("nan")
        numbers["recourse ratio"] = share
        if found.any():
            numbers["mean cost"] = float(self.cost[found].mean())
            numbers["median cost"] = float(np.median(self.cost[found]))
            numbers["mean changes"] = float(changes.mean())
            often = self.changed[found].sum(axis=0)
            names = [axis.feature.name for axis in self.encoder.axes]
            numbers["changed most"] = names[int(often.argmax())]
        return pd.Series(numbers, name="recourse", dtype=object)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {status}" for status, n in self._counts.items())
        return f"Recourse of {len(self)} people: {counts or 'nobody'}"

    @property
    def _counts(self) -> dict[str, int]:
        """How many people have each status that somebody has."""
        counts = Counter(self.answers.status.tolist())
        return {status.word: counts[status] for status in Status if counts[status]}

    def _repr_html_(self) -> str:
        lines = self._first_lines(10)
        table = pd.DataFrame(lines, columns=["person", "status", "cost", "plan"])
        html: str = table.to_html(index=False, escape=True, border=0)
        return f"<p>{self!r}</p>{html}"

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table("person", "status", "cost", "plan", title=repr(self))
        for line in self._first_lines(10):
            table.add_row(*[Text(str(cell)) for cell in line])
        return table

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
        differs = self.after != self.before
        return np.stack([differs[:, list(x.columns)].any(axis=1) for x in self.encoder.axes], 1)

    def _values(self, axis: Axis, values: np.ndarray) -> np.ndarray:
        """Encoded values of a feature in the user's own terms."""
        feature, block = axis.feature, values[:, list(axis.columns)]
        if feature.is_categorical:
            names = np.empty(len(feature.categories), dtype=object)
            names[:] = feature.categories
            return names[block.argmax(axis=1)]
        column: list[Any] = block[:, 0].tolist()
        if feature.kind != "continuous":
            column = [int(v) if v == int(v) else v for v in column]
        if self._is_bool(feature.name):
            column = [bool(v) if v in (0, 1) else v for v in column]
        out = np.empty(len(column), dtype=object)
        out[:] = column
        return out

    def _is_bool(self, name: str) -> bool:
        return self._roles.get(name) == "bool"

    @cached_property
    def _roles(self) -> dict[str, str]:
        table = read_table(self.people)
        return {name: table.role(name) for name in table.names}

    def _plan(
        self,
        i: int,
        table: Answers,
        row: int,
        obstacle: Obstacle | None = None,
        alternatives: tuple[Plan, ...] = (),
    ) -> Plan:
        """A row of the answers, or of the alternatives, of person i."""
        before, after = self.before[i], table.values[row]
        outcomes = after if table.outcomes is None else table.outcomes[row]
        changes = []
        for a, axis in enumerate(self.encoder.axes):
            columns = list(axis.columns)
            asked = (after[columns] != before[columns]).any()
            if not asked and (outcomes[columns] == before[columns]).all():
                continue
            was, now = self._values(axis, np.stack([before, after if asked else outcomes]))
            effort, low, high = (
                np.nan if values is None else values[row, a]
                for values in (table.effort, table.low, table.high)
            )
            limits = (_limit(low), _limit(high)) if asked else (None, None)
            switch = axis.feature.kind in ("binary", "categorical")
            changes.append(
                Change(axis.feature.name, was, now, float(effort), *limits, not asked, switch)
            )
        return Plan(
            self.labels[i], self.desired, Status(int(table.status[row])).word,
            float(table.cost[row]), float(table.bound[row]), self.budget, tuple(changes), obstacle,
            alternatives,
        )  # fmt: skip


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _rows(plan: Plan) -> list[tuple[Any, ...]]:
    reason = None if plan.has_recourse else plan.describe()
    needed = np.nan if plan.obstacle is None else plan.obstacle.budget
    whole = plan.cost, plan.status, reason, needed
    if not plan.changes:
        empty = (None, None, None, None, None, None, np.nan)
        return [(*empty, *whole)]
    return [
        (c.feature, c.before, c.after, c.goal, c.low, c.high, c.effort, *whole)
        for c in plan.changes
    ]
