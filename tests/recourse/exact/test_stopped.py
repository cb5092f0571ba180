"""A search whose time is up in the middle of a step never calls that an answer."""

from threading import Timer

import numpy as np
import pytest

from ract._utils.status import Status
from ract.recourse.exact.decide import ModelDescent
from ract.recourse.exact.search import ExactSearch
from tests.builders import random_problem


@pytest.mark.parametrize("combine", ["votes", "sum"])
def test_whenever_the_flag_is_raised_the_answer_is_right_or_unknown(combine):
    """At times that differ from run to run: whichever step they meet, no answer may be wrong."""
    seen = set()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng, combine)
        search = ExactSearch(ensemble, encoder.axes, cost)
        problem, own = search.problem, search.problem.cells(matrix[:1])[0]
        costs = problem.costs(matrix[:1], own[None])[0]

        def answer(stop, model=search.model, own=own, costs=costs):
            return ModelDescent(model, own, costs, 2, stop).attains(1e300, 10**6)

        known = answer(np.zeros(1, np.uint8))
        assert answer(np.ones(1, np.uint8)) == Status.UNKNOWN
        for delay in rng.exponential(2e-4, 4):
            stop = np.zeros(1, np.uint8)
            timer = Timer(delay, stop.fill, (1,))
            timer.start()
            found = answer(stop)
            timer.join()
            assert found in (known, Status.UNKNOWN)
        seen.add(int(known))
    assert seen == {Status.FOUND, Status.NONE}
