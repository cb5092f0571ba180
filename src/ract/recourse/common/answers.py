"""The one table of answers: searches fill it, explanations extend it, ``Recourse`` wraps it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from ract._utils.status import Status
from ract.recourse.plan import Obstacle


def differs(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Which encoded values differ; a missing one that stays missing does not.

    >>> differs(np.array([1.0, np.nan, np.nan]), np.array([1.0, 2.0, np.nan]))
    array([False,  True, False])
    """
    return np.asarray((before != after) & ~(np.isnan(before) & np.isnan(after)))


class Answer(NamedTuple):
    """What one question about one person came to.

    status : Status
    cost, bound : float
        Of the action found (inf without one), and what no action can cost less than.
    point : int64 (axes,) or None
        The cells that the action leads to.
    nodes : int
        Nodes of the search.
    values : float (columns,) or None
        Encoded values after the action, where they are not the cheapest of those cells.
    """

    status: Status
    cost: float = np.inf
    bound: float = np.inf
    point: np.ndarray | None = None
    nodes: int = 0
    values: np.ndarray | None = None


@dataclass
class Answers:
    """Answers for a batch of people, in their order.

    Parameters
    ----------
    status : int8 (people,)
        Numbers of ``Status``.
    cost, bound : float (people,)
        Cost of the action found (inf if none) and what no action can cost less than.
    values : float (people, columns)
        Encoded values after the action; the person's own where none was found.
    nodes : int (people,)
        Nodes of the search: partial choices that were looked at.
    seconds : float (people,)
        Time that each person's search took.
    low, high : float (people, axes), optional
        Values between which each changed number may lie; NaN where that does not apply.
    effort : float (people, axes), optional
        What each feature's change costs alone.
    strength : float (people,), optional
        What each action wins; NaN without one.
    weaker : bool (people,), optional
        Whose action wins less than was asked for: the strongest that there is.
    beyond : bool (people,), optional
        Whose action is proved to hold for everyone who does more.
    outcomes : float (people, columns), optional
        What people end at when effects of changes on other features are counted in.
    month, month_bound, until : float (people,), optional
        Where time counts: the month in which each action is carried out, the months before which
        none can be, and the last month up to which it holds if nothing more is done.
    obstacles : dict
        By row: why there is no plan.
    alternatives : dict
        By row: a table of further plans of the same person.
    """

    status: np.ndarray
    cost: np.ndarray
    bound: np.ndarray
    values: np.ndarray
    nodes: np.ndarray
    seconds: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    effort: np.ndarray | None = None
    strength: np.ndarray | None = None
    weaker: np.ndarray | None = None
    beyond: np.ndarray | None = None
    outcomes: np.ndarray | None = None
    month: np.ndarray | None = None
    month_bound: np.ndarray | None = None
    until: np.ndarray | None = None
    obstacles: dict[int, Obstacle] = field(default_factory=dict)
    alternatives: dict[int, Answers] = field(default_factory=dict)

    @classmethod
    def unknown(cls, people: np.ndarray) -> Answers:
        """The table before any search: nothing is known of anybody."""
        n, values = len(people), np.array(people, dtype=np.float64)
        status, cost = np.full(n, Status.UNKNOWN, np.int8), np.full(n, np.inf)
        return cls(status, cost, np.zeros(n), values, np.zeros(n, np.int64), np.zeros(n))

    @property
    def found(self) -> np.ndarray:
        """Who has an action."""
        return np.isfinite(self.cost)

    @property
    def ends(self) -> np.ndarray:
        """Where people end, effects counted in."""
        return self.values if self.outcomes is None else self.outcomes

    @property
    def gap(self) -> np.ndarray:
        """How far the cost may lie above the cheapest; 0 where it is proved."""
        gap = np.zeros(len(self.cost))
        unproved = np.isin(self.status, (Status.FOUND, Status.UNKNOWN))
        gap[unproved] = self.cost[unproved] - self.bound[unproved]
        return gap

    def record(self, i: int, found: Answer) -> None:
        """Write down the answer of the person at position i."""
        self.status[i], self.nodes[i] = found.status, found.nodes
        self.cost[i], self.bound[i] = found.cost, found.bound
        if found.values is not None:
            self.values[i] = found.values

    def accept(self, rows: np.ndarray) -> None:
        """People who need no action."""
        self.status[rows], self.cost[rows], self.bound[rows] = Status.ACCEPTED, 0.0, 0.0

    def withdraw(self, rows: np.ndarray, people: np.ndarray) -> None:
        """Take actions back that did not stand the test."""
        self.status[rows], self.cost[rows] = Status.UNKNOWN, np.inf
        self.values[rows] = people[rows]
        for known in (self.low, self.high, self.strength):
            if known is not None:
                known[rows] = np.nan
        if self.outcomes is not None:
            self.outcomes[rows] = people[rows]

    def add_ends(self, n_axes: int) -> tuple[np.ndarray, np.ndarray]:
        """The ends of ranges, with room for them where the search proved none."""
        if self.low is None or self.high is None:
            self.low, self.high = np.full((2, len(self.cost), n_axes), np.nan)
        return self.low, self.high

    def take(self, rows: np.ndarray) -> Answers:
        """The answers of some rows, without what is kept by row."""
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        return Answers(**{k: v[rows] for k, v in columns.items() if isinstance(v, np.ndarray)})

    def with_rows(self, further: Answers) -> Answers:
        """These answers and others behind them, in the columns that either has."""
        n = len(self.status)
        both = Answers.unknown(np.concatenate([self.values, further.values]))
        both.put(np.arange(n), self.take(np.arange(n)))
        both.put(n + np.arange(len(further.status)), further.take(np.arange(len(further.status))))
        return both

    def put(self, rows: np.ndarray, part: Answers) -> None:
        """Write the answers of some of the people."""
        for column in fields(self):
            new = getattr(part, column.name)
            if isinstance(new, dict):
                getattr(self, column.name).update({int(rows[i]): v for i, v in new.items()})
            elif new is not None:
                if getattr(self, column.name) is None:
                    setattr(self, column.name, self._blank(column.name, new))
                getattr(self, column.name)[rows] = new

    def replace(self, rows: np.ndarray, better: Answers, chosen: np.ndarray) -> None:
        """Put chosen rows of others, with what is kept by row, in the place of some rows."""
        for row, k in zip(rows.tolist(), chosen.tolist(), strict=True):
            self.obstacles.pop(row, None)
            self.alternatives.pop(row, None)
            if k in better.obstacles:
                self.obstacles[row] = better.obstacles[k]
            if k in better.alternatives:
                self.alternatives[row] = better.alternatives[k]
        self.put(rows, better.take(chosen))

    def scattered(self, rows: np.ndarray, n: int) -> Answers:
        """The answers in their places among n rows; the other rows are invalid."""
        n_columns = self.values.shape[1]
        everyone = Answers.unknown(np.full((n, n_columns), np.nan))
        everyone.status[:] = Status.INVALID
        everyone.put(rows, self)
        if everyone.outcomes is not None:
            everyone.outcomes[everyone.status == Status.INVALID] = np.nan
        return everyone

    def _blank(self, name: str, like: np.ndarray) -> np.ndarray:
        if name == "outcomes":  # those without an action end where they are
            return self.values.copy()
        nothing = np.nan if name in ("low", "high", "strength", "month", "until") else 0
        return np.full((len(self.status), *like.shape[1:]), nothing, like.dtype)
