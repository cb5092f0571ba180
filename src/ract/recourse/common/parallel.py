"""Running a search for each of many people: threads, a time limit for each, a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ract._utils.progress import track
from ract.recourse.common.search import Limits

# A few people take a hundred times as long as most, so that parts should be small.
LARGEST_PART, PARTS_PER_THREAD = 64, 16


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
        self._limits = None if time_limit is None else np.broadcast_to(time_limit, (n_people,))

    @contextmanager
    def timing(self, i: int) -> Iterator[np.ndarray]:
        """The flag of person i while their search runs; their time is kept."""
        begun, flag = perf_counter(), self.flags[i]
        if self._limits is None:
            yield flag
        else:
            limit = float(self._limits[i])
            flag |= limit == 0
            number = CLOCK.add(flag, begun + limit)
            try:
                yield flag
            finally:
                CLOCK.remove(number)
        self.seconds[i] = perf_counter() - begun

    @contextmanager
    def running(self) -> Iterator[None]:
        """Raise every flag when the work is interrupted."""
        try:
            yield
        except BaseException:
            self.flags[:] = 1
            raise


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
    with watch.running():
        for _ in track(done, n_people, "Searching for recourse", size=len, show=limits.progress):
            pass
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
