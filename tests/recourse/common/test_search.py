"""What every search is handed: people, ceilings of budgets, limits and an empty table."""

import multiprocessing
import sys
import time
from time import perf_counter

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.recourse.common.search import CLOCK, Clock, Limits, RecourseSearch, for_each

PEOPLE = np.array([[1, 2], [3, 4]])


class Stays(RecourseSearch):
    """Finds for everyone that they stay as they are."""

    def fill(self, batch, *, price=0.0):
        self.batch = batch
        batch.answers.status[:], batch.answers.cost[:] = Status.FOUND, price


def test_limits_and_options_of_a_search_are_told_apart():
    search = Stays()
    answers = search.solve(PEOPLE, [0.25, np.inf], max_changes=1, n_jobs=1, price=0.5)
    batch = search.batch
    assert (batch.limits.max_changes, batch.limits.n_jobs, batch.limits.time_limit) == (1, 1, None)
    assert answers is batch.answers and answers.cost.tolist() == [0.5, 0.5]
    assert answers.values.dtype == np.float64 and answers.values.tolist() == PEOPLE.tolist()
    # A ceiling lets rounding pass, and nothing else.
    assert 0.25 <= batch.budgets[0] < 0.25 + 1e-6 and batch.budgets[1] > 1e300
    batch.people[0, 0] = 7
    assert answers.values[0, 0] == 1


def test_what_no_search_takes_is_refused():
    with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
        Stays().solve(PEOPLE, -1.0)
    with pytest.raises(TypeError, match="colour"):
        Stays().solve(PEOPLE, colour="red")


def test_limits_of_some_people():
    limits = Limits(time_limit=3.0).after(np.array([1.0, 2.0, 9.0]))
    assert limits.of_rows(np.array([0, 2])).time_limit.tolist() == [2, 0]
    assert Limits().after(np.ones(3)).of_rows(np.array([1])).time_limit is None


def until(flag):
    """Whether a flag is raised before long."""
    deadline = time.monotonic() + 30
    while not flag[0] and time.monotonic() < deadline:
        time.sleep(0.001)
    return bool(flag[0])


def test_flags_are_raised_when_their_time_is_up_and_no_others():
    clock, now = Clock(), perf_counter()
    late, early, ended = np.zeros((3, 1), np.uint8)
    clock.add(late, now + 1000)
    clock.remove(clock.add(ended, now + 0.001))
    clock.add(early, now + 0.01)  # before the one that it waits for
    assert until(early) and not late[0] and not ended[0]
    again = np.zeros(1, np.uint8)
    clock.add(again, perf_counter())
    assert until(again) and not late[0]


@pytest.mark.parametrize("jobs", [0, 1.5, True, "2"])
def test_threads_are_counted_in_whole_numbers(jobs):
    with pytest.raises(InvalidSpec, match="n_jobs must be a whole number other than 0, or None"):
        Limits(n_jobs=jobs)


def test_a_search_that_goes_on_is_stopped_and_the_next_begins_anew():
    seen = []

    def search(i, stop):
        seen.append((bool(stop[0]), until(stop) if i == 0 else None))

    seconds = for_each(search, 2, Limits(n_jobs=1, time_limit=0.02))
    assert seen == [(False, True), (False, None)] and seconds[0] >= 0.02
    assert not CLOCK._ends


def _stopped():
    raised = []
    for_each(lambda i, stop: raised.append(until(stop)), 1, Limits(n_jobs=1, time_limit=0.01))
    sys.exit(0 if raised == [True] else 1)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_a_forked_process_has_a_clock_of_its_own():
    for_each(lambda i, stop: None, 1, Limits(n_jobs=1, time_limit=5))
    child = multiprocessing.get_context("fork").Process(target=_stopped)
    child.start()
    child.join(60)
    assert child.exitcode == 0
