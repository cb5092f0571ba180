"""Running a search for each of many people: threads, a time limit for each, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ract._progress import track
from ract.errors import InvalidSpec

# A few people take a hundred times as long as most, so that parts should be small.
MOST_AT_ONCE, PARTS_EACH = 64, 16
TICK = 0.002


class Watch:
    """Raises a flag for everyone whose time is up; kernels look at the flags as they go.

    Parameters
    ----------
    n_people : int
    time_limit : float or None
        Seconds for each person, from the moment their search begins.
    """

    def __init__(self, n_people: int, time_limit: float | None) -> None:
        if time_limit is not None and not time_limit >= 0:
            raise InvalidSpec(f"time_limit must be 0 or more seconds, got {time_limit}.")
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


def in_parts(
    search: Callable[[range], None], n_people: int, *, n_jobs: int | None, progress: bool = False
) -> None:
    """Call a search with every part of the people, in threads.

    Parameters
    ----------
    search : callable
        Takes a range of people.
    n_people : int
    n_jobs : int or None
        Threads, as in joblib.
    progress : bool
        Show a bar with the time left on the error stream.

    Examples
    --------
    >>> parts = []
    >>> in_parts(parts.append, 100, n_jobs=1)
    >>> sum(len(part) for part in parts)
    100
    """
    workers = effective_n_jobs(n_jobs)
    size = max(1, min(MOST_AT_ONCE, -(-n_people // (PARTS_EACH * workers))))
    everyone = range(n_people)
    parts = [everyone[first : first + size] for first in range(0, n_people, size)]

    def run(part: range) -> range:
        search(part)
        return part

    done: Iterator[range] = Parallel(n_jobs=workers, prefer="threads", return_as="generator")(
        delayed(run)(part) for part in parts
    )
    for _ in track(done, n_people, "Searching for recourse", size=len, show=progress):
        pass


def for_each(
    search: Callable[[int], None], n_people: int, *, n_jobs: int | None, progress: bool = False
) -> None:
    """Call a search with every person's number; the rest as ``in_parts``."""

    def run(part: range) -> None:
        for i in part:
            search(i)

    in_parts(run, n_people, n_jobs=n_jobs, progress=progress)
