"""What every search is: encoded people, a budget and limits in, a table of answers out.

It runs for each of many people: in threads, with a time limit for each and a progress bar.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields
from threading import Condition, Thread
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ract._utils.progress import track
from ract._utils.validation import AMOUNT, COUNT, JOBS, NONE, check_value
from ract.data.costs import ceiling
from ract.recourse.common.answers import Answers

LARGEST = float(np.finfo(np.float64).max)

# A few people take a hundred times as long as most, so that parts should be small.
LARGEST_PART, PARTS_PER_THREAD = 64, 16


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
        check_value("max_changes", self.max_changes, NONE, COUNT)
        check_value("max_nodes", self.max_nodes, NONE, COUNT)
        check_value("n_jobs", self.n_jobs, NONE, JOBS)
        check_value("time_limit", self.time_limit, NONE, AMOUNT)

    @classmethod
    def names(cls) -> list[str]:
        """What the limits are called."""
        return [limit.name for limit in fields(cls)]

    def after(self, seconds: float | np.ndarray) -> Limits:
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

    def _with_time(self, each: float | np.ndarray) -> Limits:
        other = copy(self)
        object.__setattr__(other, "time_limit", each)  # nobody gives limits for each person
        return other

    def changes_of(self, n_axes: int) -> int:
        """Most of so many features that may change."""
        return n_axes if self.max_changes is None else min(self.max_changes, n_axes)

    def nodes(self, default: int) -> int:
        """Nodes of a question: a search's own number, unless another was given."""
        return default if self.max_nodes is None else self.max_nodes


def check_budget(budget: Any) -> float:
    """One budget for everyone: a number of 0 or more, or infinite."""
    check_value("budget", budget, AMOUNT)
    return float(budget)


def ceilings_of(budget: float | np.ndarray, n_people: int) -> np.ndarray:
    """The largest cost within each person's budget; finite, since an infinite cost is no way."""
    budgets = np.full(n_people, budget, dtype=np.float64)
    check_value("budget", float(budgets.min(initial=0.0)), AMOUNT)
    return np.minimum(ceiling(budgets), LARGEST)


UNLIMITED = Limits()


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


class Clock:
    """One thread for all searches of the process that raises flags when their time is up.

    It sleeps until the first of them ends. Most searches are over long before, so that a thread
    of its own for each would cost more than they do.
    """

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Forget all; what a forked process needs, whose parent's threads are not its own."""
        self._ends: dict[int, tuple[float, np.ndarray]] = {}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._wakes = np.inf

    def add(self, flag: np.ndarray, end: float) -> int:
        """Have a flag raised at a time; returns its number."""
        number = id(flag)
        with self._changed:
            self._ends[number] = end, flag
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True)
                self._thread.start()
            elif end < self._wakes:
                self._changed.notify()
        return number

    def remove(self, number: int) -> None:
        """Leave a flag alone from now on."""
        with self._changed:
            self._ends.pop(number, None)

    def _run(self) -> None:
        with self._changed:
            while True:
                now = perf_counter()
                for end, flag in self._ends.values():
                    if end <= now:
                        flag[:] = 1
                left = [end for end, flag in self._ends.values() if end > now]
                self._wakes = min(left, default=np.inf)
                self._changed.wait(self._wakes - now if left else None)


CLOCK = Clock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CLOCK.start_anew)


class Watch:
    """Raises a flag for everyone whose time is up; searches look at the flags as they go.

    Parameters
    ----------
    n_people : int
    time_limit : float, float (people,) or None
        Seconds for each person, from the moment their search begins.
    """

    def __init__(self, n_people: int, time_limit: float | np.ndarray | None) -> None:
        self.flags = np.zeros((n_people, 1), np.uint8)
        self.seconds = np.zeros(n_people)
        self._limits = None if time_limit is None else np.full(n_people, time_limit)

    @contextmanager
    def timing(self, i: int) -> Iterator[np.ndarray]:
        """The flag of person i while their search runs; their time is kept."""
        begun, flag = perf_counter(), self.flags[i]
        if self._limits is None:
            yield flag
        else:
            limit = float(self._limits[i])
            if limit == 0:
                flag[:] = 1
            number = CLOCK.add(flag, begun + limit)
            try:
                yield flag
            finally:
                CLOCK.remove(number)
        self.seconds[i] = perf_counter() - begun


def in_parts(search: Callable[[range, Watch], None], n_people: int, limits: Limits) -> np.ndarray:
    """Call a search with every part of the people, in threads.

    Parameters
    ----------
    search : callable
        Takes a range of people and the watch that times each of them.
    n_people : int
    limits : Limits

    Returns
    -------
    float (people,)
        Seconds that each person took, as far as the search timed them.

    Examples
    --------
    >>> parts = []
    >>> seconds = in_parts(lambda part, watch: parts.append(part), 100, Limits(n_jobs=1))
    >>> sum(len(part) for part in parts)
    100
    """
    workers, watch = effective_n_jobs(limits.n_jobs), Watch(n_people, limits.time_limit)
    size = max(1, min(LARGEST_PART, -(-n_people // (PARTS_PER_THREAD * workers))))
    everyone = range(n_people)
    parts = [everyone[first : first + size] for first in range(0, n_people, size)]

    def run(part: range) -> range:
        search(part, watch)
        return part

    done: Iterator[range] = map(run, parts)
    if workers > 1 and len(parts) > 1:
        done = Parallel(n_jobs=workers, prefer="threads", return_as="generator")(
            delayed(run)(part) for part in parts
        )
    try:
        for _ in track(done, n_people, "Searching for recourse", size=len, show=limits.progress):
            pass
    except BaseException:  # interrupted: threads end their searches
        watch.flags[:] = 1
        raise
    return watch.seconds


def for_each(
    search: Callable[[int, np.ndarray], None], n_people: int, limits: Limits
) -> np.ndarray:
    """Call a search with every person's number and stop flag; the rest as ``in_parts``."""

    def run(part: range, watch: Watch) -> None:
        for i in part:
            with watch.timing(i) as stop:
                search(i, stop)

    return in_parts(run, n_people, limits)
