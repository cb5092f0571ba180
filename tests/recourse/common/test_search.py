"""What every search is handed: people, ceilings of budgets, limits and an empty table."""

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.recourse.common.search import Limits, RecourseSearch

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
    with pytest.raises(InvalidSpec, match="budget must be 0 or more"):
        Stays().solve(PEOPLE, -1.0)
    with pytest.raises(TypeError, match="colour"):
        Stays().solve(PEOPLE, colour="red")


def test_limits_of_some_people():
    limits = Limits(time_limit=3.0).after(np.array([1.0, 2.0, 9.0]))
    assert limits.of_rows(np.array([0, 2])).time_limit.tolist() == [2, 0]
    assert Limits().after(np.ones(3)).of_rows(np.array([1])).time_limit is None
