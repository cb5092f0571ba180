"""Running a search for each of many people: threads, a time limit for each, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ract._progress import track
from ract.recourse.common.limits import Limits

# A few people take a hundred times as long as most, so that parts should be small.
LARGEST_PART, PARTS_PER_THREAD = 64, 16
TICK = 0.002


class Watch:
    """Raises a flag for everyone whose time is up; searches look at the flags as they go.

    Parameters
    ----------
    n_people : int
    time_limit : float or None
        Seconds for each person, from the moment their search begins.
    """

    def __init__(self, n_people: int, time_limit: float | None) -> None:
        self.flags = np.zeros((n_people, 1), np.uint8)
        self.seconds = np.zeros(n_people)
        self._limit = time_limit
        self._ends: dict[int, float] = {}

    @contextmanager
    def timing(self, i: int) -> Iterator[np.ndarray]:
        """The flag of person i while their search runs; their time is kept."""
        begun = perf_counter()
        if self._limit is not None:
            self._ends[i] = begun + self._limit
            self.flags[i] = self._limit == 0
        yield self.flags[i]
        self._ends.pop(i, None)
        self.seconds[i] = perf_counter() - begun

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep an eye on the clock; every flag is raised when the work is interrupted."""
        done = Event()

        def look() -> None:
            while not done.wait(TICK):
                now = perf_counter()
                for i, end in list(self._ends.items()):
                    if now >= end:
                        self.flags[i] = 1

        thread = Thread(target=look, daemon=True)
        if self._limit is not None:
            thread.start()
        try:
            yield
        except BaseException:
            self.flags[:] = 1
            raise
        finally:
            done.set()


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
