"""The answer for a batch of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from ract._frames import read_table
from ract.encoding import Axis, Encoder
from ract.recourse.plan import (
    ACCEPTED,
    FOUND,
    OPTIMAL,
    STATUSES,
    Change,
    Plan,
    Reason,
)

# Columns of the long form. Values keep their own types: a whole number stays one, whoever else
# is in the table.
_COLUMNS: dict[str, Any] = {
    "person": None,
    "plan": "int64",
    "feature": None,
    "from": object,
    "to": object,
    "low": float,
    "high": float,
    "effort": float,
    "cost": float,
    "status": None,
}


@dataclass(frozen=True)
class Recourse(Sequence[Plan]):
    """What each of a batch of people can do, in their order.

    Parameters
    ----------
    people : frame or array
        The people as they were given.
    encoder : Encoder
    desired : label
    budget : float
    status : array of str (people,)
        "accepted", "optimal", "found", "none within budget", "none" or "unknown".
    cost, bound : float (people,)
        Cost of the plan (0 for the accepted, inf without one), and what no plan can cost less.
    before, after : float (people, encoded columns)
        Encoded values before and after.
    effort : float (people, axes)
        What each feature's change costs alone.
    low, high : float (people, axes)
        Values between which each changed number may lie; NaN where that does not apply.
    others : dict
        By position: further plans, each as (values after, cost, effort, low, high).
    reasons : dict
        By position: why there is no plan.
    follows : float (people, encoded columns), optional
        What the features become when effects of changes on other features are counted in.

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> recourse = model.fit(loans.frame, loans.target).recourse(loans.frame.head(20))
    >>> recourse.status[:3].tolist()
    ['accepted', 'accepted', 'optimal']
    >>> recourse.to_frame().columns.tolist()
    ['person', 'plan', 'feature', 'from', 'to', 'low', 'high', 'effort', 'cost', 'status']
    """

    people: Any
    encoder: Encoder
    desired: Any
    budget: float
    status: np.ndarray
    cost: np.ndarray
    bound: np.ndarray
    before: np.ndarray
    after: np.ndarray
    effort: np.ndarray
    low: np.ndarray
    high: np.ndarray
    others: dict[int, list[Any]] = field(default_factory=dict)
    reasons: dict[int, Reason] = field(default_factory=dict)
    follows: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.status)

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> list[Plan]: ...
    def __getitem__(self, index: int | slice) -> Plan | list[Plan]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        best = (self.after[i], self.cost[i], self.effort[i], self.low[i], self.high[i])
        others = tuple(
            self._plan(i, FOUND, float("nan"), other, ()) for other in self.others.get(i, [])
        )
        return self._plan(i, str(self.status[i]), float(self.bound[i]), best, others)

    def __iter__(self) -> Iterator[Plan]:
        return (self[i] for i in range(len(self)))

    @property
    def plans(self) -> Recourse:
        """The plans by position: ``recourse.plans[i]`` is ``recourse[i]``."""
        return self

    @cached_property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        if isinstance(self.people, pd.DataFrame):
            return self.people.index
        return pd.RangeIndex(len(self))

    @property
    def found(self) -> np.ndarray:
        """Who has a plan."""
        return np.isin(self.status, (OPTIMAL, FOUND))

    @property
    def within_budget(self) -> np.ndarray:
        """Who is accepted or has a plan within the budget."""
        return (self.status == ACCEPTED) | (self.found & (self.cost <= self.budget))

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
        after = self.after if self.follows is None else self.follows
        return self.encoder.decode(after, like=self.people)

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
        counts = Counter(self.status.tolist())
        found = self.found
        changes = self.n_changes[found]
        numbers: dict[str, Any] = {"people": len(self)}
        numbers |= {status: counts[status] for status in STATUSES if counts[status]}
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
        counts = Counter(self.status.tolist())
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
        return f"Recourse of {len(self)} people: {told or 'nobody'}"

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
        rows = np.flatnonzero(self.status != ACCEPTED)[:n]
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
        self, i: int, status: str, bound: float, values: Any, others: tuple[Plan, ...]
    ) -> Plan:
        after, cost, effort, low, high = values
        before = self.before[i]
        changes = []
        follows = after if self.follows is None else self.follows[i]
        for a, axis in enumerate(self.encoder.axes):
            columns = list(axis.columns)
            asked = (after[columns] != before[columns]).any()
            if not asked and (follows[columns] == before[columns]).all():
                continue
            to = after if asked else follows
            was, now = self._values(axis, np.stack([before, to]))
            limits = (_limit(low[a]), _limit(high[a])) if asked else (None, None)
            changes.append(
                Change(axis.feature.name, was, now, float(effort[a]), *limits, not asked)
            )
        return Plan(
            self.labels[i], self.desired, status, float(cost), bound, self.budget, tuple(changes),
            self.reasons.get(i), others,
        )  # fmt: skip


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _rows(plan: Plan) -> list[tuple[Any, ...]]:
    if not plan.changes:
        empty = (None, None, None, None, None, np.nan)
        return [(*empty, plan.cost, plan.status)]
    return [
        (c.feature, c.before, c.after, c.low, c.high, c.effort, plan.cost, plan.status)
        for c in plan.changes
    ]
