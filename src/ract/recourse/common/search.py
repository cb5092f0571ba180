"""What every search is: encoded people, a budget and limits in, a table of answers out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.data.costs import ceiling
from ract.recourse.common.answers import Answers

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Limits:
    """Limits of the search for each of many people.

    Parameters
    ----------
    max_changes : int, optional
        How many features an action may change; a categorical feature counts once.
    time_limit : float or float (people,), optional
        Seconds per person; a search that needs more ends as found or unknown. One for each person
        where an earlier search has used up part of their time (``after``).
    n_jobs : int, optional
        Threads, as in joblib.
    progress : bool
        Show a bar with the time left.
    max_nodes : int, optional
        Nodes of each question of a person's search; one that needs more ends as found or unknown,
        on every machine alike.

    Examples
    --------
    >>> Limits(max_changes=2).changes_of(9)
    2
    """

    max_changes: int | None = None
    time_limit: float | np.ndarray | None = None
    n_jobs: int | None = None
    progress: bool = False
    max_nodes: int | None = None

    def __post_init__(self) -> None:
        if self.max_changes is not None:
            check_count("max_changes", self.max_changes)
        if self.max_nodes is not None:
            check_count("max_nodes", self.max_nodes)
        limit = self.time_limit
        if limit is not None and not (_is_number(limit) and limit >= 0):
            raise InvalidSpec(f"time_limit must be 0 seconds or more, or None; got {limit!r}.")

    @classmethod
    def names(cls) -> list[str]:
        """What the limits are called."""
        return [limit.name for limit in fields(cls)]

    def after(self, seconds: np.ndarray) -> Limits:
        """What is left of the limits when each person has used up so many seconds.

        >>> Limits(time_limit=2.0).after(np.array([0.5, 3.0])).time_limit
        array([1.5, 0. ])
        """
        if self.time_limit is None:
            return self
        return self._with_time(np.maximum(self.time_limit - seconds, 0.0))

    def of_rows(self, rows: np.ndarray) -> Limits:
        """The limits of some of the people."""
        each = self.time_limit
        return self._with_time(each[rows]) if isinstance(each, np.ndarray) else self

    def _with_time(self, each: np.ndarray) -> Limits:
        other = copy(self)
        object.__setattr__(other, "time_limit", each)  # nobody gives limits for each person
        return other

    def changes_of(self, n_axes: int) -> int:
        """Most of so many features that may change."""
        return n_axes if self.max_changes is None else min(self.max_changes, n_axes)

    def nodes(self, own: int) -> int:
        """Nodes of a question: a search's own number, unless another was given."""
        return own if self.max_nodes is None else self.max_nodes


def check_count(name: str, value: Any) -> int:
    """A whole number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidSpec(f"{name} must be a whole number of 0 or more, got {value!r}.")
    if value < 0:
        raise InvalidSpec(f"{name} must be 0 or more, got {value}.")
    return int(value)


def check_budget(budget: Any) -> float:
    """One budget for everyone: a number of 0 or more, or infinite."""
    if not (_is_number(budget) and budget >= 0):
        raise InvalidSpec(f"budget must be 0 or more, got {budget!r}.")
    return float(budget)


def ceilings_of(budget: float | np.ndarray, n_people: int) -> np.ndarray:
    """The largest cost within each person's budget; finite, since an infinite cost is no way."""
    budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), (n_people,)).copy()
    if not (budgets >= 0).all():
        raise InvalidSpec(f"budget must be 0 or more, got {budgets.min()}.")
    return np.minimum(ceiling(budgets), LARGEST)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Batch:
    """People to search for, the most that each may spend, and the table of their answers.

    ``budgets`` are ceilings: costs up to them are within the budget (``ract.data.costs.within``).
    """

    people: np.ndarray
    budgets: np.ndarray
    limits: Limits
    answers: Answers

    @classmethod
    def of(cls, people: np.ndarray, budget: float | np.ndarray, limits: Limits) -> Batch:
        """Encoded people, with one budget for all or one for each."""
        answers = Answers.unknown(people)
        return cls(answers.values.copy(), ceilings_of(budget, len(people)), limits, answers)


class RecourseSearch(ABC):
    """A search for the cheapest action of each of many people."""

    def solve(
        self, people: np.ndarray, budget: float | np.ndarray = np.inf, **options: Any
    ) -> Answers:
        """The cheapest action that is found for each person within a budget.

        Parameters
        ----------
        people : float (people, columns)
            Encoded people.
        budget : float or array of float
            The same for everyone, or one for each; inf for any action at all.
        **options
            ``max_changes``, ``time_limit``, ``max_nodes``, ``n_jobs`` and ``progress`` as in
            ``Limits``; what a search takes besides stands in its class.
        """
        shared = {name: options.pop(name) for name in Limits.names() if name in options}
        return self.answers(Batch.of(people, budget, Limits(**shared)), **options)

    def answers(self, batch: Batch, **options: Any) -> Answers:
        """The table of a batch, filled."""
        self.fill(batch, **options)
        return batch.answers

    @abstractmethod
    def fill(self, batch: Batch) -> None:
        """Search for everyone and write into the table."""
