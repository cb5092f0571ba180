"""Time limits: one clock raises the flags of all searches."""

import multiprocessing
import sys
import time
from time import perf_counter

import numpy as np
import pytest

from ract.recourse.common.parallel import CLOCK, Clock, for_each
from ract.recourse.common.search import Limits


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
